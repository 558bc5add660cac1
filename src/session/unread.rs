//! Why the rows of a result were not read.

use crate::item::UndeliverableReason;
use odbc_api::Error;

#[derive(Debug)]
pub(super) enum Unread {
    /// By the driver's error.
    Odbc(Error),
    /// Something about a value.
    Undeliverable(UndeliverableReason),
}

impl From<Error> for Unread {
    fn from(error: Error) -> Self {
        Self::Odbc(error)
    }
}
