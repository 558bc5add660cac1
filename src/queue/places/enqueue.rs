//! Puts items in at their places: by the columns of `spread_by`, or all of a call where its identity leads.

use crate::calls::{new_identity, settlements_to_json};
use crate::description::place_of;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{ItemRef, NewItem, Outcome, Receipt, Settlement};
use crate::queue::handle::{Places, at};
use crate::queue::{Queue, enqueue};
use uuid::Uuid;

/// How many hashes are computed to find an identity that leads to a place that answers: one for each place and identity.
const MOST_HASHED: usize = 20_000;

impl Places {
    /// [`crate::Queue::enqueue`]: a call for each place.
    pub(in crate::queue) fn enqueue(&self, items: &[NewItem], operation: Option<&str>) -> Result<Vec<Receipt>> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        if self.any().spec().spread_by.is_empty() {
            return self.anywhere(items, operation);
        }
        let spec = self.any().spec();
        let number = |item: &_| {
            let text = spec.spread_text(item).unwrap_or_default();
            let place = place_of(self.names().iter().map(String::as_str), &text);
            self.names().iter().position(|name| Some(name.as_str()) == place).unwrap_or(0)
        };
        let checked = enqueue::check(&self.any().any().terms, items)?;
        let numbers: Vec<_> = checked.iter().map(number).collect();
        let id = operation.map_or_else(|| self.new_identity(), str::to_owned);
        let items: Vec<_> = items.iter().zip(&checked).collect();
        let done = self.to_each(&numbers, &items, |queue, items| enqueue::put(queue.any(), items, Some(&id)));
        done.map_err(|error| under(error, id))
    }

    /// All of them at one place, to which the identity leads, so that a repetition comes to the same. Without one it is a place that
    /// answers.
    fn anywhere(&self, items: &[NewItem], operation: Option<&str>) -> Result<Vec<Receipt>> {
        if let Some(item) = items.iter().position(|item| !item.after.is_empty()) {
            let message =
                format!("item {item}: an item that waits for others is enqueued at their place: take a handle at it");
            return Err(Error::new(ErrorKind::InvalidItem, message));
        }
        if let Some(id) = operation {
            return self.of_identity(id)?.enqueue(items, operation);
        }
        let mut failed: Vec<String> = Vec::new();
        loop {
            let ready =
                self.in_turn().into_iter().map(|(name, _)| name).filter(|name| !failed.iter().any(|it| it == name));
            let (id, place) = self.drawn(&ready.collect::<Vec<_>>());
            if let Some(name) = place {
                match enqueue::enqueue(&self.at(name)?.any().hasty(), items, Some(&id)) {
                    Ok(receipts) => return Ok(receipts),
                    // Nothing was sent: another place takes them.
                    Err(error) if error.kind() == ErrorKind::Unreachable => {
                        failed.push(name.to_owned());
                        continue;
                    }
                    Err(error) if !error.is_retryable() => return Err(error.in_context(at(name))),
                    Err(_) => {}
                }
            }
            let again = self.of_identity(&id).and_then(|queue| queue.enqueue(items, Some(&id)));
            return again.map_err(|error| under(error, id));
        }
    }

    /// A new identity and the place to which it leads: the first of these, else any of them. None of them where so many places are away
    /// that no identity was found: a call never goes to another place than its repetition.
    fn drawn<'p>(&self, ready: &[&'p str]) -> (String, Option<&'p str>) {
        let mut other = None;
        for _ in 0..(MOST_HASHED / self.names().len()).max(1) {
            let id = self.new_identity();
            let place = place_of(self.names().iter().map(String::as_str), &id);
            let place = ready.iter().copied().find(|name| Some(*name) == place);
            if place.is_some() && place == ready.first().copied() {
                return (id, place);
            }
            other = other.or_else(|| place.map(|place| (id, place)));
        }
        other.map_or_else(|| (self.new_identity(), None), |(id, place)| (id, Some(place)))
    }

    fn new_identity(&self) -> String {
        new_identity(self.any().any().terms.dialect)
    }

    /// The place of an identity.
    fn of_identity(&self, id: &str) -> Result<&Queue> {
        let id = Uuid::try_parse(id).map_or_else(|_| id.to_owned(), |id| id.to_string());
        let place = place_of(self.names().iter().map(String::as_str), &id).unwrap_or_default();
        self.at(place)
    }

    /// An operator's call for the items of each place, under one identity.
    pub(in crate::queue) fn operate(
        &self,
        items: &[ItemRef<'_>],
        operation: Option<&str>,
        call: impl Fn(&Queue, &[ItemRef<'_>], &str) -> Result<Vec<Outcome>> + Sync,
    ) -> Result<Vec<Outcome>> {
        let id = operation.map_or_else(|| self.new_identity(), str::to_owned);
        let done = self.for_each(items, |item| item.key, |queue, part| call(queue, part, &id));
        done.map_err(|error| under(error, id))
    }

    /// [`crate::Queue::settle`]: a call for each place, under one identity.
    pub(in crate::queue) fn settle(
        &self,
        settlements: &[Settlement<'_>],
        operation: Option<&str>,
    ) -> Result<Vec<Outcome>> {
        let id = operation.map_or_else(|| self.new_identity(), str::to_owned);
        // All are checked before the first place settles its own.
        for (i, one) in settlements.iter().enumerate() {
            if let Some(queue) = self.nth(self.number_of(one.key)?) {
                settlements_to_json(&queue.any().terms, std::slice::from_ref(one), i)?;
            }
        }
        let done = self.for_each(settlements, |one| one.key, |queue, part| queue.settle(part, Some(&id)));
        done.map_err(|error| under(error, id))
    }
}

/// The error with the identity under which to repeat the call, where a repetition may succeed.
fn under(error: Error, id: String) -> Error {
    if error.is_retryable() { error.with_operation(id) } else { error }
}
