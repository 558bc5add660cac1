//! The ended attempts at an item.

use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Attempt, Rows, Value};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};

/// The most attempts of one item that are returned.
const MOST: i32 = 1000;

pub(crate) fn attempts(on: &dyn Sessions, terms: &CallTerms, calls: &Calls, key: &str) -> Result<Vec<Attempt>> {
    let Some(call) = &calls.attempts else { return Ok(Vec::new()) };
    let params = [Param::Text(terms.check_key(key)?), Param::Integer(MOST)];
    let rows =
        on.ask(CallKind::Attempts, YieldsTo::Closing, |session| session.call(call, &params, ReadCells::Times))?;
    (0..rows.len()).map(|row| attempt(&rows, row)).collect()
}

fn attempt(rows: &Rows, row: usize) -> Result<Attempt> {
    let text = |column| if let Value::Text(text) = rows.value(row, column) { Some(text.to_owned()) } else { None };
    let number = if let Value::Integer(number) = rows.value(row, 0) { i32::try_from(number).ok() } else { None };
    let outcome = text(4).and_then(|state| state.parse().ok());
    match (number, text(3), outcome) {
        (Some(number), Some(ended), Some(outcome)) => Ok(Attempt {
            number,
            worker: text(1),
            started: text(2),
            ended,
            outcome,
            step: text(5),
            response: text(6),
            error: text(7),
        }),
        _ => Err(Error::new(ErrorKind::Protocol, "the server returned a malformed attempt")),
    }
}
