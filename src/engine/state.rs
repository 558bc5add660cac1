//! The state of a worker, and what each event makes of it. Plain data: it locks nothing, calls nothing, and asks no clock.

use super::action::Action;
use super::begin::Begin;
use super::figures::{Durations, Figures};
use super::hand::{Claim, Ended, Hand, Spans};
use super::pace::Pace;
use crate::calls::MAX_ITEMS;
use crate::error::Error;
use crate::item::{Answer, Batch, Outcome, Verdict};
use crate::shared::CleaningDue;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct State {
    pub(super) hand: Hand,
    pub(super) pace: Pace,
    pub(super) phase: Phase,
    /// The failure that made the worker stop, if one did.
    pub(super) failure: Option<Error>,
    pub(super) takers: Takers,
    pub(super) lanes: Lanes,
    pub(super) cleaner: Cleaner,
    /// How many items the calls under way may bring.
    pub(super) claiming: usize,
    pub(super) tallies: Figures,
    pub(super) durations: Durations,
    ending: Ending,
    /// The most bytes of items that wait for a handler.
    ahead_bytes: usize,
    /// How many bytes an item lately had.
    item_bytes: usize,
    /// How long a lease lasts, as the server granted the last ones.
    lease: Duration,
    /// Until when the queue may hold more of what came back from a dead worker.
    cautious_until: Option<Instant>,
    /// No look at the queue before: the last one failed.
    not_before: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Not begun.
    New,
    /// Claims and settles.
    Working,
    /// Hands out nothing more: gives back what nobody works on, and settles what ends.
    Stopping,
    /// Nobody waits any more for what is still in hand.
    GivenUp,
}

/// Whether the worker stops by itself, and how far it is with that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It does not.
    WhenStopped,
    /// It does when the queue is empty.
    WhenEmpty,
    /// The queue was found empty: what is over is deleted before the next look, since it leaves nothing behind.
    Clearing,
}

/// Items that came back from a dead worker, and may have been its death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspicion {
    /// None is in hand.
    None,
    /// One waits until all others in hand are begun or settled.
    Draining,
    /// One is begun, and held to be the cause until then.
    Proving(Instant),
}

impl Suspicion {
    /// A claim counts as an attempt: should the suspect end the process, what is claimed meanwhile would have spent one that
    /// nobody has begun, again and again.
    pub(super) fn bars_claims(self) -> bool {
        self != Self::None
    }
}

/// Deleting what is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Cleaner {
    #[default]
    Rests,
    /// A lane deletes; whether another has begun something else since.
    Runs { worked: bool },
    /// Deleting was the last thing that a lane began: other work comes first now.
    Yields,
}

impl Cleaner {
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

    pub(super) fn wait(&self) -> usize {
        self.count
    }

    /// How many items they want together.
    pub(super) fn want(&self) -> usize {
        self.wanted
    }
}

/// The threads that make calls.
#[derive(Default)]
pub(super) struct Lanes {
    pub(super) running: usize,
    /// When each of those that sleep wakes by itself.
    sleeping: Vec<Option<Instant>>,
}

impl Lanes {
    pub(super) fn sleep(&self) -> usize {
        self.sleeping.len()
    }

    pub(super) fn fall_asleep(&mut self, until: Option<Instant>) {
        self.sleeping.push(until);
    }

    /// One of those that fell asleep until then is awake.
    pub(super) fn wake_up(&mut self, until: Option<Instant>) {
        if let Some(place) = self.sleeping.iter().position(|other| *other == until) {
            self.sleeping.swap_remove(place);
        }
    }

    /// Whether one of those that sleep wakes by then without being woken.
    pub(super) fn wake_by_themselves(&self, until: Option<Instant>) -> bool {
        until.is_none_or(|until| self.sleeping.iter().flatten().any(|at| *at <= until))
    }
}

/// The call that a lane is to make.
pub(super) enum Work {
    Settle { ended: Arc<Vec<Ended>>, room: usize },
    Claim { room: usize, makes_sure: bool },
    Clean,
}

impl State {
    pub(super) fn new(pace: Pace, ahead_bytes: usize, lease: Duration, until_empty: bool) -> Self {
        Self {
            hand: Hand::default(),
            pace,
            phase: Phase::New,
            failure: None,
            takers: Takers::default(),
            lanes: Lanes::default(),
            cleaner: Cleaner::default(),
            claiming: 0,
            tallies: Figures::default(),
            durations: Durations::default(),
            ending: if until_empty { Ending::WhenEmpty } else { Ending::WhenStopped },
            ahead_bytes,
            item_bytes: 0,
            lease,
            cautious_until: None,
            not_before: None,
        }
    }

