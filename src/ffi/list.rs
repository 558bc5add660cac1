//! `readpast_list`, `readpast_drop`: the queues of a schema, and the end of one.

use super::answer::answer;
use super::args;
use super::config::readpast_config;
use super::error::readpast_error;
use super::made_text::{put, readpast_text};
use super::out::OutParameter;
use super::status::{READPAST_OK, readpast_status};
use crate::{ask, install};
use std::ffi::c_char;

/// Lists the queues that are installed in the schema that `config` names, by their names. A login that may use one of them may ask.
///
/// `*queues` is a JSON array of objects: `queue`, its name; `schema`; `own`, true when the items are in a table of readpast's own,
/// which `readpast_drop` drops with them; `table`, the table of its items with its schema, as the catalog has it, null where
/// hand-written procedures hide it; `description`, a text, which is JSON itself.
///
/// *Ownership*: the caller frees `*queues` with `readpast_text_free`.
///
/// *Returns*:
/// - `READPAST_OK`: `*queues` holds them; there may be none.
/// - `READPAST_SCHEMA_MISSING`: nothing is installed in the schema.
/// - `READPAST_INVALID_ARGUMENT`: `queues` is NULL.
/// - any other failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_list(
    config: readpast_config,
    queues: *mut readpast_text,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(config, err, || {
            let place = OutParameter::new("queues", queues)?;
            put(place, &ask::list(&config.settings()?)?)
        })
    }
}

/// Drops the queue called `queue` from the schema that `config` names. **It asks nothing.** If the items are in a table of
/// readpast's own, they all go with it, those in work as well. A table that was there before stays with its rows, and loses only
/// the objects that an install added. Objects that the queues of a schema share stay.
///
/// All of it happens in one transaction, under the lock of `readpast_install`. It needs the rights of the login that installed
/// the queue.
///
/// *Threads*: workers that are at work meanwhile get `READPAST_UNKNOWN_QUEUE` from their next call.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_UNKNOWN_QUEUE`: there is no such queue; the message names those that there are.
/// - `READPAST_SCHEMA_MISSING`: nothing is installed in the schema.
/// - `READPAST_INVALID_ARGUMENT`: another queue works on the queue's table.
/// - `READPAST_PERMISSION_DENIED`: the objects are not the login's.
/// - any other failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_drop(
    config: readpast_config,
    queue: *const c_char,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(config, err, || {
            install::drop_queue(&config.settings()?, args::text("queue", queue)?)?;
            Ok(READPAST_OK)
        })
    }
}
