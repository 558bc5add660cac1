//! The steps of a session on what is remembered of attempts.

use super::session::{Session, Step, World};
use super::world::{ATTEMPTS, Index, Key, Mode};
use std::ops::Range;

/// Where the index of ages has an attempt: the later its item was enqueued, the earlier it ended here, so that the order of ages is
/// not that of keys.
fn aged(attempt: Key) -> Key {
    60_000 - attempt
}

/// The item that an attempt was at.
pub fn item(attempt: Key) -> Key {
    attempt / ATTEMPTS
}

/// Which session has written it; `None` of those that were there before.
pub fn writer(attempt: Key) -> Option<usize> {
    usize::from(attempt % ATTEMPTS / 4).checked_sub(1)
}

impl World {
    /// A row for each item that was found, or changed. Its number is new, so nobody else can have it locked.
    pub(super) fn remember(&mut self, number: usize) -> Step {
        let session = &self.sessions[number];
        let Some(key) = session.found.get(usize::from(session.at.1)).copied() else {
            return self.next_statement(number);
        };
        self.sessions[number].at.1 += 1;
        // Nothing is written of rows that the call has deleted itself.
        let is_gone = !self.table.rows.contains_key(&key);
        if is_gone && self.sessions[number].undo.iter().any(|(changed, _)| *changed == key) {
            return Step::Done;
        }
        let first = key * ATTEMPTS + 4 * (number as Key + 1);
        let Some(attempt) = (first..first + 4).find(|attempt| !self.table.attempts.contains_key(attempt)) else {
            return Step::Wrong(format!("{key} has too many attempts"));
        };
        for resource in [(Index::Attempt, attempt), (Index::AttemptEnded, aged(attempt))] {
            self.held[number].insert(resource, Mode::X);
        }
        self.sessions[number].undo_attempts.push((attempt, None));
        self.table.attempts.insert(attempt, false);
        Step::Done
    }

    /// Deletes all that there is of the items that were found, in the order of the keys.
    pub(super) fn forget(&mut self, number: usize) -> Step {
        let session = &self.sessions[number];
        let Some(key) = session.found.get(usize::from(session.at.1)).copied() else {
            return self.next_statement(number);
        };
        let Some(attempt) = self.first_attempt(number, key * ATTEMPTS..(key + 1) * ATTEMPTS) else {
            self.sessions[number].at.1 += 1;
            return Step::Done;
        };
        self.delete_attempt(number, attempt).map_or_else(Step::Waits, |_| Step::Done)
    }

    /// The first that is there, or that another session is just deleting: its lock is there as long as it can come back.
    fn first_attempt(&self, number: usize, within: Range<Key>) -> Option<Key> {
        let there = self.table.attempts.range(within.clone()).next().map(|(attempt, _)| *attempt);
        let others = self.held.iter().enumerate().filter(|(other, _)| *other != number);
        let locked = others.flat_map(|(_, held)| held.iter().filter(|(_, mode)| **mode == Mode::X));
        let going = locked.filter(|((index, _), _)| *index == Index::Attempt).map(|((_, attempt), _)| *attempt);
        there.into_iter().chain(going.filter(|attempt| within.contains(attempt))).min()
    }

    /// Looks for old ones by their age, passing over what others hold.
    pub(super) fn find_old(&mut self, number: usize, from: Key) -> Step {
        let old = self.table.attempts.iter().filter(|(_, is_old)| **is_old).map(|(attempt, _)| aged(*attempt));
        let Some(place) = old.filter(|place| *place >= from).min() else { return self.next_statement(number) };
        let entry = (Index::AttemptEnded, place);
        if self.lock(number, entry, Mode::S).is_ok() {
            if self.held[number].get(&entry) == Some(&Mode::S) {
                self.held[number].remove(&entry);
            }
            self.sessions[number].old.push(aged(place));
        }
        self.sessions[number].at.1 = place + 1;
        Step::Done
    }

    /// Deletes those that were found, whosever items they are of.
    pub(super) fn forget_old(&mut self, number: usize, readpast: bool, by_key: bool) -> Step {
        let session = &mut self.sessions[number];
        if by_key && session.at.1 == 0 && !session.begun {
            session.old.sort_unstable();
        }
        let Some(attempt) = session.old.get(usize::from(session.at.1)).copied() else {
            return self.next_statement(number);
        };
        if self.first_attempt(number, attempt..attempt + 1).is_none() {
            self.sessions[number].at.1 += 1;
            return Step::Done;
        }
        let has_row = self.sessions[number].begun;
        match self.delete_attempt(number, attempt) {
            Err(_) if readpast && !has_row => {
                self.sessions[number].at.1 += 1;
                Step::Done
            }
            Err(others) => Step::Waits(others),
            Ok(()) => Step::Done,
        }
    }

    /// The row is locked, then its entry in the index of ages; then they go.
    fn delete_attempt(&mut self, number: usize, attempt: Key) -> Result<(), Vec<usize>> {
        if !self.sessions[number].begun {
            self.lock(number, (Index::Attempt, attempt), Mode::X)?;
            self.sessions[number].begun = true;
            return Ok(());
        }
        self.lock(number, (Index::AttemptEnded, aged(attempt)), Mode::X)?;
        self.sessions[number].begun = false;
        let was = self.table.attempts.remove(&attempt);
        self.sessions[number].undo_attempts.push((attempt, was));
        Ok(())
    }

    /// Reads the attempts at the items of the call; each with its item, which the reader may have to be allowed to see.
    pub(super) fn read_attempts(&mut self, number: usize, from: Key) -> Step {
        let Session { found, begun, .. } = &self.sessions[number];
        let of_item = |item: &Key| self.first_attempt(number, from.max(item * ATTEMPTS)..(item + 1) * ATTEMPTS);
        let (next, begun) = (found.iter().find_map(of_item), *begun);
        let Some(attempt) = next else { return self.next_statement(number) };
        let (row, entry) = ((Index::Row, item(attempt)), (Index::Attempt, attempt));
        if let Err(others) = self.lock(number, if begun { row } else { entry }, Mode::S) {
            return Step::Waits(others);
        }
        self.sessions[number].begun = !begun;
        self.sessions[number].at.1 = attempt;
        if begun {
            self.held[number].remove(&row);
            self.held[number].remove(&entry);
            self.sessions[number].at.1 = attempt + 1;
        }
        Step::Done
    }
}
