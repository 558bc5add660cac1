//! Failures of calls, on this side of the boundary.

use super::status::{READPAST_INVALID_ARGUMENT, READPAST_PANIC, of_kind, readpast_status};
use super::text;
use crate::error::{Error, cut};
use std::ffi::CString;

/// A failure: the object behind a `readpast_error`, and the error of bodies.
#[derive(Debug)]
pub(super) struct CallFailure {
    status: readpast_status,
    pub(super) message: CString,
    pub(super) sqlstate: Option<CString>,
    pub(super) native_code: i32,
    pub(super) operation: Option<CString>,
    pub(super) is_retryable: bool,
}

impl CallFailure {
    /// A failure that this side of the boundary found.
    pub(super) fn new(status: readpast_status, message: impl AsRef<str>) -> Self {
        let message = text::c_text(&cut(message.as_ref().to_owned()));
        Self { status, message, sqlstate: None, native_code: 0, operation: None, is_retryable: false }
    }

    /// The failure for a wrong argument.
    pub(super) fn argument(message: impl AsRef<str>) -> Self {
        Self::new(READPAST_INVALID_ARGUMENT, message)
    }

    /// The failure for a panic, with its message.
    pub(super) fn panic(message: &str) -> Self {
        Self::new(READPAST_PANIC, format!("a bug in readpast, please report it: {message}"))
    }

    /// The status that the call returns.
    pub(super) fn status(&self) -> readpast_status {
        self.status
    }
}

impl From<Error> for CallFailure {
    fn from(error: Error) -> Self {
        Self {
            status: of_kind(error.kind()),
            message: text::c_text(error.message()),
            sqlstate: error.sqlstate().map(text::c_text),
            native_code: error.native_code(),
            operation: error.operation().map(text::c_text),
            is_retryable: error.is_retryable(),
        }
    }
}
