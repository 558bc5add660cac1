//! A model of a worker: lanes, takers, handlers and a queue take steps in any order, on a clock that moves by itself. After each
//! step the rules of `docs/worker.md` hold.

use super::*;
use crate::engine::Begin;
use crate::engine::hand::{Claim, Ended, tests::batch_of};
use crate::engine::pace::Pace;
use crate::engine::state::Work;
use crate::item::{Batch, CLAIMED_ALONE, Outcome, Verdict};
use crate::shared::CleaningDue;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

const HOLD: Duration = Duration::from_millis(500);
const PROOF: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_secs(1);

/// Something that happens. Numbers choose among those that it can happen to.
#[derive(Debug, Clone)]
enum Step {
    /// Items become due; a suspect is one that came back from a dead worker.
    Enqueue {
        count: i64,
        suspect: bool,
    },
    /// A thread asks for up to `max` items; whether it reports when it begins each.
    Ask {
        max: usize,
        begins: bool,
    },
    /// A thread that waits for items gives up.
    GiveUp(usize),
    /// A thread begins an item.
    Begin(usize),
    /// A thread goes on with nothing that it has not begun of a batch.
    GiveBack(usize),
    /// A handler ends its item.
    End(usize),
    /// An item in hand turns out to be lost.
    Lose(usize),
    /// The call of a lane returns, with what it was made for or with a failure.
    Return {
        lane: usize,
        succeeds: bool,
    },
    /// A call that settles returns, and the server refuses one of the items for now.
    PutOff {
        lane: usize,
    },
    /// So much time passes.
    Pass(Duration),
    Stop,
}

/// The doings of one lane.
enum Lane {
    /// It decides.
    Awake,
    Asleep(Option<Instant>),
    Settles {
        ended: Arc<Vec<Ended>>,
        room: usize,
    },
    Claims {
        room: usize,
    },
    Cleans,
    Ended,
}

#[derive(Clone, Copy)]
struct Taker {
    max: usize,
    begins: bool,
}

/// An item that a thread has.
struct Taken {
    claim: Claim,
    batch: Batch,
    begins: bool,
    has_begun: bool,
}

impl Taken {
    fn is_worked_on(&self) -> bool {
        self.has_begun || !self.begins
    }

    fn has_begun_beside(&self, other: &Self) -> bool {
        let first = |taken: &Self| taken.batch.get(0).map(|item| item.key().to_owned());
        self.has_begun && first(self) == first(other)
    }
}

struct Model {
    state: State,
    outside: Shared,
    lanes: Vec<Lane>,
    takers: Vec<Taker>,
    taken: Vec<Taken>,
    lost: HashSet<Claim>,
    queue: Vec<(i64, bool)>,
    next_key: i64,
    now: Instant,
    /// Chooses which sleeping lane a wake-up reaches.
    luck: usize,
}

#[derive(Default)]
struct Shared {
    quiet_until: Cell<Option<Instant>>,
    retention: RefCell<Option<CleaningDue>>,
}

impl Outside for Shared {
    fn quiet_until(&self) -> Option<Instant> {
        self.quiet_until.get()
    }

    fn retention(&self) -> Option<CleaningDue> {
        *self.retention.borrow()
    }
}

impl Model {
    fn new(lanes: usize, until_empty: bool, retains: bool) -> Self {
        let now = Instant::now();
        let mut state = State::new(Pace::new(HOLD, 1000), usize::MAX, PROOF * 3, until_empty);
        state.phase = Phase::Working;
        state.lanes.running = lanes;
        let outside = Shared::default();
        let due = CleaningDue { at: now, at_latest: now + POLL * 60, is_more: false };
        *outside.retention.borrow_mut() = retains.then_some(due);
        let mut model = Self {
            state,
            outside,
            lanes: (0..lanes).map(|_| Lane::Awake).collect(),
            takers: Vec::new(),
            taken: Vec::new(),
            lost: HashSet::new(),
            queue: Vec::new(),
            next_key: 0,
            now,
            luck: 0,
        };
        (0..lanes).for_each(|lane| model.next(lane));
        model
    }

