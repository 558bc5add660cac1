//! Signals that ask the command to end.

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::{consts, low_level};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// `timeout`, and other programs that start and end us, send a signal to us and to our process group: it comes twice and
/// means one thing. What comes later is somebody who has lost patience.
const TWICE: Duration = Duration::from_millis(300);

/// Calls `heed` with each signal that asks us to end, in a thread of its own.
///
/// # Errors
/// When the system gives neither handlers nor a thread.
pub fn listen(mut heed: impl FnMut(u8) + Send + 'static) -> Result<Handle> {
    let cannot =
        |error: std::io::Error| Failure::Partly(format!("signals cannot be listened to: {error}"), Exit::Unavailable);
    let mut signals = Signals::new([consts::SIGINT, consts::SIGTERM, consts::SIGHUP]).map_err(cannot)?;
    let handle = signals.handle();
    let listen = move || {
        let mut heeded: Option<Instant> = None;
        for signal in signals.forever() {
            if heeded.is_none_or(|heeded| heeded.elapsed() >= TWICE) {
                heeded = Some(Instant::now());
                heed(u8::try_from(signal).unwrap_or(1));
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listen).map_err(cannot)?;
    Ok(handle)
}

/// Notes that a signal came, for work that can stop between two steps. The second signal ends the process at once.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicU8>);

impl Stop {
    /// Listens from now on.
    ///
    /// # Errors
    /// As [`listen`].
    pub fn listen() -> Result<Self> {
        let stop = Self::default();
        let seen = Arc::clone(&stop.0);
        listen(move |signal| {
            if seen.swap(signal, Ordering::Relaxed) != 0 {
                low_level::exit(Exit::Signal(signal).status().into());
            }
        })?;
        Ok(stop)
    }

    /// The signal that came.
    pub fn signal(&self) -> Option<u8> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal > 0)
    }
}
