//! Calls about items by their keys: each goes to the place that stands before the key.

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::item::{Filter, Progress, place_of_key};
use crate::queue::handle::{Places, at};
use crate::queue::{Queue, number};
use crate::threads;

impl Places {
    /// The number of the place before a key.
    pub(super) fn number_of(&self, key: &str) -> Result<usize> {
        let number = place_of_key(key).and_then(|name| self.names().iter().position(|known| known == name));
        number.ok_or_else(|| {
            let names = self.names().join(", ");
            let message = format!(
                "{} names no place: a key is like a/2026-11-21T08:30:00.1234567, and there are the places {names}",
                Excerpt(key)
            );
            Error::new(ErrorKind::InvalidItem, message)
        })
    }

    /// The queue of an item.
    pub(in crate::queue) fn of_key(&self, key: &str) -> Result<&Queue> {
        self.open_at(self.number_of(key)?)
    }

    /// Makes a call for the items of each place. Its results come back in the order of the items. When a place fails, the others are
    /// asked all the same: a repetition under the same identity finds what they have done.
    pub(in crate::queue) fn for_each<T: Clone + Sync, R: Send>(
        &self,
        items: &[T],
        key: impl Fn(&T) -> &str,
        call: impl Fn(&Queue, &[T]) -> Result<Vec<R>> + Sync,
    ) -> Result<Vec<R>> {
        let numbers = items.iter().map(|item| self.number_of(key(item))).collect::<Result<Vec<_>>>()?;
        self.to_each(&numbers, items, call)
    }

    /// The same for items whose places are known by their numbers. The calls to several places are made at once: none waits for the commit
    /// of another, or for one that is away.
    pub(super) fn to_each<T: Clone + Sync, R: Send>(
        &self,
        numbers: &[usize],
        items: &[T],
        call: impl Fn(&Queue, &[T]) -> Result<Vec<R>> + Sync,
    ) -> Result<Vec<R>> {
        let call = |number: usize, items: &[T]| {
            let queue = self.open_at(number)?;
            call(queue, items).map_err(|error| error.in_context(at(&self.names()[number])))
        };
        if let Some((first, others)) = numbers.split_first()
            && others.iter().all(|other| other == first)
        {
            return call(*first, items);
        }
        let mut of_place = vec![Vec::new(); self.names().len()];
        numbers.iter().enumerate().for_each(|(i, number)| of_place[*number].push(i));
        let of_place: Vec<_> = of_place.into_iter().enumerate().filter(|(_, mine)| !mine.is_empty()).collect();
        let one = |(number, mine): &(usize, Vec<usize>)| {
            let here: Vec<T> = mine.iter().map(|i| items[*i].clone()).collect();
            call(*number, &here)
        };
        let done = threads::each(&of_place, one);
        let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
        let mut failure = None;
        for ((_, mine), done) in of_place.into_iter().zip(done) {
            match done {
                Ok(done) => mine.into_iter().zip(done).for_each(|(i, one)| results[i] = Some(one)),
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        let short = || Error::new(ErrorKind::Protocol, "a place answered for fewer items than it was asked about");
        failure.map_or(Ok(()), Err)?;
        results.into_iter().map(|result| result.ok_or_else(short)).collect()
    }

    /// [`Queue::progress`]: of the items of each place.
    pub(in crate::queue) fn progress(&self, keys: &[&str]) -> Result<Vec<Progress>> {
        let mut of_place = vec![Vec::new(); self.names().len()];
        keys.iter().try_for_each(|key| self.number_of(key).map(|number| of_place[number].push(*key)))?;
        let mut all = Vec::new();
        for (number, mine) in of_place.iter().enumerate().filter(|(_, mine)| !mine.is_empty()) {
            all.extend(self.open_at(number)?.progress(mine)?);
        }
        Ok(all)
    }

    /// [`Queue::whole_key`]: a number without a place is looked for at all of them.
    pub(in crate::queue) fn whole_key(&self, given: &str) -> Result<String> {
        if self.number_of(given).is_ok() {
            return self.of_key(given)?.whole_key(given);
        }
        if self.any().spec().read_number(given).is_none() {
            return Ok(given.to_owned());
        }
        let all = self.all()?;
        number::whole_key(&all.iter().map(|(_, queue)| queue.any()).collect::<Vec<_>>(), given)
    }
}

/// The filter for one place. `None`: it has keys, and none of that place.
pub(super) fn filter_at(place: &str, filter: &Filter) -> Option<Filter> {
    let keys = filter.keys.as_ref().map(|keys| {
        let here = keys.iter().filter(|key| place_of_key(key) == Some(place));
        here.cloned().collect::<Vec<_>>()
    });
    let is_elsewhere = keys.as_ref().is_some_and(Vec::is_empty);
    (!is_elsewhere).then(|| Filter { keys, ..filter.clone() })
}
