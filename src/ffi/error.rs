//! `readpast_error`: why a call failed.

use super::args;
use super::boundary::{contained, read};
use super::handle::Handle;
use super::status::{READPAST_INVALID_ARGUMENT, READPAST_OK, READPAST_PANIC, of_kind, readpast_status};
use crate::error::Error;
use std::ffi::{CString, c_char};
use std::ptr;

/// Why a call failed: the object behind a `readpast_error`, and what bodies return to the boundary.
#[derive(Debug)]
pub(super) struct Failure {
    status: readpast_status,
    message: CString,
    sqlstate: Option<CString>,
    native_code: i32,
    operation: Option<CString>,
    is_retryable: bool,
}

impl Failure {
    /// A failure that this side of the boundary found.
    pub(super) fn new(status: readpast_status, message: impl AsRef<str>) -> Self {
        let message = args::c_text(message.as_ref());
        Self { status, message, sqlstate: None, native_code: 0, operation: None, is_retryable: false }
    }

    /// An argument that cannot be taken.
    pub(super) fn argument(message: impl AsRef<str>) -> Self {
        Self::new(READPAST_INVALID_ARGUMENT, message)
    }

    /// A panic, with its message.
    pub(super) fn panic(message: &str) -> Self {
        Self::new(READPAST_PANIC, format!("a bug in readpast, please report it: {message}"))
    }

    /// What the call answers.
    pub(super) fn status(&self) -> readpast_status {
        self.status
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            status: of_kind(error.kind()),
            message: args::c_text(error.message()),
            sqlstate: error.sqlstate().map(args::c_text),
            native_code: error.native_code(),
            operation: error.operation().map(args::c_text),
            is_retryable: error.is_retryable(),
        }
    }
}

/// Why a call failed. Immutable; any number of threads may read it.
///
/// Calls that return a `readpast_status` write one to their last argument when the status is below 0, and the null
/// handle otherwise. Free it with `readpast_error_free`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_error {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

impl Handle for readpast_error {
    type Object = Failure;
    const TAG: u8 = 5;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

/// The status that the call returned.
///
/// *Threads*: any, at once.
///
/// *Returns*: a status below 0; `READPAST_OK` for an error that is null or freed.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_status(error: readpast_error) -> readpast_status {
    read(error, READPAST_OK, Failure::status)
}

/// One line for a person: what is wrong and, where there is one, the remedy. Holds no passwords.
///
/// *Ownership*: the text is the error's, until that is freed.
///
/// *Threads*: any, at once.
///
/// *Returns*: text; NULL for an error that is null or freed.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_message(error: readpast_error) -> *const c_char {
    read(error, ptr::null(), |failure| failure.message.as_ptr())
}

/// The five characters of the SQLSTATE, when a driver or server gave one.
///
/// *Ownership*: the text is the error's, until that is freed.
///
/// *Threads*: any, at once.
///
/// *Returns*: text; NULL when there is none.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_sqlstate(error: readpast_error) -> *const c_char {
    read(error, ptr::null(), |failure| args::lend_optional(failure.sqlstate.as_deref()))
}

/// The server's own number of the error, on SQL Server. (Drivers of other servers put a number of theirs here.)
///
/// *Threads*: any, at once.
///
/// *Returns*: the number; 0 when there is none.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_native_code(error: readpast_error) -> i32 {
    read(error, 0, |failure| failure.native_code)
}

/// Whether the same call may succeed when it is made again a little later. The library has retried already, for as long
/// as the setting `retry.budget_ms` says.
///
/// *Threads*: any, at once.
///
/// *Returns*: 1 or 0.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_is_retryable(error: readpast_error) -> i32 {
    read(error, 0, |failure| failure.is_retryable.into())
}

/// The identity of the operation, when the status is `READPAST_OUTCOME_UNKNOWN`. Make the same call with it as its
/// `operation` to learn what became of the first: it is not applied twice.
///
/// *Ownership*: the text is the error's, until that is freed.
///
/// *Threads*: any, at once.
///
/// *Returns*: text; NULL when there is none.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_operation(error: readpast_error) -> *const c_char {
    read(error, ptr::null(), |failure| args::lend_optional(failure.operation.as_deref()))
}

/// Frees an error. The null handle, and one that was freed already, are let pass.
///
/// *Threads*: any; texts lent by the error end with it.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_free(error: readpast_error) {
    contained((), || error.free());
}
