//! Rows that their table does not let a claim or a recovery change: each is left aside by itself, and stops nobody.

use readpast::Queue;
use readpast::for_tests::Param;
use readpast::item::{Action, ItemState, Why};
use std::time::Duration;
use support::api::{Api, item};
use support::fixture::{Body, Given};
use support::limit::until;

pub const BODIES: &[(&str, Body)] = &[
    ("refused::a_claim_goes_around_it", a_claim_goes_around_it),
    ("refused::a_settlement_that_claims_goes_around_it", a_settlement_that_claims_goes_around_it),
    ("refused::nobody_tries_it_before_its_time", nobody_tries_it_before_its_time),
    ("refused::a_settlement_refused_for_good_ends_failed", a_settlement_refused_for_good_ends_failed),
    ("refused::an_item_that_waits_for_another_row_is_not_failed", an_item_that_waits_for_another_row_is_not_failed),
    ("refused::a_trigger_stops_only_its_row", a_trigger_stops_only_its_row),
    ("refused::a_recovery_goes_around_it", a_recovery_goes_around_it),
    ("refused::why_and_doctor_and_figures_name_it", why_and_doctor_and_figures_name_it),
    ("refused::an_empty_queue_reports_no_refusals", an_empty_queue_reports_no_refusals),
];

fn spec(given: &Given) -> String {
    format!(r#"{{"queue": "{}", "attempts": {{"limit": 3}}, "backoff": "none"}}"#, given.queue)
}

fn run(given: &Given, statement: &str) {
    given.session().execute(&given.spell(statement), &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// The table refuses what `condition` does not hold for.
fn check(given: &Given, condition: &str) {
    run(given, &format!("ALTER TABLE {} ADD CONSTRAINT its_rule CHECK ({condition})", given.table()));
}

/// The items that are left aside.
fn aside(given: &Given, column: &str) -> String {
    let queue = given.stem();
    let statement = if given.server.is_sql_server() {
        format!("SELECT CAST({column} AS nvarchar(400)) FROM [readpast].QueueRefused WHERE Queue = ?")
    } else {
        format!("SELECT ({column})::text FROM readpast.queue_refused WHERE queue = ?")
    };
    let rows = given.session().execute(&statement, &[Param::Text(&queue)]).unwrap();
    (0..rows.len()).map(|row| crate::by_hand::cell(&rows, row, 0)).collect::<Vec<_>>().join(", ")
}

/// Lets what is left aside be tried at once, or not for long.
fn aside_until(given: &Given, minutes: i32) {
    let statement = if given.server.is_sql_server() {
        format!("UPDATE [readpast].QueueRefused SET Until = DATEADD(MINUTE, {minutes}, SYSUTCDATETIME())")
    } else {
        let until = given.spell(&format!("SYSUTCDATETIME() + {minutes} * interval '1 minute'"));
        format!("UPDATE readpast.queue_refused SET until = {until}")
    };
    let condition =
        format!(" WHERE {} = '{}'", if given.server.is_sql_server() { "Queue" } else { "queue" }, given.stem());
    given.session().execute(&(statement + &condition), &[]).unwrap();
}

fn fill(queue: &(dyn Api + 'static), payloads: &[&str]) {
    for payload in payloads {
        queue.put(payload);
    }
}

/// The payloads of what there is to claim, completed.
fn work_off(queue: &(dyn Api + 'static), max: u32) -> Vec<String> {
    let mut done = Vec::new();
    loop {
        let items = queue.claim(max, Duration::ZERO).unwrap();
        if items.is_empty() {
            return done;
        }
        done.extend(items.iter().map(|item| item.column("payload").as_str().unwrap().to_owned()));
        let all: Vec<_> = items.iter().map(|item| item.settle(Action::Complete)).collect();
        queue.settle(&all, None).unwrap();
    }
}

fn a_claim_goes_around_it(given: &Given) {
    let queue = given.queue_with(&spec(given), &[]);
    check(given, "Payload NOT LIKE 'bad%' OR Status <> 'Processing'");
    for (max, payloads) in [
        (10, &["a", "b", "bad1", "c", "d"][..]),
        (1, &["bad2", "bad3", "e", "bad4", "f"]),
        (3, &["bad5", "bad6", "bad7", "bad8", "g", "h", "i"]),
    ] {
        fill(&*queue, payloads);
        let good: Vec<_> = payloads.iter().copied().filter(|payload| !payload.starts_with("bad")).collect();
        assert_eq!(work_off(&*queue, max), good);
        aside_until(given, 60);
    }
    assert_eq!(given.look("COUNT(*)", "Status = 'Pending' AND Payload LIKE 'bad%'"), "8");
    assert!(aside(given, "reason").contains("its_rule"), "{}", aside(given, "reason"));
}

fn a_settlement_that_claims_goes_around_it(given: &Given) {
    let queue = given.queue_with(&spec(given), &[]);
    fill(&*queue, &["a", "bad", "b", "c"]);
    let first = queue.take();
    check(given, "Payload <> 'bad' OR Status <> 'Processing'");
    // The first finds it out, and the second knows.
    let (outcomes, claimed) = queue.settle_and_claim(&[first.settle(Action::Complete)], 1).unwrap();
    assert_eq!((outcomes[0].state, claimed.len()), (Some(ItemState::Completed), 1));
    assert_eq!(claimed[0].column("payload"), "b");
    aside_until(given, 60);
    let (outcomes, claimed) = queue.settle_and_claim(&[claimed[0].settle(Action::Complete)], 5).unwrap();
    assert_eq!((outcomes[0].state, claimed.len()), (Some(ItemState::Completed), 1));
    assert_eq!(claimed[0].column("payload"), "c");
}

/// Claims of other processes know it too, and do not try.
fn nobody_tries_it_before_its_time(given: &Given) {
    let queue = given.queue_with(&spec(given), &[]);
    check(given, "Payload <> 'bad' OR Status <> 'Processing'");
    queue.put("bad");
    queue.expect_empty();
    aside_until(given, 60);
    let other = given.open(&[]);
    for _ in 0..20 {
        queue.expect_empty();
        other.expect_empty();
        assert_eq!(crate::by_hand::next(given).len(), 0);
    }
    assert_eq!(aside(given, "times"), "1");
    // Its time has come, and the table is content.
    run(given, &format!("ALTER TABLE {} DROP CONSTRAINT its_rule", given.table()));
    aside_until(given, 0);
    assert_eq!(work_off(&*queue, 1), ["bad"]);
    assert_eq!(aside(given, "times"), "");
}

/// Each refusal spends an attempt; so it ends where the table lets it.
fn a_settlement_refused_for_good_ends_failed(given: &Given) {
    let queue = given.queue_with(&spec(given), &[]);
    check(given, "Payload <> 'bad' OR Status <> 'Processing'");
    queue.put("bad");
    until("it has ended", || {
        queue.expect_empty();
        aside_until(given, 0);
        given.look("Status", "Payload = 'bad'") == "Failed"
    });
    let error = given.look("Error", "Payload = 'bad'");
    assert!(error.contains("its_rule") && error.contains("3 times"), "{error}");
    assert_eq!(aside(given, "times"), "");
}

fn an_item_that_waits_for_another_row_is_not_failed(given: &Given) {
    let queue = given.queue_with(&spec(given), &[]);
    run(
        given,
        &format!(
            "CREATE UNIQUE INDEX {}_one_in_work ON {} (Payload) WHERE Status = 'Processing'",
            given.stem(),
            given.table()
        ),
    );
    fill(&*queue, &["k", "k", "x"]);
    let first = queue.take();
    assert_eq!(work_off(&*queue, 5), ["x"]);
    for _ in 0..5 {
        aside_until(given, 0);
        queue.expect_empty();
    }
    assert_eq!(aside(given, "attempts"), "0");
    assert_eq!(given.look("COUNT(*)", "Status = 'Pending'"), "1");
    queue.end(first.settle(Action::Complete));
    aside_until(given, 0);
    assert_eq!(work_off(&*queue, 5), ["k"]);
}

fn a_trigger_stops_only_its_row(given: &Given) {
    let queue = given.queue_with(&spec(given), &[]);
    let table = given.table();
    if given.server.is_sql_server() {
        run(
            given,
            &format!(
                "CREATE TRIGGER [readpast].[{}_rule] ON {table} AFTER UPDATE AS
                IF EXISTS (SELECT 1 FROM inserted WHERE Payload = 'bad' AND Status = 'Processing')
                    THROW 51234, N'not this one', 1;",
                given.queue
            ),
        );
    } else {
        let name = format!("public.{}_rule", given.stem());
        run(
            given,
            &format!(
                "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF new.Payload = 'bad' AND new.Status = 'Processing' THEN RAISE EXCEPTION 'not this one'; END IF;
                    RETURN NULL;
                END; $$"
            ),
        );
        run(given, &format!("CREATE TRIGGER rule AFTER UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()"));
    }
    fill(&*queue, &["a", "bad", "b"]);
    assert_eq!(work_off(&*queue, 10), ["a", "b"]);
    assert!(aside(given, "reason").contains("not this one"));
}

fn a_recovery_goes_around_it(given: &Given) {
    let queue = given.queue_with(&spec(given), &[]);
    queue.enqueue(&["a", "bad", "b", "c"].map(item), None).unwrap();
    let _left = queue.claim(4, Duration::ZERO).unwrap();
    given.meddle("LeaseUntil = StartedAt", "Status = 'Processing'");
    check(given, "Payload <> 'bad' OR Status <> 'Error'");
    assert_eq!(queue.recover(100).unwrap(), 3);
    assert_eq!(given.look("COUNT(*)", "Status = 'Error' AND AttemptNum = 0"), "3", "they were claimed together");
    assert_eq!(queue.recover(100).unwrap(), 0);
    assert!(aside(given, "reason").contains("its_rule"), "{}", aside(given, "reason"));
    let mut done = work_off(&*queue, 10);
    done.sort();
    assert_eq!(done, ["a", "b", "c"]);
    until("it has ended", || {
        aside_until(given, 0);
        queue.recover(100).unwrap();
        given.look("Status", "Payload = 'bad'") == "Failed"
    });
    assert!(given.look("Error", "Payload = 'bad'").contains("its_rule"));
}

/// The time at which what is left aside is tried again is a time at which something is due.
fn an_empty_queue_reports_no_refusals(given: &Given) {
    let queue = given.queue_with(&spec(given), &[]);
    check(given, "Payload <> 'bad' OR Status <> 'Processing'");
    queue.put("bad");
    queue.expect_empty();
    aside_until(given, 60);
    let rows = crate::by_hand::claim(given, "w", 5, 0);
    assert_eq!((rows.len(), crate::by_hand::cell(&rows, 0, 0)), (1, "EMPTY".to_owned()));
    let due: i64 = crate::by_hand::cell(&rows, 0, 2).parse().unwrap();
    assert!((1..=3_600_000).contains(&due), "{due}");
}

fn why_and_doctor_and_figures_name_it(given: &Given) {
    let queue = given.queue_with(&spec(given), &[]);
    check(given, "Payload NOT LIKE 'bad%' OR (Status <> 'Processing' AND Status <> 'Error')");
    let key = queue.put("bad1").key;
    queue.expect_empty();
    let config = given.settings(&[]).config();
    let watching = Queue::open(&config, &given.queue).unwrap();
    let named = |key: &str, doing: &str| {
        let why = watching.why(key).unwrap().unwrap();
        assert!(
            matches!(&why, Why::Refused { reason, .. } if reason.contains(doing) && reason.contains("its_rule")),
            "{why:?}"
        );
        let watched = watching.watch(1000).unwrap();
        assert!(watched.refused.iter().any(|one| one.reason.starts_with(doing)), "{:?}", watched.refused);
        let findings = readpast::doctor::check(&config, Some(&given.queue)).unwrap();
        let found = findings.iter().any(|one| one.check == "refused" && one.what.contains(doing));
        assert!(found, "{findings:?}");
    };
    named(&key, "claim: ");
    aside_until(given, 60);

    // An item that a dead worker left, and that cannot be given back.
    let key = queue.put("x").key;
    let _left = queue.take();
    run(given, &format!("ALTER TABLE {} DROP CONSTRAINT its_rule", given.table()));
    given.meddle("LeaseUntil = StartedAt", "Status = 'Processing'");
    check(given, "Payload <> 'x' OR Status <> 'Error'");
    assert_eq!(queue.recover(10).unwrap(), 0);
    named(&key, "recover: ");
    assert!(given.layer.metrics().contains("readpast_refused_by_table_total"));
}
