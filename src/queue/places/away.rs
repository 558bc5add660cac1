//! A place whose database is away: calls that another place can do leave it out, and a thread tries it until it is back.

use crate::queue::inner::{QueueInner, QueueShared};
use crate::threads;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// The pauses between the tries: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

impl QueueShared {
    /// Whether the last call has found no database. It is tried from then on.
    pub(super) fn is_away(self: &Arc<Self>) -> bool {
        if !self.outage.is_on() {
            return false;
        }
        if !self.is_tried.swap(true, Ordering::Relaxed) {
            let weak = Arc::downgrade(self);
            let mut pause = PAUSES[0];
            let run = move || {
                while let Some(shared) = weak.upgrade() {
                    let is_back = !shared.pool.is_closed() && shared.outage.is_on() && shared.pool.acquire().is_ok();
                    if is_back {
                        shared.outage.is_over(&shared.terms.label());
                    }
                    if is_back || shared.pool.is_closed() || !shared.outage.is_on() {
                        shared.is_tried.store(false, Ordering::Relaxed);
                        return;
                    }
                    drop(shared);
                    thread::sleep(pause);
                    pause = (pause * 2).min(PAUSES[1]);
                }
            };
            if threads::start("readpast-place", run).is_err() {
                self.is_tried.store(false, Ordering::Relaxed);
            }
        }
        true
    }
}

impl QueueInner {
    /// The same queue for one call that is made once.
    pub(super) fn hasty(&self) -> Self {
        Self { is_hasty: true, ..self.share(None) }
    }
}
