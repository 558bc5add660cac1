//! A model of a worker: fetchers, takers, handlers and a queue take steps in any order, on a clock that moves by itself. After each
//! step the rules of `docs/worker.md` hold.

mod model;

use super::*;
use crate::engine::in_flight::{InFlight, tests::batch_of};
use crate::engine::prefetch::Prefetch;
use crate::item::Verdict;
use proptest::prelude::*;
use std::time::Duration;

use model::*;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let passes = [1, 300, 600, 1500, 11_000, 61_000];
    let step = prop_oneof![
        3 => (1..4_i64, prop::bool::weighted(0.2)).prop_map(|(count, quarantined)| Step::Enqueue { count, quarantined }),
        4 => (1..4_usize, any::<bool>()).prop_map(|(max, begins)| Step::Ask { max, begins }),
        1 => any::<usize>().prop_map(Step::GiveUp),
        3 => any::<usize>().prop_map(Step::Begin),
        1 => any::<usize>().prop_map(Step::GiveBack),
        4 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::Lose),
        8 => (any::<usize>(), prop::bool::weighted(0.8)).prop_map(|(fetcher, succeeds)| Step::Return { fetcher, succeeds }),
        1 => any::<usize>().prop_map(|fetcher| Step::PutOff { fetcher }),
        1 => prop::sample::select(vec![0, 400, 3000]).prop_map(|ms| Step::Prove(Duration::from_millis(ms))),
        3 => prop::sample::select(passes.to_vec()).prop_map(|ms| Step::Pass(Duration::from_millis(ms))),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Nothing sleeps while there is something to do, and every stop ends, at once if handlers and calls do.
    #[test]
    fn a_worker_never_sleeps_over_work_and_every_stop_ends(
        fetchers in 1..5_usize,
        until_empty in any::<bool>(),
        retains in any::<bool>(),
        luck in any::<usize>(),
        steps in steps(),
    ) {
        let mut model = Model::new(fetchers, until_empty, retains);
        model.luck = luck;
        for step in &steps {
            model.step(step);
        }
        model.step(&Step::Stop);
        let stopped = model.now;
        model.finish();
        prop_assert_eq!(model.now, stopped, "no stop waits for a time to come");
        prop_assert!(model.state.in_flight.is_empty());
    }

    /// With handlers that ask, every item is begun in the end.
    #[test]
    fn every_item_is_begun(fetchers in 1..5_usize, luck in any::<usize>(), steps in steps()) {
        let mut model = Model::new(fetchers, false, false);
        model.luck = luck;
        for step in &steps {
            model.step(step);
        }
        for _ in 0..2 * model.queue.len() + 200 {
            if model.queue.is_empty() && model.state.in_flight.counts().ready == 0 {
                return Ok(());
            }
            model.step(&Step::Prove(Duration::from_secs(60)));
            model.step(&Step::Ask { max: 2, begins: true });
            (0..fetchers).for_each(|fetcher| model.step(&Step::Return { fetcher, succeeds: true }));
            model.step(&Step::Begin(0));
            model.step(&Step::End(0));
            model.step(&Step::Pass(Duration::from_secs(12)));
        }
        prop_assert!(false, "items wait for ever: {:?}", model.queue);
    }
}

/// A fetcher that hangs does not take the timers of the others with it.
#[test]
fn a_call_that_hangs_leaves_its_timers_to_the_other_fetcher() {
    let mut model = Model::new(2, false, false);
    model.step(&Step::Ask { max: 1, begins: false });
    let of_queue: Vec<_> =
        (0..2).filter(|fetcher| matches!(model.fetchers[*fetcher], Fetcher::Claims { .. })).collect();
    assert_eq!(of_queue.len(), 1, "one claims at a time at first");
    model.step(&Step::Enqueue { count: 1, quarantined: false });
    model.step(&Step::GiveUp(0));
    model.step(&Step::Return { fetcher: of_queue[0], succeeds: true });
    assert_eq!(model.state.in_flight.counts().ready, 1, "no thread asks for it any more");
    model.step(&Step::Ask { max: 9, begins: false });
    model.step(&Step::Ask { max: 9, begins: false });
    let calls = model.fetchers.iter().filter(|fetcher| matches!(fetcher, Fetcher::Claims { .. })).count();
    assert!(calls >= 1, "a call hangs");
    model.step(&Step::Enqueue { count: 1, quarantined: false });
    model.step(&Step::Pass(HOLD));
    model.check();
}

