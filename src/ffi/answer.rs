//! The answer of a call that can fail: a status, and an error handle that is always written.

use super::boundary::contain;
use super::error::readpast_error;
use super::failure::CallFailure;
use super::handle::Handle;
use super::status::{READPAST_OK, READPAST_PANIC, readpast_status};
use super::table;

/// Runs the body of a call on `handle` that can fail. A panic poisons the handle: its object may be half changed.
///
/// # Safety
/// `err` is NULL or can be written.
pub(super) unsafe fn answer<H: Handle>(
    handle: H,
    err: *mut readpast_error,
    body: impl FnOnce() -> Result<readpast_status, CallFailure>,
) -> readpast_status {
    // SAFETY: as the caller promises.
    unsafe { put(err, readpast_error::null()) };
    let status = contain(|| {
        body().unwrap_or_else(|failure| {
            // SAFETY: as the caller promises.
            unsafe { report(failure, err) }
        })
    });
    status.unwrap_or_else(|message| {
        table::poison(handle.id());
        // SAFETY: as the caller promises.
        contain(|| unsafe { report(CallFailure::panic(&message), err) }).unwrap_or(READPAST_PANIC)
    })
}

/// Hands `failure` out, and returns its status. An expected outcome has no error object.
///
/// # Safety
/// `err` is NULL or can be written.
unsafe fn report(failure: CallFailure, err: *mut readpast_error) -> readpast_status {
    let status = failure.status();
    if status < READPAST_OK && !err.is_null() {
        // Without a free slot there is no text, only the status.
        // SAFETY: as the caller promises.
        unsafe { put(err, readpast_error::hand_out(failure).unwrap_or(readpast_error::null())) };
    }
    status
}

/// # Safety
/// `err` is NULL or can be written.
unsafe fn put(err: *mut readpast_error, error: readpast_error) {
    if !err.is_null() {
        // SAFETY: not NULL, so it can be written.
        unsafe { err.write(error) };
    }
}