    /// The loop of a lane, until it sleeps, calls or ends.
    fn next(&mut self, lane: usize) {
        self.lanes[lane] = Lane::Awake;
        for _ in 0..100 {
            match decide(&self.state, &self.outside, self.now) {
                Decision::End => {
                    self.lanes[lane] = Lane::Ended;
                    self.state.lanes.running -= 1;
                    self.changed();
                    return;
                }
                Decision::Do(action) => {
                    match action {
                        Action::Claim { .. } => self.outside.quiet_until.set(Some(self.now + POLL)),
                        Action::Clean { .. } => self.take_turn_to_clean(),
                        _ => {}
                    }
                    let Some(work) = self.state.begin(action, self.now) else { continue };
                    self.lanes[lane] = match work {
                        Work::Settle { ended, room } => Lane::Settles { ended, room },
                        Work::Claim { room, .. } => Lane::Claims { room },
                        Work::Clean => Lane::Cleans,
                    };
                    self.wake_lanes();
                    return;
                }
                Decision::Sleep(until) => {
                    assert!(until.is_none_or(|until| until > self.now), "it sleeps until a time that is over");
                    self.state.lanes.fall_asleep(until);
                    self.lanes[lane] = Lane::Asleep(until);
                    // It has woken the takers that it could before it let go of the lock.
                    self.wake_takers();
                    return;
                }
            }
        }
        panic!("a lane decides for ever");
    }

    fn take_turn_to_clean(&self) {
        let mut retention = self.outside.retention.borrow_mut();
        let at = self.now + POLL * 60;
        *retention = retention.map(|_| CleaningDue { at, at_latest: at + POLL * 60, is_more: false });
    }

    fn changed(&mut self) {
        self.wake_lanes();
        self.wake_takers();
    }

    fn wake_lanes(&mut self) {
        let asleep: Vec<_> =
            (0..self.lanes.len()).filter(|lane| matches!(self.lanes[*lane], Lane::Asleep(_))).collect();
        match self.state.lanes_to_wake(&self.outside, self.now) {
            Wake::None => {}
            Wake::One => self.wake_up(asleep[self.luck % asleep.len()]),
            Wake::All => asleep.into_iter().for_each(|lane| self.wake_up(lane)),
        }
    }

    fn wake_up(&mut self, lane: usize) {
        // A wake-up before it may have woken it already.
        if let Lane::Asleep(until) = self.lanes[lane] {
            self.state.lanes.wake_up(until);
            self.next(lane);
        }
    }

    fn wake_takers(&mut self) {
        match self.state.takers_to_wake(self.now) {
            Wake::None => {}
            Wake::One => {
                let taker = self.takers.remove(self.luck % self.takers.len());
                self.state.takers.end_wait(taker.max);
                self.take(taker);
            }
            Wake::All => {
                for taker in std::mem::take(&mut self.takers) {
                    self.state.takers.end_wait(taker.max);
                }
            }
        }
    }

    fn take(&mut self, taker: Taker) {
        if let Some(batch) = self.state.take(taker.max, self.now) {
            if batch.is_alone() {
                assert!(self.suspects_begun_lately() == 0, "two suspects are proving at once");
            }
            self.taken.extend(batch.iter().map(|item| Taken {
                claim: (item.key().to_owned(), item.attempt()),
                batch: batch.clone(),
                begins: taker.begins,
                has_begun: false,
            }));
        } else if self.state.phase == Phase::Working {
            self.state.takers.begin_to_wait(taker.max);
            self.takers.push(taker);
        }
        self.changed();
    }

    fn suspects_begun_lately(&self) -> usize {
        // The one that is taken now counts itself.
        self.state.hand.proving_since(self.now, PROOF) - 1
    }

    fn claim(&mut self, room: usize) -> Batch {
        let suspect = self.queue.first().is_some_and(|(_, suspect)| *suspect);
        let count = if suspect {
            1.min(room)
        } else {
            self.queue.iter().take(room).take_while(|(_, suspect)| !suspect).count()
        };
        let claimed: Vec<_> = self.queue.drain(..count).collect();
        let Some((from, _)) = claimed.first().copied() else {
            self.outside.quiet_until.set(Some(self.now + POLL));
            return Batch::default();
        };
        self.outside.quiet_until.set(None);
        batch_of(if suspect { CLAIMED_ALONE } else { "CLAIMED" }, from, from + count as i64)
    }

