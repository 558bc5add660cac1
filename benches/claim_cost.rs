//! The cost of a claim as the table grows: claim(100) with 1,000,000 finished rows, 100,000 that wait and 10,000 in flight,
//! against the same claims on a table that holds nothing else.
//!
//! Why: finished rows stay in the table, they are the domain's records; and long jobs stay in flight. Neither may make
//! the claim dearer, nor may the backlog.
//!
//! How to read it: the claims of the two tables take turns in one run; a figure is the median time of a claim, and the
//! ratio is of the medians.

mod common;

use common::{Server, median, show, verdict};
use readpast::queue::Queue;
use std::time::{Duration, Instant};

const CLAIM: u32 = 100;
const ROUNDS: u32 = 201;

fn main() {
    Server::each("claim cost", |server| {
        for queue in ["Empty", "Full"] {
            server.install(queue);
        }
        let begun = Instant::now();
        server.fill("Full", "Completed", 2001, server.scaled(1_000_000));
        server.fill("Full", "Processing", 2002, server.scaled(10_000));
        server.fill("Full", "Pending", 2003, server.scaled(100_000));
        println!("  filled in {}", show(begun.elapsed()));
        server.fill("Empty", "Pending", 2003, CLAIM * (ROUNDS + 1));
        server.settle_down("Full");
        server.settle_down("Empty");

        // Recovery looks at what is in flight, now and then; here it would hit one of the two at random.
        let settings = [("recover.interval_ms", "3600000")];
        let (empty, full) = (server.open("Empty", &settings), server.open("Full", &settings));
        claim(&empty);
        claim(&full);
        let rounds = server.scaled(ROUNDS).max(41);
        let times: Vec<_> = (0..rounds).map(|_| (claim(&empty), claim(&full))).collect();
        let empty = median(times.iter().map(|pair| pair.0).collect());
        let full = median(times.iter().map(|pair| pair.1).collect());
        let show = |seconds| show(Duration::from_secs_f64(seconds));
        println!("  claim({CLAIM}): {} with nothing else, {} in the full table", show(empty), show(full));
        let ratio = full / empty;
        verdict("a full table against an empty one", &format!("{ratio:.2} x"), "<= 1.3 x", ratio <= 1.3);
    });
}

fn claim(queue: &Queue) -> f64 {
    let begun = Instant::now();
    let batch = queue.claim(CLAIM, Duration::ZERO).unwrap();
    let time = begun.elapsed();
    assert_eq!(batch.len(), CLAIM as usize);
    time.as_secs_f64()
}
