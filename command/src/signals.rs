//! Signals that ask the command to end. On Windows the keys and events of the console stand for them: Ctrl-C for SIGINT,
//! Ctrl-Break for SIGTERM, and for SIGHUP the end of the console, of the session or of the machine.

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// `timeout`, and other programs that start and end us, send a signal to us and to our process group: it comes twice and means
/// one thing. A later one means that the user has lost patience.
const TWICE: Duration = Duration::from_millis(300);

/// A span in which a loop that is not held up has ended.
const SOON: Duration = Duration::from_secs(1);

/// Listens until it is closed.
pub struct Listening {
    #[cfg(unix)]
    signals: signal_hook::iterator::Handle,
    /// Held while a signal is handled.
    handling: Arc<Mutex<()>>,
}

impl Listening {
    /// Ends the listening. Waits for a signal that is being handled: it has yet to report.
    pub fn close(&self) {
        #[cfg(unix)]
        self.signals.close();
        drop(self.handling.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Calls `handle` with each signal that asks us to end, in a thread of its own.
///
/// # Errors
/// When the system gives neither handlers nor a thread.
pub fn listen(mut handle: impl FnMut(u8) + Send + 'static) -> Result<Listening> {
    let mut heeded: Option<Instant> = None;
    let handling = Arc::new(Mutex::new(()));
    let held = Arc::clone(&handling);
    let handle = move |signal| {
        if heeded.is_none_or(|heeded| heeded.elapsed() >= TWICE) {
            let _heeding = held.lock().unwrap_or_else(PoisonError::into_inner);
            handle(signal);
            heeded = Some(Instant::now());
        }
    };
    start(handle, handling)
        .map_err(|error| Failure::Partly(format!("signals cannot be listened to: {error}"), Exit::Unavailable))
}

#[cfg(unix)]
fn start(mut handle: impl FnMut(u8) + Send + 'static, handling: Arc<Mutex<()>>) -> std::io::Result<Listening> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let listening = Listening { signals: signals.handle(), handling };
    let listen = move || signals.forever().for_each(|signal| handle(u8::try_from(signal).unwrap_or(1)));
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
    Ok(listening)
}

#[cfg(windows)]
fn start(mut handle: impl FnMut(u8) + Send + 'static, handling: Arc<Mutex<()>>) -> std::io::Result<Listening> {
    use crate::windows::console::{EndSource, listen};

    listen(move |request| {
        handle(match request {
            EndSource::Close => 1,
            EndSource::Interrupt => 2,
            EndSource::Break => 15,
        });
    })?;
    Ok(Listening { handling })
}

/// Ends the process at once.
pub fn exit(status: u8) -> ! {
    #[cfg(unix)]
    signal_hook::low_level::exit(status.into());
    #[cfg(windows)]
    std::process::exit(status.into());
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
                exit(Exit::Signal(signal).status());
            }
        })?;
        Ok(stop)
    }

    /// The same, for work that its terminal may hold up: one that takes no more output, or is gone, which the terminal's library takes for
    /// keys without end. Work that goes on after a signal ends with the process, once `restore` has put the terminal in order.
    ///
    /// # Errors
    /// As [`listen`].
    pub fn listen_at_terminal(restore: impl Fn() + Send + 'static) -> Result<Self> {
        let stop = Self::default();
        let seen = Arc::clone(&stop.0);
        listen(move |signal| {
            seen.store(signal, Ordering::Relaxed);
            std::thread::sleep(SOON);
            restore();
            exit(Exit::Signal(signal).status());
        })?;
        Ok(stop)
    }

    /// The signal that came.
    pub fn signal(&self) -> Option<u8> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal > 0)
    }
}
