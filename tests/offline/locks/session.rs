//! A session: how far it is in its program, and its next step, which takes one lock or changes one row.

use super::statement::{Program, Statement, To};
use super::world::{Held, Index, Key, Mode, Resource, Row, State, Table, in_the_way};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Session {
    /// The statement, and the place in it: of the search, or in the list of rows.
    pub at: (usize, u8),
    /// Locks of the row at hand that are still to be taken, the last one first; with it what is to be done then.
    pub ahead: Vec<Resource>,
    /// What was found, or what the call is about.
    pub found: Vec<Key>,
    /// Rows as they were, to be put back.
    pub undo: Vec<(Key, Option<Row>)>,
    /// Whether the locks of the row at hand have been listed.
    pub begun: bool,
    pub is_done: bool,
    pub was_victim: bool,
    pub claimed: Vec<Key>,
}

/// What a step came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Done,
    Waits(Vec<usize>),
    /// What must never be.
    Wrong(String),
}

/// All that there is at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub table: Table,
    pub held: Vec<Held>,
    pub sessions: Vec<Session>,
}

impl World {
    pub fn new(table: Table, programs: &[Program]) -> Self {
        let session = |program: &Program| Session { found: program.arguments.clone(), ..Session::default() };
        Self { table, held: vec![Held::new(); programs.len()], sessions: programs.iter().map(session).collect() }
    }

    /// Lets `number` take one step.
    pub fn step(&mut self, number: usize, program: &Program) -> Step {
        let (statement, place) = self.sessions[number].at;
        match program.statements.get(statement) {
            None => {
                self.end(number);
                Step::Done
            }
            Some(Statement::Search { index, mode, readpast, holds, row, most }) => {
                let row = row.filter(|_| *index != Index::Row);
                self.search(number, (*index, place), (*mode, row), (*readpast, *holds), *most)
            }
            Some(Statement::ByKey { mode, readpast, holds }) => self.by_key(number, *mode, *readpast, *holds),
            Some(Statement::TakeRow { index, mode, readpast }) => match self.lock(number, (*index, 0), *mode) {
                Err(others) if !readpast => Step::Waits(others),
                _ => self.next_statement(number),
            },
            // Of the row that is locked for it already, or not at all.
            Some(Statement::LeaveTurn) => self.next_statement(number),
            Some(Statement::Beside(mode)) => self.beside(number, *mode),
            Some(Statement::FreeOfGroup) => self.free_of_group(number),
            Some(Statement::Update(to)) => self.change(number, Some(*to)),
            Some(Statement::Delete) => self.change(number, None),
            Some(Statement::LookUpWork { mode, ranges }) => self.look_up(number, *mode, *ranges),
            Some(Statement::Insert) => self.insert(number, program),
        }
    }

    /// The transaction is over.
    fn end(&mut self, number: usize) {
        self.held[number].clear();
        let session = &mut self.sessions[number];
        (session.is_done, session.begun) = (true, false);
        session.undo.clear();
        session.found.clear();
        session.at = (usize::MAX, 0);
    }

    /// The transaction is rolled back.
    pub fn roll_back(&mut self, number: usize) {
        for (key, row) in std::mem::take(&mut self.sessions[number].undo).into_iter().rev() {
            match row {
                Some(row) => drop(self.table.rows.insert(key, row)),
                None => drop(self.table.rows.remove(&key)),
            }
        }
        self.end(number);
        self.sessions[number].was_victim = true;
        self.sessions[number].claimed.clear();
    }

    fn next_statement(&mut self, number: usize) -> Step {
        let session = &mut self.sessions[number];
        session.at = (session.at.0 + 1, 0);
        session.begun = false;
        Step::Done
    }

    /// Takes the lock, or says who is in the way.
    fn lock(&mut self, number: usize, resource: Resource, mode: Mode) -> Result<(), Vec<usize>> {
        let others = in_the_way(&self.held, number, resource, mode);
        if !others.is_empty() {
            return Err(others);
        }
        let own = self.held[number].entry(resource).or_insert(mode);
        *own = mode.max(*own);
        Ok(())
    }

