//! The steps of a claim within limits, and what holds of it: its turn, a count of what is in work, then the items.

use super::programs::{
    TURN, cancel, claim, give_back, purge, recover, recover_within, renew, settle, settle_and_claim, stats,
    within_limits,
};
use super::rendered::{FREE, differences, joined, script, whole};
use super::search::{Finding, explore, group};
use super::session::{Session, Step, World};
use super::statement::{Program, Search, Statement};
use super::world::State::{Finished, InFlight, Waits};
use super::world::{Index, Key, Mode, Table};

impl Session {
    /// How many rows a search finds at most.
    pub(super) fn most(&self, search: &Search) -> usize {
        let room = self.room.filter(|_| search.row == Some(Mode::U)).unwrap_or(search.most);
        usize::from(search.most.min(room))
    }
}

impl World {
    /// Counts the next item in flight. It is waited for, and kept locked no longer than it is read.
    pub(super) fn count(&mut self, number: usize, at_once: u8) -> Step {
        let session = &mut self.sessions[number];
        let room = session.room.unwrap_or(at_once);
        session.room = Some(room);
        let from = session.at.1;
        // An entry that another session has locked is met, too, though it goes or comes.
        let changing = self.held.iter().flat_map(|held| held.keys()).filter(|resource| resource.0 == Index::Held);
        let places = changing.map(|resource| resource.1).filter(|place| *place >= from);
        let Some(place) = places.chain(self.table.first(Index::Held, from)).min() else {
            return self.next_statement(number);
        };
        if let Err(others) = self.lock(number, (Index::Held, place), Mode::S) {
            return Step::Waits(others);
        }
        if self.held[number].get(&(Index::Held, place)) == Some(&Mode::S) {
            self.held[number].remove(&(Index::Held, place));
        }
        let is_there = self.table.first(Index::Held, place) == Some(place);
        let session = &mut self.sessions[number];
        session.room = Some(room.saturating_sub(u8::from(is_there)));
        session.at.1 = place + 1;
        Step::Done
    }
}

fn limited(at_once: u8) -> Table {
    let rows: [(Key, _); 6] = [(1, InFlight(0)), (2, InFlight(1)), (3, Waits), (4, Waits), (5, Waits), (6, Finished)];
    let mut table = Table { at_once, ..group(&rows) };
    table.rows.get_mut(&2).unwrap().expired = true;
    table
}

fn all(worker: Key, at_once: u8) -> Vec<Program> {
    let own = [worker + 1];
    let claims =
        [claim(), settle_and_claim(&own), joined(&[recover(), claim()])].map(|one| within_limits(at_once, one));
    let others = [settle(&own), give_back(&own), cancel(&[3, 4]), renew(&own), recover(), purge(), stats()];
    claims.into_iter().chain(others).collect()
}

#[test]
fn no_more_of_a_key_are_in_flight_in_any_order_of_steps() {
    for at_once in [2, 3] {
        for one in all(0, at_once) {
            for other in all(1, at_once) {
                let names = [one.name, other.name];
                let (finding, moments) = explore(&limited(at_once), &[one.clone(), other]);
                assert_eq!(finding, None, "{names:?}");
                assert!(moments >= 10, "{names:?}: only {moments} moments");
            }
        }
    }
}

#[test]
fn three_sessions_of_a_queue_with_limits_go_together() {
    for third in [settle(&[2]), give_back(&[2]), cancel(&[3, 4]), recover(), within_limits(3, claim())] {
        let claims = [within_limits(3, settle_and_claim(&[1])), within_limits(3, claim())];
        let programs = [&claims[..], &[third]].concat();
        let (finding, moments) = explore(&limited(3), &programs);
        assert_eq!((finding, moments >= 100), (None, true), "{}: {moments}", programs[2].name);
    }
}

/// Two claims count the same room.
#[test]
fn claims_within_limits_without_a_turn_are_found() {
    let mut bad = within_limits(3, claim());
    assert_eq!(bad.statements.remove(0), TURN);
    let (finding, _) = explore(&limited(3), &[bad.clone(), bad]);
    assert!(matches!(&finding, Some(Finding::Wrong(what)) if what.contains("of its group")), "{finding:?}");
}

/// It waits for the session that ends an item, which waits for one that it has claimed.
#[test]
fn a_count_behind_the_first_item_is_found() {
    let mut bad = within_limits(3, claim());
    assert!(matches!(bad.statements[1], Statement::Count { .. }));
    bad.statements.swap(1, 2);
    let longer = Program::new("settle, then cancel", &joined(&[settle(&[1]), of_others(&[3])]).statements, &[1]);
    let (finding, _) = explore(&limited(9), &[longer, bad]);
    assert!(matches!(finding, Some(Finding::Deadlock(_))), "{finding:?}");
}

/// A change of items besides those of the call.
fn of_others(keys: &'static [Key]) -> Program {
    let statements: Vec<_> = [Statement::Others(keys)].into_iter().chain(cancel(&[]).statements).collect();
    Program::new("", &statements, &[])
}

#[test]
fn the_model_is_of_a_queue_with_limits() {
    let spec = r#"{"queue": "Job", "columns": [{"name": "Customer", "type": "text(20)"}], "limit": [{"by": "Customer", "at_once": 3}]}"#;
    let batches = script(spec);
    // Looks for the keys of which something is due, and which of them had its turn last.
    let free = [&FREE[..], &["search Limited READPAST", "QueueTurn search", "QueueTurn update"]].concat();
    let within = |parts: &[Program]| {
        let by_limited = |statement: Statement| match statement {
            Statement::Search(search) if search.index == Index::Due => {
                Statement::Search(Search { index: Index::Limited, ..search })
            }
            other => other,
        };
        let program = within_limits(3, joined(parts));
        Program { statements: program.statements.into_iter().map(by_limited).collect(), ..program }
    };
    let found = differences(
        &batches,
        &free,
        &[
            ("Next_Q_Set_trx", within(&[recover(), claim()])),
            ("Next_Q_trx", within(&[recover(), claim()])),
            ("Next_Q_utx", within(&[recover_within(), claim()])),
            ("Modify_Q_Set_trx", within(&[settle_and_claim(&[])])),
            ("Modify_Q_trx", settle(&[])),
            ("Recover_Q_trx", recover()),
        ],
    );
    assert!(found.is_empty(), "the model is of something else; this is what the rendered SQL has: {found:#?}");
    // All counts come before the first item is locked for the claim.
    let tokens = whole(&batches, "Q_Claim").tokens;
    let at = |is_it: &dyn Fn(&str) -> bool| tokens.iter().rposition(|token| is_it(&token.text)).unwrap();
    let (counts, searches) = (at(&|text| text == "Job_Limit1_fn"), at(&|text| text == "IX_Job_Limited"));
    assert!(counts < searches, "{counts} {searches}");
}