    fn returns(&mut self, lane: usize, succeeds: bool, puts_off: bool) {
        match std::mem::replace(&mut self.lanes[lane], Lane::Awake) {
            Lane::Claims { room } => {
                let batch = if succeeds { self.claim(room) } else { Batch::default() };
                let found = batch.len();
                self.state.claimed(batch, room, self.now);
                self.changed();
                if succeeds {
                    let retention = self.outside.retention();
                    if self.state.looked(found, Duration::ZERO, retention.as_ref(), self.now) {
                        assert!(self.queue.is_empty(), "it stops by itself, and items wait");
                        self.state.stop();
                    }
                } else {
                    self.state.look_again_at(self.now + PAUSE);
                }
            }
            Lane::Settles { ended, room } => {
                let batch = if succeeds { self.claim(room) } else { Batch::default() };
                self.state.claimed(batch, room, self.now);
                self.changed();
                let again: Vec<_> = match ended.first() {
                    Some(first) if puts_off && self.state.phase == Phase::Working => {
                        vec![first.put_off(self.now + PAUSE * 30)]
                    }
                    _ => Vec::new(),
                };
                let outcome =
                    Outcome { answer: crate::item::Answer::Ok, state: None, token: String::new(), attempt: 1 };
                let outcomes: Vec<_> = ended.iter().map(|_| Some(outcome.clone())).collect();
                self.state.settled(&ended, &outcomes, again);
            }
            Lane::Cleans => self.state.cleaned(),
            other => {
                self.lanes[lane] = other;
                return;
            }
        }
        self.changed();
        self.next(lane);
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Enqueue { count, suspect } => {
                for _ in 0..count {
                    self.queue.push((self.next_key, suspect));
                    self.next_key += 1;
                }
                self.outside.quiet_until.set(None);
                self.changed();
            }
            Step::Ask { max, begins } => self.take(Taker { max, begins }),
            Step::GiveUp(which) if !self.takers.is_empty() => {
                let taker = self.takers.remove(which % self.takers.len());
                self.state.takers.end_wait(taker.max);
                self.changed();
            }
            Step::Begin(which) => self.choose(which, |taken| !taken.is_worked_on(), Self::begin),
            Step::GiveBack(which) => self.choose(which, |_| true, Self::give_back),
            Step::End(which) => self.choose(which, Taken::is_worked_on, Self::end),
            Step::Lose(which) => {
                let claims = self.state.hand.claims();
                if !claims.is_empty() {
                    let claim = &claims[which % claims.len()];
                    if !self.state.hand.lose(claim, self.now).is_empty() {
                        self.lost.insert(claim.clone());
                    }
                    self.changed();
                }
            }
            Step::Return { lane, succeeds } => self.returns(lane % self.lanes.len(), succeeds, false),
            Step::PutOff { lane } => self.returns(lane % self.lanes.len(), true, true),
            Step::Pass(time) => self.pass(time),
            Step::Stop => {
                self.state.stop();
                self.changed();
            }
            Step::GiveUp(_) => {}
        }
        self.check();
    }

    /// Does something with one of those that threads have.
    fn choose(&mut self, which: usize, of: impl Fn(&Taken) -> bool, then: impl Fn(&mut Self, usize)) {
        let places: Vec<_> = (0..self.taken.len()).filter(|place| of(&self.taken[*place])).collect();
        if !places.is_empty() {
            then(self, places[which % places.len()]);
            self.changed();
        }
    }

    fn begin(&mut self, place: usize) {
        let claim = self.taken[place].claim.clone();
        let begin = self.state.begin_item(&claim, self.now);
        let expected = match self.state.phase {
            Phase::Working if self.lost.contains(&claim) => Begin::Lost,
            Phase::Working => Begin::Ok,
            _ => Begin::Stopping,
        };
        assert_eq!(begin, expected);
        if begin == Begin::Ok {
            self.taken[place].has_begun = true;
            assert_eq!(self.state.begin_item(&claim, self.now), Begin::Lost, "it begins once");
        } else {
            assert!(self.state.hand.token(&claim).is_none(), "it is in hand, and nobody will end it");
            self.taken.remove(place);
        }
    }

    fn give_back(&mut self, place: usize) {
        let batch = self.taken[place].batch.clone();
        self.state.give_back(&batch, POLL);
        let is_of_it = |taken: &Taken| batch.iter().any(|item| taken.claim.0 == item.key());
        self.taken.retain(|taken| taken.has_begun || !is_of_it(taken));
    }

    fn end(&mut self, place: usize) {
        let claim = self.taken.remove(place).claim;
        assert!(self.state.end(&claim, Verdict::complete(), self.now).is_some());
    }

    /// Time passes, from one alarm of a sleeping lane to the next.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let alarm = |lane: &Lane| if let Lane::Asleep(until) = lane { *until } else { None };
            let first = self.lanes.iter().filter_map(alarm).filter(|at| *at <= end).min();
            self.now = first.unwrap_or(end).max(self.now);
            let Some(at) = first else { break };
            let due = |lane: &Lane| matches!(lane, Lane::Asleep(Some(until)) if *until <= at);
            let lanes: Vec<_> = (0..self.lanes.len()).filter(|lane| due(&self.lanes[*lane])).collect();
            lanes.into_iter().for_each(|lane| self.wake_up(lane));
        }
    }

    /// The rules.
    fn check(&self) {
        let sleeps = |lane: &&Lane| matches!(lane, Lane::Asleep(_));
        let asleep = self.lanes.iter().filter(sleeps).count();
        assert_eq!(asleep, self.state.lanes.sleep());
        match decide(&self.state, &self.outside, self.now) {
            Decision::Sleep(until) => {
                assert!(asleep == 0 || self.state.lanes.wake_by_themselves(until), "nobody wakes in time");
            }
            decision => assert_eq!(asleep, 0, "lanes sleep while there is something to do: {decision:?}"),
        }
        assert!(
            self.takers.is_empty() || self.state.phase == Phase::Working && !self.state.has_something_to_take(self.now),
            "a taker waits for what is there"
        );
        let is_in_hand = |taken: &&Taken| self.state.hand.token(&taken.claim).is_some();
        let in_hand = self.taken.iter().filter(is_in_hand).count();
        assert_eq!(self.state.hand.counts().begun, in_hand, "an item is in hand that no thread has");
        let is_idle = |taken: &&Taken| !taken.has_begun && self.taken.iter().any(|other| other.has_begun_beside(taken));
        let idle = self.taken.iter().filter(is_idle).filter(is_in_hand).count();
        assert!(idle == 0 || self.state.phase == Phase::Working, "it stops, and keeps items on which nobody works");
        let suspects = self.state.hand.suspects_waiting();
        assert!(suspects <= 1, "{suspects} suspects wait");
    }

    /// Everything that is under way comes to its end: calls return, handlers end.
    fn finish(&mut self) {
        for _ in 0..1000 {
            (0..self.lanes.len()).for_each(|lane| self.returns(lane, true, false));
            while !self.taken.is_empty() {
                self.step(&Step::Begin(0));
                self.step(&Step::End(0));
            }
            self.check();
            if self.lanes.iter().all(|lane| matches!(lane, Lane::Ended)) {
                return;
            }
        }
        panic!("a stop does not end");
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let passes = [1, 300, 600, 1500, 11_000, 61_000];
    let step = prop_oneof![
        3 => (1..4_i64, prop::bool::weighted(0.2)).prop_map(|(count, suspect)| Step::Enqueue { count, suspect }),
        4 => (1..4_usize, any::<bool>()).prop_map(|(max, begins)| Step::Ask { max, begins }),
        1 => any::<usize>().prop_map(Step::GiveUp),
        3 => any::<usize>().prop_map(Step::Begin),
        1 => any::<usize>().prop_map(Step::GiveBack),
        4 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::Lose),
        8 => (any::<usize>(), prop::bool::weighted(0.8)).prop_map(|(lane, succeeds)| Step::Return { lane, succeeds }),
        1 => any::<usize>().prop_map(|lane| Step::PutOff { lane }),
        3 => prop::sample::select(passes.to_vec()).prop_map(|ms| Step::Pass(Duration::from_millis(ms))),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Nothing sleeps while there is something to do, and every stop ends, at once if handlers and calls do.
    #[test]
    fn a_worker_never_sleeps_over_work_and_every_stop_ends(
        lanes in 1..5_usize,
        until_empty in any::<bool>(),
        retains in any::<bool>(),
        luck in any::<usize>(),
        steps in steps(),
    ) {
        let mut model = Model::new(lanes, until_empty, retains);
        model.luck = luck;
        for step in &steps {
            model.step(step);
        }
        model.step(&Step::Stop);
        let stopped = model.now;
        model.finish();
        prop_assert_eq!(model.now, stopped, "no stop waits for a time to come");
        prop_assert!(model.state.hand.is_empty());
    }

    /// With handlers that ask, every item is begun in the end.
    #[test]
    fn every_item_is_begun(lanes in 1..5_usize, luck in any::<usize>(), steps in steps()) {
        let mut model = Model::new(lanes, false, false);
        model.luck = luck;
        for step in &steps {
            model.step(step);
        }
        for _ in 0..2 * model.queue.len() + 200 {
            if model.queue.is_empty() && model.state.hand.counts().ready == 0 {
                return Ok(());
            }
            model.step(&Step::Ask { max: 2, begins: true });
            (0..lanes).for_each(|lane| model.step(&Step::Return { lane, succeeds: true }));
            model.step(&Step::Begin(0));
            model.step(&Step::End(0));
            model.step(&Step::Pass(Duration::from_secs(12)));
        }
        prop_assert!(false, "items wait for ever: {:?}", model.queue);
    }
}

