//! Sources of figures that live for a while, as pools and workers do. A reader asks them; their counts outlast them.

use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

/// A source of figures.
pub(crate) trait Source: Send + Sync {
    /// Its figures at this moment.
    fn read(&self) -> Reading;
}

/// Figures of a source, or the sum of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) now: CurrentFigures,
    pub(crate) so_far: SoFar,
}

/// Figures that end with their source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CurrentFigures {
    /// The limit of connections.
    pub(crate) most: u64,
    pub(crate) idle: u64,
    /// In use or being opened.
    pub(crate) in_use: u64,
    /// Threads that wait for a connection.
    pub(crate) waiting: u64,
    /// Calls that were given up and have not returned.
    pub(crate) hanging: u64,
    pub(crate) workers: u64,
    pub(crate) fetchers: u64,
    pub(crate) ready: u64,
    pub(crate) begun: u64,
    pub(crate) ended: u64,
}

/// Figures that only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SoFar {
    pub(crate) opened: u64,
    /// How often a thread had to wait for a connection, and for how long altogether.
    pub(crate) waits: u64,
    pub(crate) waited: Duration,
    pub(crate) given_up: u64,
    pub(crate) refused: u64,
    pub(crate) troubles: u64,
}

impl AddAssign for Reading {
    fn add_assign(&mut self, other: Self) {
        let (now, more) = (&mut self.now, other.now);
        now.most += more.most;
        now.idle += more.idle;
        now.in_use += more.in_use;
        now.waiting += more.waiting;
        now.hanging += more.hanging;
        now.workers += more.workers;
        now.fetchers += more.fetchers;
        now.ready += more.ready;
        now.begun += more.begun;
        now.ended += more.ended;
        self.so_far += other.so_far;
    }
}

impl AddAssign for SoFar {
    fn add_assign(&mut self, more: Self) {
        self.opened += more.opened;
        self.waits += more.waits;
        self.waited += more.waited;
        self.given_up += more.given_up;
        self.refused += more.refused;
        self.troubles += more.troubles;
    }
}

/// The living sources of a queue, and the counts of those that have ended.
#[derive(Default)]
pub(super) struct Sources {
    here: Vec<(u64, Arc<dyn Source>)>,
    gone: SoFar,
    next: u64,
}

impl Sources {
    pub(super) fn add(&mut self, source: Arc<dyn Source>) -> u64 {
        self.next += 1;
        self.here.push((self.next, source));
        self.next
    }

    /// Moves its counts to those of ended sources, in one step for readers: a counter never goes back.
    pub(super) fn remove(&mut self, number: u64) -> Option<Arc<dyn Source>> {
        let place = self.here.iter().position(|(other, _)| *other == number)?;
        let (_, source) = self.here.swap_remove(place);
        self.gone += source.read().so_far;
        Some(source)
    }

    pub(super) fn read(&self) -> Reading {
        let mut all = Reading { so_far: self.gone, ..Reading::default() };
        self.here.iter().for_each(|(_, source)| all += source.read());
        all
    }
}
