//! Proofs for every order of steps where attempts are remembered, and where retention deletes ended items.

use super::programs::{
    PURGE, PURGE_ENDED, add, attempts, beside, cancel, claim, deleting, give_back, purge, recover, redrive,
    remembering, renew, retain, retain_attempts, retain_nothing, settle, settle_and_claim, stats,
};
use super::search::{explore, table, with_attempts};
use super::statement::Program;
use super::world::{Key, State, Table};

use State::{Finished, InFlight, Waits};

const ROWS: [(State, bool); 5] =
    [(InFlight(0), true), (InFlight(1), true), (Finished, false), (Finished, false), (Waits, false)];
/// At which item, and whether it is old enough to be forgotten.
const ATTEMPTS: [(Key, bool); 6] = [(1, true), (2, false), (3, true), (3, false), (4, true), (5, true)];

#[track_caller]
fn holds(table: &Table, programs: &[Program], least: usize) {
    let (finding, moments) = explore(table, programs);
    let names: Vec<_> = programs.iter().map(|program| program.name).collect();
    assert_eq!(finding, None, "{names:?}");
    assert!(moments >= least, "{names:?}: only {moments} moments");
}

/// All that deletes what ended long ago.
fn retentions() -> Vec<Program> {
    vec![
        retain_attempts(remembering(retain(PURGE))),
        retain_attempts(remembering(retain(PURGE_ENDED))),
        retain_attempts(retain_nothing()),
    ]
}

/// The calls of workers and operators, on items of the worker that has `own`.
fn work(own: Key) -> Vec<Program> {
    vec![
        claim(),
        remembering(settle(&[own, 3])),
        remembering(deleting(settle(&[own]))),
        remembering(give_back(&[own])),
        remembering(settle_and_claim(&[own])),
        remembering(deleting(settle_and_claim(&[own]))),
        remembering(recover()),
        remembering(purge()),
        cancel(&[own, 5]),
        renew(&[own]),
        redrive(&[3, 4]),
        add(&[15]),
        attempts(&[3]),
        stats(),
    ]
}

#[test]
fn every_two_procedures_go_together() {
    let table = with_attempts(table(&ROWS), &ATTEMPTS);
    for one in work(1).into_iter().chain(retentions()) {
        for other in work(2).into_iter().chain(retentions()) {
            holds(&table, &[one.clone(), other], 10);
        }
    }
}

#[test]
fn three_sessions_of_what_workers_do_go_together() {
    let rows = [ROWS[0], ROWS[1], ROWS[2], ROWS[4]];
    let table = with_attempts(table(&rows), &[(1, true), (2, true), (3, true), (3, false)]);
    let [all, _, only_attempts] = &retentions()[..] else { unreachable!() };
    for third in work(2) {
        holds(&table, &[remembering(deleting(settle(&[1]))), third.clone(), all.clone()], 100);
        holds(&table, &[remembering(purge()), third, only_attempts.clone()], 100);
    }
    for retention in retentions() {
        holds(&table, &[retention.clone(), retention.clone(), retention], 100);
    }
}

/// A queue that remembers nothing.
#[test]
fn retention_without_attempts_goes_together_with_all() {
    for retention in [retain(PURGE), retain(PURGE_ENDED)] {
        let others = [claim(), settle(&[1, 3]), settle_and_claim(&[1]), cancel(&[3, 5]), recover(), redrive(&[3, 4])];
        for other in others.into_iter().chain([purge(), retention.clone(), add(&[15, 50]), renew(&[3]), stats()]) {
            holds(&table(&ROWS), &[other, retention.clone(), retention.clone()], 10);
        }
    }
}

#[test]
fn attempts_beside_leases_go_together() {
    let table = with_attempts(table(&ROWS), &ATTEMPTS);
    let all = |own: Key| {
        let changing =
            [claim(), settle(&[own]), give_back(&[own]), settle_and_claim(&[own]), recover(), redrive(&[3, 4])];
        changing.map(beside).map(remembering).into_iter().chain(retentions())
    };
    for one in all(1) {
        for other in all(2) {
            holds(&table, &[one.clone(), other], 10);
        }
    }
}
