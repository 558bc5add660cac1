//! When to stop: the first signal drains, the second ends what is under way.

use crate::failure::Result;
use crate::output::note;
use crate::signals;
use readpast::Queue;
use signal_hook::iterator::Handle;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Seen by all slots, set by signals, and by a slot that cannot go on.
pub struct Control {
    shared: Arc<Shared>,
    queue: Queue,
    signals: Handle,
}

#[derive(Default)]
struct Shared {
    draining: AtomicBool,
    terminated: AtomicU8,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Shared {
    fn drain(&self, queue: &Queue) {
        self.draining.store(true, Ordering::Relaxed);
        queue.interrupt();
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

impl Control {
    /// Listens to signals from now on, in a thread of its own.
    pub fn listen(queue: &Queue) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let (seen, called) = (Arc::clone(&shared), queue.clone());
        let signals = signals::listen(move |signal| {
            if seen.draining.load(Ordering::Relaxed) {
                note("ends the commands under way and gives their items back");
                seen.terminated.store(signal, Ordering::Relaxed);
            } else {
                note("takes no more items; the commands under way may end (a second signal ends them)");
                seen.drain(&called);
            }
        })?;
        Ok(Self { shared, queue: queue.clone(), signals })
    }

    /// Takes no more items.
    pub fn drain(&self) {
        self.shared.drain(&self.queue);
    }

    /// Whether no more items are to be taken.
    pub fn is_draining(&self) -> bool {
        self.shared.draining.load(Ordering::Relaxed)
    }

    /// The signal that ended the commands under way.
    pub fn terminated(&self) -> Option<u8> {
        Some(self.shared.terminated.load(Ordering::Relaxed)).filter(|signal| *signal > 0)
    }

    /// Sleeps, unless and until no more items are to be taken.
    pub fn pause(&self, pause: Duration) {
        let deadline = Instant::now() + pause;
        let mut lock = self.shared.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_draining() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            lock = self.shared.changed.wait_timeout(lock, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the thread that listens. Signals do nothing any more.
    pub fn end(&self) {
        self.signals.close();
    }
}
