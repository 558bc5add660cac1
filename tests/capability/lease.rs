//! Leases: renewed, run out, recovered.

use crate::by_hand;
use readpast::item::{Action, Answer, ItemState, Lease, Settlement};
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
    ("lease::what_was_claimed_together_has_its_attempt_back", what_was_claimed_together_has_its_attempt_back),
    ("lease::who_was_alone_when_its_worker_died_is_charged", who_was_alone_when_its_worker_died_is_charged),
    ("lease::a_claim_ends_before_what_came_back", a_claim_ends_before_what_came_back),
    ("lease::what_came_back_does_not_hide_what_is_spent", what_came_back_does_not_hide_what_is_spent),
    ("lease::recovery_does_not_split_a_claim", recovery_does_not_split_a_claim),
    ("lease::who_ends_an_attempt_in_order_is_as_all_others", who_ends_an_attempt_in_order_is_as_all_others),
    ("lease::alone_holds_between_types_too", alone_holds_between_types_too),
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
        // Whoever keeps the row locked stops nobody.
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

/// What the log is asked for at the commit of each call, as PostgreSQL tells it to a trigger that waits until then. SQL Server tells
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

/// What a claim of up to ten hands out: its answer, and the payload and the attempt of each.
fn claimed(given: &Given) -> (String, Vec<(String, String)>) {
    let rows = by_hand::claim(given, "somebody", 10, 0);
    let column = rows.columns().iter().position(|column| column.name == "Payload").unwrap();
    let answers: Vec<_> = (0..rows.len()).map(|row| by_hand::cell(&rows, row, 0)).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    let item = |row| (by_hand::cell(&rows, row, column), by_hand::cell(&rows, row, 5));
    let items = if answers[0] == "EMPTY" { Vec::new() } else { (0..rows.len()).map(item).collect() };
    (answers[0].clone(), items)
}

fn expect(given: &Given, answer: &str, payloads: &[&str], attempt: &str) {
    let items = payloads.iter().map(|payload| ((*payload).to_owned(), attempt.to_owned())).collect();
    assert_eq!(claimed(given), (answer.to_owned(), items));
}

/// Three that a dead worker claimed at once.
fn three_back(given: &Given) -> Box<dyn support::api::Api> {
    let queue = given.queue(&[]);
    queue.enqueue(&[item("a"), item("b"), item("c")], None).unwrap();
    assert_eq!(by_hand::claim(given, "dead", 3, 0).len(), 3);
    given.meddle("LeaseUntil = StartedAt", "1 = 1");
    assert_eq!(queue.recover(10).unwrap(), 3);
    queue
}

fn what_was_claimed_together_has_its_attempt_back(given: &Given) {
    let queue = given.queue(&[]);
    given.set_max_attempts(1);
    drop(queue);
    let queue = three_back(given);
    assert_eq!(queue.stats().unwrap().count(ItemState::Error), 3, "nobody's only attempt is spent");
    let error = given.look("Error", "Payload = 'b'");
    assert!(error.contains("claimed together with others"), "{error}");
    queue.put("fresh");
    for payload in ["a", "b", "c"] {
        expect(given, "CLAIMED_ALONE", &[payload], "1");
    }
    expect(given, "CLAIMED", &["fresh"], "1");
    expect(given, "EMPTY", &[], "");
}

fn who_was_alone_when_its_worker_died_is_charged(given: &Given) {
    let queue = three_back(given);
    given.set_max_attempts(2);
    for (attempt, state) in [("1", "Error"), ("2", "Failed")] {
        expect(given, "CLAIMED_ALONE", &["a"], attempt);
        given.meddle("LeaseUntil = StartedAt", "Status = 'Processing'");
        assert_eq!(queue.recover(10).unwrap(), 1);
        assert_eq!(given.look("Status", "Payload = 'a'"), state);
    }
    assert!(given.look("Error", "Payload = 'a'").ends_with("attempt 2 of 2; the worker is taken for dead."));
    expect(given, "CLAIMED_ALONE", &["b"], "1");
}

fn a_claim_ends_before_what_came_back(given: &Given) {
    let queue = given.queue(&[]);
    queue.enqueue(&[item("first"), item("second"), item("killer"), item("last")], None).unwrap();
    let held = queue.claim(2, Duration::ZERO).unwrap();
    by_hand::claim(given, "dead", 1, 0);
    given.meddle("LeaseUntil = StartedAt", "Payload = 'killer'");
    assert_eq!(queue.recover(10).unwrap(), 1);
    let back: Vec<_> = held.iter().map(|item| item.settle(Action::Release)).collect();
    queue.settle(&back, None).unwrap();
    expect(given, "CLAIMED", &["first", "second"], "1");
    expect(given, "CLAIMED_ALONE", &["killer"], "2");
    expect(given, "CLAIMED", &["last"], "1");
}

/// The limit was lowered: what has no attempt left ends as it is passed, and hides nothing behind it.
fn what_came_back_does_not_hide_what_is_spent(given: &Given) {
    let queue = three_back(given);
    given.meddle("AttemptNum = 7", "Payload IN ('a', 'c')");
    expect(given, "CLAIMED_ALONE", &["b"], "1");
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 2);
}

fn recovery_does_not_split_a_claim(given: &Given) {
    let queue = given.queue(&[]);
    given.set_max_attempts(1);
    queue.enqueue(&[item("a"), item("b"), item("c")], None).unwrap();
    by_hand::claim(given, "dead", 3, 0);
    given.meddle("LeaseUntil = StartedAt", "1 = 1");
    assert_eq!(queue.recover(1).unwrap(), 3, "the last of them would look as if it had been alone");
    assert_eq!(queue.stats().unwrap().count(ItemState::Error), 3);
}

/// A release, a retry: its worker lived to say so.
fn who_ends_an_attempt_in_order_is_as_all_others(given: &Given) {
    let queue = three_back(given);
    for action in [Action::Release, Action::Retry, Action::Release] {
        let taken = queue.take();
        let back = Settlement { delay_ms: Some(0), ..taken.settle(action) };
        // Due now, and so behind the others: each has its turn.
        queue.end(back);
    }
    let (answer, items) = claimed(given);
    assert_eq!((answer.as_str(), items.len()), ("CLAIMED", 3));
}

fn alone_holds_between_types_too(given: &Given) {
    let spec = format!(
        r#"{{"queue": "{}", "types": ["Email", "Sms"], "columns": [{{"name": "Payload", "type": "text(100)"}}],
            "roles": {{"own_types_only": true}}}}"#,
        given.queue
    );
    let queue = given.queue_with(&spec, &[]);
    let of = |payload: &str, kind: &str| readpast::item::NewItem { kind: Some(kind.to_owned()), ..item(payload) };
    queue.enqueue(&[of("killer", "Sms"), of("its mate", "Sms")], None).unwrap();
    by_hand::claim(given, "dead", 2, 0);
    given.meddle("LeaseUntil = StartedAt", "1 = 1");
    assert_eq!(queue.recover(10).unwrap(), 2);
    queue.put_item(of("later", "Email"));
    expect(given, "CLAIMED_ALONE", &["killer"], "1");
    // Its head has been due longer now.
    given.meddle("ScheduledFor = EnqueuedAt", "1 = 1");
    given.meddle("ScheduledFor = SYSUTCDATETIME()", "Payload = 'its mate'");
    expect(given, "CLAIMED", &["later"], "1");
    expect(given, "CLAIMED_ALONE", &["its mate"], "1");
    expect(given, "EMPTY", &[], "");
}
