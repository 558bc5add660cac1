//! `readpast_error`: why a call failed.

use super::boundary::{contained, read};
use super::failure::CallFailure;
use super::handle::Handle;
use super::status::{READPAST_OK, readpast_status};
use super::text;
use std::ffi::c_char;
use std::ptr;

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
    type Object = CallFailure;
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
/// *Returns*: a status below 0; `READPAST_OK` for an error that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_status(error: readpast_error) -> readpast_status {
    read(error, READPAST_OK, CallFailure::status)
}

/// One line for a person: what is wrong and, if there is one, the remedy. It has no passwords.
///
/// *Ownership*: the text is the error's, until that is freed.
///
/// *Returns*: text; NULL for an error that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_message(error: readpast_error) -> *const c_char {
    read(error, ptr::null(), |failure| failure.message.as_ptr())
}

/// The five characters of the SQLSTATE, if a driver or server gave one.
///
/// *Ownership*: the text is the error's, until that is freed.
///
/// *Returns*: text; NULL when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_sqlstate(error: readpast_error) -> *const c_char {
    read(error, ptr::null(), |failure| text::lend_optional(failure.sqlstate.as_deref()))
}

/// The server's own number of the error, on SQL Server. (Drivers of other servers give a number of their own.)
///
/// *Returns*: the number; 0 when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_native_code(error: readpast_error) -> i32 {
    read(error, 0, |failure| failure.native_code)
}

/// Whether the same call may succeed a little later. The library has already retried, for as long as the setting
/// `retry.budget_ms` says.
///
/// *Returns*: 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_is_retryable(error: readpast_error) -> i32 {
    read(error, 0, |failure| failure.is_retryable.into())
}

/// The identity of the operation, when the status is `READPAST_OUTCOME_UNKNOWN`. Make the same call with it as its
/// `operation` to learn what became of the first: it is not applied twice.
///
/// *Ownership*: the text is the error's, until that is freed.
///
/// *Returns*: text; NULL when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_operation(error: readpast_error) -> *const c_char {
    read(error, ptr::null(), |failure| text::lend_optional(failure.operation.as_deref()))
}

/// Frees an error. The null handle, and one that was freed already, are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_error_free(error: readpast_error) {
    contained((), || error.free());
}
