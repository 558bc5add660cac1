//! Many at once, some of them dying, some of them not ours.

use super::tables::*;
use readpast::item::{Action, Answer, Lease, Settlement};
use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ITEMS: u32 = 120;
const WORKERS: usize = 5;

/// Workers that claim, renew, complete, retry and die, while others recover: each item is completed exactly once, by
/// the worker that held it then.
#[test]
fn nothing_is_lost_and_nothing_completed_twice() {
    for kind in [&SCHEDULER, &EMAIL_SENT, &EMAIL_DELETE, &SIMPLE_QUEUE, &LOCK_TABLE] {
        let adopted = Adopted::new(kind);
        adopted.scratch.run(&format!(
            "INSERT INTO readpast.app_settings (param, val_int) VALUES ('{}.maxAttempts', 1000)",
            kind.setting()
        ));
        adopted.worker("producer").enqueue(&adopted.items(ITEMS), None).unwrap();
        let completed: Mutex<HashMap<String, u32>> = Mutex::default();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for number in 0..WORKERS {
                let (adopted, completed, is_over) = (&adopted, &completed, &is_over);
                scope.spawn(move || {
                    let name = format!("w{number}");
                    let settings = [("worker", name.as_str()), ("recover.interval_ms", "10"), ("lease.ms", "60000")];
                    let queue = adopted.open(&settings);
                    let mut turn = number as u32;
                    while !is_over.load(Ordering::Relaxed) {
                        turn += 1;
                        work(&queue, turn, completed);
                    }
                });
            }
            // Whatever goes wrong, the others must not be waited for.
            let watched = panic::catch_unwind(AssertUnwindSafe(|| {
                let deadline = Instant::now() + Duration::from_secs(600);
                let mut pause = Duration::from_millis(10);
                while completed.lock().unwrap().len() < ITEMS as usize && Instant::now() < deadline {
                    thread::sleep(pause);
                    // However slow the machine is, in the end there is time enough between two to claim and to settle.
                    pause += Duration::from_millis(1);
                    adopted.age_leases();
                }
            }));
            is_over.store(true, Ordering::Relaxed);
            watched.unwrap_or_else(|payload| panic::resume_unwind(payload));
        });
        let completed = completed.into_inner().unwrap();
        assert_eq!(completed.len(), ITEMS as usize, "{}", kind.name);
        assert!(completed.values().all(|times| *times == 1), "{}: {completed:?}", kind.name);
        assert_eq!(adopted.total(), if kind.deletes { 0 } else { ITEMS.into() }, "{}", kind.name);
        assert_eq!(adopted.count("Completed"), adopted.total(), "{}", kind.name);
    }
}

fn work(queue: &readpast::queue::Queue, turn: u32, completed: &Mutex<HashMap<String, u32>>) {
    let batch = claim(queue, 1 + turn % 7);
    if batch.is_empty() {
        thread::sleep(Duration::from_millis(2));
        return;
    }
    if turn.is_multiple_of(5) {
        // It dies here: the lease brings the items back.
        return;
    }
    let leases: Vec<_> = batch.iter().map(|item| Lease { key: item.key(), attempt: item.attempt() }).collect();
    if turn.is_multiple_of(3) {
        queue.renew(&leases).unwrap();
    }
    let settlements: Vec<_> = batch
        .iter()
        .enumerate()
        .map(|(at, item)| {
            let action = match (turn as usize + at) % 8 {
                0 => Action::Retry,
                1 => Action::Release,
                _ => Action::Complete,
            };
            // At once, whatever the backoff of the queue.
            let delay_ms = (action == Action::Retry).then_some(0);
            Settlement { delay_ms, ..Settlement::new(&item, action) }
        })
        .collect();
    let outcomes = queue.settle(&settlements, None).unwrap();
    let mut completed = completed.lock().unwrap();
    for (settlement, outcome) in settlements.iter().zip(outcomes) {
        if settlement.action == Action::Complete && outcome.answer == Answer::Ok {
            *completed.entry(settlement.key.to_owned()).or_default() += 1;
        }
    }
}

/// A claim passes over rows that others hold, and finds nothing wrong with those that change under it.
#[test]
fn rows_that_others_hold_are_passed_over() {
    for kind in [&FOUR_QUEUE, &EMAIL_REQUESTS, &SIMPLE_QUEUE, &LOCK_TABLE] {
        let adopted = Adopted::new(kind);
        let queue = adopted.worker("w");
        queue.enqueue(&adopted.items(3), None).unwrap();
        let table = QUALIFIED.iter().find(|(name, _)| *name == kind.name).unwrap().1;
        let mut other = adopted.scratch.session();
        other
            .transaction(|other| {
                other.execute(&format!("SELECT 1 FROM (SELECT * FROM {table} LIMIT 1 FOR UPDATE) AS held"), &[])?;
                assert_eq!(claim(&queue, 10).len(), 2, "{}", kind.name);
                Ok(())
            })
            .unwrap();
        assert_eq!(claim(&queue, 10).len(), 1, "{}", kind.name);
    }
}

const QUALIFIED: [(&str, &str); 4] = [
    ("FourQueue", "four_queue"),
    ("EmailRequests", "emailrequests"),
    ("SimpleQueue", "simplequeue"),
    ("LockTable", "queue"),
];
