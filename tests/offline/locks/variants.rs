//! Faults that are known: the search must find them, or it proves nothing.

use super::programs::{
    CLAIM_READS, DUE_INDEX, LOCK_ITEMS, RECOVER, TURN, add, beside, by_index, cancel, claim, due, in_groups, of_kinds,
    recover, renew, renew_beside, settle, settle_and_claim, stats, to_other_kind,
};
use super::search::{Finding, explore, explore_past, group, table, with_kinds};
use super::statement::{IfHeld, Program, Statement};
use super::world::{Index, Key, Mode, State};

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

fn add_with_ranges(works: &[Key]) -> Program {
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

/// The server may then end the one of two in a deadlock that changes items.
#[test]
fn a_reader_without_low_deadlock_priority() {
    let reader = Program { yields: false, ..stats() };
    let rows = [(InFlight(0), false), (Waits, false)];
    assert_eq!(found(&rows, &[cancel(&[2]), reader.clone()]), Some(Finding::Deadlock(vec!["cancel", "stats"])));
    assert!(matches!(found(&rows, &[settle_and_claim(&[1]), reader]), Some(Finding::Deadlock(_))));
}

/// Which items are the first of their groups is decided by two at once.
#[test]
fn claims_of_groups_without_a_turn() {
    let mut bad = in_groups(claim());
    assert_eq!(bad.statements.remove(0), TURN);
    let (finding, _) = explore(&group(&[(240, Waits)]), &[bad.clone(), bad, add(&[10])]);
    assert!(matches!(&finding, Some(Finding::Wrong(what)) if what.contains("of its group")), "{finding:?}");
}

/// It has passed over an item that somebody else has locked, and waits for him to say which is the first of the group. He takes the
/// item out of the index.
#[test]
fn claims_of_groups_that_keep_their_entries() {
    let mut bad = in_groups(claim());
    let search = bad.statements.iter_mut().find(|statement| matches!(statement, Statement::Search(_)));
    *search.unwrap() = claim().statements[0];
    let rows = [(1, Waits), (2, Waits), (3, Waits)];
    let (finding, _) = explore(&group(&rows), &[bad, cancel(&[1, 2])]);
    assert_eq!(finding, Some(Finding::Deadlock(vec!["claim", "cancel"])));
}

#[test]
fn a_turn_that_is_taken_after_the_items() {
    let good = in_groups(settle_and_claim(&[1]));
    let mut bad = good.clone();
    let turn = bad.statements.remove(0);
    bad.statements.insert(2, turn);
    let (finding, _) = explore(&group(&[(1, InFlight(0)), (2, Waits)]), &[bad, good]);
    assert!(matches!(finding, Some(Finding::Deadlock(_))), "{finding:?}");
}

/// Every process would wait for the one whose turn it is to recover.
#[test]
fn a_turn_to_recover_that_is_waited_for() {
    let mut bad = recover();
    assert_eq!(bad.statements[0], RECOVER[0]);
    bad.statements[0] = Statement::TakeRow { index: Index::Recovery, mode: Mode::X, if_held: IfHeld::Waits };
    assert_eq!(found(&[(InFlight(0), true)], &[bad.clone(), bad]), Some(Finding::ClaimWaits));
}

/// A handler that settles in a long transaction would stop the renewal of all its worker holds, beside a table too.
#[test]
fn a_renewal_that_waits_for_an_item() {
    let mut bad = renew(&[1]);
    bad.statements[0] = LOCK_ITEMS;
    assert_eq!(found(&[(InFlight(0), false)], &[bad, cancel(&[1])]), Some(Finding::RenewalWaits));
    let mut bad = renew_beside(&[1]);
    bad.statements[0] = Statement::Beside(Mode::U);
    assert_eq!(found(&[(InFlight(0), false)], &[bad, beside(cancel(&[1]))]), Some(Finding::RenewalWaits));
}

/// Claims that name kinds and claims that name none search by two indexes. Each would keep the entry of an item that the other has, and wait for
/// it when it takes another.
#[test]
fn claims_by_two_indexes_that_keep_their_entries() {
    let table = |by: &'static [Index]| with_kinds(table(&[(Waits, false); 3]), by, &[0; 3]);
    for (by_kind, table) in
        [(Index::TypeDue, table(&[Index::Due, Index::TypeDue])), (Index::StepDue, table(&[Index::Due, Index::StepDue]))]
    {
        let programs = [claim(), by_index(by_kind, claim())];
        assert_eq!(explore(&table, &programs).0, Some(Finding::ClaimWaits));
        let (finding, _) = explore_past(&table, &programs, &[Finding::ClaimWaits]);
        assert!(matches!(finding, Some(Finding::Deadlock(_))), "{finding:?}");
    }
}

/// Against the order of access: the table, then what stands beside it.
#[test]
fn leases_that_are_locked_before_their_items() {
    let good = beside(settle(&[1]));
    let mut bad = good.clone();
    bad.statements.swap(0, 1);
    assert_eq!(found(&[(InFlight(0), false)], &[good, bad]), Some(Finding::Deadlock(vec!["settle", "settle"])));
}

/// The entry of an index says of which step its item is, and the row that is locked then says it is of another.
#[test]
fn a_claim_by_step_that_does_not_ask_the_row_again() {
    let good = of_kinds(Index::StepDue, &[1], claim());
    let mut bad = good.clone();
    let Statement::Search(search) = &mut bad.statements[0] else { unreachable!() };
    search.trusts = true;
    let table = with_kinds(table(&[(Waits, false)]), &[Index::Due, Index::StepDue], &[1]);
    let (finding, _) = explore(&table, &[bad, to_other_kind(&[1])]);
    assert!(matches!(&finding, Some(Finding::Wrong(what)) if what.contains("of another kind")), "{finding:?}");
    assert_eq!(explore(&table, &[good, to_other_kind(&[1])]).0, None);
}
