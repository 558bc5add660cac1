//! The head of an item's group, which keeps it waiting, and the server's clock.

use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::dialect::Calls;
use crate::error::{ErrorKind, Result};
use crate::item::{Item, ItemState, Value};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};

/// The server's time, in milliseconds since 1970.
pub(crate) fn clock(on: &dyn Sessions, call: CallKind) -> Result<Option<i64>> {
    on.ask(call, YieldsTo::Closing, |session| {
        let query = session.dialect().query("ask/clock")?;
        let rows = session.execute(&query, &[])?;
        Ok(match rows.value(0, 0) {
            Value::Integer(ms) if !rows.is_empty() => Some(ms),
            _ => None,
        })
    })
}

/// The item that keeps the item's group waiting, unless it is the item itself, or one that this login may not see.
pub(crate) fn head(
    on: &dyn Sessions,
    terms: &CallTerms,
    calls: &Calls,
    item: &Item<'_>,
) -> Result<Option<(String, Option<ItemState>)>> {
    let (Some(call), Some(group)) = (&calls.blocked, &terms.spec.order.group) else { return Ok(None) };
    // The description may give its name in PostgreSQL's quotes.
    let value = match item.value_of(group.as_str().trim_matches('"')) {
        Some(Value::Text(text)) => text.to_owned(),
        Some(Value::Integer(number)) => number.to_string(),
        _ => return Ok(None),
    };
    let params = [Param::Text(&value)];
    let found = on.ask(CallKind::Why, YieldsTo::Closing, |session| session.call(call, &params, ReadCells::Table));
    let rows = match found {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
        found => found?,
    };
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(match (rows.value(0, 0), rows.value(0, 1)) {
        (Value::Text(key), state) => {
            let state = if let Value::Text(word) = state { word.parse().ok() } else { None };
            Some((terms.key_of(key.to_owned()), state)).filter(|(key, _)| key != item.key())
        }
        _ => None,
    })
}
