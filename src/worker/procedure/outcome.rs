//! The end of the work on an item.

use crate::error::Error;
use crate::item::ItemState;

/// An item that was handled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worked {
    /// The item's key.
    pub key: String,
    /// The number of this attempt.
    pub attempt: i32,
    /// The state it has now; `None` when another worker has it meanwhile, or it is gone.
    pub state: Option<ItemState>,
    /// Why the procedure failed, if it did.
    pub error: Option<String>,
}

/// The claim of an item, for a report.
#[derive(Clone)]
pub(super) struct ClaimedItem {
    pub(super) key: String,
    pub(super) token: String,
    pub(super) attempt: i32,
}

/// The end of a transaction.
pub(super) enum TransactionEnd {
    /// Nothing was due.
    Empty,
    /// It only ended undeliverable items.
    Others,
    Done(Worked),
    /// It was undone, because of this error.
    Undone(Undone),
}

/// A transaction that came to nothing.
pub(super) struct Undone {
    pub(super) taken: ClaimedItem,
    pub(super) error: Error,
    /// It may have committed all the same: the answer to its commit was lost, or the procedure has settled its item itself.
    pub(super) may_be_done: bool,
}
