//! Items of a worker that died: those claimed together come back with their attempt and are claimed alone, until the one that kills
//! its worker is known.

use crate::by_hand;
use readpast::item::{Action, ItemState, Settlement};
use std::time::Duration;
use support::api::item;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("alone::items_claimed_together_have_their_attempt_back", items_claimed_together_have_their_attempt_back),
    ("alone::an_item_alone_when_its_worker_died_is_charged", an_item_alone_when_its_worker_died_is_charged),
    ("alone::a_claim_ends_before_items_that_came_back", a_claim_ends_before_items_that_came_back),
    ("alone::items_that_came_back_hide_no_spent_ones", items_that_came_back_hide_no_spent_ones),
    ("alone::recovery_does_not_split_a_claim", recovery_does_not_split_a_claim),
    ("alone::an_attempt_that_ended_in_order_charges_nobody", an_attempt_that_ended_in_order_charges_nobody),
    ("alone::alone_holds_between_types_too", alone_holds_between_types_too),
];

/// The answer of a claim of up to ten, and the payload and the attempt of each item.
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

/// Enqueues three items that a dead worker claimed at once and recovery gave back.
fn three_back(given: &Given) -> Box<dyn support::api::Api> {
    let queue = given.queue(&[]);
    queue.enqueue(&[item("a"), item("b"), item("c")], None).unwrap();
    assert_eq!(by_hand::claim(given, "dead", 3, 0).len(), 3);
    given.meddle("LeaseUntil = StartedAt", "1 = 1");
    assert_eq!(queue.recover(10).unwrap(), 3);
    queue
}

fn items_claimed_together_have_their_attempt_back(given: &Given) {
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

fn an_item_alone_when_its_worker_died_is_charged(given: &Given) {
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

fn a_claim_ends_before_items_that_came_back(given: &Given) {
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

/// The limit was lowered: an item without an attempt left ends as the claim passes it, and hides none behind it.
fn items_that_came_back_hide_no_spent_ones(given: &Given) {
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
fn an_attempt_that_ended_in_order_charges_nobody(given: &Given) {
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
