//! Claims: a call of `Next_` for each item, and one query of the view for them all.

use super::known::HandWritten;
use super::results::{cell, own_results, params, place, raised_by_procedure, returned};
use crate::calls::{Ask, CallTerms, ClaimResult, Claimed, Sessions, YieldsTo};
use crate::catalog::Meaning;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Cell, Column, ColumnType, Rows, UndeliverableReason, Value, answer_column};
use crate::metrics::CallKind;
use crate::session::Session;

/// The most bytes of an item's short values, which do not count.
const SMALL: usize = 64 * 1024;

/// The names of the answer columns, which stand before the view's.
const ANSWER: [&str; answer_column::COUNT] = ["Answer", "Ordinal", "DueMs", "Key", "Token", "AttemptNum", "Status"];

/// Claims up to `max` items. It hands out items that were claimed before a call failed: no other worker would claim them, and no
/// lease returns them.
pub(super) fn claim(theirs: &HandWritten, on: &dyn Sessions, terms: &CallTerms, max: i32) -> Result<Claimed> {
    let mut taken: Vec<(String, String)> = Vec::new();
    while i32::try_from(taken.len()).is_ok_and(|count| count < max) {
        if !taken.is_empty() && on.called_off().is_some() {
            break;
        }
        match on.ask(CallKind::Claim, YieldsTo::Interrupts, |session| next(theirs, terms, session)) {
            Ok(Some(item)) => taken.push(item),
            Ok(None) => break,
            Err(error) if taken.is_empty() => return Err(error),
            Err(error) => {
                log::warn!("a claim ended after {} items: {error}", taken.len());
                break;
            }
        }
    }
    if taken.is_empty() {
        return Ok(Claimed::nothing());
    }
    let keys: Vec<_> = taken.iter().map(|(key, _)| key.as_str()).collect();
    // Claimed items are handed out even if the query fails: a handler has the key and can query by itself.
    let shown =
        on.ask(CallKind::Find, YieldsTo::Closing, |session| theirs.look(session, &keys)).unwrap_or_else(|error| {
            log::warn!("queue {}: {} items are handed out by their keys alone: {error}", terms.queue(), keys.len());
            Rows::new([].into())
        });
    let mut rows = claimed(theirs, &taken, &shown, terms.most_item_bytes);
    drop(shown);
    let undeliverable = rows.take_undeliverable();
    let found = if rows.is_empty() { ClaimResult::Others } else { ClaimResult::Items(terms.batch(rows, 0)) };
    Ok(Claimed { found, undeliverable, ..Claimed::default() })
}

/// One call: returns the key and token of the claimed item.
fn next(theirs: &HandWritten, terms: &CallTerms, session: &mut Session) -> Result<Option<(String, String)>> {
    let lease_ms = terms.described_lease_ms().to_string();
    let value = |meaning| match meaning {
        Meaning::Worker => Some(terms.worker.as_str()),
        Meaning::LeaseMs => Some(lease_ms.as_str()),
        _ => None,
    };
    let params = params(&theirs.shape.next.arguments, theirs.dialect, value, (None, None));
    let results = session.results(&theirs.next, &params).map_err(|error| {
        // Error 50005 of the document means that a row changed under the claim, which it has rolled back.
        let changed = raised_by_procedure(theirs.dialect, &error) && error.message().contains("50005");
        if changed { Error::new(ErrorKind::Deadlock, error.message()) } else { error }
    })?;
    let name = || format!("{}.{}", theirs.shape.next.procedure.schema, theirs.shape.next.procedure.name);
    let status = returned(theirs.dialect, &results);
    if status != 0 {
        let message = format!("{} returned {status} without a reason", name());
        return Err(Error::new(ErrorKind::Database, message));
    }
    let own = own_results(theirs.dialect, &results);
    let Some(rows) = own.iter().find(|rows| !rows.is_empty()) else { return Ok(None) };
    let key = place(rows, &theirs.shape.key.name).unwrap_or(0);
    let token = place(rows, &theirs.shape.token.name).unwrap_or(1);
    match (cell(rows, 0, key), cell(rows, 0, token)) {
        (Some(key), Some(token)) => Ok(Some((key, token))),
        // A function with exactly one row returns NULLs when there is no work.
        (None, _) => Ok(None),
        (Some(_), None) => Err(Error::new(ErrorKind::Protocol, format!("{} returned a key and no token", name()))),
    }
}

/// The items in the order of their claims, with their rows in the view. An item without a row has its key and token.
fn claimed(theirs: &HandWritten, taken: &[(String, String)], shown: &Rows, most: usize) -> Rows {
    let answers = ANSWER.iter().map(|name| Column { name: (*name).to_owned(), kind: ColumnType::Text });
    let columns: Vec<_> = answers.chain(shown.columns().iter().cloned()).collect();
    let mut rows = Rows::new(columns.into());
    let key_at = place(shown, &theirs.shape.key.name);
    let of_key = |key: &str| {
        let key_at = key_at?;
        (0..shown.len()).find(|row| cell(shown, *row, key_at).as_deref() == Some(key))
    };
    for (key, token) in taken {
        let row = of_key(key);
        let number = |name| match row.zip(place(shown, name)).map(|(row, column)| shown.value(row, column)) {
            Some(Value::Integer(number)) => number,
            _ => 1,
        };
        let (number_of_row, before) = (rows.len(), rows.size());
        rows.push_text(|text| text.push_str("CLAIMED"));
        rows.push(Cell::Null);
        rows.push(Cell::Null);
        rows.push_text(|text| text.push_str(key));
        rows.push_text(|text| text.push_str(token));
        rows.push(Cell::Integer(number("AttemptNum").max(1)));
        rows.push_text(|text| text.push_str("Processing"));
        let values =
            || (0..shown.columns().len()).map(|column| row.map_or(Value::Null, |row| shown.value(row, column)));
        let size = values().fold((0, 0), |(text, bytes), value| match value {
            Value::Text(more) => (text + more.len() + 1, bytes),
            Value::Binary(more) => (text, bytes + more.len()),
            _ => (text, bytes),
        });
        let why = if size.0 + size.1 > most.saturating_add(SMALL) {
            Some(UndeliverableReason::TooLarge)
        } else {
            (!rows.reserve(size.0, size.1)).then_some(UndeliverableReason::NoMemory)
        };
        if let Some(why) = why {
            rows.set_undeliverable(number_of_row, before, why);
            continue;
        }
        for value in values() {
            match value {
                Value::Null => rows.push(Cell::Null),
                Value::Boolean(value) => rows.push(Cell::Boolean(value)),
                Value::Integer(number) => rows.push(Cell::Integer(number)),
                Value::Float(number) => rows.push(Cell::Float(number)),
                Value::Text(value) => rows.push_text(|text| text.push_str(value)),
                Value::Binary(bytes) => rows.push_bytes(bytes),
            }
        }
    }
    rows
}
