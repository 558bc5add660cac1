//! Reads the answer columns that every procedure returns.

use crate::error::{Error, ErrorKind, Result};
use crate::item::{Answer, Outcome, Rows, Value, answer_column};

/// The word in the answer column of `row`.
pub(super) fn word(rows: &Rows, row: usize) -> &str {
    text(rows, row, answer_column::ANSWER)
}

/// How long until the next item is due, of an EMPTY row.
pub(super) fn due_ms(rows: &Rows, row: usize) -> Option<u64> {
    match rows.value(row, answer_column::DUE_MS) {
        Value::Integer(ms) => Some(u64::try_from(ms).unwrap_or(0)),
        _ => None,
    }
}

/// The text of an answer column, empty where it is NULL.
pub(super) fn text(rows: &Rows, row: usize, column: usize) -> &str {
    match rows.value(row, column) {
        Value::Text(text) => text,
        // Keys of other types than time.
        _ => "",
    }
}

/// The outcomes of the first `count` rows, each in its place.
pub(super) fn outcomes(rows: &Rows, count: usize) -> Result<Vec<Outcome>> {
    (0..count)
        .map(|row| {
            let in_place = rows.value(row, answer_column::ORDINAL) == Value::Integer(row as i64);
            let answer = word(rows, row).parse::<Answer>().ok().filter(|_| in_place);
            let answer = answer.ok_or_else(|| {
                Error::new(
                    ErrorKind::Protocol,
                    format!("the server's answer for item {row} of {count} is {:?}, out of place", word(rows, row)),
                )
            })?;
            let attempt = match rows.value(row, answer_column::ATTEMPT) {
                Value::Integer(attempt) => i32::try_from(attempt).unwrap_or(0),
                _ => 0,
            };
            Ok(Outcome {
                answer,
                state: text(rows, row, answer_column::STATUS).parse().ok(),
                token: text(rows, row, answer_column::TOKEN).to_owned(),
                attempt,
            })
        })
        .collect()
}
