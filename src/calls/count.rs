//! The bounds of a call.

use crate::error::{Error, ErrorKind, Result};
use crate::item::MAX_ITEMS;

/// Checks a count of items, which has the same bounds in every call.
pub(crate) fn check_count(what: &str, count: u32) -> Result<i32> {
    match i32::try_from(count) {
        Ok(number) if (1..=MAX_ITEMS).contains(&count) => Ok(number),
        _ => {
            Err(Error::new(ErrorKind::InvalidArgument, format!("{what} is {count}; it must be from 1 to {MAX_ITEMS}")))
        }
    }
}
