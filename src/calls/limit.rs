//! Limits: their list, and changes.

use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::catalog::{number, optional_text, text};
use crate::dialect::LimitCalls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Limit, LimitChange, Rate, Rows, Value, normalize_utc};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};

/// Lists them: each with what holds for all keys, and then the keys that are in work or were changed.
pub(crate) fn list(on: &dyn Sessions, calls: &LimitCalls, kind: CallKind) -> Result<Vec<Limit>> {
    let rows = on.ask(kind, YieldsTo::Closing, |session| session.call(&calls.list, &[], ReadCells::Table))?;
    Ok(limits_of(&rows))
}

/// The limits that the rows of the call are.
pub(crate) fn limits_of(rows: &Rows) -> Vec<Limit> {
    (0..rows.len()).map(|row| limit(rows, row)).collect()
}

fn limit(rows: &Rows, row: usize) -> Limit {
    let named = |column| Some(text(rows, row, column)).filter(|text| !text.is_empty());
    let time = |column| optional_text(rows, row, column).and_then(|time| normalize_utc(&time));
    let rate = number(rows, row, 4).zip(number(rows, row, 5));
    Limit {
        by: named(0),
        key: named(1),
        at_once: number(rows, row, 2),
        in_work: number(rows, row, 3).unwrap_or(0),
        rate: rate.and_then(|(starts, ms)| Some(Rate { starts: starts.try_into().ok()?, ms: ms.try_into().ok()? })),
        burst: number(rows, row, 6),
        starts: match rows.value(row, 7) {
            Value::Float(tokens) => Some(tokens.floor() as i64),
            _ => number(rows, row, 7),
        },
        free_at: time(8),
        who: optional_text(rows, row, 9),
        reason: optional_text(rows, row, 10),
        set_at: time(11),
        until: time(12),
        place: None,
    }
}

/// Changes one: `by` names its column, and is empty for the limit of the queue.
pub(crate) fn set(
    on: &dyn Sessions,
    terms: &CallTerms,
    calls: &LimitCalls,
    by: &str,
    change: &LimitChange<'_>,
    who: &str,
) -> Result<()> {
    let integer =
        |number: Option<u32>| Param::OptionalInteger(number.map(|number| number.try_into().unwrap_or(i32::MAX)));
    let ms = change.rate.map(|rate| i64::try_from(rate.ms).unwrap_or(i64::MAX));
    let (until, for_ms) = change.end.written();
    let params = [
        Param::Text(by),
        Param::Text(change.key.unwrap_or_default()),
        integer(change.at_once),
        integer(change.rate.map(|rate| rate.starts)),
        Param::OptionalLong(ms),
        integer(change.burst),
        Param::OptionalText(until.as_deref()),
        Param::OptionalLong(for_ms),
        Param::Text(who),
        Param::OptionalText(change.reason),
    ];
    let refused = |error: Error| match terms.dialect.refuses_argument(&error) {
        true => Error::new(ErrorKind::InvalidArgument, error.message().to_owned()),
        false => error,
    };
    let set = on.ask(CallKind::Limits, YieldsTo::Closing, |session| session.execute(&calls.set, &params));
    set.map(drop).map_err(refused)
}
