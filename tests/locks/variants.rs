//! What is known to go wrong is found: else the search proves nothing.

use crate::search::{Finding, explore, explore_past, table};
use crate::statement::{
    CLAIM_READS, DUE_INDEX, Program, Statement, add, cancel, claim, due, settle, settle_and_claim, stats,
};
use crate::world::{Mode, State};

use State::{InFlight, Waits};

fn found(rows: &[(State, bool)], programs: &[Program]) -> Option<Finding> {
    explore(&table(rows), programs).0
}

/// A claim whose search is this one meets an operator's change of what it has found, which goes by the key.
fn meets_a_change_by_the_key(search: Statement) {
    let mut bad = claim();
    bad.statements[0] = search;
    let programs = [bad, cancel(&[1])];
    assert_eq!(found(&[(Waits, false)], &programs), Some(Finding::ClaimWaits));
    let (finding, _) = explore_past(&table(&[(Waits, false)]), &programs, &[Finding::ClaimWaits]);
    assert_eq!(finding, Some(Finding::Deadlock(vec!["claim", "cancel"])));
}

#[test]
fn a_due_index_that_covers_the_claim() {
    let all: Vec<_> = DUE_INDEX.into_iter().chain(CLAIM_READS).collect();
    meets_a_change_by_the_key(due(&CLAIM_READS, &all));
}

/// An adopted table whose claim reads no more than its index has: no column is its witness.
#[test]
fn settle_by_row_and_claim_by_index_without_the_witness() {
    meets_a_change_by_the_key(due(&["EnqueuedAt", "ScheduledFor"], &DUE_INDEX));
}

#[test]
fn settling_in_the_order_of_the_call() {
    let rows = [(InFlight(0), false), (InFlight(0), false)];
    let finding = found(&rows, &[settle(&[1, 2]), settle(&[2, 1])]);
    assert_eq!(finding, Some(Finding::Deadlock(vec!["settle", "settle"])));
}

fn add_with_ranges(works: &[u8]) -> Program {
    let mut program = add(works);
    program.statements[0] = Statement::LookUpWork { mode: Mode::U, ranges: true };
    program
}

#[test]
fn range_locks_under_dedup() {
    // Different work in one gap.
    assert_eq!(found(&[], &[add_with_ranges(&[10]), add_with_ranges(&[20])]), Some(Finding::AdderWaits));
    // The works of two items that are settled together, in the order of their keys, which is not that of the works.
    let rows = [(InFlight(0), false), (InFlight(0), false)];
    let finding = found(&rows, &[settle(&[1, 2]), add_with_ranges(&[10, 20])]);
    assert_eq!(finding, Some(Finding::Deadlock(vec!["settle", "add"])));
}

#[test]
fn adding_works_in_the_order_of_the_call() {
    assert_eq!(found(&[], &[add(&[10, 20]), add(&[20, 10])]), Some(Finding::Deadlock(vec!["add", "add"])));
}

/// Of two in a deadlock the server may then end the one that changes items.
#[test]
fn a_reader_without_low_deadlock_priority() {
    let reader = Program { yields: false, ..stats() };
    let rows = [(InFlight(0), false), (Waits, false)];
    assert_eq!(found(&rows, &[cancel(&[2]), reader.clone()]), Some(Finding::Deadlock(vec!["cancel", "stats"])));
    assert!(matches!(found(&rows, &[settle_and_claim(&[1]), reader]), Some(Finding::Deadlock(_))));
}
