//! Putting items in: a call of the queue's own `Add_` for each.

use super::{Done, Procedures, cell, params, place, returned, unsupported};
use crate::catalog::Meaning;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{NewItem, Receipt};
use crate::metrics::Call;
use crate::queue::Inner;
use crate::queue::operation::{Attempts, Operation};
use crate::spec::Checked;

/// Enqueues items one after the other. When one fails, those before it are in: with the operation of the error, a
/// repetition through this handle goes on from there.
pub(in crate::queue) fn enqueue(
    queue: &Inner,
    theirs: &Procedures,
    items: &[(&NewItem, Checked)],
    operation: &Operation,
) -> Result<Vec<Receipt>> {
    let (Some(add), Some(text)) = (&theirs.shape.add, &theirs.add) else {
        return Err(unsupported("enqueue", "the description names none that does (procedures.add)"));
    };
    let mut done = match theirs.recall(&operation.id) {
        Some(Done::Enqueued(done)) if done.len() <= items.len() => done,
        _ => Vec::new(),
    };
    while let Some((item, checked)) = items.get(done.len()) {
        let given = |name: &str| checked.columns.iter().find(|(given, _)| given == name);
        let texts: Vec<Option<String>> =
            queue.spec.columns.iter().map(|column| as_text(&given(column.name.as_str())?.1)).collect();
        let delay_ms = item.delay_ms.unwrap_or(0).to_string();
        let due = item.due.as_deref().map(|due| due.trim_end_matches(['Z', 'z']));
        let kind = item.kind.as_deref().or(queue.spec.types.first().map(String::as_str));
        let value = |meaning| match meaning {
            Meaning::Column(column) => texts.get(column)?.as_deref(),
            Meaning::Type => kind,
            Meaning::Step => item.step.as_deref(),
            Meaning::Worker => Some(queue.worker.as_str()),
            _ => None,
        };
        let due = if due.is_some() { (None, due) } else { (Some(delay_ms.as_str()), None) };
        let params = params(&add.arguments, theirs.dialect, value, due);
        let mut attempts = Attempts::default();
        let result = queue.with_session(Call::Enqueue, |session| {
            // A call whose answer was lost is not made again: it would enqueue the item twice.
            if attempts.is_open() {
                return Err(Error::new(ErrorKind::OutcomeUnknown, "whether the item is in the queue is not known"));
            }
            attempts.note(session.results(text, &params))
        });
        let result =
            attempts.conclude(operation, result).and_then(|results| match returned(theirs.dialect, &results) {
                0 => Ok(results),
                status => {
                    let message = format!("{} returned {status}, and did not say why", add.procedure.name);
                    Err(Error::new(ErrorKind::Database, message))
                }
            });
        match result {
            Ok(results) => {
                let own = match theirs.dialect {
                    Dialect::SqlServer => results.get(1..results.len().saturating_sub(1)).unwrap_or_default(),
                    Dialect::Postgres => &results,
                };
                let rows = own.iter().find(|rows| !rows.is_empty());
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
    queue.signal.wake();
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
