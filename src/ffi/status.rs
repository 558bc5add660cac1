//! `readpast_status`: the result of a call, as a number.

use crate::error::ErrorKind;
use crate::item::Answer;
use std::ffi::{CStr, c_char};

/// The result of a call: 0 is success; above 0 are expected outcomes, without an error object; below 0 are failures, with
/// one. Later versions may add numbers; no number ever changes its meaning.
pub type readpast_status = i32;

// Their type is i32, since cbindgen puts constants of a type of ours after all structs.

/// Done.
pub const READPAST_OK: i32 = 0;
/// No item was due.
pub const READPAST_EMPTY: i32 = 1;
/// The worker does not hold the item any more: its lease ran out and another worker may have it, or an operator took it. The item
/// is untouched.
pub const READPAST_LEASE_LOST: i32 = 2;
/// The token is not the item's any more: another call changed the item since. The item is untouched.
pub const READPAST_CONFLICT: i32 = 3;
/// The item's state does not allow it. The item is untouched.
pub const READPAST_ILLEGAL_TRANSITION: i32 = 4;
/// There is no such item or column.
pub const READPAST_NOT_FOUND: i32 = 5;
/// `readpast_queue_interrupt` was called, and `readpast_queue_resume` has not been called since.
pub const READPAST_INTERRUPTED: i32 = 6;
/// The same work is already in the queue: nothing was enqueued for it.
pub const READPAST_DUPLICATE: i32 = 7;

/// An argument is NULL, out of its range or not UTF-8; the message names it. Nothing was sent to the server.
pub const READPAST_INVALID_ARGUMENT: i32 = -1;
/// The handle is null, freed, of another type, or not made by this library.
pub const READPAST_INVALID_HANDLE: i32 = -2;
/// A setting is unknown, out of its range, or missing.
pub const READPAST_INVALID_CONFIG: i32 = -3;
/// A value of a new item, or of a settlement, does not fit the queue: not an object, unknown column, wrong type, value too long.
pub const READPAST_INVALID_ITEM: i32 = -4;
/// The caller was built with a newer header and uses something that this library does not know.
pub const READPAST_UNSUPPORTED: i32 = -5;
/// The queue was closed.
pub const READPAST_CLOSED: i32 = -6;
/// The handle is from before a fork. Open a new one in the child process.
pub const READPAST_FORKED: i32 = -7;
/// This process has run out of something: memory, file descriptors, or handles of this library (there may be about a million at
/// once). The message names it.
pub const READPAST_EXHAUSTED: i32 = -8;
/// A bug in readpast. The handle is unusable; free it.
pub const READPAST_PANIC: i32 = -9;

/// The schema holds no queue of that name.
pub const READPAST_UNKNOWN_QUEUE: i32 = -20;
/// readpast's own objects are not installed in the schema.
pub const READPAST_SCHEMA_MISSING: i32 = -21;
/// The objects in the schema are older than this library: install again to upgrade them.
pub const READPAST_SCHEMA_OLDER: i32 = -22;
/// The objects in the schema are newer than this library: upgrade the library.
pub const READPAST_SCHEMA_NEWER: i32 = -23;
/// The queue's table or procedures differ from what was installed.
pub const READPAST_SCHEMA_MISMATCH: i32 = -24;

/// The queue cannot do this: its procedures were written by hand and have nothing for it, or it has no index for the
/// kinds asked for.
pub const READPAST_NOT_PROVIDED: i32 = -25;

/// The ODBC driver that the connection string names is not installed.
pub const READPAST_DRIVER_MISSING: i32 = -40;
/// No server answered at the address.
pub const READPAST_UNREACHABLE: i32 = -41;
/// The server refused the user name or password.
pub const READPAST_AUTHENTICATION: i32 = -42;
/// The database does not exist, or the user may not open it.
pub const READPAST_DATABASE_MISSING: i32 = -43;
/// Client and server could not agree on encryption, or the certificate is not trusted.
pub const READPAST_ENCRYPTION: i32 = -44;
/// The connection broke in use.
pub const READPAST_CONNECTION_LOST: i32 = -45;

