//! `readpast_queue_enqueue`, and what goes in.

use super::answer::answer;
use super::args::{self, Field};
use super::error::readpast_error;
use super::failure::Failure;
use super::handle::Handle;
use super::queue::readpast_queue;
use super::sized::{Places, Versioned, read_array};
use super::status::{READPAST_DUPLICATE, READPAST_INVALID_ITEM, READPAST_OK, readpast_status};
use super::text;
use crate::item::{Enqueued, NewItem};
use serde_json::{Map, Value};
use std::{ffi::c_char, mem::offset_of};

/// An item to enqueue. Initialise it with `READPAST_NEW_ITEM_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_new_item {
    /// The size of this struct.
    pub struct_size: usize,
    /// The kind of work, one of the queue's types. NULL: the first of them.
    pub r#type: *const c_char,
    /// The step to begin with. NULL: none.
    pub step: *const c_char,
    /// When it is due, in milliseconds from now on the server's clock. -1: at `due`.
    pub delay_ms: i64,
    /// When it is due, a UTC time like `"2026-11-21T08:30:00Z"`. NULL: now, or after `delay_ms`.
    pub due: *const c_char,
    /// The values of the queue's own columns, as a JSON object. NULL: all columns are NULL.
    pub columns_json: *const c_char,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_new_item {
    const INIT: &'static str = "READPAST_NEW_ITEM_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// What came of an item to enqueue. Initialise the first of an array with `READPAST_RECEIPT_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_receipt {
    /// The size of this struct.
    pub struct_size: usize,
    /// The item's key. Of a duplicate that of the item which is there, where the queue tells it; else empty.
    pub key: [c_char; 256],
    /// The item's token, for whoever wants to cancel or pause exactly this version of it. Empty for a duplicate.
    pub token: [c_char; 40],
    /// `READPAST_OK`, or `READPAST_DUPLICATE` when nothing was enqueued.
    pub answer: readpast_status,
    /// 0.
    pub reserved: i32,
}

// SAFETY: numbers only, the size first.
unsafe impl Versioned for readpast_receipt {
    const INIT: &'static str = "READPAST_RECEIPT_INIT";
    const FIRST_SIZE: usize = offset_of!(Self, answer);
}

/// Enqueues `count` (1 to 1000) items: all of them, or in case of a failure none. Of a queue whose description says what a
/// duplicate is, duplicates alone are left out.
///
/// `operation` makes the call repeatable: made again with the same UUID and items, it enqueues nothing more and answers
/// the same. NULL: the library chooses one for its own retries.
///
/// Whoever gives one keeps it until a call with it succeeds: a repetition that fails, with whatever status, leaves open
/// what became of the first.
///
/// `receipts` may be NULL; otherwise there are `count` of them.
///
/// *Ownership*: what `items` points to is copied.
///
/// *Threads*: any, at once.
///
/// *Returns*:
/// - `READPAST_OK`: all are enqueued; `receipts` are written.
/// - `READPAST_DUPLICATE`: as above, but for at least one which was there already; its receipt says so.
/// - `READPAST_INVALID_ITEM`: an item does not fit the queue; the message names it and the column.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: an argument cannot be taken; the message names it.
/// - `READPAST_OUTCOME_UNKNOWN`: see there.
/// - any other failure of the connection or the server.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_enqueue(
    queue: readpast_queue,
    items: *const readpast_new_item,
    count: i32,
    operation: *const c_char,
    receipts: *mut readpast_receipt,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let items = read_items(items, count)?;
            let receipts = Places::optional("receipts", receipts, count)?;
            let operation = args::optional_text("operation", operation)?;
            let enqueued = queue.get()?.enqueue(&items, operation)?;
            receipts.fill(enqueued.iter().map(c_receipt));
            Ok(if enqueued.iter().any(|item| item.duplicate) { READPAST_DUPLICATE } else { READPAST_OK })
        })
    }
}

/// # Safety
/// `items` keeps to the header's rules for arrays and text.
unsafe fn read_items(items: *const readpast_new_item, count: i32) -> Result<Vec<NewItem>, Failure> {
    // SAFETY: as the caller promises.
    let items = unsafe { read_array("items", items, count) }?;
    // SAFETY: as the caller promises.
    items.iter().enumerate().map(|(i, item)| unsafe { read_item(i, item) }).collect()
}

/// # Safety
/// The item's texts keep to the header's rules.
unsafe fn read_item(i: usize, item: &readpast_new_item) -> Result<NewItem, Failure> {
    let text = |field, text| {
        // SAFETY: as the caller promises.
        unsafe { args::optional_text(Field("items", i, field), text) }
    };
    let columns =
        text("columns_json", item.columns_json)?.map_or_else(|| Ok(Map::new()), |json| read_columns(i, json))?;
    Ok(NewItem {
        kind: text("type", item.r#type)?.map(str::to_owned),
        step: text("step", item.step)?.map(str::to_owned),
        delay_ms: args::delay(Field("items", i, "delay_ms"), item.delay_ms)?,
        due: text("due", item.due)?.map(str::to_owned),
        columns,
    })
}

fn read_columns(i: usize, json: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(json).map_err(|error| {
        Failure::new(
            READPAST_INVALID_ITEM,
            format!("{} is not a JSON object: {error}", Field("items", i, "columns_json")),
        )
    })
}

fn c_receipt(item: &Enqueued) -> readpast_receipt {
    readpast_receipt {
        struct_size: 0,
        key: text::fixed_text(&item.key),
        token: text::fixed_text(&item.token),
        answer: if item.duplicate { READPAST_DUPLICATE } else { READPAST_OK },
        reserved: 0,
    }
}
