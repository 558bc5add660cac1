//! An item without the work that its handler asks for.

use crate::item::Verdict;
use std::error::Error;
use std::fmt;

/// The item carries no such work. A handler that returns it as its error, in a `Box<dyn Error + Send + Sync>` too, ends the item by its
/// verdict: Failed at once, since no other attempt reads it either; or an error where the items have no such column.
#[derive(Debug, Clone, PartialEq)]
pub struct Unreadable(Box<Verdict>);

impl Unreadable {
    pub(super) fn new(verdict: Verdict) -> Self {
        Self(Box::new(verdict))
    }
}

impl From<Unreadable> for Verdict {
    fn from(unreadable: Unreadable) -> Self {
        *unreadable.0
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.settlement("", "", 0).error.unwrap_or_default())
    }
}

impl Error for Unreadable {}