    fn search(
        &mut self,
        number: usize,
        from: Resource,
        modes: (Mode, Option<Mode>),
        how: (bool, bool),
        most: u8,
    ) -> Step {
        let (index, place) = from;
        let (readpast, holds) = how;
        let session = &mut self.sessions[number];
        if place == 0 && !session.begun {
            session.found.clear();
        }
        session.begun = true;
        let room = session.found.len() < usize::from(most);
        let entry = session.ahead.last().map(|row| row.1).or_else(|| self.table.first(index, place));
        let Some(key) = entry.filter(|_| room) else { return self.next_statement(number) };
        let visits = self.sessions[number].ahead.pop();
        let (resource, mode) = match (visits, modes.1) {
            (Some(row), Some(mode)) => (row, mode),
            _ => ((index, key), modes.0),
        };
        if let Err(others) = self.lock(number, resource, mode) {
            if readpast {
                // A lock of the index's entry that was taken for it stays, as update locks do.
                self.let_go(number, index, key, holds);
                self.sessions[number].at.1 = key + 1;
                return Step::Done;
            }
            self.sessions[number].ahead.extend(visits);
            return Step::Waits(others);
        }
        if visits.is_none()
            && let Some(row) = modes.1
        {
            self.sessions[number].ahead.push((Index::Row, key));
            if row != modes.0 {
                // Two of the statement's tables: the entry is read when its row is asked for.
                self.let_go(number, index, key, false);
            }
            return Step::Done;
        }
        // It may have left the index while its lock was waited for; and not all of an index is looked for.
        let row = &self.table.rows.get(&key);
        let is_there = self.table.first(index, key) == Some(key)
            && row.is_some_and(|row| match index {
                Index::InFlight => row.expired,
                Index::Row => row.state == State::Finished,
                _ => true,
            });
        self.let_go(number, index, key, holds);
        let session = &mut self.sessions[number];
        if is_there {
            session.found.push(key);
        }
        session.at.1 = key + 1;
        Step::Done
    }

    /// READ COMMITTED keeps shared locks no longer than it reads.
    fn let_go(&mut self, number: usize, index: Index, key: Key, holds: bool) {
        if !holds {
            for resource in [(index, key), (Index::Row, key)] {
                if self.held[number].get(&resource) == Some(&Mode::S) {
                    self.held[number].remove(&resource);
                }
            }
        }
    }

    fn by_key(&mut self, number: usize, mode: Mode, readpast: bool, holds: bool) -> Step {
        let place = self.sessions[number].at.1;
        let Some(key) = self.sessions[number].found.get(usize::from(place)).copied() else {
            return self.next_statement(number);
        };
        match self.lock(number, (Index::Row, key), mode) {
            Err(others) if !readpast => return Step::Waits(others),
            Err(_) => {
                self.sessions[number].found.remove(usize::from(place));
            }
            Ok(()) if !self.table.rows.contains_key(&key) => {
                self.sessions[number].found.remove(usize::from(place));
            }
            Ok(()) => {
                self.let_go(number, Index::Row, key, holds);
                self.sessions[number].at.1 += 1;
            }
        }
        Step::Done
    }

    fn beside(&mut self, number: usize, mode: Mode) -> Step {
        let session = &self.sessions[number];
        let Some(key) = session.found.get(usize::from(session.at.1)).copied() else {
            return self.next_statement(number);
        };
        if let Err(others) = self.lock(number, (Index::Lease, key), mode) {
            return Step::Waits(others);
        }
        self.sessions[number].at.1 += 1;
        Step::Done
    }

    /// Drops what is not the first of its group. What is read for it is waited for, and kept locked no longer than it is read.
    fn free_of_group(&mut self, number: usize) -> Step {
        let place = usize::from(self.sessions[number].at.1);
        let Some(key) = self.sessions[number].found.get(place).copied() else { return self.next_statement(number) };
        if !self.sessions[number].begun {
            self.sessions[number].begun = true;
            // What others are just changing is waited for too: entries that are locked and go or come.
            let of_index = |resource: &Resource| matches!(resource.0, Index::Group | Index::Held);
            let changing = self.held.iter().flat_map(|held| held.keys().copied().filter(of_index));
            let mut ahead: Vec<_> = self.table.before_in_group(key).into_iter().chain(changing).collect();
            ahead.retain(|resource| resource.1 != key);
            ahead.sort_unstable_by(|one, other| other.cmp(one));
            ahead.dedup();
            self.sessions[number].ahead = ahead;
        }
        if let Some(next) = self.sessions[number].ahead.last().copied() {
            if let Err(others) = self.lock(number, next, Mode::S) {
                return Step::Waits(others);
            }
            self.sessions[number].ahead.pop();
            self.let_go(number, next.0, next.1, false);
            return Step::Done;
        }
        self.sessions[number].begun = false;
        if self.table.before_in_group(key).is_empty() {
            self.sessions[number].at.1 += 1;
        } else {
            self.sessions[number].found.remove(place);
        }
        Step::Done
    }

