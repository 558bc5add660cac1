//! The error of a call that hand-written procedures do not support.

use crate::error::{Error, ErrorKind};

pub(crate) fn unsupported(what: &str, why: &str) -> Error {
    let message =
        format!("hand-written procedures cannot {what}: {why}; adopt their table instead, or do it in the database");
    Error::new(ErrorKind::Unsupported, message)
}
