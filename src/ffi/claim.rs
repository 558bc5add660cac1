//! `readpast_queue_claim` and `readpast_queue_wait_for`.

use super::answer::answer;
use super::args;
use super::batch::{ClaimedBatch, readpast_batch};
use super::error::readpast_error;
use super::failure::CallFailure;
use super::handle::Handle;
use super::out::OutParameter;
use super::queue::readpast_queue;
use super::status::{READPAST_EMPTY, READPAST_NOT_FOUND, READPAST_OK, readpast_status};
use crate::item::Batch;
use crate::queue::Waited;
use std::ffi::c_char;

/// Claims up to `max_items` (1 to 1000) due items, in the order they were due. Each is this worker's until its lease runs
/// out, on the server's clock; settle it or renew its lease before that.
///
/// If none is due, the call waits up to `wait_ms` (0 to 86400000) for the first.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`; the items stay claimed.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds at least one item.
/// - `READPAST_EMPTY`: none became due in time; `*batch` is null.
/// - `READPAST_INTERRUPTED`: `readpast_queue_interrupt` was called, before or during the call; `*batch` is null.
/// - `READPAST_CLOSED`: the queue was closed, perhaps during the wait.
/// - any failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_claim(
    queue: readpast_queue,
    max_items: i32,
    wait_ms: i64,
    batch: *mut readpast_batch,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let place = OutParameter::new("batch", batch)?;
            let (max, wait) = (args::item_count("max_items", max_items)?, args::wait("wait_ms", wait_ms)?);
            put(place, queue.get()?.claim(max, wait)?)
        })
    }
}

/// Waits up to `wait_ms` (0 to 86400000) until an item has ended, and returns it as it is then: its state, its response and its error.
/// For a producer that needs the result of its work.
///
/// The threads of a process that wait for items of one queue share one question to the server. It comes within 20 ms of a
/// settlement of this process, otherwise 20 ms after the first, then ever later, up to `poll.interval_ms`. On PostgreSQL the
/// doorbell reports a settlement of another process at once. No connection is held in between.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds the item.
/// - `READPAST_EMPTY`: it has not ended in time; `*batch` is null.
/// - `READPAST_NOT_FOUND`: it is not there; a queue with `completion` deletes an item, or moves it to the history, as it ends.
/// - `READPAST_INVALID_ITEM`: `key` is no key of the queue.
/// - `READPAST_INTERRUPTED`: `readpast_queue_interrupt` was called, before or during the call.
/// - `READPAST_CLOSED`: the queue was closed, perhaps during the wait.
/// - any failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_wait_for(
    queue: readpast_queue,
    key: *const c_char,
    wait_ms: i64,
    batch: *mut readpast_batch,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let place = OutParameter::new("batch", batch)?;
            let (key, wait) = (args::text("key", key)?, args::wait("wait_ms", wait_ms)?);
            match queue.get()?.wait_for(key, wait)? {
                Waited::Ended(item) => put(place, item),
                Waited::Gone => Ok(READPAST_NOT_FOUND),
                Waited::NotYet => Ok(READPAST_EMPTY),
            }
        })
    }
}

/// Hands a batch out, unless it is empty.
pub(super) fn put(place: OutParameter<readpast_batch>, batch: Batch) -> Result<readpast_status, CallFailure> {
    if batch.is_empty() {
        return Ok(READPAST_EMPTY);
    }
    place.put(ClaimedBatch::new(batch))?;
    Ok(READPAST_OK)
}
