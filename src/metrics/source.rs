//! What is there for a while and keeps figures of its own, as pools and workers do: it is asked when somebody wants to know,
//! and when it ends, what it has counted stays.

use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

/// Something that keeps figures.
pub(crate) trait Source: Send + Sync {
    /// Its figures at this moment.
    fn read(&self) -> Reading;
}

/// Figures of a source, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) now: CurrentFigures,
    pub(crate) so_far: SoFar,
}

/// What is over when the source is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CurrentFigures {
    /// The most connections that there may be.
    pub(crate) most: u64,
    pub(crate) idle: u64,
    /// With those that are being opened.
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

/// What only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SoFar {
    pub(crate) opened: u64,
    /// How often somebody had to wait for a connection, and for how long altogether.
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

/// The sources of a queue that are there, and what those have counted that are not.
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

    /// What it has counted goes to what is gone, in one step for whoever reads: a counter never goes back.
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
