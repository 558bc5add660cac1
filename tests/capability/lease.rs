//! Leases: renewed, run out, recovered.

use crate::api::item;
use crate::by_hand;
use crate::fixture::{Body, Given};
use readpast::item::{Action, Answer, ItemState, Lease};
use std::time::Duration;

pub const BODIES: &[(&str, Body)] = &[
    ("lease::renewal_keeps_the_token_and_moves_the_deadline", renewal_keeps_the_token_and_moves_the_deadline),
    ("lease::renewal_answers_per_item", renewal_answers_per_item),
    ("lease::items_of_dead_workers_come_back", items_of_dead_workers_come_back),
    ("lease::a_worker_that_died_on_its_last_attempt", a_worker_that_died_on_its_last_attempt),
    ("lease::a_late_settle_counts_while_nobody_took_over", a_late_settle_counts_while_nobody_took_over),
    ("lease::claims_recover_by_themselves", claims_recover_by_themselves),
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
    let taken = alive.claim(1, Duration::from_secs(60)).unwrap();
    assert_eq!(taken[0].attempt, 2);
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
        let claimed = (0..rows.len()).filter(|row| by_hand::cell(&rows, *row, 0) == "CLAIMED");
        claimed.map(|row| (by_hand::cell(&rows, row, 3), by_hand::cell(&rows, row, 5))).collect::<Vec<_>>()
    };
    let first = taken("server 1", 2);
    assert_eq!(first.len(), 2);
    assert_eq!(taken("server 2", 2).len(), 1, "what others hold is theirs");
    assert_eq!(taken("server 1", 1), [], "their leases have not run out");

    let keys = |taken: &[(String, String)]| taken.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    let again = taken("server 1", 2);
    assert_eq!(keys(&again), keys(&first), "the same, at once and in their order");
    assert!(again.iter().all(|(_, attempt)| attempt == "2"));
    assert_eq!(taken("SERVER 1", 2), [], "another name is another worker");

    assert_eq!(taken("server 1", 2), [], "there is no third attempt");
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 2);
    assert!(given.look("Error", "Payload = 'a'").contains("server 1 began anew on attempt 2 of 2"));
    assert_eq!(given.look("Status", "Payload = 'c'"), "Processing");
}

fn nobody_resumes_where_that_was_not_asked_for(given: &Given) {
    let queue = given.queue(&[]);
    queue.enqueue(&[item("held"), item("run out")], None).unwrap();
    by_hand::claim(given, "w", 2, 0);
    given.meddle("LeaseUntil = StartedAt", "Payload = 'run out'");
    let rows = by_hand::claim(given, "w", 2, 2);
    assert_eq!((rows.len(), by_hand::cell(&rows, 0, 5).as_str()), (1, "2"), "2 is taken for 1");
    assert_eq!(given.look("AttemptNum", "Payload = 'held'"), "1");
}
