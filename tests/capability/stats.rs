//! Figures.

use crate::api::item;
use crate::fixture::{Body, Given};
use readpast::item::{Action, ItemState, NewItem};
use std::time::Duration;

pub const BODIES: &[(&str, Body)] =
    &[("stats::of_an_empty_queue", of_an_empty_queue), ("stats::count_and_measure", count_and_measure)];

fn of_an_empty_queue(given: &Given) {
    let stats = given.queue(&[]).stats().unwrap();
    assert_eq!(stats, readpast::item::QueueStats::default());
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
    for percentiles in [stats.wait_ms, stats.run_ms] {
        assert!(percentiles.iter().all(|ms| ms.unwrap() >= 0), "{percentiles:?}");
        assert!(percentiles.is_sorted(), "{percentiles:?}");
    }
}
