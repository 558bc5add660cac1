//! The items that an item waits for, and those that wait for it.

use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{OnFailed, Rows, Value, Wait};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};

pub(crate) fn waits(on: &dyn Sessions, terms: &CallTerms, calls: &Calls, key: &str) -> Result<Vec<Wait>> {
    let Some(call) = &calls.waits else { return Ok(Vec::new()) };
    let params = [Param::Text(terms.check_key(key)?)];
    let rows = on.ask(CallKind::Why, YieldsTo::Closing, |session| session.call(call, &params, ReadCells::Times))?;
    (0..rows.len()).map(|row| wait(terms, &rows, row)).collect()
}

fn wait(terms: &CallTerms, rows: &Rows, row: usize) -> Result<Wait> {
    let text = |column| if let Value::Text(text) = rows.value(row, column) { Some(text) } else { None };
    let is_parent = match rows.value(row, 0) {
        Value::Integer(number) => Some(number != 0),
        Value::Boolean(value) => Some(value),
        _ => None,
    };
    let state = |column| text(column).and_then(|state| state.parse().ok());
    match (is_parent, text(1), text(3).map(OnFailed::read)) {
        (Some(is_parent), Some(key), Some(Ok(on_failed))) => Ok(Wait {
            is_parent,
            key: terms.key_of(key.to_owned()),
            state: state(2),
            on_failed,
            is_over: text(4).is_some(),
            outcome: state(4),
        }),
        _ => Err(Error::new(ErrorKind::Protocol, "the server returned a malformed wait")),
    }
}
