//! The sum of the workers' results.

use readpast::ErrorKind;
use readpast::stress::Spent;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long calls took.
#[derive(Default)]
pub struct Took(Vec<u32>);

impl Took {
    pub fn add(&mut self, time: Duration) {
        self.0.push(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    }

    /// The number of calls.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The smallest time in microseconds that so many of a hundred do not exceed.
    pub fn percentile(&mut self, percent: usize) -> Option<u32> {
        let place = (self.0.len() * percent).div_ceil(100).checked_sub(1)?;
        Some(*self.0.select_nth_unstable(place).1)
    }
}

/// The results of one worker, or of all.
#[derive(Default)]
pub struct Tally {
    pub claims: Took,
    pub settles: Took,
    pub spent: Spent,
    /// By the item's key: how often a worker completed it.
    pub done: HashMap<String, u32>,
    /// By the item's key: how often it was claimed.
    pub claimed: HashMap<String, u32>,
    /// Items whose worker died with them.
    pub dropped: u64,
    /// Refused settlements, whose item had another holder by then.
    pub refused: u64,
    /// Settlements of unknown outcome.
    pub unknown: u64,
    /// Calls that failed after retries: their number, and the first one's message.
    pub failed: BTreeMap<String, (u64, String)>,
}

impl Tally {
    pub fn fails(&mut self, error: &readpast::Error, items: usize) {
        if error.kind() == ErrorKind::OutcomeUnknown {
            self.unknown += items as u64;
        }
        self.failed.entry(format!("{:?}", error.kind())).or_insert_with(|| (0, error.to_string())).0 += 1;
    }

    /// Counts a call that took so long, whatever came of it.
    pub fn called(&mut self, time: Duration) {
        self.spent.calls += time;
        self.spent.count += 1;
    }

    /// How many items were completed more than once.
    pub fn twice(&self) -> usize {
        self.done.values().filter(|times| **times > 1).count()
    }

    /// Claims of items that another worker had before.
    pub fn again(&self) -> u64 {
        self.claimed.values().map(|times| u64::from(times.saturating_sub(1))).sum()
    }

    fn take_in(&mut self, other: Self) {
        self.claims.0.extend(other.claims.0);
        self.settles.0.extend(other.settles.0);
        self.spent.total += other.spent.total;
        self.spent.calls += other.spent.calls;
        self.spent.count += other.spent.count;
        self.spent.handlers += other.spent.handlers;
        self.spent.idle += other.spent.idle;
        for (key, times) in other.done {
            *self.done.entry(key).or_default() += times;
        }
        for (key, times) in other.claimed {
            *self.claimed.entry(key).or_default() += times;
        }
        self.dropped += other.dropped;
        self.refused += other.refused;
        self.unknown += other.unknown;
        for (kind, (count, text)) in other.failed {
            self.failed.entry(kind).or_insert((0, text)).0 += count;
        }
    }
}

/// The sum over all workers.
#[derive(Default)]
pub struct Board(Mutex<Tally>);

impl Board {
    /// Adds the results of a worker.
    pub fn take_in(&self, tally: Tally) {
        self.lock().take_in(tally);
    }

    pub fn into_tally(self) -> Tally {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_taken() {
        let mut took = Took::default();
        assert_eq!(took.percentile(50), None);
        (1..=200).rev().for_each(|ms| took.add(Duration::from_millis(ms)));
        assert_eq!((took.percentile(50), took.percentile(99)), (Some(100_000), Some(198_000)));
        let mut one = Took::default();
        one.add(Duration::from_micros(7));
        assert_eq!((one.percentile(1), one.percentile(99)), (Some(7), Some(7)));
    }

    #[test]
    fn items_that_two_workers_complete_count_as_done_twice() {
        let board = Board::default();
        for key in ["a", "b", "a"] {
            board.take_in(Tally { done: HashMap::from([(key.to_owned(), 1)]), ..Tally::default() });
        }
        let tally = board.into_tally();
        assert_eq!((tally.done.len(), tally.twice()), (2, 1));
    }
}
