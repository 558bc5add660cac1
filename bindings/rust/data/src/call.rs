//! A call that enqueues: its statement and parameters, and the receipts that its rows are.

use crate::item::items_json;
use crate::{NewItem, Queue};
use std::{error, fmt};

/// The statement of a call, for a driver that this crate has no module for.
///
/// On PostgreSQL its rows have answer, ordinal (a 32-bit integer) and key as text. On SQL Server, where the parameters are `@P1` and `@P2`,
/// they are what the procedure returns: answer, ordinal, due time, key, and more. [`Call::receipts`] reads either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The statement.
    pub text: String,
    /// The first parameter, as text: the items.
    pub items: String,
    /// The second, as text: the identity of the call.
    pub operation: Option<String>,
}

/// An enqueued item, or one that was there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The key that it has now; of a duplicate, that of the item that was there, where the queue's `dedup` names it.
    pub key: Option<String>,
    /// Whether the same work was there already, by the queue's `dedup`, and nothing was added.
    pub is_duplicate: bool,
}

/// A value that cannot be written, or an answer that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit(String);

impl Unfit {
    pub(crate) fn new(message: String) -> Self {
        Self(message)
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "readpast-data: {}", self.0)
    }
}

impl error::Error for Unfit {}

impl Call {
    /// The call that enqueues these items, at most 1,000. `operation` is an identity for it, a UUID: made again with it after the commit,
    /// it adds nothing and returns the same keys. For when the answer to a commit is lost.
    ///
    /// # Errors
    /// [`Unfit`]: an item cannot be written.
    pub fn new(queue: &Queue, items: &[NewItem], operation: Option<&str>) -> Result<Self, Unfit> {
        Ok(Self { text: queue.statement(), items: items_json(items)?, operation: operation.map(str::to_owned) })
    }

    /// The receipts, in the order of the items, of rows with answer, ordinal and key.
    #[must_use]
    pub fn receipts(rows: impl IntoIterator<Item = (String, i32, Option<String>)>) -> Vec<Receipt> {
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by_key(|(_, ordinal, _)| *ordinal);
        rows.into_iter().map(|(answer, _, key)| Receipt { key, is_duplicate: answer == "DUPLICATE" }).collect()
    }
}
