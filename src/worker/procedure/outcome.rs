//! The end of the work on an item.

use crate::error::Error;
use crate::item::ItemState;

/// An item that was worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worked {
    /// The item's key.
    pub key: String,
    /// The attempt that this was.
    pub attempt: i32,
    /// The state it has now; `None` when somebody else has taken it meanwhile, or it is gone.
    pub state: Option<ItemState>,
    /// Why the procedure failed, if it did.
    pub error: Option<String>,
}

/// A claimed item, as far as it is needed to tell of it.
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
    /// It only ended items that are not to be worked on.
    Others,
    Done(Worked),
    /// It was undone, because of this error.
    Undone(Undone),
}

/// A transaction that came to nothing.
pub(super) struct Undone {
    pub(super) taken: ClaimedItem,
    pub(super) error: Error,
    /// It may be done all the same: the answer to its commit was lost, or the procedure has settled its item itself.
    pub(super) may_be_done: bool,
}
