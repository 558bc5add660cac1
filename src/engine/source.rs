//! A worker's part in the figures of its process.

use super::shared::Shared;
use crate::metrics::{Reading, Source};

/// All workers of the process are added up. What they claim and settle is counted by their queue, as all claims are.
impl Source for Shared {
    fn read(&self) -> Reading {
        let state = self.state.lock();
        let counts = state.hand.counts_by_work();
        let mut reading = Reading::default();
        (reading.now.workers, reading.now.lanes) = (1, state.lanes.running as u64);
        (reading.now.ready, reading.now.begun) = (counts.ready as u64, counts.begun as u64);
        reading.now.ended = counts.ended as u64;
        (reading.so_far.refused, reading.so_far.troubles) = (state.tallies.refused, state.tallies.troubles);
        reading
    }
}
