//! A session: how far it is in its program, and its next step, which takes one lock or changes one row.

use super::statement::{IfHeld, Program, Search, Statement, To};
use super::world::{Held, Index, KIND, Key, Mode, Resource, Row, State, Table, in_the_way};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Session {
    /// The statement, and the place in it: of the search, or in the list of rows.
    pub at: (usize, Key),
    /// Locks of the row at hand that are still to be taken, the last one first; with it what is to be done then.
    pub ahead: Vec<Resource>,
    /// Rows that the session has found, or that the call is about.
    pub found: Vec<Key>,
    /// How many a claim may take, where a limit says so.
    pub room: Option<u8>,
    /// Rows of the works that the call is about.
    pub same: Vec<Key>,
    /// Attempts that are old enough to be forgotten.
    pub old: Vec<Key>,
    /// Rows as they were, to be put back; and attempts.
    pub undo: Vec<(Key, Option<Row>)>,
    pub undo_attempts: Vec<(Key, Option<bool>)>,
    /// Whether the locks of the row at hand have been listed.
    pub begun: bool,
    pub is_done: bool,
    pub was_victim: bool,
    pub claimed: Vec<Key>,
    /// Items in flight that it let nobody have any more.
    pub ended: Vec<Key>,
}

/// The outcome of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Done,
    Waits(Vec<usize>),
    /// A state that must never be.
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
            Some(Statement::Search(search)) => self.search(number, search),
            Some(Statement::ByKey { mode, readpast, holds }) => self.by_key(number, *mode, *readpast, *holds),
            Some(Statement::TakeRow { index, mode, if_held }) => match (self.lock(number, (*index, 0), *mode), if_held)
            {
                (Err(others), IfHeld::Waits) => Step::Waits(others),
                (Err(_), IfHeld::GoesAway) => {
                    self.sessions[number].at = (program.statements.len(), 0);
                    Step::Done
                }
                _ => self.next_statement(number),
            },
            // The next one of the row that is locked for it already, or none.
            Some(Statement::LeaveTurn) => self.next_statement(number),
            Some(Statement::Beside(mode)) => self.beside(number, *mode, false),
            Some(Statement::BesideFree) => self.beside(number, Mode::U, true),
            Some(Statement::FreeOfGroup) => self.free_of_group(number),
            Some(Statement::Count { at_once }) => self.count(number, *at_once),
            Some(Statement::Others(keys)) => {
                self.sessions[number].found = keys.to_vec();
                self.next_statement(number)
            }
            Some(Statement::Update(to)) => self.change(number, Some(*to)),
            Some(Statement::Delete) => self.change(number, None),
            Some(Statement::LookUpWork { mode, ranges }) => self.look_up(number, *mode, *ranges),
            Some(Statement::FindSame { mode, by_key }) => self.find_same(number, *mode, *by_key),
            Some(Statement::WorksLeft) => self.works_left(number, program),
            Some(Statement::Insert) => self.insert(number, program),
            Some(Statement::Remember) => self.remember(number),
            Some(Statement::Forget) => self.forget(number),
            Some(Statement::FindOld) => self.find_old(number, place),
            Some(Statement::ForgetOld { readpast, by_key }) => self.forget_old(number, *readpast, *by_key),
            Some(Statement::ReadAttempts) => self.read_attempts(number, place),
        }
    }

    /// Whether the next step looks at nothing and changes nothing that others have: who takes it at once leaves no order out.
    pub fn is_quarantined(&self, number: usize, program: &Program) -> bool {
        use Statement::{Beside, ByKey, Delete, FreeOfGroup, Insert, LeaveTurn, LookUpWork, Remember, Update};
        let session = &self.sessions[number];
        let place = usize::from(session.at.1);
        match program.statements.get(session.at.0) {
            // It reads rows that the session has locked.
            Some(LeaveTurn | Statement::WorksLeft) => true,
            Some(Statement::Search(search)) => session.ahead.is_empty() && session.found.len() >= session.most(search),
            Some(
                ByKey { .. }
                | Beside(_)
                | Statement::BesideFree
                | FreeOfGroup
                | Update(_)
                | Delete
                | LookUpWork { .. }
                | Insert
                | Remember
                | Statement::Forget,
            ) => place >= session.found.len(),
            Some(Statement::ForgetOld { .. }) => place >= session.old.len(),
            _ => false,
        }
    }

    /// The transaction is over.
    fn end(&mut self, number: usize) {
        self.held[number].clear();
        let session = &mut self.sessions[number];
        (session.is_done, session.begun) = (true, false);
        session.undo.clear();
        session.undo_attempts.clear();
        session.found.clear();
        session.old.clear();
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
        for (place, attempt) in std::mem::take(&mut self.sessions[number].undo_attempts).into_iter().rev() {
            match attempt {
                Some(attempt) => drop(self.table.attempts.insert(place, attempt)),
                None => drop(self.table.attempts.remove(&place)),
            }
        }
        self.end(number);
        let session = &mut self.sessions[number];
        session.was_victim = true;
        session.claimed.clear();
        session.ended.clear();
    }

    pub(super) fn next_statement(&mut self, number: usize) -> Step {
        let session = &mut self.sessions[number];
        session.at = (session.at.0 + 1, 0);
        session.begun = false;
        Step::Done
    }

    /// Takes the lock, or says who is in the way.
    pub(super) fn lock(&mut self, number: usize, resource: Resource, mode: Mode) -> Result<(), Vec<usize>> {
        let others = in_the_way(&self.held, number, resource, mode);
        if !others.is_empty() {
            return Err(others);
        }
        let own = self.held[number].entry(resource).or_insert(mode);
        *own = mode.max(*own);
        Ok(())
    }

    fn search(&mut self, number: usize, search: &Search) -> Step {
        let index = search.index;
        let (first, behind) = search.kind.map_or((0, Key::MAX), |kind| {
            let first = KIND * Key::from(kind);
            (first, first + KIND)
        });
        let session = &mut self.sessions[number];
        if !session.begun {
            session.begun = true;
            session.at.1 = first;
            if !search.adds {
                session.found.clear();
            }
        }
        let visits = session.ahead.pop();
        let room = session.found.len() < session.most(search);
        let from = session.at.1;
        let entry = if visits.is_some() { Some(from) } else { self.table.first(index, from) };
        let Some(place) = entry.filter(|place| room && *place < behind) else { return self.next_statement(number) };
        self.sessions[number].at.1 = place;
        let key = index.row(place);
        let (resource, mode) = match (visits, search.row) {
            (Some(row), Some(mode)) => (row, mode),
            _ => ((index, place), search.mode),
        };
        if let Err(others) = self.lock(number, resource, mode) {
            if search.readpast {
                // A lock of the index's entry that was taken for it stays, as update locks do.
                self.let_go(number, (index, place), search.holds);
                self.sessions[number].at.1 = place + 1;
                return Step::Done;
            }
            return Step::Waits(others);
        }
        if visits.is_none()
            && let Some(row) = search.row
        {
            self.sessions[number].ahead.push((Index::Row, key));
            if row != search.mode {
                // Two of the statement's tables: the entry is read when its row is asked for.
                self.let_go(number, (index, place), false);
            }
            return Step::Done;
        }
        // It may have left the index while its lock was waited for; and not all of an index is looked for.
        let is_there = self.table.rows.get(&key).is_some_and(|row| match index {
            _ if search.trusts => row.state == State::Waits,
            Index::InFlight => row.expired,
            Index::Row => row.state == State::Finished,
            _ => true,
        }) && (search.trusts || self.table.first(index, place) == Some(place));
        self.let_go(number, (index, place), search.holds);
        let session = &mut self.sessions[number];
        if is_there {
            session.found.push(key);
        }
        session.at.1 = place + 1;
        Step::Done
    }

    /// READ COMMITTED keeps shared locks no longer than it reads.
    fn let_go(&mut self, number: usize, entry: Resource, holds: bool) {
        if !holds {
            for resource in [entry, (Index::Row, entry.0.row(entry.1))] {
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
                self.let_go(number, (Index::Row, key), holds);
                self.sessions[number].at.1 += 1;
            }
        }
        Step::Done
    }

    fn beside(&mut self, number: usize, mode: Mode, readpast: bool) -> Step {
        let place = usize::from(self.sessions[number].at.1);
        let Some(key) = self.sessions[number].found.get(place).copied() else { return self.next_statement(number) };
        match self.lock(number, (Index::Lease, key), mode) {
            Err(others) if !readpast => return Step::Waits(others),
            Err(_) => {
                self.sessions[number].found.remove(place);
            }
            Ok(()) => self.sessions[number].at.1 += 1,
        }
        Step::Done
    }

    /// Drops what is not the first of its group. What is read for it is waited for, and kept locked no longer than it is read.
    fn free_of_group(&mut self, number: usize) -> Step {
        let place = usize::from(self.sessions[number].at.1);
        let Some(key) = self.sessions[number].found.get(place).copied() else { return self.next_statement(number) };
        if !self.sessions[number].begun {
            self.sessions[number].begun = true;
            // It waits for rows that others are just changing, too: entries that are locked and go or come.
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
            self.let_go(number, next, false);
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
            // Not its worker's any more, or not over: the statement says the condition again, and what follows is of the others.
            self.sessions[number].found.remove(place);
            return Step::Done;
        };
        if !self.sessions[number].begun {
            let old = self.table.entries(key, &row);
            let new = after.as_ref().map_or(Vec::new(), |after| self.table.entries(key, after));
            // The state stands in these for their filter: an entry that stays is written.
            let is_written = |entry: &&Resource| {
                matches!(entry.0, Index::Work | Index::Group)
                    && after.as_ref().is_some_and(|after| after.state != row.state)
            };
            let moves = |entry: &&Resource| to == Some(To::Replaced) && entry.0 == Index::Due;
            let mut locks = vec![(Index::Row, key)];
            locks.extend(old.iter().filter(|entry| !new.contains(entry) || is_written(entry) || moves(entry)));
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
        let (row_group, was) = (row.group, row.state);
        session.undo.push((key, Some(row)));
        if to == Some(To::InFlight) {
            session.claimed.push(key);
            let in_flight = |other: &&Row| other.group == row_group && matches!(other.state, State::InFlight(_));
            let most = usize::from(self.table.at_once.max(1));
            if row_group.is_some() && self.table.rows.values().filter(in_flight).count() >= most {
                return Step::Wrong(format!("{key} is taken while {most} of its group are in flight"));
            }
        }
        let ends = |after: &Row| matches!((was, after.state), (State::InFlight(_), State::Waits | State::Finished));
        if after.as_ref().is_some_and(ends) {
            self.sessions[number].ended.push(key);
        }
        match after {
            Some(after) => drop(self.table.rows.insert(key, after)),
            None => drop(self.table.rows.remove(&key)),
        }
        Step::Done
    }
}

