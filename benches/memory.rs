//! The memory of a worker: its resident memory after 100,000 and after 1,000,000 items, settled and claimed 500 at a time.
//!
//! Why: workers run for months. Whatever grows with the items they have seen is a leak, be it ours, the driver's or the
//! driver manager's.
//!
//! How to read it: megabytes of this process; the growth from the one to the other may be 2 MB, which is what allocators
//! and late initialisations take. `READPAST_BENCH_SHORT` makes it a tenth of the items.

mod common;

use common::{Server, verdict};
use readpast::item::{Action, Settlement};
use std::time::{Duration, Instant};

const BATCH: u32 = 500;
const EARLY: u32 = 100_000;
const LATE: u32 = 1_000_000;

/// How many items are put in at a time.
const PORTION: u32 = 100_000;

fn main() {
    Server::each("memory", |server| {
        server.install("Bench");
        let (early, late) = (server.scaled(EARLY), server.scaled(LATE));
        let queue = server.open("Bench", &[]);
        let begun = Instant::now();
        let (mut done, mut portions, mut at_early) = (0, 0, None);
        let mut batch = readpast::item::Batch::default();
        while done < late {
            if batch.is_empty() {
                server.fill("Bench", "Pending", 2000 + portions, PORTION.min(late));
                portions += 1;
                batch = queue.claim(BATCH, Duration::ZERO).unwrap();
            }
            // The handler of the worker's items.
            let lengths: usize = batch.iter().map(|item| item.to_json().len()).sum();
            assert!(lengths > batch.len());
            let settlements: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
            done += settlements.len() as u32;
            let (_, next) = queue.settle_and_claim(&settlements, None, BATCH).unwrap();
            batch = next;
            if done >= early && at_early.is_none() {
                at_early = Some(resident());
            }
        }
        let (first, last) = (at_early.unwrap_or_default(), resident());
        println!("  {done} items in {:.1} s", begun.elapsed().as_secs_f64());
        println!("  {first:.1} MB after {early} items, {last:.1} MB after {done}");
        let growth = last - first;
        verdict("growth", &format!("{growth:.1} MB"), "<= 2 MB", growth <= 2.0);
    });
}

/// Resident memory in megabytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}
