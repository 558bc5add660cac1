//! The ways by which the waits and pauses of a handle are called off.

use crate::calls::YieldsTo;
use crate::sync::{Condvar, Mutex};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// How a handle's waits are called off: by its own interrupt, by that of a handle it was shared from, or by the end of the
/// queue, which is that of all handles.
#[derive(Default)]
pub(crate) struct Interrupt {
    interrupted: Arc<AtomicBool>,
    above: Vec<Arc<AtomicBool>>,
    end: Arc<ClosedFlag>,
}

#[derive(Default)]
struct ClosedFlag {
    /// Held also to interrupt, so that nobody falls asleep between a look and the news.
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Interrupt {
    /// Of a handle that is shared from this one.
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

    /// With the lock held.
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

    /// Waits for `pause`, less when the handle is called off; says whether it is.
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
