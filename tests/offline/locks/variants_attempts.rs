//! Known faults with attempts that are remembered and rows that go after their time: the search must find them.

use super::programs::{
    EXPIRED, FORGET_OLD, LOCK_FREE, LOCK_ITEMS, PURGE, PURGE_ENDED, RETENTION, purge, recover, redrive, remembering,
    retain, retain_attempts, retain_nothing, settle,
};
use super::search::{Finding, explore, explore_past, table, with_attempts};
use super::statement::{IfHeld, Program, Statement, To};
use super::world::{Key, Mode, State};

use State::{Finished, InFlight};
use Statement::{ByKey, Delete, FindOld, Forget, ForgetOld, Remember, TakeRow, Update};

fn found(rows: &[(State, bool)], attempts: &[(Key, bool)], programs: &[Program]) -> Option<Finding> {
    explore(&with_attempts(table(rows), attempts), programs).0
}

#[track_caller]
fn is_wrong(finding: &Option<Finding>, with: &str) {
    assert!(matches!(finding, Some(Finding::Wrong(what)) if what.contains(with)), "{finding:?}");
}

/// A program that waits where it must not, and is in a deadlock where that is let be.
#[track_caller]
fn waits_and_deadlocks(rows: &[(State, bool)], attempts: &[(Key, bool)], programs: &[Program]) {
    assert_eq!(found(rows, attempts, programs), Some(Finding::RetentionWaits));
    let table = with_attempts(table(rows), attempts);
    let (finding, _) = explore_past(&table, programs, &[Finding::RetentionWaits]);
    assert!(matches!(finding, Some(Finding::Deadlock(_))), "{finding:?}");
}

/// The program with its statements in the place of others.
fn with(program: Program, statements: &[Statement]) -> Program {
    Program { statements: statements.to_vec(), ..program }
}

#[test]
fn attempts_that_are_written_before_their_item_is_locked() {
    let expired = [(InFlight(0), true)];
    let bad = with(recover(), &[EXPIRED, Remember, LOCK_FREE, Update(To::Recovered)]);
    is_wrong(&found(&expired, &[], &[bad.clone(), bad]), "recover ended 0 attempts at 1 and remembers 1");
    // A worker who was too slow, and has been recovered meanwhile.
    let look = ByKey { mode: Mode::S, readpast: false, holds: false };
    let bad = with(settle(&[1]), &[look, Remember, LOCK_ITEMS, Update(To::Finished)]);
    is_wrong(&found(&expired, &[], &[bad, remembering(recover())]), "settle ended 0 attempts at 1 and remembers 1");
}

#[test]
fn attempts_that_are_deleted_before_their_item_is_locked() {
    let attempts = [(1, false), (1, false)];
    let [find, lock, delete] = PURGE;
    // The attempts of an item that an operator lets begin anew.
    let bad = with(purge(), &[find, Forget, lock, delete]);
    is_wrong(&found(&[(Finished, false)], &attempts, &[bad, redrive(&[1])]), "an attempt at 1 is lost");
    // The other way round than all others.
    let bad = with(purge(), &[find, Forget, LOCK_ITEMS, delete]);
    let finding = found(&[(Finished, false)], &attempts, &[bad, remembering(purge())]);
    assert_eq!(finding, Some(Finding::Deadlock(vec!["purge", "purge"])));
}

#[test]
fn items_that_go_without_their_attempts() {
    let bad = retain(PURGE);
    is_wrong(&found(&[(Finished, false)], &[(1, false)], &[bad]), "an attempt at 1 is left of it");
}

#[test]
fn retention_that_waits_for_its_turn() {
    let mut bad = retain(PURGE);
    let TakeRow { if_held, .. } = &mut bad.statements[0] else { unreachable!() };
    *if_held = IfHeld::Waits;
    assert_eq!(found(&[(Finished, false)], &[], &[bad.clone(), bad]), Some(Finding::RetentionWaits));
}

/// One that locks an item waits for the other to be done with what it remembers of it.
#[test]
fn retention_by_two_at_once() {
    let mut bad = retain_attempts(remembering(retain(PURGE)));
    assert_eq!(bad.statements.remove(0), RETENTION);
    bad.statements.retain(|statement| !matches!(statement, TakeRow { .. }));
    assert_eq!(found(&[(Finished, false)], &[(1, true)], &[bad.clone(), bad]), Some(Finding::RetentionWaits));
}

#[test]
fn retention_that_waits_for_items() {
    let [find, _, delete] = PURGE_ENDED;
    let bad = retain([find, LOCK_ITEMS, delete]);
    assert_eq!(found(&[(Finished, false)], &[], &[redrive(&[1]), bad]), Some(Finding::RetentionWaits));
}

/// Retention finds rows by their age, and others delete in the order of the keys.
#[test]
fn retention_that_waits_for_attempts() {
    let rows = [(Finished, false), (Finished, false)];
    let attempts = [(1, true), (2, true)];
    let by_age = ForgetOld { readpast: false, by_key: false };
    let mut bad = retain_attempts(retain_nothing());
    assert_eq!(bad.statements.pop(), Some(FORGET_OLD));
    bad.statements.push(by_age);
    waits_and_deadlocks(&rows, &attempts, &[remembering(purge()), bad]);
}

/// Against the order of access: the items, then what is remembered of them.
#[test]
fn retention_of_attempts_before_that_of_items() {
    let [find, _, _] = PURGE;
    let bad = with(retain(PURGE), &[RETENTION, FindOld, find, FORGET_OLD, LOCK_ITEMS, Delete, Forget]);
    waits_and_deadlocks(&[(Finished, false)], &[(1, true)], &[remembering(purge()), bad]);
}
