//! The decision of a fetcher: one pure function of the worker's state and the time. Every change of its answer wakes a fetcher; see
//! [`Wake`].

use super::action::FetcherAction;
use super::begin::Begin;
use super::in_flight::ClaimName;
use super::state::{EngineState, Phase};
use crate::calls::MAX_ITEMS;
use crate::shared::{CleaningDue, Doubt};
use std::time::Instant;

/// The process's knowledge of the queue, of which all its workers have a part.
pub(super) trait Outside {
    /// Until when the queue is believed empty. `None`: it may hold something.
    fn quiet_until(&self) -> Option<Instant>;

    /// When expired items are due to be deleted, or figures to be kept. `None`: never.
    fn retention(&self) -> Option<CleaningDue>;

    /// When a schedule may be due. `None`: the queue takes none.
    fn planned_at(&self) -> Option<Instant>;

    /// How many workers of the queue run in this process.
    fn workers(&self) -> usize;

    /// From when on others may take this worker for dead, for all that is known.
    fn doubt(&self) -> Doubt;
}

/// The next thing that a fetcher does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Do(FetcherAction),
    /// Nothing, before this time or a change of the state; `None`: before a change.
    Sleep(Option<Instant>),
    /// The fetcher ends: the worker has stopped, and nothing is left.
    End,
}

/// The fetchers or takers to be woken after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    None,
    One,
    All,
}

/// The answer is the first of these that applies:
///
/// 1. The worker was given up, or has stopped and holds nothing: end.
/// 2. Others may take the worker for dead: hand back what has not begun.
/// 3. Something has waited for a handler too long: give it back.
/// 4. A handler has run for too long: mark its item.
/// 5. A planned time has come: put its item in.
/// 6. Deleting has been due for a whole interval, or figures are due, and was not the last thing that a fetcher began: do that.
/// 7. Something has ended, and no call under way holds it up ([`Overlap`](super::overlap)): settle it, and claim what there is
///    room for.
/// 8. There is room, the queue may hold something, and no call holds it up: claim.
/// 9. Deleting is due: do it.
/// 10. Sleep until the first of these can apply.
pub(super) fn decide(state: &EngineState, outside: &impl Outside, now: Instant) -> Decision {
    let is_stopping = state.phase >= Phase::Stopping;
    if state.phase == Phase::GivenUp || is_stopping && state.holds_nothing() {
        return Decision::End;
    }
    let doubt = outside.doubt();
    if state.is_in(&doubt, now) && state.has_unbegun() {
        return Decision::Do(FetcherAction::HandBack { gaps: doubt.gaps });
    }
    let doubtful_at = doubt.at.filter(|at| *at > now && !state.holds_nothing());
    let overdue_at = state.overdue_at();
    if is_reached(overdue_at, now) {
        return Decision::Do(FetcherAction::GiveBack);
    }
    let overrun_at = state.in_flight.overrun_at();
    if is_reached(overrun_at, now) {
        return Decision::Do(FetcherAction::Overrun);
    }
    let planned_at = outside.planned_at().filter(|_| !is_stopping);
    if is_reached(planned_at, now) {
        return Decision::Do(FetcherAction::Fire);
    }
    let retention = outside.retention().filter(|_| !is_stopping && !state.cleaner.is_running());
    let must_clean_at = retention.filter(|_| !state.cleaner.yields()).map(|due| due.at_latest);
    if is_reached(must_clean_at, now) {
        return Decision::Do(FetcherAction::Clean { must: true });
    }
    let room = state.room(now);
    let settle_at = state.in_flight.due_at(now);
    let settle = || Decision::Do(FetcherAction::Settle { room: if state.may_look(now) { room } else { 0 } });
    let ended = state.in_flight.due(now);
    if ended > 0 && state.held_up_until(ended, outside.workers(), now).is_none() {
        return settle();
    }
    let claim_at = claim_at(state, outside, room, now);
    let group = if is_reached(claim_at, now) { room.max(ended) } else { ended };
    let held_up_until = state.held_up_until(group, outside.workers(), now);
    if group > 0 && held_up_until.is_none() {
        return match (ended, state.is_last_look()) {
            (1.., _) => settle(),
            (_, true) => Decision::Do(FetcherAction::MakeSure { room }),
            (_, false) => Decision::Do(FetcherAction::Claim { room }),
        };
    }
    let clean_at = retention.map(|due| due.at);
    if is_reached(clean_at, now) {
        return Decision::Do(FetcherAction::Clean { must: false });
    }
    let quarantine_ends = state.quarantine_ends(now);
    let call_at = settle_at.into_iter().chain(claim_at).min().map(|at| held_up_until.map_or(at, |until| at.max(until)));
    let times = [doubtful_at, overdue_at, overrun_at, call_at, clean_at, must_clean_at, planned_at, quarantine_ends];
    Decision::Sleep(times.into_iter().flatten().min())
}

