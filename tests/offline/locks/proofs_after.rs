//! Proofs for every order of steps where items wait for others.

use super::programs::{
    add, add_after, cancel, claim, give_back, letting_go, purge, recover, redrive, renew, settle, settle_and_claim,
    stats,
};
use super::search::{Finding, explore, table};
use super::statement::Program;
use super::world::{Key, State};

use State::{Finished, InFlight, Never, Waits};

/// The items 1 and 2 are in work, 4 to 6 wait for them, 7 has ended.
const ROWS: [(State, bool); 7] = [
    (InFlight(0), false),
    (InFlight(1), false),
    (Waits, false),
    (Never, false),
    (Never, false),
    (Never, false),
    (Finished, false),
];

#[track_caller]
fn found(programs: &[Program]) -> Option<Finding> {
    let (finding, moments) = explore(&table(&ROWS), programs);
    assert!(moments >= 10, "{moments} moments");
    finding
}

fn of(worker: Key) -> [Key; 1] {
    [worker + 1]
}

/// All that ends items, names them, or passes by.
fn all(worker: Key) -> Vec<Program> {
    vec![
        letting_go(settle(&of(worker)), &[4, 5, 6]),
        letting_go(settle_and_claim(&of(worker)), &[4, 5]),
        letting_go(cancel(&[3]), &[5, 6]),
        // One that waits itself, and for which another waits.
        letting_go(cancel(&[4]), &[6]),
        add_after(&[15], &[1, 2]),
        add_after(&[25], &[2, 4, 7]),
        claim(),
        give_back(&of(worker)),
        renew(&of(worker)),
        recover(),
        redrive(&[7]),
        purge(),
        add(&[35]),
        stats(),
    ]
}

#[test]
fn calls_that_end_items_and_calls_that_wait_for_them_go_together() {
    for one in all(0) {
        for other in all(1) {
            let programs = [one.clone(), other];
            let names = programs.each_ref().map(|program| program.name);
            assert_eq!(found(&programs), None, "{names:?}");
        }
    }
}

#[test]
fn two_parents_and_an_enqueue_that_names_both_go_together() {
    for third in all(2) {
        let programs = [letting_go(settle(&[1]), &[4, 5, 6]), letting_go(settle(&[2]), &[4, 5, 6]), third];
        assert_eq!(found(&programs), None, "{}", programs[2].name);
    }
}

/// The model sees what the order of the keys is for.
#[test]
fn items_that_are_locked_against_the_order_are_a_deadlock() {
    let programs = [letting_go(settle(&[1]), &[4, 5]), letting_go(settle(&[2]), &[5, 4])];
    assert!(matches!(found(&programs), Some(Finding::Deadlock(_))));
    let backwards = Program::new("end backwards", &letting_go(cancel(&[6]), &[4]).statements, &[6]);
    assert!(matches!(found(&[letting_go(cancel(&[4]), &[6]), backwards]), Some(Finding::Deadlock(_))));
}
