//! Moves waiting items to the places where the rule has them, after places were added or before one is removed.

use crate::description::{CheckedItem, QueueSpec, check_items, place_of};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Filter, Item, ItemRef, ItemState};
use crate::queue::handle::{Places, at};
use crate::queue::moved::as_new;
use std::collections::BTreeMap;

/// Items of one look, and rows that it reads at most.
const PAGE: u32 = 500;
const READ: u32 = 10_000;

/// Items of one commit, and bytes of theirs, unless one has more alone.
const BATCH: usize = 200;
const BATCH_BYTES: usize = 4 << 20;

/// The outcome of a rebalance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebalanced {
    /// Items that were moved, those included that an earlier call had left on their way, and those that were a duplicate there.
    pub moved: u64,
    /// Items that stay: they have changed meanwhile, or cannot be read.
    pub kept: u64,
    /// The reason of the first that cannot be moved.
    pub reason: Option<String>,
}

impl Places {
    /// [`crate::Queue::rebalance`].
    pub(in crate::queue) fn rebalance(&self, without: &[&str]) -> Result<Rebalanced> {
        without.iter().try_for_each(|name| self.at(name).map(drop))?;
        let rest: Vec<_> = self.names().iter().map(String::as_str).filter(|name| !without.contains(name)).collect();
        if rest.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "one place at least must be left"));
        }
        let spec = self.any().spec();
        check_movable(spec)?;
        let mut done = Rebalanced::default();
        // Items are not to leave for a place that refuses them.
        rest.iter()
            .try_for_each(|name| self.at(name)?.one()?.can_take().map_err(|error| error.in_context(at(name))))?;
        for (name, queue) in self.all()? {
            self.resume_from(name, &mut done)?;
            let mut after: Option<String> = None;
            let waiting = Filter { states: vec![ItemState::Pending, ItemState::Error], ..Filter::default() };
            loop {
                let (page, further) = queue.look(&waiting, after.as_deref(), PAGE, READ)?;
                let mut leaving: BTreeMap<&str, Vec<(ItemRef<'_>, CheckedItem)>> = BTreeMap::new();
                for item in page.iter() {
                    match self.goal(spec, name, &rest, &item) {
                        Ok(None) => {}
                        Ok(Some((to, checked))) => leaving.entry(to).or_default().push((ItemRef::from(item), checked)),
                        Err(error) => {
                            done.kept += 1;
                            done.reason.get_or_insert(format!("item {}: {}", item.key(), error.message()));
                        }
                    }
                }
                for (to, items) in &leaving {
                    for batch in batches(items, |(_, item)| item.columns.iter().map(|(_, value)| value.len()).sum()) {
                        self.send(name, to, batch, &mut done)?;
                    }
                }
                let last = page.iter().last().map(|item| item.key().to_owned());
                after = if page.len() >= PAGE as usize { last } else { further };
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(done)
    }

    /// The other place to which an item goes; `None`: it is where it belongs.
    fn goal<'r>(
        &self,
        spec: &QueueSpec,
        here: &str,
        rest: &[&'r str],
        item: &Item<'_>,
    ) -> Result<Option<(&'r str, CheckedItem)>> {
        // Any place will do for a queue without `spread_by`, but one that is to be removed.
        if spec.spread_by.is_empty() && rest.contains(&here) {
            return Ok(None);
        }
        let new = as_new(spec, spec, item)?;
        let Some(checked) = check_items(spec, std::slice::from_ref(&new))?.into_iter().next() else { return Ok(None) };
        let text = spec.spread_text(&checked).unwrap_or_else(|| item.key().to_owned());
        let place = place_of(rest.iter().copied(), &text);
        Ok(place.filter(|place| *place != here).map(|place| (place, checked)))
    }

    fn send(&self, from: &str, to: &str, items: &[(ItemRef<'_>, CheckedItem)], done: &mut Rebalanced) -> Result<()> {
        let (here, there) = (self.at(from)?.one()?, self.at(to)?.one()?);
        if there.shared.is_away() {
            return Err(Error::new(ErrorKind::Unreachable, "its database does not answer").in_context(at(to)));
        }
        let left = here.leave(to, items).map_err(|error| error.in_context(at(from)))?;
        let count = left.as_ref().map_or(0, |left| left.count);
        done.kept += (items.len() - count) as u64;
        if let Some(left) = left {
            done.moved += here.carry(&left, there).map_err(|error| error.in_context(at(to)))? as u64;
        }
        Ok(())
    }

    /// Goes on with what a process has left on its way.
    fn resume_from(&self, name: &str, done: &mut Rebalanced) -> Result<()> {
        let here = self.at(name)?.one()?;
        for transit in here.on_their_way().map_err(|error| error.in_context(at(name)))? {
            let there = self.at(&transit.to)?.one()?;
            done.moved += here.carry(&transit, there).map_err(|error| error.in_context(at(name)))? as u64;
        }
        Ok(())
    }
}

/// Refuses a queue whose items cannot leave their place one by one.
fn check_movable(spec: &QueueSpec) -> Result<()> {
    let refuse = |why: &str| {
        let message = format!("queue {}: {why}, so its items cannot be moved: let the place run empty", spec.queue);
        Err(Error::new(ErrorKind::Unsupported, message))
    };
    if spec.order.group.is_some() {
        return refuse("the items of a group keep their order at one place");
    }
    if spec.after {
        return refuse("items wait for others at their place");
    }
    Ok(())
}

/// The items in parts of a commit.
fn batches<T>(items: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let (mut parts, mut begin, mut sum) = (Vec::new(), 0, 0);
    for (i, item) in items.iter().enumerate() {
        let more = bytes(item);
        if i - begin == BATCH || (i > begin && sum + more > BATCH_BYTES) {
            parts.push(&items[begin..i]);
            (begin, sum) = (i, 0);
        }
        sum += more;
    }
    parts.extend((begin < items.len()).then(|| &items[begin..]));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_ends_before_it_has_too_much() {
        let lengths = |bytes: &[usize]| batches(bytes, |of| *of).iter().map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(lengths(&[]), [0; 0]);
        assert_eq!(lengths(&[1; 401]), [200, 200, 1]);
        assert_eq!(lengths(&[BATCH_BYTES - 1, 1, 1]), [2, 1]);
        assert_eq!(lengths(&[1, BATCH_BYTES * 2, 1, 1]), [1, 1, 2], "a large one goes alone");
    }
}
