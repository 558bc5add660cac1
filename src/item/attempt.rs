//! What came of the attempts at an item.

use super::ItemState;

/// An attempt at an item that has ended, as a queue remembers it whose description says `attempts.history`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Its number, from 1. After a redrive the item's attempts begin anew; and an item that had been claimed together with others
    /// by a worker that died has its attempt back, so that the next one has the same number.
    pub number: i32,
    /// Who had the item; `None` when that is not known, as of items that other code has taken.
    pub worker: Option<String>,
    /// When it began, in UTC, like `2026-11-21T08:30:00.1234567`.
    pub started: Option<String>,
    /// When it ended, in UTC.
    pub ended: String,
    /// The state that the item had then: Error when it is tried again.
    pub outcome: ItemState,
    /// The step where the item was then.
    pub step: Option<String>,
    /// The response that was given with the end.
    pub response: Option<String>,
    /// The error that was given with the end, or made by the queue: that the attempts are spent, that the worker died.
    pub error: Option<String>,
}
