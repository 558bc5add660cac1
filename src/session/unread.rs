//! Why the rows of a result were not read.

use crate::item::Unfit;
use odbc_api::Error;

#[derive(Debug)]
pub(super) enum Unread {
    /// By the driver's error.
    Odbc(Error),
    /// Something about a value.
    Unfit(Unfit),
}

impl From<Error> for Unread {
    fn from(error: Error) -> Self {
        Self::Odbc(error)
    }
}
