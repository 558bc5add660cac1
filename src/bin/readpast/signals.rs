//! Signals that ask the command to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Notes that a signal came, for work that can stop between two steps. The second signal ends the process at once.
#[derive(Clone)]
pub struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// Listens from now on.
    pub fn listen() -> Self {
        let seen = Arc::new(AtomicUsize::new(0));
        let again = Arc::new(std::sync::atomic::AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The signal is one that may be caught, so that none of this can fail. In this order the first signal finds the
            // switch off and turns it on.
            let status = 128 + signal;
            let _ = signal_hook::flag::register_conditional_shutdown(signal, status, Arc::clone(&again));
            let _ = signal_hook::flag::register(signal, Arc::clone(&again));
            let _ = signal_hook::flag::register_usize(signal, Arc::clone(&seen), signal.unsigned_abs() as usize);
        }
        Self(seen)
    }

    /// The signal that came.
    pub fn signal(&self) -> Option<u8> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => u8::try_from(signal).ok(),
        }
    }
}
