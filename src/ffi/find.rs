//! `readpast_queue_find`.

use super::answer::answer;
use super::args;
use super::batch::readpast_batch;
use super::claim;
use super::error::readpast_error;
use super::failure::CallFailure;
use super::handle::Handle;
use super::out::OutParameter;
use super::queue::readpast_queue;
use super::status::readpast_status;
use crate::item::Filter;
use std::ffi::c_char;

/// Finds up to `max_items` (1 to 1000) items, in the order of their keys. It claims and changes nothing.
///
/// `filter_json` is a JSON object in which every member narrows the choice: `keys`, `status` and `types` (arrays of text),
/// `before` and `after` (UTC times, of the last change), `error` (a part of its text, case-sensitive, without wildcards),
/// `longer_ms` (a whole number: the last attempt took more milliseconds, or the item has been Processing for more) and `columns`
/// (an object of values that the item's own columns have; `Payload.id` is a member of the JSON in the column `Payload`). NULL: all
/// items.
///
/// `after_key` is the last key of the page before; NULL: from the start.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`. The texts are copied.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds at least one item.
/// - `READPAST_EMPTY`: there is none, or none after `after_key`; `*batch` is null.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken; the message names it.
/// - `READPAST_INVALID_ITEM`: a key is not one of this queue's.
/// - any failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_find(
    queue: readpast_queue,
    filter_json: *const c_char,
    after_key: *const c_char,
    max_items: i32,
    batch: *mut readpast_batch,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let place = OutParameter::new("batch", batch)?;
            let filter = read_filter(filter_json)?;
            let after = args::optional_text("after_key", after_key)?;
            let max = args::item_count("max_items", max_items)?;
            claim::put(place, queue.get()?.find(&filter, after, max)?)
        })
    }
}

/// # Safety
/// The text keeps to the header's rules.
unsafe fn read_filter(json: *const c_char) -> Result<Filter, CallFailure> {
    // SAFETY: as the caller promises.
    match unsafe { args::optional_text("filter_json", json) }? {
        Some(json) => Ok(Filter::from_json(json)?),
        None => Ok(Filter::default()),
    }
}
