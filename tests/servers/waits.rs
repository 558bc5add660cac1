//! Waits for the end of an item, on both servers.

use readpast::error::ErrorKind;
use readpast::item::{Action, Columns, ItemState, NewItem, Settlement};
use readpast::queue::Waited;
use readpast::{Queue, QueueSpec, Verdict, Worker, install};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::both::Database;
use support::limit::{SOON, until};

const DAY: Duration = Duration::from_secs(86_400);

fn open(database: &Database, more: &serde_json::Value) -> Queue {
    let mut spec = json!({"queue": "Job", "columns": [{"name": "N", "type": "integer"}]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
    Queue::open(&database.config(&[]), "Job").unwrap()
}

fn put(queue: &Queue, n: i32) -> String {
    let item = NewItem { columns: Columns::from_iter([("N", n)]), ..NewItem::default() };
    queue.enqueue(&[item], None).unwrap().remove(0).key
}

fn ended(waited: &Waited) -> (ItemState, String) {
    let Waited::Ended(batch) = waited else { panic!("{waited:?}") };
    let item = batch.get(0).unwrap();
    (item.state().unwrap(), item.key().to_owned())
}

#[test]
fn a_producer_gets_the_end_of_its_item() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        let keys: Vec<_> = (0..20).map(|n| put(&queue, n)).collect();
        assert!(matches!(queue.wait_for(&keys[0], Duration::ZERO).unwrap(), Waited::NotYet));
        let gone = "2001-01-01T00:00:00.0000000";
        assert!(matches!(queue.wait_for(gone, DAY).unwrap(), Waited::Gone));
        for (key, kind) in [("x", ErrorKind::InvalidItem), (&keys[0], ErrorKind::InvalidArgument)] {
            let wait = if key == "x" { Duration::ZERO } else { DAY * 2 };
            assert_eq!(queue.wait_for(key, wait).unwrap_err().kind(), kind);
        }
        // The worker stands for another process: it shares no state of the queue with those that wait.
        let other = format!("{}{}", database.connection(), database.pick("WSID=other;", "Fetch=10;"));
        let elsewhere = Queue::open(&database.config(&[("connection", &other)]), "Job").unwrap();
        let fails = AtomicBool::new(true);
        thread::scope(|scope| {
            let waits: Vec<_> = keys.iter().map(|key| scope.spawn(|| queue.wait_for(key, SOON).unwrap())).collect();
            let worker = Worker::new(&elsewhere).until_empty(true);
            let handle = |_: &readpast::worker::Job<'_>| {
                if fails.swap(false, Ordering::Relaxed) {
                    Verdict::fail("no")
                } else {
                    Verdict::complete().response("yes")
                }
            };
            worker.run(handle).unwrap();
            let found: Vec<_> = waits.into_iter().map(|wait| wait.join().unwrap()).collect();
            assert_eq!(found.iter().map(|waited| ended(waited).1).collect::<Vec<_>>(), keys);
            let failed = found.iter().filter(|waited| ended(waited).0 == ItemState::Failed).count();
            assert_eq!(failed, 1);
            let Waited::Ended(batch) = &found[19] else { panic!("{found:?}") };
            assert!(batch.get(0).unwrap().to_json().contains("\"yes\""), "its response");
        });
    }
}

/// A question names 1,000 at most.
#[test]
fn more_wait_than_a_question_names() {
    const COUNT: usize = 1010;
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        let items = vec![NewItem::default(); COUNT];
        let keys: Vec<_> = queue.enqueue(&items, None).unwrap().into_iter().map(|receipt| receipt.key).collect();
        thread::scope(|scope| {
            let waits: Vec<_> = keys.iter().map(|key| scope.spawn(|| queue.wait_for(key, SOON).unwrap())).collect();
            Worker::new(&queue).until_empty(true).run(|_| ()).unwrap();
            for (wait, key) in waits.into_iter().zip(&keys) {
                assert_eq!(ended(&wait.join().unwrap()), (ItemState::Completed, key.clone()));
            }
        });
    }
}

/// The pauses grow up to an hour; a settlement of the same process ends them.
#[test]
fn a_settlement_by_hand_ends_a_wait() {
    for database in Database::each() {
        open(&database, &json!({}));
        let queue = Queue::open(&database.config(&[("poll.interval_ms", "3600000")]), "Job").unwrap();
        let key = put(&queue, 1);
        thread::scope(|scope| {
            let wait = scope.spawn(|| queue.wait_for(&key, DAY).unwrap());
            // By then the pauses are long.
            thread::sleep(Duration::from_millis(500));
            let batch = queue.claim(1, Duration::ZERO).unwrap();
            let item = batch.get(0).unwrap();
            let settlement = Settlement {
                attempt: item.attempt(),
                ..Settlement::control(item.key(), Some(item.token()), Action::Complete)
            };
            queue.settle(&[settlement], None).unwrap();
            assert_eq!(ended(&wait.join().unwrap()).0, ItemState::Completed);
        });
    }
}

#[test]
fn a_wait_ends_with_an_interrupt_and_a_close() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        let key = put(&queue, 1);
        let ends_with = |end: &dyn Fn(), kind: ErrorKind| {
            thread::scope(|scope| {
                let waits: Vec<_> = (0..3).map(|_| scope.spawn(|| queue.wait_for(&key, DAY).unwrap_err())).collect();
                thread::sleep(Duration::from_millis(100));
                end();
                waits.into_iter().for_each(|wait| assert_eq!(wait.join().unwrap().kind(), kind));
            });
        };
        ends_with(&|| queue.interrupt(), ErrorKind::Interrupted);
        queue.resume();
        ends_with(&|| queue.close(SOON).unwrap(), ErrorKind::Closed);
    }
}

#[test]
fn an_item_that_its_end_deletes_is_gone() {
    for database in Database::each() {
        let queue = open(&database, &json!({"completion": "delete"}));
        let key = put(&queue, 1);
        Worker::new(&queue).until_empty(true).run(|_| ()).unwrap();
        let begun = Instant::now();
        until("it is gone", || {
            assert!(begun.elapsed() < SOON);
            matches!(queue.wait_for(&key, Duration::ZERO).unwrap(), Waited::Gone)
        });
    }
}
