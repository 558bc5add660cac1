//! `readpast_queue_claim`.

use super::answer::answer;
use super::args;
use super::batch::{ClaimedBatch, readpast_batch};
use super::error::readpast_error;
use super::failure::CallFailure;
use super::handle::Handle;
use super::out::OutParameter;
use super::queue::readpast_queue;
use super::status::{READPAST_EMPTY, READPAST_OK, readpast_status};
use crate::item::Batch;

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

/// Hands a batch out, unless it is empty.
pub(super) fn put(place: OutParameter<readpast_batch>, batch: Batch) -> Result<readpast_status, CallFailure> {
    if batch.is_empty() {
        return Ok(READPAST_EMPTY);
    }
    place.put(ClaimedBatch::new(batch))?;
    Ok(READPAST_OK)
}
