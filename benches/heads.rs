//! The gain of several heads: sessions that settle and claim at once, on a queue that has one head and on one with `shards = 8`.
//!
//! Why: all claims of a queue begin at the same end of one index. On SQL Server its page is what 8 sessions and more wait for
//! (docs/scale.md); whether that is so elsewhere is measured here.
//!
//! How to read it: the two queues take turns in one run, and each round is a pair; a figure is the median, and the ratio is the
//! median of the pairs' ratios, with the least and the most of them.

mod common;

use common::{Server, median, record};
use readpast::item::{Action, Settlement};
use readpast::queue::Queue;
use readpast::{QueueSpec, install};
use std::thread;
use std::time::{Duration, Instant};

const SHARDS: i32 = 8;
const ROUNDS: usize = 7;

fn main() {
    Server::each("heads", |server| {
        for (name, shards) in [("One", None), ("Eight", Some(SHARDS))] {
            let spec = QueueSpec { shards, ..common::spec(name) };
            spec.check().unwrap();
            install(&server.config(&[]), Some(&spec)).unwrap();
        }
        for (size, count) in [(1, 8_000), (100, 40_000)] {
            for sessions in [8, 16, 32] {
                let count = server.scaled(count);
                let rounds: Vec<_> = (0..ROUNDS).map(|round| pair(server, round, sessions, size, count)).collect();
                let rate = |at: fn(&(f64, f64)) -> f64| {
                    median(rounds.iter().map(|pair| f64::from(count) / at(pair)).collect())
                };
                let mut ratios: Vec<_> = rounds.iter().map(|(one, eight)| one / eight).collect();
                let name = format!("{sessions} sessions, {size} a call, {SHARDS} heads against one");
                record::rounds("times the items/s", &name, &ratios);
                ratios.sort_by(f64::total_cmp);
                println!(
                    "  {sessions:>2} sessions, {size:>3} a call: {:>6.0} items/s with one head, {:>6.0} with {SHARDS}: \
                     {:.2} x ({:.2} to {:.2})",
                    rate(|pair| pair.0),
                    rate(|pair| pair.1),
                    median(ratios.clone()),
                    ratios[0],
                    ratios[ROUNDS - 1]
                );
            }
        }
    });
}

/// How long each of the two takes, one after the other; which is first alternates.
fn pair(server: &Server, round: usize, sessions: usize, size: u32, count: u32) -> (f64, f64) {
    if round.is_multiple_of(2) {
        let one = drain(server, "One", sessions, size, count);
        (one, drain(server, "Eight", sessions, size, count))
    } else {
        let eight = drain(server, "Eight", sessions, size, count);
        (drain(server, "One", sessions, size, count), eight)
    }
}

fn drain(server: &Server, queue: &str, sessions: usize, size: u32, count: u32) -> f64 {
    server.empty(queue);
    server.fill(queue, "Pending", 2003, count);
    server.settle_down(queue);
    let settings = [("recover.interval_ms", "3600000")];
    let queues: Vec<_> = (0..sessions).map(|_| server.open(queue, &settings)).collect();
    let begun = Instant::now();
    let done: usize = thread::scope(|scope| {
        let threads: Vec<_> = queues.iter().map(|queue| scope.spawn(|| work(queue, size))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let took = begun.elapsed().as_secs_f64();
    assert_eq!(done, count as usize);
    took
}

fn work(queue: &Queue, size: u32) -> usize {
    let mut done = 0;
    let mut batch = queue.claim(size, Duration::ZERO).unwrap();
    while !batch.is_empty() {
        let ends: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        done += ends.len();
        batch = queue.settle_and_claim(&ends, None, size).unwrap().1;
    }
    done
}
