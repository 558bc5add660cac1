//! The speed of handlers of one item: items per second of a `Worker` with handlers that do nothing, by how many there are, by
//! fetchers, by how much is claimed ahead, and of several processes together; what Python's `Worker` gets beside it; whether
//! handlers that wait are all kept busy; and how soon a handler has an item that the same process enqueues.
//!
//! Why: most handlers are of one item. The engine is to make them as fast as batches: while one call is under way, what ends
//! gathers, and the next call settles all of it and claims as much as there is room for.
//!
//! How to read it: each figure is the median of rounds that are interleaved. "by hand" is the same number of items
//! through one thread that settles and claims 500 at a time.

mod common;

use common::{Server, median, record, verdict};
use readpast::{Action, Queue, Settlement, Worker, item::NewItem, worker::Stop};
use serde_json::Value;
use std::{
    path::Path,
    process::Command,
    sync::{
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

const ITEMS: u32 = 20_000;
const ROUNDS: usize = 5;

/// The title of the figures.
const RATES: &str = "items/s of handlers that do nothing";

/// Handlers of each process, items of a take, and settings.
struct Case {
    name: &'static str,
    processes: usize,
    handlers: u32,
    batch: u32,
    settings: &'static [(&'static str, &'static str)],
}

const CASES: [Case; 8] = [
    Case { name: "1 handler", processes: 1, handlers: 1, batch: 1, settings: &[] },
    Case { name: "10 handlers", processes: 1, handlers: 10, batch: 1, settings: &[] },
    Case { name: "10 handlers, 10 ahead", processes: 1, handlers: 10, batch: 1, settings: &[("worker.ahead", "10")] },
    Case {
        name: "10 handlers, 1 fetcher",
        processes: 1,
        handlers: 10,
        batch: 1,
        settings: &[("worker.fetchers", "1")],
    },
    Case { name: "4 processes of 10 handlers", processes: 4, handlers: 10, batch: 1, settings: &[] },
    Case { name: "100 handlers", processes: 1, handlers: 100, batch: 1, settings: &[] },
    Case {
        name: "100 handlers, 1 fetcher",
        processes: 1,
        handlers: 100,
        batch: 1,
        settings: &[("worker.fetchers", "1")],
    },
    Case { name: "4 handlers of 100", processes: 1, handlers: 4, batch: 100, settings: &[] },
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
                let queues = open(server, case);
                figures.push(filled(server, items, || work(&queues, case, items)));
            }
        }
        println!("  {:<40}{:>12}", "items/s", "");
        let name = "by hand, 500 at a time, one thread";
        record::rounds(RATES, name, &by_hand);
        println!("  {name:<40}{:>12.0}", median(by_hand));
        for (case, figures) in CASES.iter().zip(figures) {
            record::rounds(RATES, case.name, &figures);
            println!("  {:<40}{:>12.0}", case.name, median(figures));
        }
        python(server, items);
        waiting(server);
        pick_up(server);
    });
}

/// Python's `Worker` with 10 handlers of one item against Rust's: the median of the ratios of neighbouring rounds.
fn python(server: &Server, items: u32) {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("bindings/python/build/drain");
    if !program.exists() {
        return;
    }
    let case = &CASES[1];
    let rounds: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let ours = filled(server, items, || work(&open(server, case), case, items));
            let mut theirs = 0.0;
            filled(server, items, || {
                let done = Command::new(&program)
                    .args(["-w", "10", "Bench", &items.to_string()])
                    .env("READPAST_CONNECTION", server.scratch())
                    .output()
                    .unwrap();
                assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
                let told: Value = serde_json::from_slice(&done.stdout).expect("a line of JSON");
                theirs = f64::from(items) / told["seconds"].as_f64().expect("seconds");
            });
            (theirs, theirs / ours)
        })
        .collect();
    let (rate, ratio) =
        (median(rounds.iter().map(|round| round.0).collect()), median(rounds.iter().map(|round| round.1).collect()));
    println!("  {:<40}{rate:>12.0}", "Python, 10 handlers");
    verdict("Python's Worker against Rust's, 10 handlers", &format!("{ratio:.2} x"), ">= 0.6 x", ratio >= 0.6);
}

/// From the end of an enqueue to the begin of the handler, of a worker that has nothing else to do.
fn pick_up(server: &Server) {
    const TIMES: usize = 200;
    server.empty("Bench");
    let queue = server.open("Bench", &[]);
    let worker = Worker::new(&queue).threads(10);
    let stop = worker.stop_handle();
    let (tell, told) = mpsc::channel();
    let waits = thread::scope(|scope| {
        scope.spawn(|| worker.run(|_| tell.send(Instant::now()).unwrap()).unwrap());
        let waits = (0..TIMES).map(|_| {
            // It has settled the one before, and sleeps.
            thread::sleep(Duration::from_millis(15));
            queue.enqueue(&[NewItem::default()], None).unwrap();
            let enqueued = Instant::now();
            told.recv().unwrap().saturating_duration_since(enqueued).as_secs_f64() * 1e3
        });
        let waits: Vec<_> = waits.collect();
        stop.stop();
        waits
    });
    let (longest, middle) = (waits.iter().copied().fold(0.0, f64::max), median(waits));
    let what = format!("pick-up by a handler, median (longest {longest:.1} ms)");
    verdict(&what, &format!("{middle:.2} ms"), "<= 1 ms", middle <= 1.0);
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

/// The queue, once for each process.
fn open(server: &Server, case: &Case) -> Vec<Queue> {
    server.open_by_processes("Bench", case.processes, case.settings)
}

/// To the end of the last settle.
fn work(queues: &[Queue], case: &Case, items: u32) {
    let workers: Vec<_> =
        queues.iter().map(|queue| Worker::new(queue).threads(case.handlers).batch_size(case.batch)).collect();
    let stops: Vec<_> = workers.iter().map(Worker::stop_handle).collect();
    let done = AtomicU64::new(0);
    let handle = || {
        if done.fetch_add(1, Ordering::Relaxed) + 1 == u64::from(items) {
            stops.iter().for_each(Stop::stop);
        }
    };
    thread::scope(|scope| {
        for worker in &workers {
            scope.spawn(|| worker.run(|_| handle()).unwrap());
        }
    });
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
