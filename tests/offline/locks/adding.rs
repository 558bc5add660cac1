//! The steps of a session that adds items whose work must not be there.

use super::session::{Session, Step, World};
use super::statement::Program;
use super::world::{Index, Key, Mode, Row, State, in_the_way};

impl World {
    /// Drops from the list what is there already.
    pub(super) fn look_up(&mut self, number: usize, mode: Mode, ranges: bool) -> Step {
        let place = usize::from(self.sessions[number].at.1);
        let Some(work) = self.sessions[number].found.get(place).copied() else { return self.next_statement(number) };
        // Where no entry is there, a range lock takes the next one, and the gap before it.
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
    pub(super) fn insert(&mut self, number: usize, program: &Program) -> Step {
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
            // 2601: the call is rolled back, and looks again.
            let program = program.arguments.clone();
            self.roll_back(number);
            self.sessions[number] = Session { found: program, ..Session::default() };
            return Step::Done;
        }
        let key = 100 + work + 50 * number as Key;
        let group = self.table.rows.values().find_map(|row| row.group);
        let row = Row { state: State::Waits, expired: false, work: Some(work), group, kind: 0 };
        self.sessions[number].undo.push((key, None));
        let entries = self.table.entries(key, &row).into_iter().chain([(Index::Row, key)]);
        self.held[number].extend(entries.map(|entry| (entry, Mode::X)));
        self.table.rows.insert(key, row);
        self.sessions[number].at.1 += 1;
        Step::Done
    }
}
