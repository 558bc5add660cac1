//! An end for what would otherwise hang for ever.

use readpast::config::Config;
use readpast::queue::Queue;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{process, thread};

/// After this long something never happens, whatever the machine.
pub const NEVER: Duration = Duration::from_secs(600);

/// A limit for work that takes no time, whatever the machine has to do besides: far above what the library promises, and below the four
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

/// The setting with which no item is given back because its handler is late, which a test would take for work.
pub const HOLDS: (&str, &str) = ("worker.hold_ms", "3600000");

/// A configuration with these settings.
pub fn patient(connection: &str) -> Config {
    patient_with(&[("connection", connection)])
}

/// The same with settings of its own, as of a queue that is spread over several databases.
pub fn patient_with(settings: &[(&str, &str)]) -> Config {
    let mut config = Config::new();
    for (key, value) in PATIENT.iter().chain(settings) {
        config.set(key, value).unwrap();
    }
    config
}

/// The same settings as the command's configuration file has them. It retries no longer than else: tests wait for it to give
/// up.
pub fn patience() -> String {
    let settings = PATIENT.iter().filter(|(key, _)| *key != "retry.budget_ms");
    settings.map(|(key, value)| format!("{key} = {value}\n")).collect()
}

/// Opens the queue `Job` with so little patience that a busy machine may need several tries.
pub fn open_at_last(config: &Config) -> Queue {
    within(NEVER, || {
        loop {
            if let Ok(queue) = Queue::open(config, "Job") {
                break queue;
            }
        }
    })
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + NEVER;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
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
            // An exit would run what the drivers left to be done then, and could hang in turn.
            process::abort();
        }
    });
    let result = work();
    drop(done);
    result
}
