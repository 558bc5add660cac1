//! `readpast_queue_enqueue`, and its items.

use super::answer::answer;
use super::args::{self, Field};
use super::error::readpast_error;
use super::failure::CallFailure;
use super::handle::Handle;
use super::out::OutParameter;
use super::queue::readpast_queue;
use super::receipts::{Receipts, readpast_receipts};
use super::sized::{Versioned, read_array};
use super::status::{READPAST_DUPLICATE, READPAST_INVALID_ITEM, READPAST_OK, readpast_status};
use crate::item::{After, Columns, NewItem, OnFailed};
use std::ffi::c_char;

/// An item to enqueue. Initialise it with `READPAST_NEW_ITEM_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_new_item {
    /// The size of this struct.
    pub struct_size: usize,
    /// The type of work, one of the queue's types. NULL: the first of them.
    pub r#type: *const c_char,
    /// The step to begin with. NULL: none.
    pub step: *const c_char,
    /// When it is due, in milliseconds from now on the server's clock. -1: at `due`.
    pub delay_ms: i64,
    /// When it is due, a UTC time like `"2026-11-21T08:30:00Z"`. NULL: now, or after `delay_ms`.
    pub due: *const c_char,
    /// The values of the queue's own columns, as a JSON object. NULL: each has its `default`, or NULL.
    pub columns_json: *const c_char,
    /// The W3C `traceparent` under which it is enqueued, for a queue whose description has `trace`; others ignore it. A malformed
    /// one is left out without an error. A value of the column in `columns_json` overrides it. NULL: none.
    pub traceparent: *const c_char,
    /// The `tracestate` that belongs to it. NULL: none.
    pub tracestate: *const c_char,
    /// The items for which it waits, as a JSON array: texts are keys of items of the queue, numbers the places of earlier items of
    /// `items`, from 0 on, of its own thousand. It is due when all of them are over, and not before `due`. NULL or `"[]"`: none.
    /// Only in a queue whose description has `after`.
    pub after_json: *const c_char,
    /// Its fate when one of them ends in another way than Completed: `"fail"`, it becomes Failed, and so do those that wait for it;
    /// `"run"`, the other counts as done; `"wait"`, it waits until the other is started again and completed. NULL: `"fail"`.
    pub on_failed: *const c_char,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_new_item {
    const INIT: &'static str = "READPAST_NEW_ITEM_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Enqueues `count` (0 to 1000000) items, 1000 in a commit. Up to 1000 are enqueued all together, or on a failure not at all.
/// With more, the thousands before a failure are enqueued, and the error has the operation with which to repeat the call. All
/// items are checked before the first is sent. In a queue with `dedup`, only duplicates are left out. With no items, nothing is
/// sent.
///
/// `operation` makes the call repeatable: a repetition with the same UUID and items enqueues nothing more and returns the
/// same answers; with the UUID of a call of another queue or kind it is refused. NULL: the library chooses one for its own
/// retries. The identity of each thousand is derived from it.
///
/// If you give one, keep it until a call with it succeeds: a repetition that fails, with any status, leaves the outcome of
/// the first call open.
///
/// `receipts` may be NULL; otherwise it gets the outcome of each item.
///
/// *Ownership*: what `items` points to is copied. The caller frees `*receipts` with `readpast_receipts_free`.
///
/// *Returns*:
/// - `READPAST_OK`: all are enqueued; `*receipts` has a receipt for each, and is null when there are none.
/// - `READPAST_DUPLICATE`: as above, except at least one duplicate; its receipt says so.
/// - `READPAST_INVALID_ITEM`: an item does not fit the queue; the message names it and the column.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: an argument cannot be taken; the message names it.
/// - `READPAST_OUTCOME_UNKNOWN`: see there.
/// - any other failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_enqueue(
    queue: readpast_queue,
    items: *const readpast_new_item,
    count: i32,
    operation: *const c_char,
    receipts: *mut readpast_receipts,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let place = if receipts.is_null() { None } else { Some(OutParameter::new("receipts", receipts)?) };
            let items = read_items(items, count)?;
            let operation = args::optional_text("operation", operation)?;
            let enqueued = queue.get()?.enqueue(&items, operation)?;
            let status = if enqueued.iter().any(|item| item.duplicate) { READPAST_DUPLICATE } else { READPAST_OK };
            if let Some(place) = place.filter(|_| !enqueued.is_empty()) {
                place.put(Receipts::new(&enqueued))?;
            }
            Ok(status)
        })
    }
}

/// # Safety
/// `items` keeps to the header's rules for arrays and text.
unsafe fn read_items(items: *const readpast_new_item, count: i32) -> Result<Vec<NewItem>, CallFailure> {
    // SAFETY: as the caller promises.
    let items = unsafe { read_array("items", items, count) }?;
    // SAFETY: as the caller promises.
    items.iter().enumerate().map(|(i, item)| unsafe { read_item(i, item) }).collect()
}

/// # Safety
/// The item's texts keep to the header's rules.
unsafe fn read_item(i: usize, item: &readpast_new_item) -> Result<NewItem, CallFailure> {
    let text = |field, text| {
        // SAFETY: as the caller promises.
        unsafe { args::optional_text(Field("items", i, field), text) }
    };
    let invalid =
        |field, why: String| CallFailure::new(READPAST_INVALID_ITEM, format!("{} {why}", Field("items", i, field)));
    let after = text("after_json", item.after_json)?.map_or_else(|| Ok(Vec::new()), After::read_list);
    let on_failed = text("on_failed", item.on_failed)?.map_or_else(|| Ok(OnFailed::default()), OnFailed::read);
    let columns = text("columns_json", item.columns_json)?
        .map_or_else(|| Ok(Columns::default()), |json| read_columns(i, json))?;
    Ok(NewItem {
        kind: text("type", item.r#type)?.map(str::to_owned),
        step: text("step", item.step)?.map(str::to_owned),
        delay_ms: args::delay(Field("items", i, "delay_ms"), item.delay_ms)?,
        due: text("due", item.due)?.map(str::to_owned),
        columns,
        // A text that is not UTF-8 is malformed like any other.
        traceparent: text("traceparent", item.traceparent).ok().flatten().map(str::to_owned),
        tracestate: text("tracestate", item.tracestate).ok().flatten().map(str::to_owned),
        after: after.map_err(|why| invalid("after_json", why))?,
        on_failed: on_failed.map_err(|why| invalid("on_failed", why))?,
    })
}

fn read_columns(i: usize, json: &str) -> Result<Columns, CallFailure> {
    let name = Field("items", i, "columns_json");
    Columns::from_json(json)
        .map_err(|error| CallFailure::new(READPAST_INVALID_ITEM, format!("{name} {}", error.message())))
}
