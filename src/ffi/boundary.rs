//! What lies between C and every body: no panic gets out, and the error handle is always written.

use super::error::{Failure, readpast_error};
use super::handle::Handle;
use super::status::{READPAST_OK, READPAST_PANIC, readpast_status};
use super::table;
use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a call on `handle` that can fail. A panic poisons the handle: nobody knows what it left behind.
///
/// # Safety
/// `err` is NULL or can be written.
pub(super) unsafe fn answer<H: Handle>(
    handle: H,
    err: *mut readpast_error,
    body: impl FnOnce() -> Result<readpast_status, Failure>,
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
        contain(|| unsafe { report(Failure::panic(&message), err) }).unwrap_or(READPAST_PANIC)
    })
}

/// Runs a body that reads from what `handle` stands for; `otherwise` when it stands for nothing.
pub(super) fn read<H: Handle, R>(handle: H, otherwise: R, body: impl FnOnce(&H::Object) -> R) -> R {
    let found = contain(|| handle.find().ok().map(|object| body(&object)));
    found.ok().flatten().unwrap_or(otherwise)
}

/// Runs a body that has nothing to answer.
pub(super) fn contained<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    contain(body).unwrap_or(otherwise)
}

/// Hands `failure` out, and tells its status. An expected outcome has no error object.
///
/// # Safety
/// `err` is NULL or can be written.
unsafe fn report(failure: Failure, err: *mut readpast_error) -> readpast_status {
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

/// The result of `body`, or the message of its panic.
fn contain<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(message_of)
}

fn message_of(payload: Box<dyn Any + Send>) -> String {
    let other = match payload.downcast::<String>() {
        Ok(message) => return *message,
        Err(other) => other,
    };
    match other.downcast::<&str>() {
        Ok(message) => (*message).to_owned(),
        Err(other) => {
            // Not from `panic!`. Whatever it is, its destructor could panic in turn, so it is not run.
            mem::forget(other);
            "no message".to_owned()
        }
    }
}