/// A lane that hangs does not take the timers of the others with it.
#[test]
fn a_call_that_hangs_leaves_its_timers_to_the_other_lane() {
    let mut model = Model::new(2, false, false);
    model.step(&Step::Ask { max: 1, begins: false });
    let of_queue: Vec<_> = (0..2).filter(|lane| matches!(model.lanes[*lane], Lane::Claims { .. })).collect();
    assert_eq!(of_queue.len(), 1, "one claims at a time at first");
    model.step(&Step::Enqueue { count: 1, suspect: false });
    model.step(&Step::GiveUp(0));
    model.step(&Step::Return { lane: of_queue[0], succeeds: true });
    assert_eq!(model.state.hand.counts().ready, 1, "nobody asks for it any more");
    model.step(&Step::Ask { max: 9, begins: false });
    model.step(&Step::Ask { max: 9, begins: false });
    let calls = model.lanes.iter().filter(|lane| matches!(lane, Lane::Claims { .. })).count();
    assert!(calls >= 1, "a call hangs");
    model.step(&Step::Enqueue { count: 1, suspect: false });
    model.step(&Step::Pass(HOLD));
    model.check();
}

#[test]
fn when_stopping_everything_is_due() {
    let mut model = Model::new(1, false, false);
    model.step(&Step::Enqueue { count: 1, suspect: false });
    model.step(&Step::Ask { max: 1, begins: false });
    model.step(&Step::Return { lane: 0, succeeds: true });
    model.step(&Step::End(0));
    model.step(&Step::PutOff { lane: 0 });
    assert!(matches!(model.lanes[0], Lane::Asleep(Some(_))), "the server refuses it for now");
    model.step(&Step::Stop);
    assert!(matches!(model.lanes[0], Lane::Settles { .. }));
}

