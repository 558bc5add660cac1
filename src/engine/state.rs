//! The state of a worker, and its changes at each event. Plain data: it locks nothing, calls nothing, and asks no clock.

mod quarantine;

use super::action::FetcherAction;
use super::begin::Begin;
use super::figures::{Durations, WorkerFigures};
use super::in_flight::{ClaimName, EndedItem, InFlight, Spans};
use super::overlap::{Call, Overlap};
use super::prefetch::Prefetch;
use crate::calls::MAX_ITEMS;
use crate::error::Error;
use crate::item::{Answer, Batch, Outcome, Verdict};
use crate::shared::CleaningDue;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct EngineState {
    pub(super) in_flight: InFlight,
    pub(super) prefetch: Prefetch,
    pub(super) phase: Phase,
    /// The failure that made the worker stop, if one did.
    pub(super) failure: Option<Error>,
    pub(super) takers: Takers,
    pub(super) fetchers: Fetchers,
    pub(super) cleaner: CleanerState,
    /// Fetchers that put in items of schedules.
    firing: usize,
    /// One has ended since the last look began, which may have missed its item.
    has_fired: bool,
    /// The calls under way that settle or claim.
    pub(super) overlap: Overlap,
    pub(super) tallies: WorkerFigures,
    pub(super) durations: Durations,
    ending: Ending,
    /// The most bytes of items that wait for a handler.
    ahead_bytes: usize,
    /// The recent size of an item in bytes.
    item_bytes: usize,
    /// The length of a lease, as the server granted the last ones.
    lease: Duration,
    /// Until when the queue may hold more items of dead workers.
    cautious_until: Option<Instant>,
    /// The earliest next look at the queue: the last one failed.
    not_before: Option<Instant>,
    /// The times of doubt after which it has handed back.
    pub(super) gaps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Not begun.
    New,
    /// Claims and settles.
    Working,
    /// Hands out no more items: releases those that have not begun, and settles those that end.
    Stopping,
    /// No thread waits any more for the items in flight.
    GivenUp,
}

/// Whether the worker stops by itself, and how far it is with that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It does not.
    WhenStopped,
    /// It does when the queue is empty.
    WhenEmpty,
    /// The queue was empty: expired items are deleted before the next look, so that none is left.
    Cleaning,
}

/// The state of deleting expired items and keeping figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CleanerState {
    #[default]
    Rests,
    /// A fetcher deletes; `worked`: another has begun something else since.
    Runs { worked: bool },
    /// Deleting was the last action of a fetcher: other work comes first now.
    Yields,
}

impl CleanerState {
    pub(super) fn is_running(self) -> bool {
        matches!(self, Self::Runs { .. })
    }

    pub(super) fn yields(self) -> bool {
        self == Self::Yields
    }

    fn worked(&mut self) {
        *self = if self.is_running() { Self::Runs { worked: true } } else { Self::Rests };
    }

    fn done(&mut self) {
        *self = if *self == (Self::Runs { worked: true }) { Self::Rests } else { Self::Yields };
    }
}

/// The threads that wait for items.
#[derive(Default)]
pub(super) struct Takers {
    count: usize,
    wanted: usize,
    /// How many items an event loop wants, which waits without a thread.
    wanted_by_loop: usize,
}

impl Takers {
    pub(super) fn begin_to_wait(&mut self, max: usize) {
        self.count += 1;
        self.wanted += max;
    }

    pub(super) fn end_wait(&mut self, max: usize) {
        self.count -= 1;
        self.wanted -= max;
    }

    #[cfg(unix)]
    pub(super) fn loop_wants(&mut self, max: usize) {
        self.wanted_by_loop = max;
    }

    pub(super) fn wait(&self) -> usize {
        self.count + usize::from(self.wanted_by_loop > 0)
    }

    /// How many items they want together.
    pub(super) fn want(&self) -> usize {
        self.wanted + self.wanted_by_loop
    }
}

/// The threads that make calls.
#[derive(Default)]
pub(super) struct Fetchers {
    pub(super) running: usize,
    /// When each sleeper wakes by itself.
    sleeping: Vec<Option<Instant>>,
}

impl Fetchers {
    pub(super) fn sleep(&self) -> usize {
        self.sleeping.len()
    }

    pub(super) fn fall_asleep(&mut self, until: Option<Instant>) {
        self.sleeping.push(until);
    }

    /// A fetcher that slept until then is awake.
    pub(super) fn wake_up(&mut self, until: Option<Instant>) {
        if let Some(place) = self.sleeping.iter().position(|other| *other == until) {
            self.sleeping.swap_remove(place);
        }
    }

    /// Whether a sleeper wakes by then without being woken.
    pub(super) fn wake_by_themselves(&self, until: Option<Instant>) -> bool {
        until.is_none_or(|until| self.sleeping.iter().flatten().any(|at| *at <= until))
    }
}

/// The call that a fetcher is to make.
pub(super) enum FetcherWork {
    Settle { ended: Arc<Vec<EndedItem>>, call: Call },
    Claim { call: Call, makes_sure: bool },
    Clean { must: bool },
    Fire,
    Overrun { items: Vec<Batch> },
}

