//! `readpast_column`: the columns of a batch's items.

use super::answer::answer;
use super::batch::{ClaimedBatch, count, readpast_batch};
use super::boundary::read;
use super::error::readpast_error;
use super::handle::Handle;
use super::sized::{OutStructs, Versioned};
use super::status::readpast_status;
use crate::item::ColumnType;
use std::ffi::c_char;

/// True or false: `integer` is 1 or 0.
pub const READPAST_TYPE_BOOLEAN: i32 = 1;
/// A whole number of up to 64 bits: `integer`.
pub const READPAST_TYPE_INTEGER: i32 = 2;
/// A binary floating point number: `number`.
pub const READPAST_TYPE_FLOAT: i32 = 3;
/// An exact decimal number: `text`, like `-12.50`.
pub const READPAST_TYPE_DECIMAL: i32 = 4;
/// Text: `text`.
pub const READPAST_TYPE_TEXT: i32 = 5;
/// Bytes: `bytes`.
pub const READPAST_TYPE_BINARY: i32 = 6;
/// A date and time in UTC: `text`, like `2026-11-21T08:30:00.1234567`. PostgreSQL also has times that are infinite, after the
/// year 9999 or before 1: `text` as it writes them, like `infinity` or `12026-01-01 00:00:00+00`.
pub const READPAST_TYPE_TIMESTAMP: i32 = 7;
/// A date: `text`, like `2026-11-21`, or as PostgreSQL writes one that is infinite or of such a year.
pub const READPAST_TYPE_DATE: i32 = 8;
/// A GUID: `text`.
pub const READPAST_TYPE_GUID: i32 = 9;
/// A JSON document: `text`, as it is stored. Other code may have written something that is not JSON: SQL Server keeps it as
/// text.
pub const READPAST_TYPE_JSON: i32 = 10;

/// A column of the items. Initialise it with `READPAST_COLUMN_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_column {
    /// The size of this struct.
    pub struct_size: usize,
    /// Its name, as the worker view declares it.
    pub name: *const c_char,
    /// Its type: a `READPAST_TYPE_`.
    pub r#type: i32,
    /// 0.
    pub reserved: i32,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_column {
    const INIT: &'static str = "READPAST_COLUMN_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// How many columns the items have.
///
/// *Returns*: the number; 0 for a batch that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_batch_column_count(batch: readpast_batch) -> i32 {
    read(batch, 0, |batch| count(batch.columns().len()))
}

/// The column at `index`, counted from 0. All items of a batch have the same columns.
///
/// *Ownership*: the name is the batch's, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*column` is written.
/// - `READPAST_NOT_FOUND`: there is no such column; `*column` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `column` is NULL or not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_batch_column(
    batch: readpast_batch,
    index: i32,
    column: *mut readpast_column,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(batch, err, || {
            let place = OutStructs::one("column", column)?;
            Ok(place.fill_or_not_found(c_column(&*batch.get()?, index)))
        })
    }
}

/// The number of a column's type.
pub(super) fn column_type(kind: ColumnType) -> i32 {
    match kind {
        ColumnType::Boolean => READPAST_TYPE_BOOLEAN,
        ColumnType::Integer => READPAST_TYPE_INTEGER,
        ColumnType::Float => READPAST_TYPE_FLOAT,
        ColumnType::Decimal => READPAST_TYPE_DECIMAL,
        ColumnType::Text => READPAST_TYPE_TEXT,
        ColumnType::Binary => READPAST_TYPE_BINARY,
        ColumnType::Timestamp => READPAST_TYPE_TIMESTAMP,
        ColumnType::Date => READPAST_TYPE_DATE,
        ColumnType::Guid => READPAST_TYPE_GUID,
        ColumnType::Json => READPAST_TYPE_JSON,
    }
}

fn c_column(batch: &ClaimedBatch, index: i32) -> Option<readpast_column> {
    let index = usize::try_from(index).ok()?;
    let kind = batch.columns().get(index)?.kind;
    let name = batch.name(index)?.as_ptr();
    Some(readpast_column { struct_size: 0, name, r#type: column_type(kind), reserved: 0 })
}
