//! A worker process: threads that claim, handle and settle until they have to stop, or are killed.

use readpast::item::{Action, Settlement};
use serde_json::{Value, json};
use std::{
    panic,
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};
use support::api::{Api, Layer, Taken};
use support::dice::Dice;
use support::fixture::{Given, Settings};
use support::ledger::Ledger;

/// The environment variable that makes this program a worker, and says what to do.
pub const ORDER: &str = "READPAST_CONTENTION_WORKER";

/// Worker threads of a process. They share a queue handle, and with it the worker's name.
pub const THREADS: usize = 2;

/// The most items of a claim.
pub const MAX_BATCH: u64 = 50;

/// The handlers of these items never succeed.
pub fn is_doomed(payload: u64) -> bool {
    payload.is_multiple_of(97)
}

/// The orders of a process.
pub struct Order {
    pub layer: Layer,
    pub queue: String,
    pub settings: Vec<(String, String)>,
    pub ledger: PathBuf,
    /// When there is a file of this name, it is over.
    pub over: PathBuf,
    pub seed: u64,
    /// Whether the first thread is to stop the process once, with items in hand.
    pub pauses: bool,
}

impl Order {
    pub fn new(given: &Given, folder: &Path, name: &str, seed: u64, pauses: bool) -> Self {
        // A short lease, so that what the killed held comes back soon.
        let settings = given.settings(&[
            ("worker", name),
            ("lease.ms", "1500"),
            ("recover.interval_ms", "200"),
            ("pool.size", "2"),
        ]);
        Self {
            layer: given.layer,
            queue: given.queue.clone(),
            settings: settings.pairs().to_vec(),
            ledger: folder.join(format!("{name}.ledger")),
            over: folder.join("over"),
            seed,
            pauses,
        }
    }

    pub fn to_json(&self) -> String {
        json!({
            "c": self.layer == Layer::C, "queue": self.queue, "settings": self.settings, "ledger": self.ledger,
            "over": self.over, "seed": self.seed, "pauses": self.pauses,
        })
        .to_string()
    }

    fn from_json(text: &str) -> Self {
        let order: Value = serde_json::from_str(text).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let settings = order["settings"].as_array().unwrap();
        Self {
            layer: if order["c"] == true { Layer::C } else { Layer::Rust },
            queue: text(&order["queue"]),
            settings: settings.iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
            ledger: text(&order["ledger"]).into(),
            over: text(&order["over"]).into(),
            seed: order["seed"].as_u64().unwrap(),
            pauses: order["pauses"] == true,
        }
    }
}

/// The whole life of a worker process.
pub fn run(order: &str) {
    // One thread's panic is the end of the process, which its parent notices.
    let show = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        show(info);
        process::exit(101);
    }));
    let order = Order::from_json(order);
    let queue = order.layer.open(&Settings::from(order.settings.clone()), &order.queue).unwrap();
    let ledger = Ledger::open(&order.ledger);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (order, queue, ledger) = (&order, queue.as_ref(), &ledger);
            let dice = Dice::new(order.seed + number as u64);
            scope.spawn(move || Worker { order, queue, ledger, dice, pauses: order.pauses && number == 0 }.work());
        }
    });
}

struct Worker<'a> {
    order: &'a Order,
    queue: &'a dyn Api,
    ledger: &'a Ledger,
    dice: Dice,
    pauses: bool,
}

impl Worker<'_> {
    fn work(&mut self) {
        let mut held = Vec::new();
        loop {
            if held.is_empty() {
                if self.order.over.exists() {
                    return;
                }
                held = self.queue.claim(self.batch(), Duration::from_millis(200)).unwrap();
                self.ledger.claimed(&held);
                continue;
            }
            if self.pauses {
                self.pauses = false;
                self.ledger.pausing(&held);
                crate::herd::pause_this_process();
            }
            if self.dice.one_in(10) {
                let leases: Vec<_> = held.iter().map(Taken::lease).collect();
                self.queue.renew(&leases).unwrap();
            }
            // The work.
            thread::sleep(Duration::from_micros(self.dice.below(2000)));
            let settlements: Vec<_> = held.iter().map(|item| handle(item, &mut self.dice)).collect();
            self.ledger.asking(&settlements);
            let next = if self.dice.one_in(2) {
                let outcomes = self.queue.settle(&settlements, None).unwrap();
                self.ledger.answered(&settlements, &outcomes);
                Vec::new()
            } else {
                let (outcomes, next) = self.queue.settle_and_claim(&settlements, self.batch()).unwrap();
                self.ledger.answered(&settlements, &outcomes);
                self.ledger.claimed(&next);
                next
            };
            held = next;
        }
    }

    fn batch(&mut self) -> u32 {
        1 + self.dice.below(MAX_BATCH) as u32
    }
}

/// Handlers fail now and then: some items' always, some items' at their first attempt, all at times.
fn handle<'a>(item: &'a Taken, dice: &mut Dice) -> Settlement<'a> {
    let payload: u64 = item.column("Payload").as_str().unwrap().parse().unwrap();
    let fails = is_doomed(payload) || (payload % 5 == 1 && item.attempt == 1) || dice.one_in(50);
    if fails {
        Settlement { error: Some("it failed"), delay_ms: Some(dice.below(20) as i64), ..item.settle(Action::Retry) }
    } else {
        item.settle(Action::Complete)
    }
}
