//! The steps of a session that adds items whose work may be there, and then replaces the one that waits; and what holds of it.

use super::programs::{add, cancel, claim, give_back, purge, recover, renew, replace, settle, settle_and_claim, stats};
use super::rendered::{FREE, differences, script};
use super::search::{Finding, explore, table};
use super::session::{Step, World};
use super::statement::{Program, Statement};
use super::world::{Index, Key, Mode, State};

use State::{Finished, InFlight, Waits};

impl World {
    /// Lists the rows of the works that are there.
    pub(super) fn find_same(&mut self, number: usize, mode: Mode, by_key: bool) -> Step {
        let place = usize::from(self.sessions[number].at.1);
        let Some(work) = self.sessions[number].found.get(place).copied() else {
            let session = &mut self.sessions[number];
            if by_key {
                session.same.sort_unstable();
            }
            session.found = session.same.clone();
            return self.next_statement(number);
        };
        if self.table.has_work(work) {
            if let Err(others) = self.lock(number, (Index::Work, work), mode) {
                return Step::Waits(others);
            }
            if mode == Mode::S {
                self.held[number].remove(&(Index::Work, work));
            }
            // It may have left the index while its lock was waited for.
            let of_work = self.table.rows.iter().find(|(_, row)| row.work == Some(work) && row.state != Finished);
            self.sessions[number].same.extend(of_work.map(|(key, _)| *key));
        }
        self.sessions[number].at.1 += 1;
        Step::Done
    }

    /// The works of the call that no row has which it has locked.
    pub(super) fn works_left(&mut self, number: usize, program: &Program) -> Step {
        let session = &self.sessions[number];
        let locked = session.same.iter().filter_map(|key| self.table.rows.get(key));
        let there: Vec<_> = locked.filter(|row| row.state != Finished).filter_map(|row| row.work).collect();
        let left = program.arguments.iter().copied().filter(|work| !there.contains(work)).collect();
        self.sessions[number].found = left;
        self.next_statement(number)
    }
}

/// Nothing goes wrong between these; `least` moments were looked at.
#[track_caller]
fn holds(rows: &[(State, bool)], programs: &[Program], least: usize) {
    let (finding, moments) = explore(&table(rows), programs);
    let names: Vec<_> = programs.iter().map(|program| program.name).collect();
    assert_eq!(finding, None, "{names:?}");
    assert!(moments >= least, "{names:?}: only {moments} moments");
}

fn found(rows: &[(State, bool)], programs: &[Program]) -> Option<Finding> {
    explore(&table(rows), programs).0
}

#[test]
fn replacing_goes_together_with_every_procedure() {
    // Works are 50, 40, 30, 20 and 10, in the order of the keys.
    let rows = [(InFlight(0), true), (InFlight(0), false), (InFlight(1), true), (Waits, false), (Finished, false)];
    let others = [
        claim(),
        settle(&[1, 2]),
        give_back(&[1, 2]),
        cancel(&[4]),
        settle_and_claim(&[1, 2]),
        renew(&[1, 2]),
        recover(),
        add(&[15, 20, 50]),
        replace(&[10, 20, 40]),
        replace(&[15, 20, 50]),
        purge(),
        stats(),
    ];
    for other in others {
        holds(&rows, &[other, replace(&[15, 20, 40])], 20);
    }
}

#[test]
fn the_same_work_is_replaced_by_all_at_once() {
    let rows = [(Waits, false), (InFlight(0), false), (Waits, false)];
    holds(&rows, &[replace(&[10, 30]), replace(&[10, 30])], 20);
    holds(&rows, &[replace(&[10, 20, 30]), cancel(&[1, 3])], 20);
    holds(&rows, &[settle_and_claim(&[2]), claim(), replace(&[10, 20, 30])], 100);
    holds(&[(InFlight(0), false), (Waits, false)], &[settle(&[1]), replace(&[10, 20]), replace(&[10, 20])], 100);
    holds(&[], &[replace(&[10, 20]), replace(&[10, 20])], 20);
    holds(&[(Waits, false)], &[replace(&[10, 15]), replace(&[15, 20]), replace(&[10, 20])], 100);
}

/// Works in their order are rows out of theirs.
#[test]
fn replacing_in_the_order_of_the_works() {
    let mut bad = replace(&[10, 20]);
    bad.statements[0] = Statement::FindSame { mode: Mode::S, by_key: false };
    let finding = found(&[(Waits, false), (Waits, false)], &[bad, cancel(&[1, 2])]);
    assert_eq!(finding, Some(Finding::Deadlock(vec!["replace", "cancel"])));
}

/// A settlement has the row and waits for the entry.
#[test]
fn replacing_by_entries_that_are_kept() {
    let mut bad = replace(&[10]);
    bad.statements[0] = Statement::FindSame { mode: Mode::U, by_key: true };
    let finding = found(&[(InFlight(0), false)], &[settle(&[1]), bad]);
    assert_eq!(finding, Some(Finding::Deadlock(vec!["settle", "replace"])));
}

/// Rows are waited for by somebody who has put in what others wait for.
#[test]
fn replacing_after_the_insertion() {
    let mut bad = replace(&[10, 15]);
    bad.statements = [0, 3, 4, 0, 1, 2].map(|at| bad.statements[at]).to_vec();
    let finding = found(&[(Waits, false)], &[bad, replace(&[10, 15])]);
    assert_eq!(finding, Some(Finding::Deadlock(vec!["replace", "replace"])));
}

#[test]
fn the_model_is_of_the_rendered_replacement() {
    for on_duplicate in ["replace", "later"] {
        let spec = format!(
            r#"{{"queue": "Job", "columns": [{{"name": "Reference", "type": "guid"}}, {{"name": "Body", "type": "text"}}],
                "dedup": {{"columns": ["Reference"], "among": "unfinished", "on_duplicate": "{on_duplicate}"}}}}"#
        );
        let found = differences(&script(&spec), &FREE, &[("Add_Q_Set_trx", replace(&[]))]);
        assert!(found.is_empty(), "the model is of something else; this is what the rendered SQL has: {found:#?}");
    }
}

#[test]
fn each_work_is_there_once() {
    let keys: [Key; 2] = [10, 20];
    holds(&[(InFlight(0), true), (Waits, false)], &[recover(), replace(&keys), add(&keys)], 100);
}
