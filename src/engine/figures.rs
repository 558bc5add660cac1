//! Figures of a worker.

use std::time::Duration;

/// Figures of a worker since it was made, all of one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerFigures {
    /// Items in flight that no handler has begun.
    pub ready: u64,
    /// Items that handlers have. Without [`Engine::begin`](super::Engine::begin) those that were taken.
    pub begun: u64,
    /// Items that have ended and are not settled yet.
    pub ended: u64,
    /// Items claimed so far.
    pub claimed: u64,
    /// Items settled so far with the action that was asked for.
    pub settled: u64,
    /// Items released so far, without spending an attempt.
    pub released: u64,
    /// Items lost so far.
    pub lost: u64,
    /// Items for which the library or the database refused a value of the handler's result.
    pub refused: u64,
    /// Calls answered so far that settled or claimed.
    pub calls: u64,
    /// Calls that failed with a transient error.
    pub troubles: u64,
    /// The median of how long answered calls took, in microseconds, to within a factor of 1.5.
    pub call_us_p50: u64,
    /// The same of the 99th percentile.
    pub call_us_p99: u64,
}

impl WorkerFigures {
    /// The figures of both together, and of the times of a call those of the slower one.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            ready: self.ready + other.ready,
            begun: self.begun + other.begun,
            ended: self.ended + other.ended,
            claimed: self.claimed + other.claimed,
            settled: self.settled + other.settled,
            released: self.released + other.released,
            lost: self.lost + other.lost,
            refused: self.refused + other.refused,
            calls: self.calls + other.calls,
            troubles: self.troubles + other.troubles,
            call_us_p50: self.call_us_p50.max(other.call_us_p50),
            call_us_p99: self.call_us_p99.max(other.call_us_p99),
        }
    }
}

/// A histogram of durations: two classes for each doubling, from 1 microsecond to a day.
#[derive(Debug, Clone)]
pub(super) struct Durations([u64; 80]);

impl Default for Durations {
    fn default() -> Self {
        Self([0; 80])
    }
}

impl Durations {
    pub(super) fn add(&mut self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        let doubling = us.ilog2() as usize;
        let upper_half = doubling > 0 && us >> (doubling - 1) & 1 == 1;
        let last = self.0.len() - 1;
        if let Some(count) = self.0.get_mut((2 * doubling + usize::from(upper_half)).min(last)) {
            *count += 1;
        }
    }

    /// The upper end of the class of a quantile, from 0 to 1; 0 when the histogram is empty.
    pub(super) fn quantile(&self, part: f64) -> u64 {
        let all: u64 = self.0.iter().sum();
        let wanted = (all as f64 * part).ceil().max(1.0) as u64;
        let mut passed = 0;
        for (class, count) in self.0.iter().enumerate() {
            passed += count;
            if passed >= wanted && all > 0 {
                let low = 1_u64 << (class / 2);
                return if class % 2 == 0 { low + low / 2 } else { 2 * low };
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_near_and_never_below() {
        let mut durations = Durations::default();
        assert_eq!(durations.quantile(0.5), 0);
        for us in 1..=1000 {
            durations.add(Duration::from_micros(us));
        }
        for (part, exact) in [(0.5, 500), (0.99, 990), (0.0, 1), (1.0, 1000)] {
            let read = durations.quantile(part);
            assert!(read >= exact && read <= exact * 3 / 2 + 1, "{part}: {read} for {exact}");
        }
        durations.add(Duration::ZERO);
        durations.add(Duration::MAX);
    }
}
