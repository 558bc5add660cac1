//! An end for what would otherwise hang for ever.

use readpast::config::Config;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use std::{process, thread};

/// What takes no time, whatever the machine has to do besides: far above what the library promises, and below the four
/// minutes that Microsoft's driver waits for a silent server.
pub const SOON: Duration = Duration::from_secs(220);

/// Settings with which no call is given up because the machine is busy. A test in which one is to be given up says so
/// itself, above all where a log-in falls silent: on PostgreSQL the others of the process wait behind it.
pub const PATIENT: &[(&str, &str)] = &[
    ("login.timeout_ms", "600000"),
    ("query.timeout_ms", "600000"),
    ("lock.timeout_ms", "600000"),
    ("pool.acquire_ms", "600000"),
    ("retry.budget_ms", "600000"),
];

/// A configuration with these settings.
pub fn patient(connection: &str) -> Config {
    let mut config = Config::new();
    config.set("connection", connection).unwrap();
    for (key, value) in PATIENT {
        config.set(key, value).unwrap();
    }
    config
}

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