/// A group that is large enough for a call of its own begins one beside another, but for workers that share two fetchers.
#[test]
fn a_large_group_is_settled_beside_a_call_under_way() {
    let now = Instant::now();
    let mut state = EngineState::new(InFlight::default(), Prefetch::new(HOLD, 0), usize::MAX, PROOF * 3, false);
    (state.phase, state.fetchers.running) = (Phase::Working, 2);
    let outside = Shared::default();
    let call = state.overlap.begin(100, now);
    state.claimed(batch_of("CLAIMED", 0, 100), call, 0, now);
    let batch = state.take(100, now).unwrap();
    let under_way = state.overlap.begin(0, now);
    for (place, item) in batch.iter().enumerate() {
        assert!(matches!(decide(&state, &outside, now), Decision::Sleep(_)), "{place} items wait");
        assert!(state.end(&(item.key().to_owned(), item.attempt()), Verdict::complete(), now).is_some());
    }
    assert_eq!(decide(&state, &outside, now), Decision::Do(FetcherAction::Settle { room: 0 }));
    outside.other_workers.set(1);
    let Decision::Sleep(Some(until)) = decide(&state, &outside, now) else { panic!("the other has its share") };
    assert!(until > now);
    assert_eq!(decide(&state, &outside, until), Decision::Do(FetcherAction::Settle { room: 0 }), "the call may hang");
    state.overlap.end(under_way, 0, now);
    assert_eq!(decide(&state, &outside, now), Decision::Do(FetcherAction::Settle { room: 0 }));
}

#[test]
fn when_stopping_everything_is_due() {
    let mut model = Model::new(1, false, false);
    model.step(&Step::Enqueue { count: 1, quarantined: false });
    model.step(&Step::Ask { max: 1, begins: false });
    model.step(&Step::Return { fetcher: 0, succeeds: true });
    model.step(&Step::End(0));
    model.step(&Step::PutOff { fetcher: 0 });
    assert!(matches!(model.fetchers[0], Fetcher::Asleep(Some(_))), "the server refuses it for now");
    model.step(&Step::Stop);
    assert!(matches!(model.fetchers[0], Fetcher::Settles { .. }));
}

#[test]
fn a_quarantined_item_that_no_handler_takes_goes_back() {
    let mut model = Model::new(1, false, false);
    model.step(&Step::Ask { max: 1, begins: false });
    model.step(&Step::Enqueue { count: 1, quarantined: true });
    model.step(&Step::GiveUp(0));
    model.step(&Step::Return { fetcher: 0, succeeds: true });
    assert_eq!(model.state.in_flight.counts().ready, 1);
    model.step(&Step::Pass(PROOF * 2));
    assert_eq!(model.state.in_flight.counts().ready, 0);
}

/// The size of recent items bounds how many are claimed ahead, but not those that handlers wait for.
#[test]
fn large_items_are_not_claimed_ahead() {
    let now = Instant::now();
    for (ahead_bytes, ahead) in [(usize::MAX, 500), (batch_of("CLAIMED", 0, 1).bytes() * 7, 7), (0, 0)] {
        let mut state = EngineState::new(InFlight::default(), Prefetch::new(HOLD, 1000), ahead_bytes, PROOF * 3, false);
        state.phase = Phase::Working;
        let batch = batch_of("CLAIMED", 0, 8);
        let call = state.overlap.begin(8, now);
        state.claimed(batch, call, 0, now);
        let claims: Vec<_> = state.take(8, now).unwrap().iter().map(|i| (i.key().to_owned(), i.attempt())).collect();
        let later = now + HOLD;
        claims.iter().for_each(|claim| assert!(state.end(claim, Verdict::complete(), later).is_some()));
        state.prefetch.ended(992, later);
        assert_eq!(state.ahead(later), ahead, "{ahead_bytes} bytes");
        state.takers.begin_to_wait(3);
        assert_eq!(state.room(later), ahead + 3);
    }
}

/// The last item goes with the answer of a step: it was lost and given back meanwhile.
#[test]
fn a_step_that_ends_the_last_item_ends_the_measuring() {
    let now = Instant::now();
    let mut state = EngineState::new(InFlight::default(), Prefetch::new(HOLD, 1000), usize::MAX, PROOF * 3, false);
    state.phase = Phase::Working;
    let call = state.overlap.begin(1, now);
    state.claimed(batch_of("CLAIMED", 0, 1), call, 0, now);
    let batch = state.take(1, now).unwrap();
    let item = batch.get(0).unwrap();
    let claim = (item.key().to_owned(), item.attempt());
    assert!(state.in_flight.begin_step(&claim).is_some());
    state.prefetch.ended(1000, now);
    assert!(state.ahead(now) > 0);
    assert!(state.in_flight.lose_taken(&claim, now).is_some());
    state.in_flight.abandon_taken();
    state.give_back_abandoned();
    assert!(!state.holds_nothing(), "its step is under way");
    state.stepped(&claim, None);
    assert!(state.holds_nothing());
    assert_eq!(state.ahead(now), 0);
}

/// No connection is known to live, and calls hang: what has not begun is given up, and what has begun goes on.
#[test]
fn nothing_begins_that_others_may_have() {
    let mut model = Model::new(1, false, false);
    model.step(&Step::Prove(Duration::from_secs(3)));
    model.step(&Step::Enqueue { count: 3, quarantined: false });
    model.step(&Step::Ask { max: 2, begins: true });
    model.step(&Step::Return { fetcher: 0, succeeds: true });
    model.step(&Step::Begin(0));
    model.step(&Step::Pass(Duration::from_secs(4)));
    assert!(!model.state.has_unbegun());
    assert_eq!(model.state.in_flight.counts().begun, 1, "its handler goes on");
}
