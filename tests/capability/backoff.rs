//! When a failed attempt is repeated, if the worker does not say.

use crate::by_hand;
use readpast::description::QueueSpec;
use readpast::item::{Action, Answer, Settlement};
use std::time::Duration;
use support::api::item;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("backoff::by_default", by_default),
    ("backoff::none", none),
    ("backoff::fixed", fixed),
    ("backoff::grows_up_to_its_cap", grows_up_to_its_cap),
    ("backoff::never_overflows", never_overflows),
    ("backoff::jitter_is_drawn_for_each_item", jitter_is_drawn_for_each_item),
    ("backoff::the_time_of_the_worker_goes_before", the_time_of_the_worker_goes_before),
    ("backoff::only_for_failed_attempts", only_for_failed_attempts),
    ("backoff::by_hand_too", by_hand_too),
    ("backoff::items_of_the_dead_are_due_at_once", items_of_the_dead_are_due_at_once),
];

fn spec(given: &Given, backoff: &str) -> String {
    format!(r#"{{"queue": "{}", "attempts": {{"limit": 2000000000}}, "backoff": {backoff}}}"#, given.queue)
}

/// Milliseconds from the failure to the next attempt, of the only item for which the condition holds.
fn delay(given: &Given, condition: &str) -> i64 {
    let milliseconds = if given.server.is_sql_server() {
        "DATEDIFF_BIG(MILLISECOND, UpdatedAt, ScheduledFor)"
    } else {
        "ROUND(EXTRACT(EPOCH FROM ScheduledFor - UpdatedAt) * 1000)::bigint"
    };
    given.look(milliseconds, condition).parse().unwrap()
}

/// Three attempts in a moment would all meet the same trouble.
fn by_default(given: &Given) {
    let spec = QueueSpec::from_json(&format!(r#"{{"queue": "{}"}}"#, given.queue)).unwrap();
    let queue = given.queue_with(&spec.to_json(), &[]);
    queue.put("x");
    for longest in [5_000, 10_000] {
        queue.end(queue.take().settle(Action::Retry));
        let delay = delay(given, "Status = 'Error'");
        assert!((longest / 2..=longest).contains(&delay), "{delay} ms of {longest}");
        given.meddle("ScheduledFor = SYSUTCDATETIME()", "Status = 'Error'");
    }
}

fn none(given: &Given) {
    let queue = given.queue_with(&spec(given, r#""none""#), &[]);
    queue.put("x");
    queue.end(queue.take().settle(Action::Retry));
    assert_eq!(queue.take().attempt, 2, "at once");
}

fn fixed(given: &Given) {
    let queue = given.queue_with(&spec(given, r#"{"first_ms": 90000, "factor": 1, "jitter": 0}"#), &[]);
    queue.put("x");
    for attempt in 1..=3 {
        let taken = queue.take();
        assert_eq!(taken.attempt, attempt);
        assert_eq!(queue.end(taken.settle(Action::Retry)).answer, Answer::Ok);
        assert_eq!(delay(given, "Status = 'Error'"), 90_000);
        queue.expect_empty();
        given.meddle("ScheduledFor = SYSUTCDATETIME()", "Status = 'Error'");
    }
}

fn grows_up_to_its_cap(given: &Given) {
    let backoff = r#"{"first_ms": 10000, "factor": 2.5, "cap_ms": 200000, "jitter": 0}"#;
    let queue = given.queue_with(&spec(given, backoff), &[]);
    queue.put("x");
    for expected in [10_000, 25_000, 62_500, 156_250, 200_000, 200_000] {
        queue.end(queue.take().settle(Action::Retry));
        assert_eq!(delay(given, "Status = 'Error'"), expected);
        given.meddle("ScheduledFor = SYSUTCDATETIME()", "Status = 'Error'");
    }
}

fn never_overflows(given: &Given) {
    let backoff = r#"{"first_ms": 1, "factor": 100, "cap_ms": 2147483647, "jitter": 0}"#;
    let queue = given.queue_with(&spec(given, backoff), &[]);
    queue.put("x");
    for (before, expected) in
        [(4, 100_000_000), (5, 2_147_483_647), (1_000, 2_147_483_647), (1_999_999_000, 2_147_483_647_i64)]
    {
        given.meddle(&format!("AttemptNum = {before}, ScheduledFor = SYSUTCDATETIME()"), "1 = 1");
        queue.end(queue.take().settle(Action::Retry));
        // Weeks ahead, some servers' arithmetic is a tick off.
        let delay = delay(given, "Status = 'Error'");
        assert!((delay - expected).abs() <= 1, "{delay} after {before} attempts");
    }
}

fn jitter_is_drawn_for_each_item(given: &Given) {
    let backoff = r#"{"first_ms": 1000000, "factor": 2, "cap_ms": 10000000, "jitter": 0.5}"#;
    let queue = given.queue_with(&spec(given, backoff), &[]);
    let items: Vec<_> = (0..20).map(|i| item(&i.to_string())).collect();
    queue.enqueue(&items, None).unwrap();
    let taken = queue.claim(20, Duration::ZERO).unwrap();
    let settlements: Vec<_> = taken.iter().map(|item| item.settle(Action::Retry)).collect();
    queue.settle(&settlements, None).unwrap();
    let mut delays: Vec<_> = (0..20).map(|i| delay(given, &format!("Payload = '{i}'"))).collect();
    assert!(delays.iter().all(|delay| (500_000..=1_000_000).contains(delay)), "{delays:?}");
    delays.sort_unstable();
    delays.dedup();
    assert!(delays.len() > 10, "all together again: {delays:?}");
}

fn the_time_of_the_worker_goes_before(given: &Given) {
    let queue = given.queue_with(&spec(given, r#"{"first_ms": 90000, "jitter": 0}"#), &[]);
    queue.put("x");
    let taken = queue.take();
    queue.end(Settlement { delay_ms: Some(1_000_000), ..taken.settle(Action::Retry) });
    // SQL Server reads its clock for the delay a moment before it does for the change.
    let delay = delay(given, "Status = 'Error'");
    assert!((900_000..=1_000_000).contains(&delay), "{delay}");

    given.meddle("ScheduledFor = SYSUTCDATETIME()", "1 = 1");
    let taken = queue.take();
    queue.end(Settlement { due: Some("2999-01-01T00:00:00Z"), ..taken.settle(Action::Retry) });
    assert!(given.look("ScheduledFor", "1 = 1").starts_with("2999-01-01"));
}

fn only_for_failed_attempts(given: &Given) {
    let queue = given.queue_with(&spec(given, r#"{"first_ms": 90000}"#), &[]);
    queue.put("x");
    queue.end(queue.take().settle(Action::Release));
    let taken = queue.take();
    queue.end(taken.settle(Action::Pause));
    queue.end(Settlement::control(&taken.key, None, Action::Resume));
    assert_eq!(queue.take().key, taken.key);
}

fn by_hand_too(given: &Given) {
    let queue = given.queue_with(&spec(given, r#"{"first_ms": 90000, "jitter": 0}"#), &[]);
    queue.put("x");
    let taken = queue.take();
    let procedure = by_hand::procedure(given, "Modify_", "_trx");
    let call = if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @EnqueuedAt = '{}', @UpdatedAt = '{}', @Status = 'Error'", taken.key, taken.token)
    } else {
        format!("SELECT * FROM {procedure}('{}', '{}', 'Error')", taken.key, taken.token)
    };
    given.session().execute(&call, &[]).unwrap();
    assert_eq!(delay(given, "Status = 'Error'"), 90_000);
}

fn items_of_the_dead_are_due_at_once(given: &Given) {
    let queue = given.queue_with(&spec(given, r#"{"first_ms": 90000}"#), &[]);
    queue.put("x");
    let _held = queue.take();
    given.meddle("LeaseUntil = StartedAt", "1 = 1");
    assert_eq!(queue.recover(10).unwrap(), 1);
    assert_eq!(queue.take().attempt, 2);
}
