//! Calls for operators: `readpast_queue_find`, `readpast_queue_redrive`, `readpast_queue_purge`.

use super::answer::answer;
use super::args::{self, Field};
use super::batch::readpast_batch;
use super::claim;
use super::error::readpast_error;
use super::failure::CallFailure;
use super::handle::Handle;
use super::out::OutParameter;
use super::outcome::{readpast_outcome, write_outcomes};
use super::queue::readpast_queue;
use super::sized::{OutStructs, Versioned, read_array};
use super::status::{READPAST_OK, readpast_status};
use crate::item::{Filter, ItemRef};
use std::ffi::c_char;

/// An item, by its key. Initialise it with `READPAST_ITEM_REF_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_item_ref {
    /// The size of this struct.
    pub struct_size: usize,
    /// The item's key.
    pub key: *const c_char,
    /// The token that the item had when the caller saw it; with another token the item is left alone. NULL: any token.
    pub token: *const c_char,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_item_ref {
    const INIT: &'static str = "READPAST_ITEM_REF_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Finds up to `max_items` (1 to 1000) items, in the order of their keys. It claims and changes nothing.
///
/// `filter_json` is a JSON object in which every member narrows the choice: `keys`, `status` and `types` (arrays of text),
/// `before` and `after` (UTC times, of the last change), `error` (a part of its text, case-sensitive, without wildcards) and
/// `longer_ms` (a whole number: the last attempt took more milliseconds, or the item has been Processing for more). NULL: all
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

/// Starts `count` (0 to 1000000) items over, 1000 in a commit: Failed, Cancelled, Terminated, PartiallyCompleted, Error and
/// Paused items become Pending, due now, with all their attempts. Response, error and step stay. Each item has its own answer.
///
/// `operation` is as for `readpast_queue_settle`. `outcomes` may be NULL; otherwise there are `count` of them.
///
/// *Returns*:
/// - `READPAST_OK`: all are due; `outcomes` are written.
/// - `READPAST_CONFLICT`, `READPAST_ILLEGAL_TRANSITION`, `READPAST_NOT_FOUND`, `READPAST_DUPLICATE` (the same work is in the
///   queue again, unfinished): the answer for the first item that is not; `outcomes` are written for all.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: an argument cannot be taken; the message names it.
/// - `READPAST_OUTCOME_UNKNOWN`: see there.
/// - any other failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_redrive(
    queue: readpast_queue,
    items: *const readpast_item_ref,
    count: i32,
    operation: *const c_char,
    outcomes: *mut readpast_outcome,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let items = read_refs(items, count)?;
            let outcomes = OutStructs::optional("outcomes", outcomes, count)?;
            let operation = args::optional_text("operation", operation)?;
            Ok(write_outcomes(outcomes, &queue.get()?.redrive(&items, operation)?))
        })
    }
}

/// Deletes up to `max_items` (1 to 1000) finished items that fit `filter_json`, which is that of `readpast_queue_find`. Without a
/// status it means Completed, PartiallyCompleted, Cancelled and Terminated; Failed items are deleted only when named. Call it
/// until it deletes none.
///
/// When the connection breaks, the call is repeated, and counts only the items that the repetition deleted.
///
/// *Returns*:
/// - `READPAST_OK`: `*purged` (which may be NULL) is how many there were.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken, or the filter names a state that is not final; the message names
///   it.
/// - `READPAST_INVALID_ITEM`: a key is not one of this queue's.
/// - any failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_purge(
    queue: readpast_queue,
    filter_json: *const c_char,
    max_items: i32,
    purged: *mut i64,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let filter = read_filter(filter_json)?;
            let count = queue.get()?.purge(&filter, args::item_count("max_items", max_items)?)?;
            if !purged.is_null() {
                purged.write(i64::try_from(count).unwrap_or(i64::MAX));
            }
            Ok(READPAST_OK)
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

/// # Safety
/// `items` keeps to the header's rules for arrays and text.
unsafe fn read_refs<'a>(items: *const readpast_item_ref, count: i32) -> Result<Vec<ItemRef<'a>>, CallFailure> {
    // SAFETY: as the caller promises.
    let items = unsafe { read_array("items", items, count) }?;
    // SAFETY: as the caller promises.
    items.iter().enumerate().map(|(i, item)| unsafe { read_ref(i, item) }).collect()
}

/// # Safety
/// The texts keep to the header's rules.
unsafe fn read_ref<'a>(i: usize, item: &readpast_item_ref) -> Result<ItemRef<'a>, CallFailure> {
    // SAFETY: as the caller promises.
    unsafe {
        Ok(ItemRef {
            key: args::text(Field("items", i, "key"), item.key)?,
            token: args::optional_text(Field("items", i, "token"), item.token)?,
        })
    }
}
