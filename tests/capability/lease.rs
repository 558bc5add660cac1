//! Leases: renewed, run out, recovered.

use crate::by_hand;
use readpast::item::{Action, Answer, ItemState, Lease};
use std::time::Duration;
use support::api::item;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("lease::renewal_keeps_the_token_and_moves_the_deadline", renewal_keeps_the_token_and_moves_the_deadline),
    ("lease::renewal_answers_per_item", renewal_answers_per_item),
    ("lease::a_locked_row_holds_up_no_renewal", a_locked_row_holds_up_no_renewal),
    ("lease::items_of_dead_workers_come_back", items_of_dead_workers_come_back),
    ("lease::a_worker_that_died_on_its_last_attempt", a_worker_that_died_on_its_last_attempt),
    ("lease::a_late_settle_counts_while_nobody_took_over", a_late_settle_counts_while_nobody_took_over),
    ("lease::claims_recover_by_themselves", claims_recover_by_themselves),
    ("lease::one_of_all_recovers_in_its_turn", one_of_all_recovers_in_its_turn),
    ("lease::a_turn_that_found_a_chunk_is_not_the_last", a_turn_that_found_a_chunk_is_not_the_last),
    ("lease::only_claims_and_renewals_are_lazy", only_claims_and_renewals_are_lazy),
    ("lease::a_fixed_one_ends_at_its_time", a_fixed_one_ends_at_its_time),
    ("lease::a_worker_resumes_its_own", a_worker_resumes_its_own),
    ("lease::nobody_resumes_where_that_was_not_asked_for", nobody_resumes_where_that_was_not_asked_for),
];

const RUN_OUT: &str = "LeaseUntil = UpdatedAt";

fn renewal_keeps_the_token_and_moves_the_deadline(given: &Given) {
    let queue = given.queue(&[("lease.ms", "3600000")]);
    queue.put("x");
    let taken = queue.take();
    given.meddle(RUN_OUT, "Payload = 'x'");
    let before = given.look("LeaseUntil", "Payload = 'x'");
    let renewed = queue.renew(&[taken.lease()]).unwrap();
    assert_eq!((renewed[0].answer, &renewed[0].token), (Answer::Ok, &taken.token));
    assert!(given.look("LeaseUntil", "Payload = 'x'") > before);
    assert_eq!(queue.recover(10).unwrap(), 0);
    assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Ok);
}

/// One long transaction that keeps a row must not cost a worker the leases of all others: that row is the worker's still, and its
/// lease is moved at the next beat.
fn a_locked_row_holds_up_no_renewal(given: &Given) {
    let queue = given.queue(&[("lease.ms", "3600000")]);
    queue.enqueue(&[item("held"), item("free")], None).unwrap();
    let batch = queue.claim(2, Duration::ZERO).unwrap();
    given.meddle(RUN_OUT, "1 = 1");
    let until = |payload: &str| given.look("LeaseUntil", &format!("Payload = '{payload}'"));
    let before = until("held");
    let mut holder = given.session();
    let mut run = |statement: &str| holder.execute(&given.spell(statement), &[]).unwrap();
    run("BEGIN TRANSACTION");
    run(&if given.server.is_sql_server() {
        format!("SELECT Payload FROM {} WITH (UPDLOCK, ROWLOCK) WHERE Payload = 'held'", given.table())
    } else {
        format!("SELECT 1 FROM {} WHERE Payload = 'held' FOR UPDATE", given.table())
    });
    let leases: Vec<_> = batch.iter().map(|taken| taken.lease()).collect();
    let answers: Vec<_> = queue.renew(&leases).unwrap().iter().map(|outcome| outcome.answer).collect();
    assert_eq!(answers, [Answer::Ok; 2]);
    assert!(until("free") > before, "the others go on at once");
    assert_eq!(until("held"), before, "what is held stays as it is");
    run("ROLLBACK");
    assert_eq!(queue.renew(&leases).unwrap().len(), 2);
    assert!(until("held") > before);
}

