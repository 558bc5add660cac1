//! Reasons why the rows of a result were not read.

use crate::item::UndeliverableReason;
use odbc_api::Error;

#[derive(Debug)]
pub(super) enum Unread {
    /// The driver's error.
    Odbc(Error),
    /// A value of an item.
    Undeliverable(UndeliverableReason),
}

impl From<Error> for Unread {
    fn from(error: Error) -> Self {
        Self::Odbc(error)
    }
}