/// The login lacks a right.
pub const READPAST_PERMISSION_DENIED: i32 = -60;
/// The server did not answer in time, or a lock was not granted in time.
pub const READPAST_TIMED_OUT: i32 = -61;
/// The statement was chosen as a deadlock victim, or lost a serialization conflict.
pub const READPAST_DEADLOCK: i32 = -62;
/// The server is failing over, starting, or throttling; a later attempt may succeed.
pub const READPAST_UNAVAILABLE: i32 = -63;
/// The server cannot write: disk full, quota reached, database or server read-only.
pub const READPAST_STORAGE: i32 = -64;
/// The connection was lost at a moment that leaves the outcome open, and the outcome could not be learnt in time. Make the
/// same call with the identity that `readpast_error_operation` returns.
pub const READPAST_OUTCOME_UNKNOWN: i32 = -65;
/// The server refused the statement for a reason that no other status names.
pub const READPAST_DATABASE: i32 = -66;
/// The server's answer does not have the shape that the installed procedures return.
pub const READPAST_PROTOCOL: i32 = -67;
/// All connections of the queue's pool were in use for as long as `pool.acquire_ms` says.
pub const READPAST_POOL_TIMEOUT: i32 = -68;

/// The status of an error. A caller causes `Interrupted` itself, so it is an outcome and no failure.
pub(super) fn of_kind(kind: ErrorKind) -> readpast_status {
    match kind {
        ErrorKind::InvalidArgument => READPAST_INVALID_ARGUMENT,
        ErrorKind::InvalidConfig => READPAST_INVALID_CONFIG,
        ErrorKind::InvalidItem => READPAST_INVALID_ITEM,
        ErrorKind::UnknownQueue => READPAST_UNKNOWN_QUEUE,
        ErrorKind::SchemaMissing => READPAST_SCHEMA_MISSING,
        ErrorKind::SchemaOlder => READPAST_SCHEMA_OLDER,
        ErrorKind::SchemaNewer => READPAST_SCHEMA_NEWER,
        ErrorKind::SchemaMismatch => READPAST_SCHEMA_MISMATCH,
        ErrorKind::DriverMissing => READPAST_DRIVER_MISSING,
        ErrorKind::Unreachable => READPAST_UNREACHABLE,
        ErrorKind::Authentication => READPAST_AUTHENTICATION,
        ErrorKind::DatabaseMissing => READPAST_DATABASE_MISSING,
        ErrorKind::Encryption => READPAST_ENCRYPTION,
        ErrorKind::ConnectionLost => READPAST_CONNECTION_LOST,
        ErrorKind::PermissionDenied => READPAST_PERMISSION_DENIED,
        ErrorKind::TimedOut => READPAST_TIMED_OUT,
        ErrorKind::PoolTimeout => READPAST_POOL_TIMEOUT,
        ErrorKind::Deadlock => READPAST_DEADLOCK,
        ErrorKind::Unavailable | ErrorKind::Busy => READPAST_UNAVAILABLE,
        ErrorKind::Storage => READPAST_STORAGE,
        ErrorKind::Closed => READPAST_CLOSED,
        ErrorKind::Forked => READPAST_FORKED,
        ErrorKind::Interrupted => READPAST_INTERRUPTED,
        ErrorKind::OutcomeUnknown => READPAST_OUTCOME_UNKNOWN,
        ErrorKind::Unsupported => READPAST_NOT_PROVIDED,
        ErrorKind::Database => READPAST_DATABASE,
        ErrorKind::Protocol => READPAST_PROTOCOL,
        ErrorKind::Exhausted => READPAST_EXHAUSTED,
    }
}

