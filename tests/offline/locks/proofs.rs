//! Proofs that hold in every order of steps.

use super::programs::{
    add, beside, cancel, claim, give_back, in_groups, purge, recover, renew, renew_beside, report, report_beside,
    settle, settle_and_claim, stats,
};
use super::search::{explore, group, table};
use super::statement::Program;
use super::world::State;

use State::{Finished, InFlight, Waits};

/// Nothing goes wrong between these; `least` moments were looked at.
#[track_caller]
fn holds(rows: &[(State, bool)], programs: &[Program], least: usize) {
    let (finding, moments) = explore(&table(rows), programs);
    let names: Vec<_> = programs.iter().map(|program| program.name).collect();
    assert_eq!(finding, None, "{names:?}");
    assert!(moments >= least, "{names:?}: only {moments} moments");
}

#[test]
fn claims_take_each_item_once_and_never_wait() {
    holds(&[(Waits, false); 3], &[claim(), claim()], 100);
    holds(&[(Waits, false); 3], &[claim(), claim(), claim()], 1000);
}

#[test]
fn every_two_procedures_go_together() {
    let rows = [(InFlight(0), true), (InFlight(0), false), (InFlight(1), true), (Waits, false), (Finished, false)];
    let all = || {
        vec![
            claim(),
            settle(&[1, 2]),
            give_back(&[1, 2]),
            cancel(&[1, 4]),
            settle_and_claim(&[1, 2]),
            renew(&[1, 2]),
            report(&[1, 2]),
            recover(),
            add(&[15, 50]),
            purge(),
            stats(),
        ]
    };
    for one in all() {
        for other in all() {
            // The second session is the worker of another item, and says the same of the first.
            let mut other = other;
            if !other.arguments.is_empty() && !["add", "cancel"].contains(&other.name) {
                other.arguments = vec![1, 3];
            }
            holds(&rows, &[one.clone(), other], 20);
        }
    }
}

#[test]
fn three_sessions_of_what_workers_do_go_together() {
    let rows = [(InFlight(0), true), (InFlight(1), true), (InFlight(2), false), (Waits, false)];
    let others = [
        claim(),
        cancel(&[1, 4]),
        settle(&[2, 3]),
        give_back(&[2]),
        renew(&[1, 2]),
        recover(),
        stats(),
        purge(),
        add(&[15]),
    ];
    for third in &others {
        for second in [claim(), settle_and_claim(&[2]), recover()] {
            let mut third = third.clone();
            if third.name == "settle" {
                third.arguments = vec![3];
            }
            holds(&rows, &[settle_and_claim(&[1]), second, third], 100);
        }
    }
}

/// The same work, other work beside it, and work that is being finished at the moment.
#[test]
fn work_is_added_once() {
    holds(&[], &[add(&[10]), add(&[10])], 10);
    holds(&[], &[add(&[10, 20]), add(&[10, 20])], 20);
    holds(&[], &[add(&[10, 20]), add(&[20, 30]), add(&[10, 30])], 100);
    holds(&[(Waits, false)], &[add(&[15]), add(&[25])], 10);
    holds(&[(InFlight(0), false), (InFlight(0), false)], &[settle(&[1, 2]), add(&[10, 20]), add(&[15])], 100);
}

/// The later key of two producers can be there first.
#[test]
fn one_item_of_a_group_is_in_flight() {
    let programs = [in_groups(claim()), in_groups(claim()), add(&[10])];
    let (finding, moments) = explore(&group(&[(240, Waits)]), &programs);
    assert_eq!((finding, moments >= 100), (None, true), "{moments}");
}

#[test]
fn procedures_of_a_queue_with_groups_go_together() {
    let rows = [(1, InFlight(0)), (2, Waits), (3, Waits), (4, Waits), (5, Finished)];
    let all = || {
        let claims = [in_groups(claim()), in_groups(settle_and_claim(&[1]))];
        let others = [settle(&[1]), give_back(&[1]), cancel(&[2, 3]), renew(&[1]), recover(), purge()];
        claims.into_iter().chain(others).chain([stats()])
    };
    for one in all() {
        for other in all() {
            let names = [one.name, other.name];
            let (finding, moments) = explore(&group(&rows), &[one.clone(), other]);
            assert_eq!(finding, None, "{names:?}");
            assert!(moments >= 10, "{names:?}: only {moments} moments");
        }
    }
}

#[test]
fn procedures_beside_leases_go_together() {
    let rows = [(InFlight(0), true), (InFlight(0), false), (InFlight(1), true), (Waits, false), (Finished, false)];
    let all = || {
        let changing = [
            claim(),
            settle(&[1, 2]),
            give_back(&[1, 2]),
            cancel(&[1, 4]),
            settle_and_claim(&[1, 2]),
            recover(),
            purge(),
        ];
        changing.map(beside).into_iter().chain([renew_beside(&[1, 2]), report_beside(&[1, 2])])
    };
    for one in all() {
        for other in all() {
            holds(&rows, &[one.clone(), other], 20);
        }
    }
}