    /// Nothing is in hand, and no call may bring something.
    pub(super) fn holds_nothing(&self) -> bool {
        self.hand.is_empty() && self.claiming == 0
    }

    pub(super) fn suspicion(&self, now: Instant) -> Suspicion {
        match self.hand.unproven_until(self.proof()) {
            Some(at) if at > now => Suspicion::Proving(at),
            _ if self.hand.suspect_waits() => Suspicion::Draining,
            _ => Suspicion::None,
        }
    }

    /// When the passing of time ends what holds up claims and takers.
    pub(super) fn suspicion_ends(&self, now: Instant) -> Option<Instant> {
        let proven = match self.suspicion(now) {
            Suspicion::Proving(at) => Some(at),
            _ => None,
        };
        let cautious = self.cautious_until.filter(|until| *until > now && self.claiming > 0);
        proven.into_iter().chain(cautious).min()
    }

    /// How long a suspect is worked on before the next of them is begun.
    fn proof(&self) -> Duration {
        self.lease / 3
    }

    /// Whether one lane is to claim at a time: two could bring one suspect each, and what is given back is no suspect any more,
    /// though nobody has begun it. A dead worker's items come back together, and nobody knows what a worker finds that begins.
    pub(super) fn is_cautious(&self, now: Instant) -> bool {
        self.tallies.claimed == 0 || self.cautious_until.is_some_and(|until| until > now)
    }

    fn may_begin_suspect(&self, now: Instant) -> bool {
        self.claiming == 0 && self.hand.may_begin_suspect(self.proof(), now)
    }

    pub(super) fn has_something_to_take(&self, now: Instant) -> bool {
        self.hand.is_ready() || self.may_begin_suspect(now)
    }

    /// When something has waited for a handler too long. A suspect may wait until one that was begun before it has proven itself.
    pub(super) fn overdue_at(&self) -> Option<Instant> {
        self.hand.overdue_at(self.pace.hold(), self.suspects_hold())
    }

    fn suspects_hold(&self) -> Duration {
        self.pace.hold().max(self.proof() * 2)
    }

    /// How many items there should be in hand that no handler has asked for yet.
    pub(super) fn ahead(&self, now: Instant) -> usize {
        self.pace.ahead(now).min(self.ahead_bytes / self.item_bytes.max(1))
    }