#[test]
fn a_suspect_that_no_handler_takes_goes_back() {
    let mut model = Model::new(1, false, false);
    model.step(&Step::Ask { max: 1, begins: false });
    model.step(&Step::Enqueue { count: 1, suspect: true });
    model.step(&Step::GiveUp(0));
    model.step(&Step::Return { lane: 0, succeeds: true });
    assert_eq!(model.state.hand.counts().ready, 1);
    model.step(&Step::Pass(PROOF * 2));
    assert_eq!(model.state.hand.counts().ready, 0);
}

/// The size of recent items bounds how many are claimed ahead, but not those that handlers wait for.
#[test]
fn large_items_are_not_claimed_ahead() {
    let now = Instant::now();
    for (ahead_bytes, ahead) in [(usize::MAX, 500), (batch_of("CLAIMED", 0, 1).bytes() * 7, 7), (0, 0)] {
        let mut state = State::new(Pace::new(HOLD, 1000), ahead_bytes, PROOF * 3, false);
        state.phase = Phase::Working;
        let batch = batch_of("CLAIMED", 0, 8);
        state.claiming = 8;
        state.claimed(batch, 8, now);
        let claims: Vec<_> = state.take(8, now).unwrap().iter().map(|i| (i.key().to_owned(), i.attempt())).collect();
        let later = now + HOLD;
        claims.iter().for_each(|claim| assert!(state.end(claim, Verdict::complete(), later).is_some()));
        state.pace.ended(992, later);
        assert_eq!(state.ahead(later), ahead, "{ahead_bytes} bytes");
        state.takers.begin_to_wait(3);
        assert_eq!(state.room(later), ahead + 3);
    }
}
