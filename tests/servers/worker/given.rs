//! A queue with items, and a look at what became of them.

use readpast::item::Value;
use readpast::worker::{Event, IntoVerdict, Job};
use readpast::{Filter, ItemState, Queue, QueueSpec, Worker, install};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::both::Database;
use support::limit::HOLDS;
use support::scratch::item;

/// The queue `Job`, with its one column `Payload`.
pub struct Given {
    pub queue: Queue,
    _database: Database,
}

/// The facts about an item.
#[derive(Debug)]
pub struct Found {
    pub state: ItemState,
    pub attempt: i32,
    pub step: Option<String>,
    pub response: Option<String>,
    pub error: Option<String>,
}

impl Given {
    /// One on each server at hand, with an item for each payload. However busy the machine is, no item is given back
    /// because its handler is late or its renewal.
    pub fn each(payloads: &[&str], settings: &[(&str, &str)]) -> Vec<Self> {
        let spec = QueueSpec::from_json(r#"{"queue": "Job", "backoff": {"first_ms": 10, "factor": 1, "jitter": 0}}"#);
        let spec = spec.unwrap();
        let settings = [&[HOLDS, ("lease.ms", "3600000")], settings].concat();
        Database::each()
            .into_iter()
            .map(|database| {
                let config = database.config(&settings);
                install(&config, Some(&spec)).unwrap();
                let queue = Queue::open(&config, "Job").unwrap();
                if !payloads.is_empty() {
                    queue.enqueue(&payloads.iter().map(|payload| item(payload)).collect::<Vec<_>>(), None).unwrap();
                }
                Self { queue, _database: database }
            })
            .collect()
    }

    /// The item with this payload.
    pub fn find(&self, payload: &str) -> Found {
        let all = self.queue.find(&Filter::default(), None, 1000).unwrap();
        let item = all.iter().find(|item| item.value_of("Payload") == Some(Value::Text(payload))).unwrap();
        let text = |name: &str| match item.value_of(name).unwrap() {
            // A queue of readpast's own has the empty text where no error was given.
            Value::Text(text) => Some(text.to_owned()).filter(|text| !text.is_empty()),
            Value::Null => None,
            other => panic!("{name} is {other:?}"),
        };
        Found {
            state: item.state().unwrap(),
            attempt: item.attempt(),
            step: text("Step"),
            response: text("Response"),
            error: text("Error"),
        }
    }

    /// Runs a worker until so many handlers have ended and been settled; then it has all the time that it needs.
    pub fn run_until<R: IntoVerdict>(&self, ends: usize, worker: Worker, handler: impl Fn(&Job<'_>) -> R + Sync) {
        let stop = worker.stop_handle();
        let settled = Arc::new(AtomicUsize::new(0));
        let worker = worker.settle_timeout(Duration::from_secs(600)).observe(move |event| {
            let now = match event {
                Event::Settled { settlements, .. } => {
                    settlements.iter().filter(|s| s.action != readpast::Action::Step).count()
                }
                // The worker that has it now settles it.
                Event::Lost { .. } => 1,
                _ => return,
            };
            if settled.fetch_add(now, Ordering::SeqCst) + now >= ends {
                stop.stop();
            }
        });
        worker.run(handler).unwrap();
    }
}

/// The payload of a job.
pub fn payload<'a>(job: &Job<'a>) -> &'a str {
    job.text("Payload").unwrap()
}
