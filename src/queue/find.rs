//! Looking for items.

use super::inner::QueueInner;
use crate::calls::{Page, find as call_find, look as call_look};
use crate::dialect::Calls;
use crate::error::Result;
use crate::item::{Batch, Filter};

pub(super) fn find(queue: &QueueInner, filter: &Filter, after: Option<&str>, max: u32) -> Result<Batch> {
    call_find(queue, &queue.terms, calls(queue)?, &Page { filter, after, max })
}

pub(super) fn look(
    queue: &QueueInner,
    filter: &Filter,
    after: Option<&str>,
    max: u32,
    most: u32,
) -> Result<(Batch, Option<String>)> {
    call_look(queue, &queue.terms, calls(queue)?, &Page { filter, after, max }, most)
}

fn calls(queue: &QueueInner) -> Result<&Calls> {
    queue.backend.calls("look for items", "they have no procedure for it; the view shows them")
}
