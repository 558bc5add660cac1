//! How a worker is told to end.

use crate::queue::Queue;
use parking_lot::{Condvar, Mutex};
use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

/// Stops a [`Worker`](super::Worker). Clones stop the same one; any thread may.
#[derive(Clone)]
pub struct Stop(Arc<Inner>);

struct Inner {
    /// The worker's own handle, whose claims are called off.
    queue: Queue,
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub(super) fn new(queue: &Queue) -> Self {
        Self(Arc::new(Inner { queue: queue.clone(), stopped: Mutex::new(false), changed: Condvar::new() }))
    }

    /// Lets the worker end in order: handlers that have begun are waited for and their items settled, the rest is given back
    /// without costing an attempt, and no more is claimed. Returns at once; [`Worker::run`](super::Worker::run) returns when
    /// all is done. Takes a lock for a moment, so it is not for the inside of a signal handler: use a thread that waits for
    /// signals, as the crates `signal-hook` and `ctrlc` do.
    pub fn stop(&self) {
        *self.0.stopped.lock() = true;
        self.0.changed.notify_all();
        self.0.queue.interrupt();
    }

    /// Whether it was stopped, by this handle, another one, or a failure.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.0.stopped.lock()
    }

    /// Sleeps for `pause`, unless and until it is stopped.
    pub(super) fn pause(&self, pause: Duration) {
        let deadline = Instant::now() + pause;
        let mut stopped = self.0.stopped.lock();
        while !*stopped && !self.0.changed.wait_until(&mut stopped, deadline).timed_out() {}
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("is_stopped", &self.is_stopped()).finish_non_exhaustive()
    }
}
