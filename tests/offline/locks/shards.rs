//! Claims of a queue with shards, which begin at one of them and go on to the others: in every order of steps, and as rendered.

use super::programs::{
    self, DUE_INDEX, add, by_index, cancel, claim, give_back, in_shards, purge, recover, recover_within, renew,
    settle_and_claim, settle_and_claim_within, stats,
};
use super::rendered::{FREE, differences, due_index_and_claim, joined, script, sorted};
use super::search::{Finding, explore, explore_past, table, with_kinds};
use super::statement::{Program, Search, Statement};
use super::world::{Index, State, Table};

use State::{InFlight, Waits};

/// The index of what waits; one that begins with a kind is one that begins with a shard.
const BY_SHARD: Index = Index::TypeDue;

/// Rows of two shards, in turn.
fn of_shards(rows: &[(State, bool)]) -> Table {
    with_kinds(table(rows), &[BY_SHARD], &[0, 1, 0, 1])
}

/// Two claims take what is due in other orders; since each passes over what the other has, neither waits.
#[test]
fn claims_that_begin_at_different_shards_go_together() {
    let even = |program: Program| in_shards(BY_SHARD, &[0, 1], program);
    let odd = |program: Program| in_shards(BY_SHARD, &[1, 0], program);
    for programs in [
        vec![even(claim()), odd(claim())],
        vec![even(claim()), even(claim())],
        vec![even(claim()), odd(claim()), odd(claim())],
        vec![even(claim()), odd(settle_and_claim(&[1]))],
        vec![even(settle_and_claim(&[1])), odd(claim()), odd(claim())],
        vec![even(claim()), odd(claim()), cancel(&[2, 3])],
        vec![even(claim()), odd(claim()), give_back(&[1])],
        vec![even(claim()), odd(claim()), renew(&[1])],
        vec![even(claim()), odd(claim()), recover()],
        vec![even(claim()), odd(claim()), by_index(BY_SHARD, stats())],
        vec![even(claim()), odd(claim()), purge()],
        vec![even(claim()), odd(claim()), add(&[15])],
    ] {
        let names: Vec<_> = programs.iter().map(|program| program.name).collect();
        let table = of_shards(&[(InFlight(1), false), (Waits, false), (Waits, false), (Waits, false)]);
        let (finding, moments) = explore(&table, &programs);
        assert_eq!((finding, moments >= 20), (None, true), "{names:?}: {moments} moments");
    }
}

/// From the one shard to the other, and the other way round: only since it passes over what others have, a claim may begin anywhere.
#[test]
fn claims_of_shards_that_wait_for_what_others_have() {
    let mut waits = claim();
    let Statement::Search(search) = &mut waits.statements[0] else { unreachable!() };
    *search = Search { readpast: false, ..*search };
    let programs = [in_shards(BY_SHARD, &[0, 1], waits.clone()), in_shards(BY_SHARD, &[1, 0], waits)];
    let table = of_shards(&[(Waits, false); 2]);
    assert_eq!(explore(&table, &programs).0, Some(Finding::ClaimWaits));
    let (finding, _) = explore_past(&table, &programs, &[Finding::ClaimWaits]);
    assert_eq!(finding, Some(Finding::Deadlock(vec!["claim", "claim"])));
}

#[test]
fn the_model_is_of_claims_of_shards() {
    let batches = script(r#"{"queue": "Job", "shards": 4}"#);
    let in_shards = |program: Program| programs::in_shards(Index::Due, &[2, 3, 0, 1], program);
    let found = differences(
        &batches,
        &FREE,
        &[
            ("Next_Q_Set_trx", in_shards(joined(&[recover(), claim()]))),
            ("Next_Q_trx", in_shards(joined(&[recover(), claim()]))),
            ("Next_Q_utx", in_shards(joined(&[recover_within(), claim()]))),
            ("Modify_Q_Set_trx", in_shards(settle_and_claim(&[]))),
            ("Modify_Q_Set_utx", in_shards(settle_and_claim_within(&[]))),
        ],
    );
    assert!(found.is_empty(), "the model is of something else; this is what the rendered SQL has: {found:#?}");
    let (index, reads) = due_index_and_claim(&batches);
    assert_eq!(index, sorted(&[&DUE_INDEX[..], &["Shard"]].concat()));
    assert!(reads.contains(&"Shard".to_owned()), "each search is of one shard: {reads:?}");
}
