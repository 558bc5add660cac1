//! Putting items in: in parts, on the queue's connections or the caller's.

use super::attached;
use super::inner::QueueInner;
use crate::calls::{check_size, enqueue_within, in_parts};
use crate::description::check_items;
use crate::error::Result;
use crate::item::{NewItem, Receipt};
use crate::metrics::CallKind;

pub(crate) fn enqueue(queue: &QueueInner, items: &[NewItem], operation: Option<&str>) -> Result<Vec<Receipt>> {
    // All items are checked before the first is sent.
    let checked = check_items(&queue.terms.spec, items)?;
    let bytes = items.iter().map(|item| item.columns.iter().map(|(_, value)| value.len()).sum());
    bytes.enumerate().try_for_each(|(i, bytes)| check_size(queue.terms.most_item_bytes, i, bytes))?;
    let pairs: Vec<_> = items.iter().zip(checked).collect();
    let is_attached = queue.attached.is_some();
    in_parts(queue.terms.dialect, &pairs, operation, !is_attached, |part| {
        let enqueued = if is_attached {
            let identity = operation.is_some().then_some(part.operation.id.as_str());
            enqueue_within(
                &queue.terms.spec.queue,
                attached::calls(queue)?,
                part.items.iter().map(|(_, item)| item),
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
