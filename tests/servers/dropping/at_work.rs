//! Workers that are at work while somebody drops their queue.

use super::installed;
use readpast::install::drop_queue;
use readpast::item::NewItem;
use readpast::queue::Queue;
use readpast::{Action, ErrorKind, Settlement};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::both::Database;

/// Claims, and settles with the next claim where there is a group: such calls take the turn before and after the table.
fn work(queue: &Queue, done: &AtomicUsize) -> readpast::Error {
    loop {
        let round = || -> readpast::Result<()> {
            let batch = queue.claim(5, Duration::ZERO)?;
            if batch.is_empty() {
                queue.enqueue(&vec![NewItem::default(); 20], None)?;
            }
            let settled: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
            queue.settle_and_claim(&settled, None, 5)?;
            Ok(())
        };
        if let Err(error) = round() {
            return error;
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn workers_report_that_their_queue_was_dropped() {
    for database in Database::each() {
        for order in ["", r#", "order": {"group": "Customer"}"#] {
            let columns = r#""columns": [{"name": "Customer", "type": "text(9)"}]"#;
            installed(&database, &format!(r#"{{"queue": "Job", {columns}{order}}}"#));
            let done = AtomicUsize::new(0);
            thread::scope(|scope| {
                let workers: Vec<_> = (0..3)
                    .map(|_| {
                        let queue = Queue::open(&database.config(&[]), "Job").unwrap();
                        let done = &done;
                        scope.spawn(move || work(&queue, done))
                    })
                    .collect();
                let limit = Instant::now() + Duration::from_secs(600);
                while done.load(Ordering::Relaxed) < 20 {
                    assert!(Instant::now() < limit, "the workers should be at work");
                    thread::sleep(Duration::from_millis(5));
                }
                drop_queue(&database.config(&[]), "Job").unwrap();
                for worker in workers {
                    let error = worker.join().unwrap();
                    assert_eq!(error.kind(), ErrorKind::UnknownQueue, "{error}");
                    assert!(error.to_string().contains("the queue \"Job\" was dropped"), "{error}");
                }
            });
        }
    }
}
