//! Proofs for every order of steps where claims name kinds: types, steps, or both.

use super::programs::{
    PURGE, add, by_one_of, cancel, claim, give_back, in_groups, of_kinds, purge, recover, redrive, renew, retain,
    settle, settle_and_claim, stats, to_other_kind,
};
use super::search::{explore, group, table, with_kinds};
use super::statement::Program;
use super::world::{Index, Key, State, Table};

use Index::{Due, StepDue, TypeDue, TypeStepDue};
use State::{Finished, InFlight, Waits};

#[track_caller]
fn holds(table: &Table, programs: &[Program]) {
    let (finding, moments) = explore(table, programs);
    let names: Vec<_> = programs.iter().map(|program| program.name).collect();
    assert_eq!((finding, moments >= 10), (None, true), "{names:?}: {moments} moments");
}

/// Other calls meanwhile, on items of both kinds.
fn others() -> Vec<Program> {
    vec![
        settle(&[1]),
        give_back(&[1]),
        cancel(&[2, 3]),
        to_other_kind(&[2, 3]),
        renew(&[1]),
        recover(),
        redrive(&[4, 5]),
        purge(),
        retain(PURGE),
        add(&[15]),
        stats(),
    ]
}

/// The indexes of what waits, that of kinds, and how a claim goes by them that names none.
type Way = (&'static [Index], Index, fn(Program) -> Program);

/// Claims of one kind, of both and of whatever there is; each alone, and after a settlement.
fn claims(by_kind: Index, by_none: fn(Program) -> Program) -> Vec<Program> {
    let all = |program: Program| {
        [of_kinds(by_kind, &[0], program.clone()), of_kinds(by_kind, &[1, 0], program.clone()), by_none(program)]
    };
    [claim(), settle_and_claim(&[1])].into_iter().flat_map(all).collect()
}

const ROWS: [(State, bool); 5] =
    [(InFlight(0), true), (Waits, false), (Waits, false), (Waits, false), (Finished, false)];
const KINDS: [u8; 5] = [0, 0, 1, 0, 1];

#[test]
fn claims_that_name_kinds_and_claims_that_name_none_go_together() {
    // Where logins see some types only, claims that name nothing name these.
    let ways: [Way; 3] = [
        (&[Due, TypeDue], TypeDue, |program| by_one_of(Due, program)),
        (&[Due, StepDue], StepDue, |program| by_one_of(Due, program)),
        (&[TypeStepDue, TypeDue], TypeStepDue, |program| of_kinds(TypeDue, &[0, 1], program)),
    ];
    for (waiting, by_kind, by_none) in ways {
        let table = with_kinds(table(&ROWS), waiting, &KINDS);
        let claims = claims(by_kind, by_none);
        for one in &claims {
            for other in claims.iter().chain(&others()) {
                holds(&table, &[one.clone(), other.clone()]);
            }
        }
    }
}

#[test]
fn three_sessions_with_claims_by_step_go_together() {
    let rows = [ROWS[0], ROWS[1], ROWS[2], ROWS[4]];
    let table = with_kinds(table(&rows), &[Due, StepDue], &KINDS);
    let claims = claims(StepDue, |program| by_one_of(Due, program));
    for third in claims[..3].iter().chain(&others()) {
        for first in &claims[..3] {
            holds(&table, &[first.clone(), claims[0].clone(), third.clone()]);
        }
        holds(&table, &[claims[4].clone(), claims[2].clone(), third.clone()]);
    }
}

#[test]
fn claims_by_step_of_a_queue_with_groups_go_together() {
    let rows: [(Key, State); 5] = [(1, InFlight(0)), (2, Waits), (3, Waits), (4, Waits), (5, Finished)];
    let table = with_kinds(group(&rows), &[Due, StepDue], &KINDS);
    let all = || {
        let programs = [claim(), settle_and_claim(&[1])];
        let claims = programs.into_iter().flat_map(|program| [of_kinds(StepDue, &[1, 0], program.clone()), program]);
        claims.map(in_groups).collect::<Vec<_>>()
    };
    for one in all() {
        for other in all().into_iter().chain(others()) {
            holds(&table, &[one.clone(), other]);
        }
    }
}
