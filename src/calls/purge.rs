//! Deletes ended items.

use super::count::check_count;
use super::find::{check_keys, sent};
use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Filter, Rows, Value};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells, Session};
use std::sync::Arc;
use std::time::Duration;

/// Deletes up to `max` items that fit `filter`.
pub(crate) fn purge(on: &dyn Sessions, terms: &CallTerms, calls: &Calls, filter: &Filter, max: u32) -> Result<u64> {
    let max = check_count("the number of items to purge", max)?;
    check_states(filter)?;
    check_keys(terms, filter)?;
    let filter = sent(terms, filter)?;
    let params = [Param::Text(&filter), Param::Integer(max)];
    count(&on.ask(CallKind::Purge, YieldsTo::Closing, |session| session.call(&calls.purge, &params, ReadCells::Table))?)
}

/// Refuses a purge of items that have not ended.
pub(crate) fn check_states(filter: &Filter) -> Result<()> {
    match filter.states.iter().find(|state| !state.is_finished()) {
        None => Ok(()),
        Some(state) => {
            let message =
                format!("only finished items can be purged, and {state} ones are not; cancel or terminate them first");
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
    }
}

/// Deletes up to `max` expired items, unless another call did within the `interval`.
pub(crate) fn retain(session: &mut Session, statement: &Arc<str>, interval: Duration, max: i32) -> Result<u64> {
    // An eighth less: a call that comes a little early is not to lose a whole interval.
    let interval = i32::try_from((interval - interval / 8).as_millis()).unwrap_or(i32::MAX);
    count(&session.call(statement, &[Param::Integer(interval), Param::Integer(max)], ReadCells::Table)?)
}

/// How many items were deleted.
fn count(rows: &Rows) -> Result<u64> {
    match rows.value(0, 1) {
        Value::Integer(purged) => Ok(u64::try_from(purged).unwrap_or(0)),
        other => Err(Error::new(ErrorKind::Protocol, format!("the server answered a purge with {other:?}"))),
    }
}