fn renewal_answers_per_item(given: &Given) {
    let queue = given.queue(&[]);
    queue.enqueue(&[item("mine"), item("lost"), item("old")], None).unwrap();
    let taken = queue.claim(3, Duration::ZERO).unwrap();
    given.meddle("LeaseOwner = 'another'", "Payload = 'lost'");
    let mut leases: Vec<_> = taken.iter().map(|item| item.lease()).collect();
    leases[2].attempt = 7;
    leases.push(Lease { key: "2020-01-01T00:00:00", attempt: 1 });
    let answers: Vec<_> = queue.renew(&leases).unwrap().iter().map(|outcome| outcome.answer).collect();
    assert_eq!(answers, [Answer::Ok, Answer::LeaseLost, Answer::LeaseLost, Answer::NotFound]);
}

fn items_of_dead_workers_come_back(given: &Given) {
    let dead = given.queue(&[]);
    dead.put("x");
    let taken = dead.take();
    given.meddle(RUN_OUT, "Payload = 'x'");

    let alive = given.open(&[]);
    assert_eq!(alive.recover(10).unwrap(), 1);
    assert_eq!(given.look("Status", "Payload = 'x'"), "Error");
    assert!(given.look("Error", "Payload = 'x'").contains(&dead.worker()));
    let again = alive.take();
    assert_eq!((again.attempt, &again.key), (2, &taken.key));

    assert_eq!(dead.end(taken.settle(Action::Complete)).answer, Answer::LeaseLost);
    assert_eq!(dead.renew(&[taken.lease()]).unwrap()[0].answer, Answer::LeaseLost);
    assert_eq!(given.look("Status", "Payload = 'x'"), "Processing", "the row is untouched");
    assert_eq!(alive.end(again.settle(Action::Complete)).answer, Answer::Ok);
}

fn a_worker_that_died_on_its_last_attempt(given: &Given) {
    let queue = given.queue(&[]);
    given.set_max_attempts(1);
    queue.put("x");
    queue.take();
    given.meddle(RUN_OUT, "Payload = 'x'");
    assert_eq!(queue.stats().unwrap().expired, 1);
    assert_eq!(queue.recover(10).unwrap(), 1);
    assert_eq!(given.look("Status", "Payload = 'x'"), "Failed");
    assert!(given.look("Error", "Payload = 'x'").contains("1 of 1"));
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 1);
}

fn a_late_settle_counts_while_nobody_took_over(given: &Given) {
    let queue = given.queue(&[]);
    queue.put("x");
    let taken = queue.take();
    given.meddle(RUN_OUT, "Payload = 'x'");
    assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Ok);
}

fn claims_recover_by_themselves(given: &Given) {
    let dead = given.queue(&[]);
    dead.put("x");
    dead.take();
    given.meddle(RUN_OUT, "Payload = 'x'");
    let alive = given.open(&[("recover.interval_ms", "10"), ("poll.interval_ms", "10")]);
    let taken = alive.claim(1, Duration::from_secs(600)).unwrap();
    assert_eq!(taken[0].attempt, 2);
}

/// How many are claimed after the items of dead workers were given back, unless somebody did within an hour.
fn in_turn(given: &Given, worker: &str) -> usize {
    let rows = by_hand::claim(given, worker, 1, 3_600_000);
    (0..rows.len()).filter(|row| by_hand::cell(&rows, *row, 0).starts_with("CLAIMED")).count()
}

fn one_of_all_recovers_in_its_turn(given: &Given) {
    let queue = given.queue(&[]);
    given.set_max_attempts(100);
    queue.put("x");
    by_hand::claim(given, "dead", 1, 0);
    given.meddle(RUN_OUT, "Payload = 'x'");
    assert_eq!(in_turn(given, "first"), 1, "nobody has looked yet");
    given.meddle(RUN_OUT, "Payload = 'x'");
    assert_eq!(in_turn(given, "second"), 0, "it was done an hour ago at most");
    assert_eq!(queue.recover(10).unwrap(), 1, "who asks for it has it done");

    // The clock was set back by more than the interval, or forth.
    let mut session = given.session();
    let mut run = |statement: String| session.execute(&given.spell(&statement), &[]).unwrap();
    let table = given.procedure("QueueRecovery", "");
    let condition = format!("Queue = '{}'", given.stem());
    let lock = if given.server.is_sql_server() {
        format!("SELECT * FROM {table} WITH (UPDLOCK, ROWLOCK) WHERE {condition}")
    } else {
        format!("SELECT * FROM {table} WHERE {condition} FOR UPDATE")
    };
    for time in ["2001-01-01", "2999-01-01"] {
        queue.claim(1, Duration::ZERO).unwrap();
        given.meddle(RUN_OUT, "Payload = 'x'");
        let set = format!("UPDATE {table} SET RecoveredAt = '{time}' WHERE {condition}");
        run(set.clone());
        // A session that keeps the row locked stops nobody.
        run("BEGIN TRANSACTION".to_owned());
        run(lock.clone());
        assert_eq!(in_turn(given, "third"), 1, "{time}");
        given.meddle(RUN_OUT, "Payload = 'x'");
        run("ROLLBACK".to_owned());
        run(set);
        assert_eq!(in_turn(given, "fourth"), 1, "{time}");
    }

    // Nor is anything lost with the row.
    run(format!("DELETE FROM {table} WHERE {condition}"));
    given.meddle(RUN_OUT, "Payload = 'x'");
    assert_eq!(in_turn(given, "fifth"), 1);
}

