//! The model: fetchers, takers, handlers and a queue, and the steps that they take.

use super::super::*;
use crate::engine::Begin;
use crate::engine::in_flight::{ClaimName, EndedItem, InFlight, tests::batch_of};
use crate::engine::overlap::Call;
use crate::engine::prefetch::Prefetch;
use crate::engine::state::FetcherWork;
use crate::item::{Batch, CLAIMED_ALONE, Outcome, Verdict};
use crate::shared::CleaningDue;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

pub(super) const HOLD: Duration = Duration::from_millis(500);
pub(super) const PROOF: Duration = Duration::from_secs(10);
pub(super) const POLL: Duration = Duration::from_secs(1);
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Something that happens. Numbers choose among those that it can happen to.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Items become due; a quarantined one belonged to a dead worker.
    Enqueue {
        count: i64,
        quarantined: bool,
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
    /// A thread gives up the items of a batch that it has not begun.
    GiveBack(usize),
    /// A handler ends its item.
    End(usize),
    /// An item in flight turns out to be lost.
    Lose(usize),
    /// The call of a fetcher returns, with what it was made for or with a failure.
    Return {
        fetcher: usize,
        succeeds: bool,
    },
    /// A call that settles returns, and the server refuses one of the items for now.
    PutOff {
        fetcher: usize,
    },
    /// A connection is known to live: others may take the worker for dead after so long.
    Prove(Duration),
    /// So much time passes.
    Pass(Duration),
    Stop,
}

/// The state of one fetcher.
pub(super) enum Fetcher {
    /// It decides.
    Awake,
    Asleep(Option<Instant>),
    Settles {
        ended: Arc<Vec<EndedItem>>,
        call: Call,
    },
    Claims {
        call: Call,
    },
    Cleans,
    Fires,
    Ended,
}

#[derive(Clone, Copy)]
pub(super) struct Taker {
    pub(super) max: usize,
    pub(super) begins: bool,
}

/// An item that a thread has.
pub(super) struct Taken {
    pub(super) claim: ClaimName,
    pub(super) batch: Batch,
    pub(super) begins: bool,
    pub(super) has_begun: bool,
}

impl Taken {
    pub(super) fn is_worked_on(&self) -> bool {
        self.has_begun || !self.begins
    }

    pub(super) fn has_begun_beside(&self, other: &Self) -> bool {
        let first = |taken: &Self| taken.batch.get(0).map(|item| item.key().to_owned());
        self.has_begun && first(self) == first(other)
    }
}

/// How long a handler may work: longer than most of the model's do.
const RUN: Duration = Duration::from_secs(20);

fn claim_name(item: &Batch) -> ClaimName {
    item.get(0).map(|item| (item.key().to_owned(), item.attempt())).unwrap()
}

pub(super) struct Model {
    pub(super) state: EngineState,
    pub(super) outside: Shared,
    pub(super) fetchers: Vec<Fetcher>,
    pub(super) takers: Vec<Taker>,
    pub(super) taken: Vec<Taken>,
    pub(super) lost: HashSet<ClaimName>,
    pub(super) queue: Vec<(i64, bool)>,
    pub(super) next_key: i64,
    pub(super) now: Instant,
    /// Chooses which sleeping fetcher a wake-up reaches.
    pub(super) luck: usize,
}

#[derive(Default)]
pub(super) struct Shared {
    pub(super) quiet_until: Cell<Option<Instant>>,
    pub(super) retention: RefCell<Option<CleaningDue>>,
    pub(super) planned_at: Cell<Option<Instant>>,
    pub(super) doubt: Cell<Doubt>,
    /// Besides this one.
    pub(super) other_workers: Cell<usize>,
}

impl Outside for Shared {
    fn quiet_until(&self) -> Option<Instant> {
        self.quiet_until.get()
    }

    fn retention(&self) -> Option<CleaningDue> {
        *self.retention.borrow()
    }

    fn planned_at(&self) -> Option<Instant> {
        self.planned_at.get()
    }

    fn workers(&self) -> usize {
        1 + self.other_workers.get()
    }

    fn doubt(&self) -> Doubt {
        self.doubt.get()
    }
}

