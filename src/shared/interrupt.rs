//! Calls off the waits and pauses of a handle.

use crate::calls::YieldsTo;
use crate::sync::{Condvar, Mutex};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// A handle's waits end by its own interrupt, by that of the handle it was shared from, or by the close of the queue, which ends
/// those of all handles.
#[derive(Default)]
pub(crate) struct Interrupt {
    interrupted: Arc<AtomicBool>,
    above: Vec<Arc<AtomicBool>>,
    end: Arc<ClosedFlag>,
}

#[derive(Default)]
struct ClosedFlag {
    /// Interrupts hold it too, so that no thread falls asleep between its look and the interrupt.
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Interrupt {
    /// The interrupt of a handle that is shared from this one.
    pub(crate) fn share(&self) -> Self {
        let above = self.above.iter().chain([&self.interrupted]).cloned().collect();
        Self { interrupted: Arc::default(), above, end: Arc::clone(&self.end) }
    }

    pub(crate) fn set(&self, interrupted: bool) {
        let _news = self.end.closed.lock();
        self.interrupted.store(interrupted, Ordering::Relaxed);
        self.end.changed.notify_all();
    }

    pub(crate) fn is_set(&self) -> bool {
        let _settled = self.end.closed.lock();
        self.reached()
    }

    /// The caller holds the lock.
    fn reached(&self) -> bool {
        self.above.iter().chain([&self.interrupted]).any(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn close(&self) {
        *self.end.closed.lock() = true;
        self.end.changed.notify_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        *self.end.closed.lock()
    }

    /// Waits for `pause`, less when the handle is called off; returns whether it is.
    pub(crate) fn wait(&self, pause: Duration, yields_to: YieldsTo) -> bool {
        let deadline = Instant::now() + pause;
        let mut closed = self.end.closed.lock();
        loop {
            let interrupted = yields_to == YieldsTo::Interrupts && self.reached();
            if *closed || interrupted {
                return true;
            }
            if self.end.changed.wait_until(&mut closed, deadline).timed_out() {
                return false;
            }
        }
    }
}
