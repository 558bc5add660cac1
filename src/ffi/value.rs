//! `readpast_value`: one column of one item.

use super::answer::answer;
use super::args;
use super::batch::{ClaimedBatch, readpast_batch};
use super::column::column_type;
use super::error::readpast_error;
use super::handle::Handle;
use super::sized::{OutStructs, Versioned};
use super::status::readpast_status;
use crate::item::{Item, Value};
use std::ffi::c_char;
use std::ptr;

/// The value of one column of one item. The field that holds it follows from the type; the others are 0 and NULL, and so are all
/// when the value is NULL. Initialise it with `READPAST_VALUE_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_value {
    /// The size of this struct.
    pub struct_size: usize,
    /// The type of the column: a `READPAST_TYPE_`.
    pub r#type: i32,
    /// Whether the value is NULL: 1 or 0.
    pub is_null: i32,
    /// A whole number, or 1 for true and 0 for false.
    pub integer: i64,
    /// A floating point number.
    pub number: f64,
    /// Text, or a value that is given as text, with a NUL after it.
    pub text: *const c_char,
    /// Bytes.
    pub bytes: *const u8,
    /// How many bytes `text` (without the NUL) or `bytes` has.
    pub length: usize,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_value {
    const INIT: &'static str = "READPAST_VALUE_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// The value of the item at `index`, in the column at `column`, both counted from 0.
///
/// *Ownership*: text and bytes are the batch's, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*value` is written.
/// - `READPAST_NOT_FOUND`: there is no such item or column; `*value` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `value` is NULL or not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_batch_value(
    batch: readpast_batch,
    index: i32,
    column: i32,
    value: *mut readpast_value,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(batch, err, || {
            let place = OutStructs::one("value", value)?;
            let batch = batch.get()?;
            let column = usize::try_from(column).ok();
            Ok(place.fill_or_not_found(column.and_then(|column| c_value(&batch, index, column))))
        })
    }
}

/// The value of the item at `index`, counted from 0, in the column called `name`; if there is none, in the only column whose
/// name differs only in the case of letters. A column of the life cycle is found by its name on the other server and in other
/// tables too: `ScheduledFor`, `scheduled_for` and `ItemDueAt` are one.
///
/// *Ownership*: text and bytes are the batch's, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*value` is written.
/// - `READPAST_NOT_FOUND`: there is no such item or column; `*value` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `name` is NULL or not UTF-8, or `value` is NULL or not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_batch_value_by_name(
    batch: readpast_batch,
    index: i32,
    name: *const c_char,
    value: *mut readpast_value,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(batch, err, || {
            let place = OutStructs::one("value", value)?;
            let name = args::text("name", name)?;
            let batch = batch.get()?;
            Ok(place.fill_or_not_found(batch.place_of(name).and_then(|column| c_value(&batch, index, column))))
        })
    }
}

fn c_value(batch: &ClaimedBatch, index: i32, column: usize) -> Option<readpast_value> {
    let item = batch.item(index)?;
    let kind = batch.columns().get(column)?.kind;
    let mut value = readpast_value {
        struct_size: 0,
        r#type: column_type(kind),
        is_null: 0,
        integer: 0,
        number: 0.0,
        text: ptr::null(),
        bytes: ptr::null(),
        length: 0,
    };
    lend(&mut value, &item, column);
    Some(value)
}

fn lend(to: &mut readpast_value, item: &Item<'_>, column: usize) {
    match item.value(column).unwrap_or(Value::Null) {
        Value::Null => to.is_null = 1,
        Value::Boolean(value) => to.integer = value.into(),
        Value::Integer(value) => to.integer = value,
        Value::Float(value) => to.number = value,
        Value::Text(text) => {
            to.text = item.text_with_nul(column).unwrap_or("\0").as_ptr().cast();
            to.length = text.len();
        }
        Value::Binary(bytes) => (to.bytes, to.length) = (bytes.as_ptr(), bytes.len()),
    }
}
