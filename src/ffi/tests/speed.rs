//! What a call costs that needs no server: no system call, no allocation, under 100 ns.

use super::*;
use std::hint::black_box;
use std::time::Instant;

#[test]
#[ignore = "a measurement: cargo test --release --lib ffi::tests::speed -- --ignored --nocapture"]
fn a_count_takes_less_than_100_ns() {
    const ROUNDS: u32 = 2_000_000;

    let batch = sample_batch();
    let mut best = f64::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        for _ in 0..ROUNDS {
            assert_eq!(black_box(readpast_batch_count(black_box(batch))), 2);
        }
        best = best.min(begun.elapsed().as_nanos() as f64 / f64::from(ROUNDS));
    }
    println!("readpast_batch_count: {best:.1} ns");
    readpast_batch_free(batch);
    assert!(best < 100.0, "{best} ns");
}
