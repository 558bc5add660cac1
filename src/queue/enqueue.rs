//! Putting items in: in parts, on the queue's connections or the caller's.

use super::attached;
use super::inner::QueueInner;
use crate::calls::{CallTerms, check_size, enqueue_within, in_parts};
use crate::description::{CheckedItem, Sendable, check_items};
use crate::error::Result;
use crate::item::{NewItem, Receipt};
use crate::metrics::CallKind;

pub(super) fn enqueue(queue: &QueueInner, items: &[NewItem], operation: Option<&str>) -> Result<Vec<Receipt>> {
    let checked = check(&queue.terms, items)?;
    checked.iter().enumerate().try_for_each(|(i, item)| {
        let here = queue.terms.check_place(&queue.terms.spec, item);
        here.map_err(|error| error.in_context(format_args!("item {i}")))
    })?;
    put(queue, &items.iter().zip(&checked).collect::<Vec<_>>(), operation)
}

/// Checks all items, before the first is sent.
pub(super) fn check(terms: &CallTerms, items: &[NewItem]) -> Result<Vec<CheckedItem>> {
    let checked = check_items(&terms.spec, items)?;
    let bytes = items.iter().map(|item| item.columns.iter().map(|(_, value)| value.len()).sum());
    bytes.enumerate().try_for_each(|(i, bytes)| check_size(terms.most_item_bytes, i, bytes))?;
    Ok(checked)
}

/// Puts in items that were checked.
pub(super) fn put(queue: &QueueInner, items: &[Sendable<'_>], operation: Option<&str>) -> Result<Vec<Receipt>> {
    let is_attached = queue.attached.is_some();
    in_parts(queue.terms.dialect, items, operation, !is_attached, |part| {
        let enqueued = if is_attached {
            let identity = operation.is_some().then_some(part.operation.id.as_str());
            enqueue_within(
                &queue.terms.spec.queue,
                attached::calls(queue)?,
                part.items.iter().map(|(_, item)| *item),
                identity,
                |text, params| attached::call(queue, CallKind::Enqueue, text, params),
            )?
        } else {
            let enqueued = queue.backend.enqueue(queue, &queue.terms, part.items, &part.operation)?;
            // A commit makes the items of a caller's transaction visible later.
            let soonest = part.items.iter().map(|(item, _)| item.delay_ms.unwrap_or(0)).min();
            soonest.into_iter().for_each(|delay_ms| queue.process.polls.due_in(delay_ms));
            enqueued
        };
        let duplicates = enqueued.iter().filter(|enqueued| enqueued.duplicate).count();
        queue.counters.enqueues(enqueued.len() - duplicates, duplicates);
        Ok(enqueued)
    })
}
