//! A take of items: its answer, and how many it may ask for.

use crate::calls::MAX_ITEMS;
use crate::error::{Error, ErrorKind, Result};
use crate::item::Batch;

/// The answer of a take.
#[derive(Debug)]
pub enum Taken {
    /// Items, one at least. Each is to be ended.
    Items(Batch),
    /// None came in time.
    Nothing,
    /// The worker is stopping: no more items follow.
    Stopping,
}

/// Refuses a number of items that no event loop may want.
#[cfg(unix)]
pub(super) fn check_wanted(max: u32) -> Result<()> {
    if max == 0 { Ok(()) } else { check_taken(max) }
}

/// Refuses a number of items that no take takes.
pub(super) fn check_taken(max: u32) -> Result<()> {
    if (1..=MAX_ITEMS).contains(&max) {
        return Ok(());
    }
    let message = format!("the number of items to take is {max}; it must be from 1 to {MAX_ITEMS}");
    Err(Error::new(ErrorKind::InvalidArgument, message))
}
