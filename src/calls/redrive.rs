//! Redrives: ended items become due again.

use super::answers;
use super::operation::{Attempts, Operation, in_parts};
use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::description::put_key;
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{ItemRef, Outcome};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};
use serde_json::json;

/// Redrives items. `learn` gets the outcomes of each part as soon as it has committed.
pub(crate) fn redrive(
    on: &dyn Sessions,
    terms: &CallTerms,
    calls: &Calls,
    items: &[ItemRef<'_>],
    operation: Option<&str>,
    learn: impl Fn(&[Outcome]),
) -> Result<Vec<Outcome>> {
    if let Some(i) = items.iter().position(|item| item.key.is_empty()) {
        return Err(Error::new(ErrorKind::InvalidArgument, format!("item {i}: the key is empty")));
    }
    for (i, item) in items.iter().enumerate() {
        terms.check_key(item.key).map(drop).map_err(|error| error.in_context(format!("item {i}")))?;
    }
    in_parts(terms.dialect, items, operation, true, |part| {
        let outcomes = one_part(on, terms, calls, part.items, &part.operation)?;
        learn(&outcomes);
        Ok(outcomes)
    })
}

fn one_part(
    on: &dyn Sessions,
    terms: &CallTerms,
    calls: &Calls,
    items: &[ItemRef<'_>],
    operation: &Operation,
) -> Result<Vec<Outcome>> {
    let json = to_json(terms, items)?;
    let params = [Param::Text(&operation.id), Param::Text(&json)];
    let mut attempts = Attempts::default();
    let result = on.ask(CallKind::Redrive, YieldsTo::Closing, |session| {
        attempts.note(session.call(&calls.redrive, &params, ReadCells::Answers))
    });
    answers::outcomes(&attempts.conclude(operation, result)?, items.len())
}

/// The array that the procedure reads.
fn to_json(terms: &CallTerms, items: &[ItemRef<'_>]) -> Result<String> {
    let mut out = String::from("[");
    for (i, item) in items.iter().enumerate() {
        out.push_str(if i > 0 { ",{\"key\":" } else { "{\"key\":" });
        put_key(&mut out, terms.key_form(), item.key).map_err(|why| Error::new(ErrorKind::InvalidArgument, why))?;
        out.push_str(&format!(",\"token\":{}}}", json!(item.token.filter(|token| !token.is_empty()))));
    }
    out.push(']');
    Ok(out)
}
