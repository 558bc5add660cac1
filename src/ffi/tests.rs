//! Tests of C functions that need no server: made-up batches, wrong handles, panics. Miri runs them too: `.ci/deep.sh miri`.

mod batch;
mod handles;
mod made;
mod panics;

use super::*;
use crate::item::{Batch, Cell, Column, ColumnType, Rows};
use std::ffi::{CStr, c_char};
use std::sync::Arc;

use super::batch::ClaimedBatch;
use super::handle::Handle;

/// The text at a pointer from the library.
fn text_of(text: *const c_char) -> Option<String> {
    // SAFETY: the library gives NULL, or text that ends in NUL and lives as long as its handle.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned())
}

/// A batch of two items: the first with a value in each column, the second with NULL in all of them.
fn sample_batch() -> readpast_batch {
    let answer = ["answer", "answer_ordinal", "answer_due_ms", "key", "token", "attempt", "status"];
    let own = [
        ("Yes", ColumnType::Boolean),
        ("Whole", ColumnType::Integer),
        ("Part", ColumnType::Float),
        ("Price", ColumnType::Decimal),
        ("Words", ColumnType::Text),
        ("Raw", ColumnType::Binary),
        ("Größe", ColumnType::Text),
    ];
    let columns = answer.map(|name| (name, ColumnType::Text)).into_iter().chain(own);
    let columns: Vec<_> = columns.map(|(name, kind)| Column { name: name.to_owned(), kind }).collect();
    let mut rows = Rows::new(Arc::from(columns));
    for attempt in [1, 2] {
        for word in ["CLAIMED", "", ""] {
            rows.push_text(|text| text.push_str(word));
        }
        rows.push_text(|text| *text += &format!("key{attempt}"));
        rows.push_text(|text| *text += &format!("token{attempt}"));
        rows.push(Cell::Integer(attempt));
        rows.push_text(|text| text.push_str("Processing"));
        if attempt == 1 {
            rows.push(Cell::Boolean(true));
            rows.push(Cell::Integer(i64::MIN));
            rows.push(Cell::Float(0.5));
            rows.push_text(|text| text.push_str("12.50"));
            rows.push_text(|text| text.push_str("a\0b \u{1f600}"));
            rows.push_bytes(&[0, 255]);
            rows.push_text(|_| {});
        } else {
            own.iter().for_each(|_| rows.push(Cell::Null));
        }
    }
    readpast_batch::hand_out(ClaimedBatch::new(Batch::new(rows, 0))).unwrap()
}