/// The status of an answer for one item.
pub(super) fn of_answer(answer: Answer) -> readpast_status {
    match answer {
        Answer::Ok => READPAST_OK,
        Answer::LeaseLost => READPAST_LEASE_LOST,
        Answer::Conflict => READPAST_CONFLICT,
        Answer::IllegalTransition => READPAST_ILLEGAL_TRANSITION,
        Answer::NotFound => READPAST_NOT_FOUND,
        Answer::Duplicate => READPAST_DUPLICATE,
    }
}

/// The name of a status, as this header spells it: `"READPAST_EMPTY"`.
///
/// *Ownership*: the text is the library's and lives as long as it.
///
/// *Returns*: text, never NULL; `"READPAST_?"` for a number that this version does not know.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_status_name(status: readpast_status) -> *const c_char {
    name(status).as_ptr()
}

/// A test compares these with the header.
fn name(status: readpast_status) -> &'static CStr {
    match status {
        READPAST_OK => c"READPAST_OK",
        READPAST_EMPTY => c"READPAST_EMPTY",
        READPAST_LEASE_LOST => c"READPAST_LEASE_LOST",
        READPAST_CONFLICT => c"READPAST_CONFLICT",
        READPAST_ILLEGAL_TRANSITION => c"READPAST_ILLEGAL_TRANSITION",
        READPAST_NOT_FOUND => c"READPAST_NOT_FOUND",
        READPAST_INTERRUPTED => c"READPAST_INTERRUPTED",
        READPAST_DUPLICATE => c"READPAST_DUPLICATE",
        READPAST_INVALID_ARGUMENT => c"READPAST_INVALID_ARGUMENT",
        READPAST_INVALID_HANDLE => c"READPAST_INVALID_HANDLE",
        READPAST_INVALID_CONFIG => c"READPAST_INVALID_CONFIG",
        READPAST_INVALID_ITEM => c"READPAST_INVALID_ITEM",
        READPAST_UNSUPPORTED => c"READPAST_UNSUPPORTED",
        READPAST_CLOSED => c"READPAST_CLOSED",
        READPAST_FORKED => c"READPAST_FORKED",
        READPAST_EXHAUSTED => c"READPAST_EXHAUSTED",
        READPAST_PANIC => c"READPAST_PANIC",
        READPAST_UNKNOWN_QUEUE => c"READPAST_UNKNOWN_QUEUE",
        READPAST_SCHEMA_MISSING => c"READPAST_SCHEMA_MISSING",
        READPAST_SCHEMA_OLDER => c"READPAST_SCHEMA_OLDER",
        READPAST_SCHEMA_NEWER => c"READPAST_SCHEMA_NEWER",
        READPAST_SCHEMA_MISMATCH => c"READPAST_SCHEMA_MISMATCH",
        READPAST_NOT_PROVIDED => c"READPAST_NOT_PROVIDED",
        READPAST_DRIVER_MISSING => c"READPAST_DRIVER_MISSING",
        READPAST_UNREACHABLE => c"READPAST_UNREACHABLE",
        READPAST_AUTHENTICATION => c"READPAST_AUTHENTICATION",
        READPAST_DATABASE_MISSING => c"READPAST_DATABASE_MISSING",
        READPAST_ENCRYPTION => c"READPAST_ENCRYPTION",
        READPAST_CONNECTION_LOST => c"READPAST_CONNECTION_LOST",
        READPAST_PERMISSION_DENIED => c"READPAST_PERMISSION_DENIED",
        READPAST_TIMED_OUT => c"READPAST_TIMED_OUT",
        READPAST_POOL_TIMEOUT => c"READPAST_POOL_TIMEOUT",
        READPAST_DEADLOCK => c"READPAST_DEADLOCK",
        READPAST_UNAVAILABLE => c"READPAST_UNAVAILABLE",
        READPAST_STORAGE => c"READPAST_STORAGE",
        READPAST_OUTCOME_UNKNOWN => c"READPAST_OUTCOME_UNKNOWN",
        READPAST_DATABASE => c"READPAST_DATABASE",
        READPAST_PROTOCOL => c"READPAST_PROTOCOL",
        _ => c"READPAST_?",
    }
}
