//! Enqueues: a call of the queue's own `Add_` for each item.

use super::known::{Done, HandWritten};
use super::results::{cell, own_results, params, place, returned};
use crate::backend::unsupported::unsupported;
use crate::calls::{Ask, Attempts, CallTerms, Operation, Sessions, YieldsTo};
use crate::catalog::Meaning;
use crate::description::Sendable;
use crate::error::{Error, ErrorKind, Result};
use crate::item::Receipt;
use crate::metrics::CallKind;

/// Enqueues items one after the other. When one fails, those before it are in: with the operation of the error, a
/// repetition through this handle goes on from there.
pub(super) fn enqueue(
    theirs: &HandWritten,
    on: &dyn Sessions,
    terms: &CallTerms,
    items: &[Sendable<'_>],
    operation: &Operation,
) -> Result<Vec<Receipt>> {
    let (Some(add), Some(text)) = (&theirs.shape.add, &theirs.add) else {
        return Err(unsupported("enqueue", "the description names no procedure for it (procedures.add)"));
    };
    let mut done = match theirs.recall(&operation.id) {
        Some(Done::Enqueued(done)) if done.len() <= items.len() => done,
        _ => Vec::new(),
    };
    while let Some((item, checked)) = items.get(done.len()) {
        let given = |name: &str| checked.columns.iter().find(|(given, _)| given == name);
        let texts: Vec<Option<String>> =
            terms.spec.columns.iter().map(|column| as_text(&given(column.name.as_str())?.1)).collect();
        let delay_ms = item.delay_ms.unwrap_or(0).to_string();
        let due = item.due.as_deref().map(|due| due.trim_end_matches(['Z', 'z']));
        let kind = item.kind.as_deref().or(terms.spec.types.first().map(String::as_str));
        let value = |meaning| match meaning {
            Meaning::Column(column) => texts.get(column)?.as_deref(),
            Meaning::Type => kind,
            Meaning::Step => item.step.as_deref(),
            Meaning::Worker => Some(terms.worker.as_str()),
            _ => None,
        };
        let due = if due.is_some() { (None, due) } else { (Some(delay_ms.as_str()), None) };
        let params = params(&add.arguments, theirs.dialect, value, due);
        let mut attempts = Attempts::default();
        let result = on.ask(CallKind::Enqueue, YieldsTo::Closing, |session| {
            // A call whose answer was lost is not repeated: it would enqueue the item twice.
            if attempts.is_open() {
                return Err(Error::new(ErrorKind::OutcomeUnknown, "whether the item is in the queue is not known"));
            }
            attempts.note(session.results(text, &params))
        });
        let result =
            attempts.conclude(operation, result).and_then(|results| match returned(theirs.dialect, &results) {
                0 => Ok(results),
                status => {
                    let message = format!("{} returned {status} without a reason", add.procedure.name);
                    Err(Error::new(ErrorKind::Database, message))
                }
            });
        match result {
            Ok(results) => {
                let rows = own_results(theirs.dialect, &results).iter().find(|rows| !rows.is_empty());
                let named = |name: &str| rows.and_then(|rows| cell(rows, 0, place(rows, name)?)).unwrap_or_default();
                let (key, token) = (named(&theirs.shape.key.name), named(&theirs.shape.token.name));
                done.push(Receipt { key, token, duplicate: false });
            }
            Err(error) => {
                let place = done.len();
                theirs.remember(&operation.id, Done::Enqueued(done));
                let context = format!("item {place} of {}; those before it are in the queue", items.len());
                return Err(error.in_context(context).with_operation(&operation.of_call));
            }
        }
    }
    Ok(done)
}

/// A value as text, which its parameter's type takes.
fn as_text(json: &str) -> Option<String> {
    match json {
        "null" => None,
        "true" => Some("1".to_owned()),
        "false" => Some("0".to_owned()),
        _ if json.starts_with('"') => serde_json::from_str(json).ok(),
        _ => Some(json.to_owned()),
    }
}
