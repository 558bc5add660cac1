//! Enqueues.

use super::answers;
use super::operation::{Attempts, Operation};
use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::description::{CheckedItem, Sendable, items_to_json};
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::ident::QueueName;
use crate::item::{Answer, Receipt, Rows, answer_column};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};
use std::sync::Arc;

/// Enqueues up to [`MAX_ITEMS`](super::MAX_ITEMS) items, in one transaction.
pub(crate) fn enqueue(
    on: &dyn Sessions,
    terms: &CallTerms,
    calls: &Calls,
    items: &[Sendable<'_>],
    operation: &Operation,
) -> Result<Vec<Receipt>> {
    let json = items_to_json(items.iter().map(|(_, checked)| *checked));
    let params = [Param::Text(&operation.id), Param::Text(&json)];
    let mut attempts = Attempts::default();
    let result = on.ask(CallKind::Enqueue, YieldsTo::Closing, |session| {
        let answer = session.call(&calls.enqueue, &params, ReadCells::Answers);
        attempts.note(answer.map_err(|error| key_taken(&terms.spec.queue, error)))
    });
    receipts(&attempts.conclude(operation, result)?, items.len())
}

/// The same inside the open transaction; `make` makes the call. It has no identity unless the caller gave one: it is not retried by
/// itself. A generated key that is in use ends the transaction as a deadlock does: made again, it has another.
pub(crate) fn enqueue_within<'a>(
    queue: &QueueName,
    calls: &Calls,
    items: impl ExactSizeIterator<Item = &'a CheckedItem>,
    identity: Option<&str>,
    make: impl FnOnce(&Arc<str>, &[Param<'_>]) -> Result<Rows>,
) -> Result<Vec<Receipt>> {
    let count = items.len();
    put_within(queue, calls, &items_to_json(items), identity, count, make)
}

/// The same of `count` items that are written already.
pub(crate) fn put_within(
    queue: &QueueName,
    calls: &Calls,
    json: &str,
    identity: Option<&str>,
    count: usize,
    make: impl FnOnce(&Arc<str>, &[Param<'_>]) -> Result<Rows>,
) -> Result<Vec<Receipt>> {
    let params = [Param::Text(json), Param::OptionalText(identity)];
    let rows = make(&calls.enqueue_within, &params).map_err(|error| key_taken(queue, error))?;
    receipts(&rows, count)
}

fn receipts(rows: &Rows, count: usize) -> Result<Vec<Receipt>> {
    if rows.len() != count {
        let message = format!("{count} items were sent and {} came back", rows.len());
        return Err(Error::new(ErrorKind::Protocol, message));
    }
    (0..count).map(|row| receipt(rows, row)).collect()
}

fn receipt(rows: &Rows, row: usize) -> Result<Receipt> {
    let word = answers::word(rows, row);
    let duplicate = match word.parse() {
        Ok(Answer::Ok) => false,
        Ok(Answer::Duplicate) => true,
        _ => {
            let message = format!("the server's answer for item {row} is {word:?}");
            return Err(Error::new(ErrorKind::Protocol, message));
        }
    };
    let text = |column| answers::text(rows, row, column).to_owned();
    Ok(Receipt { key: text(answer_column::KEY), token: text(answer_column::TOKEN), duplicate })
}

/// Refuses values that no worker with this setting would claim with their item. As JSON, they are as long as in the table, or
/// longer.
pub(crate) fn check_size(most: usize, index: usize, bytes: usize) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    let message = format!(
        "item {index}: its values have {bytes} bytes; {most} are the most (setting \"item.max_bytes\", to be raised \
         for workers as well): store large data elsewhere, and its place in the item"
    );
    Err(Error::new(ErrorKind::InvalidItem, message))
}

/// A generated key was in use, which takes a clock that was set back. The call was rolled back, and the next key differs. Any
/// other key in use is one of the item's own columns, and stays in use.
fn key_taken(queue: &QueueName, error: Error) -> Error {
    let message = error.message();
    let is_ours = [format!("'PK_{}'", queue.as_str()), format!("\"{}_pk\"", queue.snake_case())]
        .iter()
        .any(|constraint| message.contains(constraint.as_str()));
    let taken = is_ours && matches!(error.sqlstate(), Some("23505" | "23000"));
    if taken { Error::new(ErrorKind::Deadlock, message) } else { error }
}
