//! Finds the item that a short number means.

use super::find;
use super::inner::QueueInner;
use crate::calls::clock;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::item::Filter;
use crate::metrics::CallKind;
use std::cmp::Ordering;

/// The most candidates that an error names.
const NAMED: usize = 10;

/// Items of one look.
const PAGE: u32 = 50;

/// The items that a short number fits in one database.
pub(super) struct Fitting {
    keys: Vec<String>,
    /// The month of the number.
    month: String,
}

/// The whole key of the item that a short number means, among those that fit it in each database; anything else is a key.
pub(super) fn whole_key(queues: &[&QueueInner], given: &str) -> Result<String> {
    let mut found: Option<Fitting> = None;
    for queue in queues {
        let Some(fitting) = fitting(queue, given)? else { return Ok(given.to_owned()) };
        match &mut found {
            Some(found) => found.keys.extend(fitting.keys),
            none => *none = Some(fitting),
        }
    }
    match (queues.first(), found) {
        (Some(queue), Some(found)) => found.only(queue.terms.spec.queue.as_str(), given),
        _ => Ok(given.to_owned()),
    }
}

fn fitting(queue: &QueueInner, given: &str) -> Result<Option<Fitting>> {
    let form = queue.terms.key_form();
    // A short number may stand behind its place.
    let bare = form.here(given).unwrap_or(given);
    let Some(number) = queue.terms.spec.read_number(bare) else { return Ok(None) };
    let now_ms = clock(queue, CallKind::Find)?;
    let span = now_ms.and_then(|now_ms| number.span(now_ms));
    let span = span.ok_or_else(|| Error::new(ErrorKind::Protocol, "the server's time cannot be read"))?;
    let mut found = Vec::new();
    let order = |key: &str| span.order(form.here(key).unwrap_or(key));
    let mut after = queue.terms.key_of(span.after.clone());
    // The range bounds the search, also where this login sees few of the items.
    'looks: while found.len() <= NAMED {
        let (batch, further) = find::look(queue, &Filter::default(), Some(&after), PAGE, PAGE)?;
        for item in batch.iter() {
            match order(item.key()) {
                Some(Ordering::Equal) => found.push(item.key().to_owned()),
                Some(Ordering::Less) => {}
                _ => break 'looks,
            }
        }
        let full = batch.iter().last().filter(|_| batch.len() == PAGE as usize);
        match further.or_else(|| full.map(|item| item.key().to_owned())) {
            Some(key) if order(&key).is_some_and(Ordering::is_le) => after = key,
            _ => break,
        }
    }
    Ok(Some(Fitting { keys: found, month: span.month.to_string() }))
}

impl Fitting {
    fn only(self, name: &str, given: &str) -> Result<String> {
        let refused = |what: String| Err(Error::new(ErrorKind::InvalidItem, what));
        match self.keys.as_slice() {
            [key] => Ok(key.clone()),
            [] => refused(format!(
                "queue {name} has no item with the short number {} in {}, the latest month in which this time has passed; an \
                 older item takes its whole key",
                Excerpt(given),
                self.month
            )),
            several => {
                let more = if several.len() > NAMED { " and more" } else { "" };
                let several = &several[..several.len().min(NAMED)];
                refused(format!(
                    "the short number {} means several items of queue {name}: {}{more}; give more of its digits, or a whole key",
                    Excerpt(given),
                    several.join(", ")
                ))
            }
        }
    }
}
