//! Waits for the end of an item.

use super::claim::check_wait;
use super::find::find;
use super::inner::QueueInner;
use crate::calls::{MAX_ITEMS, Sessions};
use crate::error::Result;
use crate::item::{Batch, Filter, ItemState};
use crate::shared::{End, Turn};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// The result of a wait for an item.
#[derive(Debug, Clone)]
pub enum Waited {
    /// It has ended: a batch of the item as it is now.
    Ended(Batch),
    /// It is not there: it ended and was deleted or moved to the history, or there never was one.
    Gone,
    /// It has not ended in time.
    NotYet,
}

pub(super) fn wait_for(queue: &QueueInner, key: &str, wait: Duration) -> Result<Waited> {
    check_wait(wait)?;
    queue.terms.check_key(key)?;
    let deadline = Instant::now() + wait;
    let mut waiter = queue.process.ends.enter(key);
    let mut looked = false;
    loop {
        if let Some(called_off) = queue.called_off() {
            return Err(called_off);
        }
        match waiter.turn(deadline) {
            Turn::Ended(End::Ended(batch)) => return Ok(Waited::Ended(batch)),
            Turn::Ended(End::Gone) => return Ok(Waited::Gone),
            Turn::TimedOut => return Ok(Waited::NotYet),
            Turn::Ask(keys) => {
                let asked = Instant::now();
                let is_rung = queue.awaits(&keys, looked);
                looked = true;
                let mut ends = Vec::new();
                for keys in keys.chunks(MAX_ITEMS as usize) {
                    ends.extend(ends_of(queue, keys)?);
                }
                waiter.answered(ends, asked, queue.poll_interval, is_rung);
            }
            Turn::Again => {}
        }
    }
}

/// Those of the items that have ended.
fn ends_of(queue: &QueueInner, keys: &[String]) -> Result<Vec<(String, End)>> {
    let found = find(queue, &Filter::of_keys(keys.iter().cloned()), None, MAX_ITEMS)?;
    let mut ends = Vec::new();
    let mut open: HashSet<_> = keys.iter().cloned().collect();
    for (place, item) in found.iter().enumerate() {
        if let Some(key) = open.take(item.key()) {
            ends.extend(end_of(item.state(), found.part(place, 1)).map(|end| (key, end)));
        }
    }
    // A caller may write a key in another way than the queue.
    for key in open {
        let found = find(queue, &Filter::of_keys([key.as_str()]), None, 1)?;
        let end = match found.get(0) {
            Some(item) => end_of(item.state(), found.clone()),
            None => Some(End::Gone),
        };
        ends.extend(end.map(|end| (key, end)));
    }
    Ok(ends)
}

fn end_of(state: Option<ItemState>, item: Batch) -> Option<End> {
    state.is_some_and(ItemState::is_finished).then_some(End::Ended(item))
}