    pub(super) fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    /// Whether no failed look holds up the next.
    pub(super) fn may_look(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|at| at <= now)
    }

    /// Whether the next look is the one that a worker which stops by itself stops after, if it finds nothing.
    pub(super) fn is_last_look(&self) -> bool {
        self.ending != Ending::WhenStopped && self.holds_nothing()
    }

    /// Whether deleting what is over comes before the next look.
    pub(super) fn clears_first(&self, retention: Option<&CleaningDue>, now: Instant) -> bool {
        self.ending == Ending::Clearing
            && (self.cleaner.is_running() || retention.is_some_and(|due| due.is_pending(now)))
    }

    /// Hands out what a handler can begin: of the suspects one, and only when nothing else is there.
    pub(super) fn take(&mut self, max: usize, now: Instant) -> Option<Batch> {
        let batch = match self.hand.take(max, now) {
            None if self.claiming == 0 => self.hand.take_suspect(self.proof(), now),
            batch => batch,
        };
        if batch.is_some() {
            self.pace.busy(now);
        }
        batch
    }

    /// Begins an item that was taken, if it may.
    pub(super) fn begin_item(&mut self, claim: &Claim, now: Instant) -> Begin {
        if self.phase >= Phase::Stopping {
            self.hand.begin_none(claim);
            return Begin::Stopping;
        }
        if self.hand.begin(claim, now) {
            return Begin::Ok;
        }
        self.rest();
        Begin::Lost
    }

    /// Gives back the items of `batch` that have not begun. While the worker goes on they are due after `floor`, like those that
    /// handlers release: the reason may last. A stop gives them to others at once.
    pub(super) fn give_back(&mut self, batch: &Batch, floor: Duration) {
        let floor = (self.phase < Phase::Stopping).then_some(floor);
        self.hand.give_back(batch, &Verdict::release().released_for(floor));
        self.rest();
    }

    /// Ends an item that was taken, and gives how long it was in hand. `None`: it is not there.
    pub(super) fn end(&mut self, claim: &Claim, verdict: Verdict, now: Instant) -> Option<Spans> {
        let spans = self.hand.end(claim, verdict, now);
        if spans.is_some() {
            self.pace.ended(1, now);
            if self.phase >= Phase::Stopping {
                self.hand.hurry();
            }
            self.rest();
        }
        spans
    }

    /// A lane begins what was decided. `None` takes no call.
    pub(super) fn begin(&mut self, action: Action, now: Instant) -> Option<Work> {
        match action {
            Action::GiveBack => {
                self.hand.give_back_overdue(self.pace.hold(), self.suspects_hold(), now);
                return None;
            }
            Action::Clean { .. } => {
                self.cleaner = Cleaner::Runs { worked: false };
                return Some(Work::Clean);
            }
            Action::Settle { room } | Action::Claim { room } | Action::MakeSure { room } => {
                self.claiming += room;
                self.cleaner.worked();
            }
        }
        Some(match action {
            Action::Settle { room } => Work::Settle { ended: self.hand.take_ended(MAX_ITEMS as usize, now), room },
            Action::Claim { room } | Action::MakeSure { room } => {
                if self.ending == Ending::Clearing {
                    self.ending = Ending::WhenEmpty;
                }
                Work::Claim { room, makes_sure: matches!(action, Action::MakeSure { .. }) }
            }
            Action::GiveBack | Action::Clean { .. } => return None,
        })
    }

    /// A call that had `room` has brought this. Gives what is lost by that: items that handlers have by an earlier claim.
    pub(super) fn claimed(&mut self, batch: Batch, room: usize, now: Instant) -> Vec<Batch> {
        self.claiming -= room;
        if batch.is_empty() {
            self.rest();
            return Vec::new();
        }
        self.tallies.claimed += batch.len() as u64;
        self.lease = batch.lease().unwrap_or(self.lease);
        self.item_bytes = (batch.bytes() / batch.len()).max(self.item_bytes / 2);
        self.pace.busy(now);
        if batch.is_alone() {
            self.cautious_until = Some(now + self.proof());
            if self.suspicion(now).bars_claims() {
                // Two lanes have claimed at once.
                self.hand.decline(&batch);
                return Vec::new();
            }
        }
        let lost = self.hand.put(batch, now);
        if self.phase >= Phase::Stopping {
            // It came too late.
            self.hand.give_back_all();
        }
        lost
    }

    /// A look at the queue has succeeded. Whether a worker that stops by itself is to stop: it found nothing, and holds nothing.
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
        if found > 0 || !self.is_last_look() {
            return false;
        }
        self.ending = Ending::Clearing;
        !self.clears_first(retention, now)
    }

    /// A look has failed in a way that may pass.
    pub(super) fn look_again_at(&mut self, at: Instant) {
        self.not_before = Some(at);
    }

    /// A call has settled what could be settled.
    pub(super) fn settled(&mut self, all: &Arc<Vec<Ended>>, outcomes: &[Option<Outcome>], again: Vec<Ended>) {
        for (ended, outcome) in all.iter().zip(outcomes) {
            self.tally(ended, outcome.as_ref());
        }
        self.hand.settled(all, again);
        if self.phase >= Phase::Stopping {
            self.hand.hurry();
        }
        self.rest();
    }

    fn tally(&mut self, ended: &Ended, outcome: Option<&Outcome>) {
        match outcome.map(|outcome| outcome.answer) {
            Some(Answer::Ok) if ended.verdict().action() == crate::item::Action::Release => self.tallies.released += 1,
            Some(Answer::Ok) => self.tallies.settled += 1,
            Some(_) => self.tallies.lost += 1,
            None => {}
        }
    }

    /// A lane has deleted some of what is over.
    pub(super) fn cleaned(&mut self) {
        self.cleaner.done();
        // Something may have come meanwhile.
        if self.ending == Ending::Clearing {
            self.ending = Ending::WhenEmpty;
        }
    }

    /// Nothing more is handed out; all that has ended is due. `false`: it was stopping already.
    pub(super) fn stop(&mut self) -> bool {
        if self.phase >= Phase::Stopping {
            return false;
        }
        self.phase = Phase::Stopping;
        self.hand.give_back_all();
        self.hand.hurry();
        true
    }

    /// Gives back what handlers of a stopped worker have not ended, and returns it.
    pub(super) fn abandon(&mut self) -> Vec<Batch> {
        let abandoned = self.hand.abandon_taken();
        self.rest();
        abandoned
    }

    /// With nothing in hand, what follows says nothing about how fast handlers are.
    fn rest(&mut self) {
        if self.holds_nothing() {
            self.pace.idle();
        }
    }
}
