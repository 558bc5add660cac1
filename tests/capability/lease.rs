//! Leases: renewed, run out, recovered.

use crate::api::item;
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