impl EngineState {
    pub(super) fn new(
        in_flight: InFlight,
        prefetch: Prefetch,
        ahead_bytes: usize,
        lease: Duration,
        until_empty: bool,
    ) -> Self {
        Self {
            in_flight,
            prefetch,
            phase: Phase::New,
            failure: None,
            takers: Takers::default(),
            fetchers: Fetchers::default(),
            cleaner: CleanerState::default(),
            firing: 0,
            has_fired: false,
            overlap: Overlap::default(),
            tallies: WorkerFigures::default(),
            durations: Durations::default(),
            ending: if until_empty { Ending::WhenEmpty } else { Ending::WhenStopped },
            ahead_bytes,
            item_bytes: 0,
            lease,
            cautious_until: None,
            not_before: None,
            gaps: 0,
        }
    }

    /// Whether nothing is in flight, and no call may bring an item.
    pub(super) fn holds_nothing(&self) -> bool {
        self.in_flight.is_empty() && self.overlap.claiming() == 0
    }

    pub(super) fn has_something_to_take(&self, now: Instant) -> bool {
        self.in_flight.is_ready() || self.may_begin_quarantined(now)
    }

    /// When an item has waited for a handler too long. A quarantined one may wait until another has proven harmless.
    pub(super) fn overdue_at(&self) -> Option<Instant> {
        self.in_flight.overdue_at(self.prefetch.hold(), self.quarantine_hold())
    }

    /// How many items to claim ahead of the handlers' requests.
    pub(super) fn ahead(&self, now: Instant) -> usize {
        self.prefetch.ahead(now).min(self.ahead_bytes / self.item_bytes.max(1))
    }

