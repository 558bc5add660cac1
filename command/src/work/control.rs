//! Stops: the first signal drains, the second ends the running commands.

use crate::failure::Result;
use crate::output::note;
use crate::signals::{self, Listening};
use readpast::Engine;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Set by signals, read by all slots.
pub struct Control {
    terminated: Arc<AtomicU8>,
    signals: Listening,
}

impl Control {
    /// Listens to signals from now on, in a thread of its own.
    pub fn listen(engine: &Engine) -> Result<Self> {
        let terminated = Arc::new(AtomicU8::new(0));
        let (ended, engine, drains) = (Arc::clone(&terminated), engine.clone(), AtomicBool::new(false));
        let signals = signals::listen(move |signal| {
            if drains.swap(true, Ordering::Relaxed) {
                note("ending the running commands and releasing their items");
                ended.store(signal, Ordering::Relaxed);
            } else {
                // The stop comes first, so that the message is true.
                engine.stop();
                note("claiming no more items; running commands may end (a second signal ends them)");
            }
        })?;
        Ok(Self { terminated, signals })
    }

    /// The signal that ended the running commands.
    pub fn terminated(&self) -> Option<u8> {
        Some(self.terminated.load(Ordering::Relaxed)).filter(|signal| *signal > 0)
    }

    /// Ends the listening thread. Signals do nothing any more.
    pub fn end(&self) {
        self.signals.close();
    }
}
