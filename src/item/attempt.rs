//! The attempts at an item.

use super::ItemState;

/// An ended attempt at an item, as recorded by a queue whose description says `attempts.history`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Its number, from 1. After a redrive the item's attempts begin anew; and an item that a dead worker had claimed together
    /// with others has its attempt back, so that the next one has the same number.
    pub number: i32,
    /// The worker; `None` when it is unknown, as for items that other code has claimed.
    pub worker: Option<String>,
    /// When it began, in UTC, like `2026-11-21T08:30:00.1234567`.
    pub started: Option<String>,
    /// When it ended, in UTC.
    pub ended: String,
    /// The state that the item had then: Error when it is tried again.
    pub outcome: ItemState,
    /// The item's step then.
    pub step: Option<String>,
    /// The response of its end.
    pub response: Option<String>,
    /// The error of its end, or of the queue: that the attempts are spent, that the worker died.
    pub error: Option<String>,
}