/// The row that `row` becomes, `None` within if it goes; and nothing at all if the change is not of such a row.
fn changed(row: &Row, session: u8, to: Option<To>) -> Option<Option<Row>> {
    let own = row.state == State::InFlight(session);
    let in_flight = matches!(row.state, State::InFlight(_));
    let state = match to {
        None => return (row.state == State::Finished).then_some(None),
        Some(To::InFlight) if row.state == State::Waits => State::InFlight(session),
        Some(To::Waits) if own => State::Waits,
        Some(To::Recovered) if in_flight && row.expired => State::Waits,
        Some(To::Finished) if own => State::Finished,
        Some(To::Due) if row.state == State::Never => State::Waits,
        Some(To::Cancelled) if matches!(row.state, State::Waits | State::Never) => State::Finished,
        Some(To::Redriven) if row.state == State::Finished => State::Waits,
        Some(To::OtherKind | To::Replaced) if row.state == State::Waits => row.state,
        Some(To::Same) if own => row.state,
        Some(_) => return None,
    };
    let kind = if to == Some(To::OtherKind) { 1 - row.kind } else { row.kind };
    Some(Some(Row {
        state,
        kind,
        expired: row.expired && to != Some(To::Same) && to != Some(To::InFlight),
        ..row.clone()
    }))
}
