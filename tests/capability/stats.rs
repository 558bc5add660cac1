//! Figures.

use readpast::item::{Action, ItemState, NewItem, QueueStats};
use std::time::Duration;
use support::api::item;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("stats::figures_of_an_empty_queue", figures_of_an_empty_queue),
    ("stats::count_and_measure", count_and_measure),
    ("stats::how_many_workers_are_needed", how_many_workers_are_needed),
];

fn figures_of_an_empty_queue(given: &Given) {
    let stats = given.queue(&[]).stats().unwrap();
    let nothing = QueueStats { arrivals_last_hour: Some(0), workers_needed: Some(0), ..QueueStats::default() };
    assert_eq!(stats, nothing);
}

fn count_and_measure(given: &Given) {
    let queue = given.queue(&[]);
    let items: Vec<_> = (0..10).map(|i| item(&i.to_string())).collect();
    queue.enqueue(&items, None).unwrap();
    queue.put_item(NewItem { delay_ms: Some(3_600_000), ..item("later") });
    let taken = queue.claim(6, Duration::ZERO).unwrap();
    let settlements: Vec<_> = taken[..4].iter().map(|item| item.settle(Action::Complete)).collect();
    queue.settle(&settlements, None).unwrap();
    queue.end(taken[4].settle(Action::Fail));

    let stats = queue.stats().unwrap();
    for (state, count) in [
        (ItemState::Pending, 5),
        (ItemState::Processing, 1),
        (ItemState::Completed, 4),
        (ItemState::Failed, 1),
        (ItemState::Error, 0),
    ] {
        assert_eq!(stats.count(state), count, "{state}");
    }
    assert_eq!((stats.due, stats.expired, stats.sample), (4, 0, 5));
    assert!(stats.oldest_due_ms.unwrap() >= 0);
    for percentiles in [stats.wait_ms, stats.claimed_ms] {
        assert!(percentiles.iter().all(|ms| ms.unwrap() >= 0), "{percentiles:?}");
        assert!(percentiles.is_sorted(), "{percentiles:?}");
    }
}

/// 90 items an hour of 3 minutes each keep 4.5 workers busy; at 80 per cent of their time it takes 6.
fn how_many_workers_are_needed(given: &Given) {
    let queue = given.queue(&[]);
    let items: Vec<_> = (0..100).map(|i| item(&i.to_string())).collect();
    queue.enqueue(&items, None).unwrap();
    let stats = queue.stats().unwrap();
    assert_eq!((stats.claimed, stats.workers_needed), (0, Some(1)), "there is work, and nothing is known of it");

    // Ten came before the last hour.
    let taken = queue.claim(10, Duration::ZERO).unwrap();
    let settlements: Vec<_> = taken.iter().map(|item| item.settle(Action::Complete)).collect();
    queue.settle(&settlements, None).unwrap();
    let hours_ago = if given.server.is_sql_server() {
        "EnqueuedAt = DATEADD(HOUR, -2, CAST(EnqueuedAt AS datetime2(7)))"
    } else {
        "EnqueuedAt = EnqueuedAt - interval '2 hours'"
    };
    given.meddle(hours_ago, "Status = 'Completed'");
    let waited = if given.server.is_sql_server() {
        "ScheduledFor = DATEADD(SECOND, -30, CAST(StartedAt AS datetime2(7)))"
    } else {
        "ScheduledFor = StartedAt - interval '30 seconds'"
    };
    given.meddle(
        &format!("{waited}, Duration = CASE WHEN Payload < '5' THEN 120000 ELSE 240000 END"),
        "Status = 'Completed'",
    );
    let _in_hand = queue.claim(3, Duration::ZERO).unwrap();

    let stats = queue.stats().unwrap();
    assert_eq!((stats.wait_mean_ms, stats.claimed_mean_ms), (Some(30_000), Some(180_000)));
    assert_eq!((stats.arrivals_last_hour, stats.claimed, stats.workers_needed), (Some(90), 3, Some(6)));
}