impl Model {
    pub(super) fn new(fetchers: usize, until_empty: bool, retains: bool) -> Self {
        let now = Instant::now();
        let mut state = EngineState::new(
            InFlight::with_longest_run(Some(RUN)),
            Prefetch::new(HOLD, 1000),
            usize::MAX,
            PROOF * 3,
            until_empty,
        );
        state.phase = Phase::Working;
        state.fetchers.running = fetchers;
        let outside = Shared::default();
        let due = CleaningDue { at: now, at_latest: now + POLL * 60, is_more: false };
        *outside.retention.borrow_mut() = retains.then_some(due);
        outside.planned_at.set(retains.then_some(now + POLL));
        let mut model = Self {
            state,
            outside,
            fetchers: (0..fetchers).map(|_| Fetcher::Awake).collect(),
            takers: Vec::new(),
            taken: Vec::new(),
            lost: HashSet::new(),
            queue: Vec::new(),
            next_key: 0,
            now,
            luck: 0,
        };
        (0..fetchers).for_each(|fetcher| model.next(fetcher));
        model
    }

    /// The loop of a fetcher, until it sleeps, calls or ends.
    pub(super) fn next(&mut self, fetcher: usize) {
        self.fetchers[fetcher] = Fetcher::Awake;
        for _ in 0..100 {
            match decide(&self.state, &self.outside, self.now) {
                Decision::End => {
                    self.fetchers[fetcher] = Fetcher::Ended;
                    self.state.fetchers.running -= 1;
                    self.changed();
                    return;
                }
                Decision::Do(action) => {
                    match action {
                        FetcherAction::Claim { .. } => self.outside.quiet_until.set(Some(self.now + POLL)),
                        FetcherAction::Clean { .. } => self.take_turn_to_clean(),
                        FetcherAction::Fire => self.outside.planned_at.set(Some(self.now + POLL * 15)),
                        _ => {}
                    }
                    let Some(work) = self.state.begin(action, self.now) else { continue };
                    if let FetcherWork::Overrun { items } = &work {
                        assert!(items.iter().all(|item| self.state.in_flight.is_lost(&claim_name(item))));
                        continue;
                    }
                    self.fetchers[fetcher] = match work {
                        FetcherWork::Settle { ended, call } => Fetcher::Settles { ended, call },
                        FetcherWork::Claim { call, .. } => Fetcher::Claims { call },
                        FetcherWork::Clean { .. } => Fetcher::Cleans,
                        FetcherWork::Fire => Fetcher::Fires,
                        FetcherWork::Overrun { .. } => Fetcher::Awake,
                    };
                    self.wake_fetchers();
                    return;
                }
                Decision::Sleep(until) => {
                    assert!(until.is_none_or(|until| until > self.now), "it sleeps until a time that is over");
                    self.state.fetchers.fall_asleep(until);
                    self.fetchers[fetcher] = Fetcher::Asleep(until);
                    // It has woken the takers that it could before it let go of the lock.
                    self.wake_takers();
                    return;
                }
            }
        }
        panic!("a fetcher decides for ever");
    }

    pub(super) fn take_turn_to_clean(&self) {
        let mut retention = self.outside.retention.borrow_mut();
        let at = self.now + POLL * 60;
        *retention = retention.map(|_| CleaningDue { at, at_latest: at + POLL * 60, is_more: false });
    }

    pub(super) fn changed(&mut self) {
        self.wake_fetchers();
        self.wake_takers();
    }

    pub(super) fn wake_fetchers(&mut self) {
        let asleep: Vec<_> =
            (0..self.fetchers.len()).filter(|fetcher| matches!(self.fetchers[*fetcher], Fetcher::Asleep(_))).collect();
        match self.state.fetchers_to_wake(&self.outside, self.now) {
            Wake::None => {}
            Wake::One => self.wake_up(asleep[self.luck % asleep.len()]),
            Wake::All => asleep.into_iter().for_each(|fetcher| self.wake_up(fetcher)),
        }
    }

    pub(super) fn wake_up(&mut self, fetcher: usize) {
        // A wake-up before it may have woken it already.
        if let Fetcher::Asleep(until) = self.fetchers[fetcher] {
            self.state.fetchers.wake_up(until);
            self.next(fetcher);
        }
    }

