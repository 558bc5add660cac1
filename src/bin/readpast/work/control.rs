//! When to stop: the first signal drains, the second ends what is under way.

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::note;
use crate::signals::{SIGHUP, SIGINT, SIGTERM};
use readpast::Queue;
use signal_hook::iterator::{Handle, Signals};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Seen by all slots, set by signals, and by a slot that cannot go on.
#[derive(Clone)]
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

impl Control {
    /// Listens to signals from now on, in a thread of its own.
    pub fn listen(queue: &Queue) -> Result<Self> {
        let cannot = |error: std::io::Error| {
            Failure::Partly(format!("signals cannot be listened to: {error}"), Exit::Unavailable)
        };
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(cannot)?;
        let control = Self { shared: Arc::new(Shared::default()), queue: queue.clone(), signals: signals.handle() };
        let seen = control.clone();
        let listen = move || {
            for signal in signals.forever() {
                if seen.is_draining() {
                    note("ends the commands under way and gives their items back");
                    seen.shared.terminated.store(u8::try_from(signal).unwrap_or(1), Ordering::Relaxed);
                } else {
                    note("takes no more items; the commands under way may end (a second signal ends them)");
                    seen.drain();
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(listen).map_err(cannot)?;
        Ok(control)
    }

    /// Takes no more items.
    pub fn drain(&self) {
        self.shared.draining.store(true, Ordering::Relaxed);
        self.queue.interrupt();
        drop(self.shared.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.changed.notify_all();
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