fn is_reached(at: Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| at <= now)
}

/// When to claim that many items; `None`: not before a change.
fn claim_at(state: &EngineState, outside: &impl Outside, room: usize, now: Instant) -> Option<Instant> {
    if room == 0 || state.cleans_first(outside.retention().as_ref(), now) {
        return None;
    }
    let quiet_until = if state.is_last_look() { None } else { outside.quiet_until() };
    Some(state.not_before().into_iter().chain(quiet_until).fold(now, Instant::max))
}

impl EngineState {
    /// Hands back what has not begun, if others may take the worker for dead: they may begin it, too.
    pub(super) fn hand_back_if_doubtful(&mut self, outside: &impl Outside, now: Instant) -> bool {
        let doubt = outside.doubt();
        let is_doubtful = self.phase < Phase::Stopping && self.is_in(&doubt, now);
        if is_doubtful {
            self.hand_back(doubt.gaps);
        }
        is_doubtful
    }

    /// Whether there is doubt, or was since it last handed back.
    fn is_in(&self, doubt: &Doubt, now: Instant) -> bool {
        is_reached(doubt.at, now) || doubt.gaps != self.gaps
    }

    /// Begins an item that was taken, unless others may have it by now.
    pub(super) fn begin_if_sure(&mut self, claim: &ClaimName, outside: &impl Outside, now: Instant) -> Begin {
        self.in_flight.is_reported(claim);
        self.hand_back_if_doubtful(outside, now);
        self.begin_item(claim, now)
    }

    /// The fetchers to be woken after a change: one that sleeps, if there is something to do, or something is due before any
    /// sleeper wakes by itself. The woken one decides anew; if there is more to do, it wakes the next before it begins.
    pub(super) fn fetchers_to_wake(&self, outside: &impl Outside, now: Instant) -> Wake {
        if self.fetchers.sleep() == 0 {
            return Wake::None;
        }
        match decide(self, outside, now) {
            Decision::End => Wake::All,
            Decision::Do(_) => Wake::One,
            Decision::Sleep(until) if self.fetchers.wake_by_themselves(until) => Wake::None,
            Decision::Sleep(_) => Wake::One,
        }
    }

    /// The takers to be woken after a change: one, if there is an item for it. If there are more, that one wakes the next.
    pub(super) fn takers_to_wake(&self, now: Instant) -> Wake {
        if self.takers.wait() == 0 {
            Wake::None
        } else if self.phase >= Phase::Stopping {
            Wake::All
        } else if self.has_something_to_take(now) {
            Wake::One
        } else {
            Wake::None
        }
    }

    /// Until when the calls under way hold up one for a group of this size; `None`: it may begin. The workers of a process share the
    /// number of fetchers: together they have calls side by side anyhow.
    fn held_up_until(&self, group: usize, workers: usize, now: Instant) -> Option<Instant> {
        let share = self.fetchers.running / workers;
        self.overlap.hold_up_until().filter(|_| !self.overlap.allows(group, share, now))
    }

    /// How many items a call may claim: those that handlers wait for, and those that they will begin soon.
    pub(super) fn room(&self, now: Instant) -> usize {
        if self.phase >= Phase::Stopping
            || self.quarantine(now).bars_claims()
            || (self.overlap.claiming() > 0 && self.is_cautious(now))
        {
            return 0;
        }
        let wanted = self.takers.want() + self.ahead(now);
        wanted.saturating_sub(self.in_flight.counts().ready + self.overlap.claiming()).min(MAX_ITEMS as usize)
    }
}

#[cfg(test)]
mod tests;
