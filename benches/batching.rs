//! The gain of batching: items per second for calls of 1, 10, 100 and 500 items, by 1 and by 4 workers, once with a claim
//! and a settle (two round trips, two commits) and once with settle-and-claim (one of each).
//!
//! Why: a call costs a commit and a round trip however many items it moves. The library's claim is that a worker that
//! takes 100 at a time moves at least 8 times as many items as one that takes them one by one.
//!
//! How to read it: every figure is the median of rounds that are interleaved, so that what else the machine does hits all
//! alike. The workers are threads of one process with a connection each; the handlers do nothing.

mod common;

use common::{Server, median, record, verdict};
use readpast::{
    item::{Action, Settlement},
    queue::Queue,
};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

const SIZES: [u32; 4] = [1, 10, 100, 500];
const WORKERS: [usize; 2] = [1, 4];
const ROUNDS: usize = 5;
const SLICE: Duration = Duration::from_millis(400);

#[derive(Clone, Copy, PartialEq)]
enum Way {
    ClaimThenSettle,
    SettleAndClaim,
}

fn main() {
    Server::each("batching", |server| {
        server.install("Bench");
        let queue = server.open("Bench", &[]);
        let cases: Vec<_> = [Way::ClaimThenSettle, Way::SettleAndClaim]
            .into_iter()
            .flat_map(|way| WORKERS.into_iter().flat_map(move |w| SIZES.into_iter().map(move |n| (way, w, n))))
            .collect();
        let mut figures = vec![Vec::new(); cases.len()];
        for round in 0..ROUNDS {
            server.fill("Bench", "Pending", 2000 + round as u32, server.scaled(150_000));
            server.settle_down("Bench");
            for (case, figures) in cases.iter().zip(&mut figures) {
                figures.push(measure(&queue, *case));
            }
        }
        for ((way, workers, size), figures) in cases.iter().zip(&figures) {
            let name = if *way == Way::ClaimThenSettle { "claim, then settle" } else { "settle and claim in one call" };
            let name = format!("{name}, {size} a call, {workers} session{}", if *workers > 1 { "s" } else { "" });
            record::rounds("items/s, by hand", &name, figures);
            if *workers == 1 {
                let costs: Vec<_> = figures.iter().map(|rate| 1e6 / rate).collect();
                record::rounds("microseconds an item, one session", &name, &costs);
            }
        }
        let figures: Vec<_> = figures.into_iter().map(median).collect();

        println!("  {:<34}{:>12}{:>12}{:>12}{:>12}", "items/s, by items a call", 1, 10, 100, 500);
        for (row, cases) in cases.chunks(SIZES.len()).enumerate() {
            let (way, workers, _) = cases[0];
            let name = if way == Way::ClaimThenSettle { "claim, settle" } else { "settle-and-claim" };
            let cells = &figures[row * SIZES.len()..][..SIZES.len()];
            let cells: String = cells.iter().map(|figure| format!("{figure:>12.0}")).collect();
            println!("  {:<34}{cells}", format!("{name}, {workers} worker{}", if workers > 1 { "s" } else { "" }));
        }
        let ratio = figures[2] / figures[0];
        verdict("claim, settle: 100 a call against 1", &format!("{ratio:.1} x"), ">= 8 x", ratio >= 8.0);
    });
}

/// Items per second.
fn measure(queue: &Queue, (way, workers, size): (Way, usize, u32)) -> f64 {
    let begun = Instant::now();
    let items = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                items.fetch_add(work(queue, way, size, begun + SLICE), Ordering::Relaxed);
            });
        }
    });
    items.into_inner() as f64 / begun.elapsed().as_secs_f64()
}

fn work(queue: &Queue, way: Way, size: u32, until: Instant) -> u64 {
    let mut done = 0;
    let mut batch = queue.claim(size, Duration::ZERO).unwrap();
    while !batch.is_empty() {
        let settlements: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        done += settlements.len() as u64;
        if way == Way::ClaimThenSettle || Instant::now() >= until {
            queue.settle(&settlements, None).unwrap();
            if Instant::now() >= until {
                return done;
            }
            batch = queue.claim(size, Duration::ZERO).unwrap();
        } else {
            batch = queue.settle_and_claim(&settlements, None, size).unwrap().1;
        }
    }
    panic!("there were too few items");
}
