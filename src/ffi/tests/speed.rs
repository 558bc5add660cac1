//! What a call costs that needs no server: no system call, no allocation, under 100 ns.

use super::*;
use std::hint::black_box;
use std::ptr;
use std::time::Instant;

#[test]
#[ignore = "a measurement: cargo test --release --lib ffi::tests::speed -- --ignored --nocapture"]
fn calls_that_need_no_server_take_less_than_100_ns() {
    let batch = sample_batch();
    let count = best_of_five(|| {
        black_box(readpast_batch_count(black_box(batch)));
    });
    let mut value = batch::empty_value();
    let value = best_of_five(|| {
        // SAFETY: the place can be written.
        let status = unsafe { readpast_batch_value(black_box(batch), 0, 4, &mut value, ptr::null_mut()) };
        assert_eq!(black_box(status), READPAST_OK);
    });
    readpast_batch_free(batch);
    println!("readpast_batch_count: {count:.1} ns, readpast_batch_value: {value:.1} ns");
    assert!(count < 100.0 && value < 100.0);
}

fn best_of_five(mut call: impl FnMut()) -> f64 {
    const ROUNDS: u32 = 1_000_000;

    let round = |_| {
        let begun = Instant::now();
        (0..ROUNDS).for_each(|_| call());
        begun.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
    };
    (0..5).map(round).fold(f64::MAX, f64::min)
}