    pub(super) fn wake_takers(&mut self) {
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

    pub(super) fn take(&mut self, taker: Taker) {
        let is_doubtful = self.state.hand_back_if_doubtful(&self.outside, self.now);
        if let Some(batch) = self.state.take(taker.max, self.now) {
            assert!(!is_doubtful, "others may have what is handed out");
            if batch.is_quarantined() {
                assert!(self.quarantined_begun_lately() == 0, "two quarantined are proving at once");
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

    pub(super) fn quarantined_begun_lately(&self) -> usize {
        // The one that is taken now counts itself.
        self.state.in_flight.proving_since(self.now, PROOF) - 1
    }

    pub(super) fn claim(&mut self, room: usize) -> Batch {
        let quarantined = self.queue.first().is_some_and(|(_, quarantined)| *quarantined);
        let count = if quarantined {
            1.min(room)
        } else {
            self.queue.iter().take(room).take_while(|(_, quarantined)| !quarantined).count()
        };
        let claimed: Vec<_> = self.queue.drain(..count).collect();
        let Some((from, _)) = claimed.first().copied() else {
            self.outside.quiet_until.set(Some(self.now + POLL));
            return Batch::default();
        };
        self.outside.quiet_until.set(None);
        batch_of(if quarantined { CLAIMED_ALONE } else { "CLAIMED" }, from, from + count as i64)
    }

    pub(super) fn returns(&mut self, fetcher: usize, succeeds: bool, puts_off: bool) {
        match std::mem::replace(&mut self.fetchers[fetcher], Fetcher::Awake) {
            Fetcher::Claims { call } => {
                let batch = if succeeds { self.claim(call.room) } else { Batch::default() };
                let found = batch.len();
                self.state.hand_back_if_doubtful(&self.outside, self.now);
                self.state.claimed(batch, call, 0, self.now);
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
            Fetcher::Settles { ended, call } => {
                let batch = if succeeds { self.claim(call.room) } else { Batch::default() };
                self.state.hand_back_if_doubtful(&self.outside, self.now);
                self.state.claimed(batch, call, ended.len(), self.now);
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
            Fetcher::Cleans => self.state.cleaned(),
            Fetcher::Fires => {
                if succeeds {
                    self.queue.push((self.next_key, false));
                    self.next_key += 1;
                    self.outside.quiet_until.set(None);
                }
                self.state.fired();
            }
            other => {
                self.fetchers[fetcher] = other;
                return;
            }
        }
        self.changed();
        self.next(fetcher);
    }

    pub(super) fn step(&mut self, step: &Step) {
        match *step {
            Step::Enqueue { count, quarantined } => {
                for _ in 0..count {
                    self.queue.push((self.next_key, quarantined));
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
                let claims = self.state.in_flight.claims();
                if !claims.is_empty() {
                    let claim = &claims[which % claims.len()];
                    if !self.state.in_flight.lose(claim, self.now).is_empty() {
                        self.lost.insert(claim.clone());
                    }
                    self.changed();
                }
            }
            Step::Return { fetcher, succeeds } => self.returns(fetcher % self.fetchers.len(), succeeds, false),
            Step::PutOff { fetcher } => self.returns(fetcher % self.fetchers.len(), true, true),
            Step::Prove(lasts) => {
                let before = self.outside.doubt.get();
                let is_late = before.at.is_some_and(|at| at <= self.now);
                let gaps = before.gaps + u64::from(is_late);
                self.outside.doubt.set(Doubt { at: Some(self.now + lasts), gaps });
                self.changed();
            }
            Step::Pass(time) => self.pass(time),
            Step::Stop => {
                self.state.stop();
                self.changed();
            }
            Step::GiveUp(_) => {}
        }
        self.check();
    }

    /// Does something with one of the items that threads have.
    pub(super) fn choose(&mut self, which: usize, of: impl Fn(&Taken) -> bool, then: impl Fn(&mut Self, usize)) {
        let places: Vec<_> = (0..self.taken.len()).filter(|place| of(&self.taken[*place])).collect();
        if !places.is_empty() {
            then(self, places[which % places.len()]);
            self.changed();
        }
    }

    pub(super) fn begin(&mut self, place: usize) {
        let claim = self.taken[place].claim.clone();
        let was_taken = self.state.in_flight.is_taken(&claim);
        let doubt = self.outside.doubt.get();
        let is_doubtful = doubt.at.is_some_and(|at| at <= self.now) || doubt.gaps != self.state.gaps;
        let begin = self.state.begin_if_sure(&claim, &self.outside, self.now);
        let expected = match self.state.phase {
            Phase::Working if self.lost.contains(&claim) || is_doubtful || !was_taken => Begin::Lost,
            Phase::Working => Begin::Ok,
            _ => Begin::Stopping,
        };
        assert_eq!(begin, expected);
        if begin == Begin::Ok {
            self.taken[place].has_begun = true;
            assert_eq!(self.state.begin_item(&claim, self.now), Begin::Lost, "it begins once");
        } else {
            assert!(!self.state.in_flight.is_taken(&claim), "it is in flight, and no thread will end it");
            self.taken.remove(place);
        }
    }

    pub(super) fn give_back(&mut self, place: usize) {
        let batch = self.taken[place].batch.clone();
        self.state.give_back(&batch, POLL);
        let is_of_it = |taken: &Taken| batch.iter().any(|item| taken.claim.0 == item.key());
        self.taken.retain(|taken| taken.has_begun || !is_of_it(taken));
    }

    pub(super) fn end(&mut self, place: usize) {
        let claim = self.taken.remove(place).claim;
        assert!(self.state.end(&claim, Verdict::complete(), self.now).is_some());
    }

    /// Time passes, from one alarm of a sleeping fetcher to the next.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let alarm = |fetcher: &Fetcher| if let Fetcher::Asleep(until) = fetcher { *until } else { None };
            let first = self.fetchers.iter().filter_map(alarm).filter(|at| *at <= end).min();
            self.now = first.unwrap_or(end).max(self.now);
            let Some(at) = first else { break };
            let due = |fetcher: &Fetcher| matches!(fetcher, Fetcher::Asleep(Some(until)) if *until <= at);
            let fetchers: Vec<_> = (0..self.fetchers.len()).filter(|fetcher| due(&self.fetchers[*fetcher])).collect();
            fetchers.into_iter().for_each(|fetcher| self.wake_up(fetcher));
        }
    }

    /// The rules.
    pub(super) fn check(&self) {
        let sleeps = |fetcher: &&Fetcher| matches!(fetcher, Fetcher::Asleep(_));
        let asleep = self.fetchers.iter().filter(sleeps).count();
        assert_eq!(asleep, self.state.fetchers.sleep());
        match decide(&self.state, &self.outside, self.now) {
            Decision::Sleep(until) => {
                assert!(asleep == 0 || self.state.fetchers.wake_by_themselves(until), "no thread wakes in time");
            }
            decision => assert_eq!(asleep, 0, "fetchers sleep while there is something to do: {decision:?}"),
        }
        assert!(
            self.takers.is_empty() || self.state.phase == Phase::Working && !self.state.has_something_to_take(self.now),
            "a taker waits for what is there"
        );
        let is_in_flight = |taken: &&Taken| self.state.in_flight.is_taken(&taken.claim);
        let in_flight = self.taken.iter().filter(is_in_flight).count();
        assert_eq!(self.state.in_flight.counts().begun, in_flight, "an item is in flight that no thread has");
        let is_idle = |taken: &&Taken| !taken.has_begun && self.taken.iter().any(|other| other.has_begun_beside(taken));
        let idle = self.taken.iter().filter(is_idle).filter(is_in_flight).count();
        assert!(idle == 0 || self.state.phase == Phase::Working, "it stops, and keeps items that no thread works on");
        let quarantined = self.state.in_flight.quarantined_waiting();
        assert!(quarantined <= 1, "{quarantined} quarantined wait");
    }

    /// All calls return, and all handlers end.
    pub(super) fn finish(&mut self) {
        for _ in 0..1000 {
            (0..self.fetchers.len()).for_each(|fetcher| self.returns(fetcher, true, false));
            while !self.taken.is_empty() {
                self.step(&Step::Begin(0));
                self.step(&Step::End(0));
            }
            self.check();
            if self.fetchers.iter().all(|fetcher| matches!(fetcher, Fetcher::Ended)) {
                return;
            }
        }
        panic!("a stop does not end");
    }
}
