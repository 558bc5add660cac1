//! The state of one queue in a process, for all its handles.

use super::cleaner::Cleaner;
use super::ends::Ends;
use super::minute_turns::MinuteTurns;
use super::poll_coordinator::PollCoordinator;
use super::schedule_turns::ScheduleTurns;
use crate::sync::{Mutex, PerProcess};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

#[derive(Default)]
pub(crate) struct OfQueue {
    pub(crate) polls: PollCoordinator,
    pub(crate) cleaner: Cleaner,
    pub(crate) schedules: ScheduleTurns,
    pub(crate) ends: Ends,
    workers: AtomicUsize,
    /// The turns to keep the figures of a minute.
    pub(crate) minutes: MinuteTurns,
    /// Workers that have recovered their own items of an earlier life. A worker holds the lock while it does so.
    pub(crate) resumed: Mutex<HashSet<String>>,
}

type Registry = Mutex<HashMap<(String, String, String), Weak<OfQueue>>>;

impl OfQueue {
    /// How many workers run; 1 where the last one is about to end.
    pub(crate) fn workers(&self) -> usize {
        self.workers.load(Ordering::Relaxed).max(1)
    }

    /// The state of one queue in one schema of one database, as named by the connection string.
    // bindings/c/valgrind.supp knows the list, which lives as long as the process, by this name.
    #[inline(never)]
    pub(crate) fn of(connection: &str, schema: &str, queue: &str) -> Arc<Self> {
        static REGISTRY: PerProcess<Registry> = PerProcess::new();

        let key = (connection.to_owned(), schema.to_owned(), queue.to_owned());
        let mut registry = REGISTRY.get().lock();
        if let Some(known) = registry.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        registry.retain(|_, known| known.strong_count() > 0);
        let new = Arc::new(Self::default());
        registry.insert(key, Arc::downgrade(&new));
        new
    }
}

/// A worker that runs, as long as this lives.
pub(crate) struct RunningWorker(Arc<OfQueue>);

impl RunningWorker {
    pub(crate) fn new(of: &Arc<OfQueue>) -> Self {
        of.workers.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(of))
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.0.workers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_one_queue_share_its_state() {
        let a = OfQueue::of("c", "s", "q");
        assert!(Arc::ptr_eq(&a, &OfQueue::of("c", "s", "q")));
        assert!(!Arc::ptr_eq(&a, &OfQueue::of("c", "s", "r")));
    }

    #[test]
    fn workers_are_counted_while_they_run() {
        let of = OfQueue::of("workers", "s", "q");
        let (first, second) = (RunningWorker::new(&of), RunningWorker::new(&of));
        assert_eq!(of.workers(), 2);
        drop(first);
        assert_eq!(of.workers(), 1);
        drop(second);
        assert_eq!(of.workers(), 1, "the next one counts itself");
    }
}
