//! What handlers of one item get: items per second of a `Worker` with handlers that do nothing, by how many there are, by
//! lanes and by how much is claimed ahead; and whether handlers that wait are all kept busy.
//!
//! Why: most handlers are of one item. The engine is to make them as fast as batches: while one call is under way, what ends
//! gathers, and the next call settles all of it and claims as much as there is room for.
//!
//! How to read it: each figure is the median of rounds that are interleaved. "drain" is the same number of items through
//! one thread that settles and claims 500 at a time by hand.

mod common;

use common::{Server, median, verdict};
use readpast::{Action, Queue, Settlement, Worker};
use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

const ITEMS: u32 = 20_000;
const ROUNDS: usize = 5;

/// Handlers, items of a take, and settings.
struct Case {
    name: &'static str,
    handlers: u32,
    batch: u32,
    settings: &'static [(&'static str, &'static str)],
}

const CASES: [Case; 7] = [
    Case { name: "1 handler", handlers: 1, batch: 1, settings: &[] },
    Case { name: "10 handlers", handlers: 10, batch: 1, settings: &[] },
    Case { name: "10 handlers, 10 ahead", handlers: 10, batch: 1, settings: &[("worker.ahead", "10")] },
    Case { name: "10 handlers, 2 lanes", handlers: 10, batch: 1, settings: &[("worker.lanes", "2")] },
    Case { name: "100 handlers", handlers: 100, batch: 1, settings: &[] },
    Case { name: "100 handlers, 2 lanes", handlers: 100, batch: 1, settings: &[("worker.lanes", "2")] },
    Case { name: "4 handlers of 100, 2 lanes", handlers: 4, batch: 100, settings: &[("worker.lanes", "2")] },
];

fn main() {
    Server::each("handlers", |server| {
        server.install("Bench");
        let items = server.scaled(ITEMS);
        let mut by_hand = Vec::new();
        let mut figures = vec![Vec::new(); CASES.len()];
        for _ in 0..ROUNDS {
            by_hand.push(filled(server, items, || drain(&server.open("Bench", &[]))));
            for (case, figures) in CASES.iter().zip(&mut figures) {
                let queue = server.open("Bench", case.settings);
                figures.push(filled(server, items, || work(&queue, case, items)));
            }
        }
        println!("  {:<40}{:>12}", "items/s", "");
        println!("  {:<40}{:>12.0}", "drain, 500 at a time by hand", median(by_hand));
        for (case, figures) in CASES.iter().zip(figures) {
            println!("  {:<40}{:>12.0}", case.name, median(figures));
        }
        waiting(server);
    });
}

/// Items per second of `work` on a queue with that many items.
fn filled(server: &Server, items: u32, work: impl FnOnce()) -> f64 {
    server.empty("Bench");
    server.fill("Bench", "Pending", 2001, items);
    server.settle_down("Bench");
    let begun = Instant::now();
    work();
    f64::from(items) / begun.elapsed().as_secs_f64()
}

fn drain(queue: &Queue) {
    let mut batch = queue.claim(500, Duration::ZERO).unwrap();
    while !batch.is_empty() {
        let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        batch = queue.settle_and_claim(&done, None, 500).unwrap().1;
    }
}

/// To the end of the last settle.
fn work(queue: &Queue, case: &Case, items: u32) {
    let worker = Worker::new(queue).threads(case.handlers).batch_size(case.batch);
    let stop = worker.stop_handle();
    let done = AtomicU64::new(0);
    worker
        .run(|_| {
            if done.fetch_add(1, Ordering::Relaxed) + 1 == u64::from(items) {
                stop.stop();
            }
        })
        .unwrap();
}

/// 64 handlers that wait 100 ms each, on two connections: how many are at work at a time.
fn waiting(server: &Server) {
    const HANDLERS: u32 = 64;
    server.empty("Bench");
    server.fill("Bench", "Pending", 2001, 4000);
    let queue = server.open("Bench", &[("pool.size", "2")]);
    let worker = Worker::new(&queue).threads(HANDLERS);
    let stop = worker.stop_handle();
    let (handled, at_work) = (AtomicU64::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            worker
                .run(|_| {
                    at_work.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(100));
                    at_work.fetch_sub(1, Ordering::Relaxed);
                    handled.fetch_add(1, Ordering::Relaxed);
                })
                .unwrap();
        });
        // Once it has found its pace.
        thread::sleep(Duration::from_millis(700));
        let (before, begun) = (handled.load(Ordering::Relaxed), Instant::now());
        thread::sleep(Duration::from_secs(2));
        let rate = (handled.load(Ordering::Relaxed) - before) as f64 / begun.elapsed().as_secs_f64();
        stop.stop();
        let busy = rate * 0.1 / f64::from(HANDLERS);
        verdict("64 handlers of 100 ms each, busy", &format!("{:.0} %", 100.0 * busy), ">= 90 %", busy >= 0.9);
    });
}