    /// Changes the rows that were found, or deletes them: the row, then each entry that goes or comes.
    fn change(&mut self, number: usize, to: Option<To>) -> Step {
        let place = usize::from(self.sessions[number].at.1);
        let Some(key) = self.sessions[number].found.get(place).copied() else { return self.next_statement(number) };
        let Some(row) = self.table.rows.get(&key).cloned() else {
            return Step::Wrong(format!("row {key} was deleted under its lock"));
        };
        let Some(after) = changed(&row, number as u8, to) else {
            if to == Some(To::InFlight) {
                return Step::Wrong(format!("row {key} was locked for the claim and changed all the same"));
            }
            // Not its worker's any more, or not over: the statement says the condition again.
            self.sessions[number].at.1 += 1;
            return Step::Done;
        };
        if !self.sessions[number].begun {
            let old = row.entries(key);
            let new = after.as_ref().map_or(Vec::new(), |after| after.entries(key));
            let mut locks = vec![(Index::Row, key)];
            locks.extend(old.iter().filter(|entry| !new.contains(entry)));
            locks.extend(new.iter().filter(|entry| !old.contains(entry)));
            locks.reverse();
            self.sessions[number].ahead = locks;
            self.sessions[number].begun = true;
        }
        if let Some(next) = self.sessions[number].ahead.last().copied() {
            if let Err(others) = self.lock(number, next, Mode::X) {
                return Step::Waits(others);
            }
            self.sessions[number].ahead.pop();
            return Step::Done;
        }
        let session = &mut self.sessions[number];
        session.at.1 += 1;
        session.begun = false;
        let row_group = row.group;
        session.undo.push((key, Some(row)));
        if to == Some(To::InFlight) {
            session.claimed.push(key);
            let in_flight = |other: &Row| other.group == row_group && matches!(other.state, State::InFlight(_));
            if row_group.is_some() && self.table.rows.values().any(in_flight) {
                return Step::Wrong(format!("{key} is taken while another of its group is in flight"));
            }
        }
        match after {
            Some(after) => drop(self.table.rows.insert(key, after)),
            None => drop(self.table.rows.remove(&key)),
        }
        Step::Done
    }

    /// Drops from the list what is there already.
    fn look_up(&mut self, number: usize, mode: Mode, ranges: bool) -> Step {
        let place = usize::from(self.sessions[number].at.1);
        let Some(work) = self.sessions[number].found.get(place).copied() else { return self.next_statement(number) };
        // Of what is not there a range lock takes the next entry, and the gap before it.
        let next = self.table.first(Index::Work, work).unwrap_or(Key::MAX);
        if next == work || ranges {
            if let Err(others) = self.lock(number, (Index::Work, next), mode) {
                return Step::Waits(others);
            }
            if ranges {
                if let Err(others) = self.lock(number, (Index::Gap, next), Mode::S) {
                    return Step::Waits(others);
                }
            } else {
                self.held[number].remove(&(Index::Work, next));
            }
        }
        if self.table.has_work(work) {
            self.sessions[number].found.remove(place);
        } else {
            self.sessions[number].at.1 += 1;
        }
        Step::Done
    }

    /// A row for each work that is left: its key is its own, so only the index of works is met by others.
    fn insert(&mut self, number: usize, program: &Program) -> Step {
        let place = usize::from(self.sessions[number].at.1);
        let Some(work) = self.sessions[number].found.get(place).copied() else { return self.next_statement(number) };
        let gap = self.table.first(Index::Work, work + 1).unwrap_or(Key::MAX);
        // An insert asks whether the gap is free, and keeps the entry.
        let others = in_the_way(&self.held, number, (Index::Gap, gap), Mode::Insert);
        if !others.is_empty() {
            return Step::Waits(others);
        }
        if let Err(others) = self.lock(number, (Index::Work, work), Mode::X) {
            return Step::Waits(others);
        }
        if self.table.has_work(work) {
            // 2601: what the call has done is rolled back, and it looks again.
            let program = program.arguments.clone();
            self.roll_back(number);
            self.sessions[number] = Session { found: program, ..Session::default() };
            return Step::Done;
        }
        let key = 100 + work + 50 * number as u8;
        let group = self.table.rows.values().find_map(|row| row.group);
        let row = Row { state: State::Waits, expired: false, work: Some(work), group, by_kind: false };
        self.sessions[number].undo.push((key, None));
        self.table.rows.insert(key, row);
        self.held[number].insert((Index::Row, key), Mode::X);
        self.held[number].insert((Index::Due, key), Mode::X);
        self.sessions[number].at.1 += 1;
        Step::Done
    }
}

/// What `row` becomes, `None` within if it goes; and nothing at all if the change is not of such a row.
fn changed(row: &Row, session: u8, to: Option<To>) -> Option<Option<Row>> {
    let own = row.state == State::InFlight(session);
    let in_flight = matches!(row.state, State::InFlight(_));
    let state = match to {
        None => return (row.state == State::Finished).then_some(None),
        Some(To::InFlight) if row.state == State::Waits => State::InFlight(session),
        Some(To::Waits) if own => State::Waits,
        Some(To::Recovered) if in_flight && row.expired => State::Waits,
        Some(To::Finished) if own => State::Finished,
        Some(To::Cancelled) if row.state == State::Waits => State::Finished,
        Some(To::Same) if own => row.state,
        Some(_) => return None,
    };
    Some(Some(Row { state, expired: row.expired && to != Some(To::Same) && to != Some(To::InFlight), ..row.clone() }))
}