    pub(super) fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    /// Whether a failed look does not delay the next.
    pub(super) fn may_look(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|at| at <= now)
    }

    /// Whether a worker that stops when the queue is empty stops after the next look, if that finds nothing.
    pub(super) fn is_last_look(&self) -> bool {
        self.ending != Ending::WhenStopped && self.holds_nothing() && self.firing == 0
    }

    /// Notes the end of a call that put in items of schedules.
    pub(super) fn fired(&mut self) {
        self.firing -= 1;
        self.has_fired = true;
    }

    /// Whether deleting expired items comes before the next look.
    pub(super) fn cleans_first(&self, retention: Option<&CleaningDue>, now: Instant) -> bool {
        self.ending == Ending::Cleaning
            && (self.cleaner.is_running() || retention.is_some_and(|due| due.is_pending(now)))
    }

    /// Hands out items; a quarantined one alone, and only when no other waits.
    pub(super) fn take(&mut self, max: usize, now: Instant) -> Option<Batch> {
        let batch = match self.in_flight.take(max, now) {
            None if self.overlap.claiming() == 0 => self.in_flight.take_quarantined(self.proof(), now),
            batch => batch,
        };
        if batch.is_some() {
            self.prefetch.busy(now);
        }
        batch
    }

    /// Releases all that has not begun, after so many times of doubt.
    pub(super) fn hand_back(&mut self, gaps: u64) {
        self.gaps = gaps;
        self.in_flight.give_back_all();
        self.rest();
    }

    /// Whether an item waits for its handler, taken or not.
    pub(super) fn has_unbegun(&self) -> bool {
        self.in_flight.counts_by_work().ready > 0
    }

    /// Begins an item that was taken, if it may.
    pub(super) fn begin_item(&mut self, claim: &ClaimName, now: Instant) -> Begin {
        if self.phase >= Phase::Stopping {
            self.in_flight.begin_none(claim);
            return Begin::Stopping;
        }
        if self.in_flight.begin(claim, now) {
            return Begin::Ok;
        }
        self.rest();
        Begin::Lost
    }

    /// Releases the items of `batch` that have not begun. While the worker goes on they are due after `floor`, like those that
    /// handlers release: the reason may last. A stop makes them due at once.
    pub(super) fn give_back(&mut self, batch: &Batch, floor: Duration) {
        let floor = (self.phase < Phase::Stopping).then_some(floor);
        self.in_flight.give_back(batch, &Verdict::release().released_for(floor));
        self.rest();
    }

    /// Ends a taken item, and returns how long it was in flight. `None`: it is not there.
    pub(super) fn end(&mut self, claim: &ClaimName, verdict: Verdict, now: Instant) -> Option<Spans> {
        let spans = self.in_flight.end(claim, verdict, now);
        if spans.is_some() {
            self.prefetch.ended(1, now);
            if self.phase >= Phase::Stopping {
                self.in_flight.hurry();
            }
            self.rest();
        }
        spans
    }

    /// Begins an action. `None`: it needs no call.
    pub(super) fn begin(&mut self, action: FetcherAction, now: Instant) -> Option<FetcherWork> {
        match action {
            FetcherAction::GiveBack => {
                self.in_flight.give_back_overdue(self.prefetch.hold(), self.quarantine_hold(), now);
                None
            }
            FetcherAction::HandBack { gaps } => {
                self.hand_back(gaps);
                None
            }
            FetcherAction::Overrun => Some(FetcherWork::Overrun { items: self.in_flight.overrun(now) }),
            FetcherAction::Clean { must } => {
                self.cleaner = CleanerState::Runs { worked: false };
                Some(FetcherWork::Clean { must })
            }
            FetcherAction::Fire => {
                self.firing += 1;
                Some(FetcherWork::Fire)
            }
            FetcherAction::Settle { room } => {
                let ended = self.in_flight.take_ended(MAX_ITEMS as usize, now);
                Some(FetcherWork::Settle { ended, call: self.begin_call(room, now) })
            }
            FetcherAction::Claim { room } | FetcherAction::MakeSure { room } => {
                if self.ending == Ending::Cleaning {
                    self.ending = Ending::WhenEmpty;
                }
                let makes_sure = matches!(action, FetcherAction::MakeSure { .. });
                Some(FetcherWork::Claim { call: self.begin_call(room, now), makes_sure })
            }
        }
    }

    fn begin_call(&mut self, room: usize, now: Instant) -> Call {
        self.has_fired = false;
        self.cleaner.worked();
        self.overlap.begin(room, now)
    }

    /// Adds the items of a call, which settled so many others. Returns the items that are lost by that: handlers have them by an
    /// earlier claim.
    pub(super) fn claimed(&mut self, batch: Batch, call: Call, settled: usize, now: Instant) -> Vec<Batch> {
        self.overlap.end(call, settled + batch.len(), now);
        if batch.is_empty() {
            self.rest();
            return Vec::new();
        }
        self.tallies.claimed += batch.len() as u64;
        self.lease = batch.lease().unwrap_or(self.lease);
        self.item_bytes = (batch.bytes() / batch.len()).max(self.item_bytes / 2);
        self.prefetch.busy(now);
        if batch.is_quarantined() {
            self.cautious_until = Some(now + self.proof());
            if self.quarantine(now).bars_claims() {
                // Two fetchers have claimed at once.
                self.in_flight.decline(&batch);
                return Vec::new();
            }
        }
        let lost = self.in_flight.put(batch, now);
        if self.phase >= Phase::Stopping {
            // It came too late.
            self.in_flight.give_back_all();
        }
        lost
    }

    /// Notes a successful look at the queue. Returns whether a worker that stops when the queue is empty is to stop: the look
    /// found nothing, and nothing is in flight.
    pub(super) fn looked(
        &mut self,
        found: usize,
        took: Duration,
        retention: Option<&CleaningDue>,
        now: Instant,
    ) -> bool {
        self.not_before = None;
        self.tallies.calls += 1;
        self.durations.add(took);
        if found > 0 || self.has_fired || !self.is_last_look() {
            return false;
        }
        self.ending = Ending::Cleaning;
        !self.cleans_first(retention, now)
    }

    /// Notes a look that failed with a transient error.
    pub(super) fn look_again_at(&mut self, at: Instant) {
        self.not_before = Some(at);
    }

    /// Notes the outcomes of a settle.
    pub(super) fn settled(&mut self, all: &Arc<Vec<EndedItem>>, outcomes: &[Option<Outcome>], again: Vec<EndedItem>) {
        for (ended, outcome) in all.iter().zip(outcomes) {
            self.tally(ended, outcome.as_ref());
        }
        self.in_flight.settled(all, again);
        if self.phase >= Phase::Stopping {
            self.in_flight.hurry();
        }
        self.rest();
    }

    fn tally(&mut self, ended: &EndedItem, outcome: Option<&Outcome>) {
        match outcome.map(|outcome| outcome.answer) {
            Some(Answer::Ok) if ended.verdict().action() == crate::item::Action::Release => self.tallies.released += 1,
            Some(Answer::Ok) => self.tallies.settled += 1,
            Some(_) => self.tallies.lost += 1,
            None => {}
        }
    }

    /// Notes that a fetcher has deleted expired items.
    pub(super) fn cleaned(&mut self) {
        self.cleaner.done();
        // New items may have come meanwhile.
        if self.ending == Ending::Cleaning {
            self.ending = Ending::WhenEmpty;
        }
    }

    /// Stops: hands out no more items, and makes all ended ones due. `false`: it was stopping already.
    pub(super) fn stop(&mut self) -> bool {
        if self.phase >= Phase::Stopping {
            return false;
        }
        self.phase = Phase::Stopping;
        self.in_flight.give_back_all();
        self.in_flight.hurry();
        true
    }

    /// Ends the recording of a step, with the token that it has set.
    pub(super) fn stepped(&mut self, claim: &ClaimName, token: Option<String>) {
        self.in_flight.stepped(claim, token);
        self.rest();
    }

    /// Releases abandoned items.
    pub(super) fn give_back_abandoned(&mut self) {
        self.in_flight.give_back_abandoned();
        self.rest();
    }

    /// Ends the measuring of handlers when nothing is in flight.
    fn rest(&mut self) {
        if self.holds_nothing() {
            self.prefetch.idle();
        }
    }
}
