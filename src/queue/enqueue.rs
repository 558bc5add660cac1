//! Putting items in.

use super::backend::Backend;
use super::operation::{Attempts, Operation, in_parts};
use super::{Inner, answered, answers, attached, procedures};
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::ident::QueueName;
use crate::item::{Answer, NewItem, Receipt, answer_column};
use crate::metrics::Call;
use crate::session::Param;
use crate::spec::{Checked, check_items, items_to_json};
use std::time::Duration;

pub(super) fn enqueue(queue: &Inner, items: &[NewItem], operation: Option<&str>) -> Result<Vec<Receipt>> {
    // All of them, before the first is sent.
    let checked = check_items(&queue.spec, items)?;
    let bytes = items.iter().map(|item| item.columns.iter().map(|(_, value)| value.len()).sum());
    bytes.enumerate().try_for_each(|(i, bytes)| check_size(queue.most_item_bytes, i, bytes))?;
    let pairs: Vec<_> = items.iter().zip(checked).collect();
    in_parts(queue.dialect, &pairs, operation, queue.attached.is_none(), |part| {
        let enqueued = match &queue.backend {
            Backend::Ours(calls, _) => one_part(queue, calls, part.items, &part.operation, operation.is_some()),
            Backend::Procedures(theirs) => procedures::enqueue(queue, theirs, part.items, &part.operation),
        }?;
        let duplicates = enqueued.iter().filter(|enqueued| enqueued.duplicate).count();
        queue.ledger.enqueues(enqueued.len() - duplicates, duplicates);
        Ok(enqueued)
    })
}

/// Up to [`MAX_ITEMS`](super::MAX_ITEMS) items, in one transaction.
fn one_part(
    queue: &Inner,
    calls: &Calls,
    items: &[(&NewItem, Checked)],
    operation: &Operation,
    is_given: bool,
) -> Result<Vec<Receipt>> {
    let json = items_to_json(items.iter().map(|(_, checked)| checked));
    let rows = match &queue.attached {
        Some(connection) => {
            // Nothing is tried again, so it needs no identity of ours.
            let identity = is_given.then_some(operation.id.as_str());
            let params = [Param::Text(&json), Param::OptionalText(identity)];
            queue
                .ledger
                .time(Call::Enqueue, || attached::call(queue, calls, connection, &calls.enqueue_within, &params))?
        }
        None => {
            let params = [Param::Text(&operation.id), Param::Text(&json)];
            let mut attempts = Attempts::default();
            let result = queue.with_session(Call::Enqueue, |session| {
                let answer = answered(session, &calls.enqueue, &params);
                attempts.note(answer.map_err(|error| key_taken(&queue.spec.queue, error)))
            });
            attempts.conclude(operation, result)?
        }
    };
    if rows.len() != items.len() {
        let message = format!("{} items were sent and {} came back", items.len(), rows.len());
        return Err(Error::new(ErrorKind::Protocol, message));
    }

    // What is not committed yet is nothing to look for.
    let is_there = queue.attached.is_none();
    match items.iter().map(|(item, _)| item.delay_ms.unwrap_or(0)).min().filter(|_| is_there) {
        Some(0) => queue.signal.wake(),
        Some(soonest) => queue.signal.wake_in(Duration::from_millis(soonest.unsigned_abs())),
        None => {}
    }
    (0..rows.len())
        .map(|row| {
            let duplicate = match answers::word(&rows, row).parse() {
                Ok(Answer::Ok) => false,
                Ok(Answer::Duplicate) => true,
                _ => {
                    let word = answers::word(&rows, row);
                    return Err(Error::new(
                        ErrorKind::Protocol,
                        format!("the server's answer for item {row} is {word:?}"),
                    ));
                }
            };
            Ok(Receipt {
                key: answers::text(&rows, row, answer_column::KEY).to_owned(),
                token: answers::text(&rows, row, answer_column::TOKEN).to_owned(),
                duplicate,
            })
        })
        .collect()
}

/// Refuses values that no worker with this setting would take with their item. As JSON, they are as long as they are stored, or
/// longer.
pub(super) fn check_size(most: usize, index: usize, bytes: usize) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    let message = format!(
        "item {index}: its values have {bytes} bytes; {most} are the most (setting \"item.max_bytes\", to be raised for workers \
         as well): store what is so large elsewhere, and its place in the item"
    );
    Err(Error::new(ErrorKind::InvalidItem, message))
}

/// A drawn key was taken, which takes a clock that was set back. All was rolled back, and the next draw is another. Any
/// other key that is taken is one of the item's own columns, and stays taken.
fn key_taken(queue: &QueueName, error: Error) -> Error {
    let message = error.message();
    let is_ours = [format!("'PK_{}'", queue.as_str()), format!("\"{}_pk\"", queue.snake_case())]
        .iter()
        .any(|constraint| message.contains(constraint.as_str()));
    let taken = is_ours && matches!(error.sqlstate(), Some("23505" | "23000"));
    if taken { Error::new(ErrorKind::Deadlock, message) } else { error }
}
