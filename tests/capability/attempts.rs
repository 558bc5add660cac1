//! The limit of attempts and the lease that the description gives, and the settings that go before it.

use crate::by_hand;
use readpast::item::{Action, ItemState};
use readpast::{ErrorKind, Queue};
use std::time::Duration;
use support::api::item;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("attempts::the_description_limits_them", the_description_limits_them),
    ("attempts::a_setting_goes_before_the_description", a_setting_goes_before_the_description),
    ("attempts::the_setting_has_the_name_that_is_given", the_setting_has_the_name_that_is_given),
    ("attempts::a_setting_below_one_does_not_count", a_setting_below_one_does_not_count),
    ("attempts::settings_are_read_and_set", settings_are_read_and_set),
    ("attempts::spent_attempts_at_the_head_hold_up_nobody", spent_attempts_at_the_head_hold_up_nobody),
    ("attempts::an_empty_queue_holds_nothing_of_dead_workers", an_empty_queue_holds_nothing_of_dead_workers),
    ("attempts::the_lease_is_that_of_the_description", the_lease_is_that_of_the_description),
];

fn spec(given: &Given, more: &str) -> String {
    format!(r#"{{"queue": "{}", "attempts": {{"limit": 2}}, "lease": {{"ms": 7200000}}{more}}}"#, given.queue)
}

fn the_description_limits_them(given: &Given) {
    let queue = given.queue_with(&spec(given, ""), &[]);
    queue.put("x");
    assert_eq!(queue.end(queue.take().settle(Action::Retry)).state, Some(ItemState::Error));
    assert_eq!(queue.end(queue.take().settle(Action::Retry)).state, Some(ItemState::Failed));
    assert!(given.look("Error", "AttemptNum = 2").contains("2 of 2"));
}

fn a_setting_goes_before_the_description(given: &Given) {
    let queue = given.queue_with(&spec(given, ""), &[]);
    given.set_max_attempts(1);
    queue.put("x");
    assert_eq!(queue.end(queue.take().settle(Action::Retry)).state, Some(ItemState::Failed));
}

fn the_setting_has_the_name_that_is_given(given: &Given) {
    let other = given.sibling(0);
    let more = format!(r#", "settings": "{}""#, other.queue.to_ascii_lowercase());
    let queue = given.queue_with(&spec(given, &more), &[]);
    other.set_max_attempts(1);
    queue.enqueue(&[item("x")], None).unwrap();
    assert_eq!(queue.end(queue.take().settle(Action::Retry)).state, Some(ItemState::Failed));
}

/// By a limit of none all that waits would be Failed at the next claim.
fn a_setting_below_one_does_not_count(given: &Given) {
    let queue = given.queue_with(&spec(given, ""), &[]);
    queue.put("x");
    given.set_max_attempts(0);
    for state in [ItemState::Error, ItemState::Failed] {
        assert_eq!(queue.end(queue.take().settle(Action::Retry)).state, Some(state));
    }
}

fn settings_are_read_and_set(given: &Given) {
    given.install(&spec(given, ""));
    let queue = Queue::open(&given.settings(&[]).config(), &given.queue).unwrap();
    let told = || queue.settings().unwrap().into_iter().map(|one| (one.name, one.value, one.described));
    let told = || told().collect::<Vec<_>>();
    assert_eq!(told(), [("maxAttempts", None, 2), ("leaseMs", None, 7_200_000)]);
    for value in [1, 5] {
        queue.set_setting("maxAttempts", Some(value)).unwrap();
        assert_eq!(told(), [("maxAttempts", Some(value), 2), ("leaseMs", None, 7_200_000)]);
    }
    queue.set_setting("leaseMs", Some(60_000)).unwrap();
    let open = given.open(&[]);
    open.put("x");
    for attempt in 1..=5 {
        let state = open.end(open.take().settle(Action::Retry)).state;
        assert_eq!(state, Some(if attempt < 5 { ItemState::Error } else { ItemState::Failed }));
    }
    queue.set_setting("maxAttempts", None).unwrap();
    assert_eq!(told(), [("maxAttempts", None, 2), ("leaseMs", Some(60_000), 7_200_000)]);

    for (name, value) in [("maxattempts", 1), ("maxAttempts", 0), ("leaseMs", 9), ("leaseMs", 86_400_001)] {
        let error = queue.set_setting(name, Some(value)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

/// The limit was lowered, say. One claim ends them, of one item or of many, with a settlement or by hand.
fn spent_attempts_at_the_head_hold_up_nobody(given: &Given) {
    let queue = given.queue_with(&spec(given, ""), &[]);
    let spend = |payload: &str| {
        for _ in 0..5 {
            queue.put(payload);
        }
        given.meddle("AttemptNum = 2", &format!("Payload = '{payload}'"));
    };
    for (spent, next) in [("a", "b"), ("c", "d"), ("e", "f")] {
        spend(spent);
        queue.put(next);
        let found = match next {
            "b" => queue.claim(1, Duration::ZERO).unwrap(),
            "d" => queue.settle_and_claim(&[], 1).unwrap().1,
            _ => {
                let settled = queue.claim(1, Duration::ZERO).unwrap().remove(0);
                spend("g");
                queue.put("h");
                queue.settle_and_claim(&[settled.settle(Action::Complete)], 2).unwrap().1
            }
        };
        assert_eq!(found.len(), 1, "{next}");
        assert_eq!(given.look("COUNT(*)", &format!("Payload = '{spent}' AND Status = 'Failed'")), "5");
        queue.end(found[0].settle(Action::Complete));
    }
    spend("i");
    queue.put("j");
    assert_eq!(by_hand::next(given).len(), 1);
    queue.expect_empty();
}

/// A claim without a wait reports an empty queue only when nothing of dead workers is left, however lately somebody recovered.
fn an_empty_queue_holds_nothing_of_dead_workers(given: &Given) {
    let queue = given.queue_with(&spec(given, ""), &[("recover.interval_ms", "3600000")]);
    queue.put("x");
    let _begun = queue.take();
    queue.expect_empty();
    given.meddle("LeaseUntil = StartedAt", "Status = 'Processing'");
    let other = given.open(&[("recover.interval_ms", "3600000")]);
    assert_eq!(other.claim(1, Duration::ZERO).unwrap().len(), 1);
}

fn the_lease_is_that_of_the_description(given: &Given) {
    // By hand, and through a handle that has no wish of its own; then through one that has.
    let queue = given.queue_with(&spec(given, ""), &[]);
    let seconds = || {
        if given.server.is_sql_server() {
            given.look("DATEDIFF(SECOND, StartedAt, LeaseUntil)", "Status = 'Processing'")
        } else {
            given.look("EXTRACT(EPOCH FROM LeaseUntil - StartedAt)::integer", "Status = 'Processing'")
        }
    };
    queue.put("x");
    by_hand::claim(given, "w", 1, 0);
    assert_eq!(seconds(), "7200");
    given.meddle("Status = 'Completed'", "1 = 1");

    queue.put("y");
    let _held = queue.take();
    assert_eq!(seconds(), "7200");
    given.meddle("Status = 'Completed'", "1 = 1");

    let wishing = given.open(&[("lease.ms", "3600000")]);
    wishing.put("z");
    let _held = wishing.take();
    assert_eq!(seconds(), "3600");
}
