//! The boundary between C and every body: no panic leaves it.

use super::handle::Handle;
use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a body that reads from the object of `handle`; returns `otherwise` when there is none.
pub(super) fn read<H: Handle, R>(handle: H, otherwise: R, body: impl FnOnce(&H::Object) -> R) -> R {
    let found = contain(|| handle.find().ok().map(|object| body(&object)));
    found.ok().flatten().unwrap_or(otherwise)
}

/// Runs a body without an answer.
pub(super) fn contained<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    contain(body).unwrap_or(otherwise)
}

/// The result of `body`, or the message of its panic.
pub(super) fn contain<R>(body: impl FnOnce() -> R) -> Result<R, String> {
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
            // It is not from `panic!`. Its destructor could panic in turn, so it is not run.
            mem::forget(other);
            "no message".to_owned()
        }
    }
}
