//! The records that the database keeps about a queue: actions of operators, workers, the figures of each minute.

use super::utc_text;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An action of an operator, on one item or on millions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorAction {
    /// Its number in the schema.
    pub number: i64,
    /// The queue; as the server spells its objects where the queue is gone.
    pub queue: String,
    /// The action's word: `redrive`, `purge`, `set`.
    pub verb: String,
    /// The person, as the program that acted reported it.
    pub who: String,
    /// The login in the database.
    pub login: String,
    /// The chosen items, as a filter in JSON; of a setting its name and value.
    pub filter: Option<String>,
    /// Running, Cancelling, Done, Cancelled or Failed.
    pub state: String,
    /// When it began, a UTC time.
    pub begun_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// How many items it was to change, as counted before; `None` where there were too many to count.
    pub expected: Option<i64>,
    /// How many items it has changed.
    pub done: i64,
    /// How many items it left as they were, since they had changed meanwhile.
    pub refused: i64,
    /// The last key that it has gone past.
    pub place: Option<String>,
    /// Its error, if it failed.
    pub result: Option<String>,
    /// Whether a process is at work on it.
    pub is_held: bool,
}

/// A worker in the registry, idle or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredWorker {
    /// Its name, which holds leases.
    pub worker: String,
    /// The machine.
    pub host: String,
    /// The number of its process there.
    pub process: i64,
    /// The version of the library.
    pub version: String,
    /// When it began, a UTC time.
    pub started_at: String,
    /// When it reported last.
    pub seen_at: String,
    /// How long ago that was, in milliseconds, on the server's clock.
    pub seen_ms: i64,
}

/// The figures of a queue in one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minute {
    /// Its beginning, on the server's clock.
    pub at: SystemTime,
    /// Items due.
    pub due: i64,
    /// How long the oldest of them had been due, in milliseconds.
    pub oldest_ms: Option<i64>,
    /// Items in flight.
    pub in_flight: i64,
    /// Failed items.
    pub failed: i64,
    /// Items that ended within a minute.
    pub ended: i64,
}

impl Minute {
    /// Adds the same minute of another database.
    pub(crate) fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.oldest_ms = self.oldest_ms.max(other.oldest_ms);
        self.in_flight += other.in_flight;
        self.failed += other.failed;
        self.ended += other.ended;
    }
}

/// A time that a server gave as microseconds since 1970, as text.
pub(crate) fn text_of_us(us: i64) -> String {
    utc_text(UNIX_EPOCH + Duration::from_micros(u64::try_from(us).unwrap_or(0)))
}

/// A time that a server gave as milliseconds since 1970.
pub(crate) fn time_of_ms(ms: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
