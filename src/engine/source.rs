//! A worker's part in the figures of its process.

use super::shared::EngineShared;
use crate::metrics::{Reading, Source};

/// The figures add up all workers of the process. Their queue counts claims and settles.
impl Source for EngineShared {
    fn read(&self) -> Reading {
        let state = self.state.lock();
        let counts = state.in_flight.counts_by_work();
        let mut reading = Reading::default();
        (reading.now.workers, reading.now.fetchers) = (1, state.fetchers.running as u64);
        (reading.now.ready, reading.now.begun) = (counts.ready as u64, counts.begun as u64);
        reading.now.ended = counts.ended as u64;
        (reading.so_far.refused, reading.so_far.troubles) = (state.tallies.refused, state.tallies.troubles);
        reading
    }
}
