//! A table with its indexes, and who has locked what in them: as much of SQL Server's lock manager as our procedures meet.
//!
//! Left out: locks of pages and tables (every statement asks for rows, and 1,000 items stay below escalation), the queue of those
//! who wait for one lock (any of them may be first here, which allows more than the server does), and optimized locking.

use std::collections::BTreeMap;

/// A row's place in the order of keys. An index has the row at the same place, but for those of works, of kinds and of ages.
pub type Key = u16;

/// An index that begins with kinds has the rows of one kind together: so far from those of the next.
pub const KIND: Key = 300;
/// The attempts at an item stand together, in an order of their own.
pub const ATTEMPTS: Key = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// The clustered index: the row itself.
    Row,
    /// Items that wait, in the order in which they are due.
    Due,
    /// The same, by their kind first: their type, their step, or both.
    TypeDue,
    StepDue,
    TypeStepDue,
    /// The same, by the key of a limit.
    Limited,
    /// Items in flight.
    InFlight,
    /// Items that have ended.
    Ended,
    /// The work that makes an item unique among the unfinished ones.
    Work,
    /// The gap before an entry of the index of works.
    Gap,
    /// The rows of `<queue>_Lease` beside somebody else's table, by the item's key.
    Lease,
    /// Unfinished items of groups.
    Group,
    /// Those of them that are in flight.
    Held,
    /// The rows of `<queue>_Attempt`, by item and number.
    Attempt,
    /// The same by their age.
    AttemptEnded,
    /// The queue's row in `QueueTurn`, that in `QueueRecovery`, and that in `QueueRetention`.
    Turn,
    Recovery,
    Retention,
}

impl Index {
    /// Where it has a row of this kind.
    fn place(self, key: Key, kind: u8) -> Key {
        if self.is_of_kinds() { key + KIND * Key::from(kind) } else { key }
    }

    /// The row that an entry is of.
    pub fn row(self, place: Key) -> Key {
        if self.is_of_kinds() { place % KIND } else { place }
    }

    fn is_of_kinds(self) -> bool {
        matches!(self, Index::TypeDue | Index::StepDue | Index::TypeStepDue)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    S,
    U,
    X,
    /// Into a gap something is to be put.
    Insert,
}

impl Mode {
    /// Whether one session may have `self` while another has `other`.
    fn goes_with(self, other: Mode) -> bool {
        use Mode::{Insert, S, U};
        matches!((self, other), (S, S | U) | (U, S) | (Insert, Insert))
    }

    fn covers(self, other: Mode) -> bool {
        self == other || self != Mode::Insert && other != Mode::Insert && self > other
    }
}

pub type Resource = (Index, Key);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Waits,
    /// It waits for others, and is due never: no search comes to its entry at the end of the index.
    Never,
    /// Held by the worker that this session is.
    InFlight(u8),
    Finished,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Row {
    pub state: State,
    /// Whether the lease is over.
    pub expired: bool,
    /// The place of its work, if it has one.
    pub work: Option<Key>,
    /// The group it is of, if it is of one.
    pub group: Option<u8>,
    /// Its type, its step, or both.
    pub kind: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Table {
    pub rows: BTreeMap<Key, Row>,
    /// The indexes of what waits.
    pub waiting: &'static [Index],
    /// How many of a group may be in flight at once, where that is not one.
    pub at_once: u8,
    /// Attempts that are remembered, and whether each is old enough to be forgotten.
    pub attempts: BTreeMap<Key, bool>,
}

impl Table {
    /// The entries that the indexes have of a row.
    pub fn entries(&self, key: Key, row: &Row) -> Vec<Resource> {
        let mut entries = Vec::new();
        match row.state {
            State::Waits => entries.extend(self.waiting.iter().map(|index| (*index, index.place(key, row.kind)))),
            State::Never => {}
            State::InFlight(_) => entries.push((Index::InFlight, key)),
            State::Finished => return vec![(Index::Ended, key)],
        }
        entries.extend(row.work.map(|work| (Index::Work, work)));
        if row.group.is_some() {
            entries.push((Index::Group, key));
            entries.extend(matches!(row.state, State::InFlight(_)).then_some((Index::Held, key)));
        }
        entries
    }

    /// The first entry of an index at `from` or behind it.
    pub fn first(&self, index: Index, from: Key) -> Option<Key> {
        if index == Index::Row {
            return self.rows.range(from..).next().map(|(key, _)| *key);
        }
        let entries = self.rows.iter().flat_map(|(key, row)| self.entries(*key, row));
        entries.filter(|entry| entry.0 == index && entry.1 >= from).map(|entry| entry.1).min()
    }

    /// The items in the way of an item: earlier unfinished ones of its group, and any in flight; with the entries that say so.
    pub fn before_in_group(&self, key: Key) -> Vec<Resource> {
        let Some(group) = self.rows.get(&key).and_then(|row| row.group) else { return Vec::new() };
        let of_group = self.rows.iter().filter(|(other, row)| **other != key && row.group == Some(group));
        let entries = of_group.flat_map(|(other, row)| self.entries(*other, row));
        entries.filter(|(index, other)| *index == Index::Group && *other < key || *index == Index::Held).collect()
    }

    pub fn has_work(&self, work: Key) -> bool {
        self.first(Index::Work, work) == Some(work)
    }
}

/// The locks of one session.
pub type Held = BTreeMap<Resource, Mode>;

/// Whether `session` may have the lock now; else who is in the way.
pub fn in_the_way(held: &[Held], session: usize, resource: Resource, mode: Mode) -> Vec<usize> {
    if held[session].get(&resource).is_some_and(|own| own.covers(mode)) {
        return Vec::new();
    }
    let others = held.iter().enumerate().filter(|(other, _)| *other != session);
    others
        .filter(|(_, held)| held.get(&resource).is_some_and(|theirs| !mode.goes_with(*theirs)))
        .map(|(other, _)| other)
        .collect()
}