fn a_turn_that_found_a_chunk_is_not_the_last(given: &Given) {
    let queue = given.queue(&[]);
    let payloads: Vec<_> = (0..120).map(|number| number.to_string()).collect();
    queue.enqueue(&payloads.iter().map(|payload| item(payload)).collect::<Vec<_>>(), None).unwrap();
    for _ in 0..120 {
        by_hand::claim(given, "dead", 1, 0);
    }
    given.meddle(RUN_OUT, "1 = 1");
    assert_eq!((in_turn(given, "one"), in_turn(given, "other")), (1, 1));
    assert_eq!(
        given.look("COUNT(*)", "Status = 'Processing' AND LeaseOwner = 'dead'"),
        "0",
        "the second took up the rest"
    );
}

/// The kind of commit of each call, as PostgreSQL shows it to a trigger that waits until then. SQL Server shows
/// nobody; there it is the calls that count.
fn only_claims_and_renewals_are_lazy(given: &Given) {
    let known = "BEGIN TRANSACTION; COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON);";
    if given.server.is_sql_server() && given.session().execute(known, &[]).is_err() {
        // Not every server that speaks T-SQL has the words.
        return;
    }
    let queue =
        given.described(r#""lease": {"durable": false}, "columns": [{"name": "Payload", "type": "text(100)"}]"#);
    let (seen, table) = (format!("readpast.seen_{}", given.stem()), given.table());
    if !given.server.is_sql_server() {
        for statement in [
            format!("CREATE TABLE {seen} (number serial, setting text)"),
            format!(
                "CREATE FUNCTION {seen}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 INSERT INTO {seen} (setting) VALUES (CURRENT_SETTING('synchronous_commit')); RETURN NULL; END; $$"
            ),
            format!(
                "CREATE CONSTRAINT TRIGGER seen AFTER INSERT OR UPDATE ON {table} DEFERRABLE INITIALLY DEFERRED \
                 FOR EACH ROW EXECUTE FUNCTION {seen}()"
            ),
        ] {
            given.session().execute(&statement, &[]).unwrap();
        }
    }
    let mut last = 0;
    let mut expect = |what: &str, settings: &[&str]| {
        if given.server.is_sql_server() {
            return;
        }
        let statement = format!("SELECT number, setting FROM {seen} WHERE number > {last} ORDER BY number");
        let rows = given.session().execute(&statement, &[]).unwrap();
        let found: Vec<_> = (0..rows.len()).map(|row| by_hand::cell(&rows, row, 1)).collect();
        assert_eq!(found, settings, "{what}");
        last += rows.len();
    };
    queue.enqueue(&[item("a"), item("b")], None).unwrap();
    expect("enqueue", &["on", "on"]);
    let taken = queue.take();
    expect("claim", &["off"]);
    assert_eq!(queue.renew(&[taken.lease()]).unwrap()[0].answer, Answer::Ok);
    expect("renewal", &["off"]);
    let (outcomes, next) = queue.settle_and_claim(&[taken.settle(Action::Complete)], 1).unwrap();
    assert_eq!((outcomes[0].answer, next.len()), (Answer::Ok, 1));
    expect("settle and claim", &["on", "on"]);
    given.meddle(RUN_OUT, "Payload = 'b'");
    expect("by hand", &["on"]);
    assert_eq!(queue.recover(1).unwrap(), 1);
    expect("recovery", &["on"]);
    assert_eq!(queue.end(queue.take().settle(Action::Complete)).answer, Answer::Ok);
    expect("claim, settle", &["off", "on"]);
}

fn a_fixed_one_ends_at_its_time(given: &Given) {
    let spec = format!(r#"{{"queue": "{}", "lease": {{"ms": 3600000, "kind": "fixed"}}}}"#, given.queue);
    let queue = given.queue_with(&spec, &[]);
    queue.put("x");
    let taken = queue.take();
    let until = || given.look("LeaseUntil", "1 = 1");
    let before = until();
    assert_eq!(queue.renew(&[taken.lease()]).unwrap()[0].answer, Answer::Ok);
    assert_eq!(until(), before, "a renewal answers, and changes nothing");
    let stepped = queue.end(taken.settle(Action::Step));
    assert_eq!((stepped.answer, until()), (Answer::Ok, before.clone()), "a step goes on with what is left");

    given.meddle("LeaseUntil = StartedAt", "1 = 1");
    assert_eq!(queue.renew(&[taken.lease()]).unwrap()[0].answer, Answer::Ok);
    assert_eq!(queue.recover(10).unwrap(), 1);
    assert_eq!(queue.renew(&[taken.lease()]).unwrap()[0].answer, Answer::LeaseLost);
    let _again = queue.take();
    assert!(until() > before, "another claim is another lease");
}

fn a_worker_resumes_its_own(given: &Given) {
    let spec = format!(
        r#"{{"queue": "{}", "attempts": {{"limit": 2}}, "lease": {{"ms": 3600000, "resume_own": true}},
            "backoff": {{"first_ms": 3600000}}}}"#,
        given.queue
    );
    let queue = given.queue_with(&spec, &[]);
    queue.enqueue(&[item("a"), item("b"), item("c")], None).unwrap();
    let taken = |worker: &str, recover: i32| {
        let rows = by_hand::claim(given, worker, 2, recover);
        let claimed = (0..rows.len()).filter(|row| by_hand::cell(&rows, *row, 0).starts_with("CLAIMED"));
        claimed.map(|row| (by_hand::cell(&rows, row, 3), by_hand::cell(&rows, row, 5))).collect::<Vec<_>>()
    };
    let first = taken("server 1", 2);
    assert_eq!(first.len(), 2);
    assert_eq!(taken("server 2", 2).len(), 1, "what others hold is theirs");
    assert_eq!(taken("server 1", 1), [], "their leases have not run out");

    let keys = |taken: &[(String, String)]| taken.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    // At once, and in their order; each alone, since it may be what server 1 died of.
    let mut again = taken("server 1", 2);
    again.extend(taken("server 1", 0));
    assert_eq!(again, first, "which of them was begun is not known: they have the attempt back");
    assert!(given.look("Error", "Payload = 'a'").contains("server 1 began anew on attempt 1 of 2"));
    assert_eq!(taken("SERVER 1", 2), [], "another name is another worker");

    // Each was alone this time.
    let mut last = taken("server 1", 2);
    last.extend(taken("server 1", 0));
    assert_eq!(keys(&last), keys(&first));
    assert!(last.iter().all(|(_, attempt)| attempt == "2"));
    assert_eq!(taken("server 1", 2), [], "there is no third attempt");
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 2);
    assert!(given.look("Error", "Payload = 'a'").contains("server 1 began anew on attempt 2 of 2"));
    assert_eq!(given.look("Status", "Payload = 'c'"), "Processing");
}

fn nobody_resumes_where_that_was_not_asked_for(given: &Given) {
    let queue = given.queue(&[]);
    queue.enqueue(&[item("held"), item("run out")], None).unwrap();
    by_hand::claim(given, "w", 1, 0);
    by_hand::claim(given, "w", 1, 0);
    given.meddle("LeaseUntil = StartedAt", "Payload = 'run out'");
    let rows = by_hand::claim(given, "w", 2, 2);
    assert_eq!((rows.len(), by_hand::cell(&rows, 0, 5).as_str()), (1, "2"), "2 is taken for 1");
    assert_eq!(given.look("AttemptNum", "Payload = 'held'"), "1");
}
