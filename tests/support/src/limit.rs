//! An end for what would otherwise hang for ever.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use std::{process, thread};

/// What takes no time, whatever the machine has to do besides: far above what the library promises, and far below for ever.
pub const SOON: Duration = Duration::from_secs(90);

/// Does `work`, and ends the test program if it is not done in time: a call that hangs cannot be ended in any other way.
pub fn in_time<T>(work: impl FnOnce() -> T) -> T {
    within(SOON, work)
}

/// The same for what has to compute.
pub fn within<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
    let (done, waits) = channel::<()>();
    let test = thread::current().name().unwrap_or_default().to_owned();
    thread::spawn(move || {
        if waits.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{test}: not done after {limit:?}");
            process::exit(1);
        }
    });
    let result = work();
    drop(done);
    result
}
