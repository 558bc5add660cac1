//! A thread that makes calls: it does as [`decide`] answers, and sleeps in between.

use super::action::FetcherAction;
use super::decide::{Decision, Outside, decide};
use super::event::Event;
use super::in_flight::EndedItem;
use super::overlap::Call;
use super::settling;
use super::shared::EngineShared;
use super::state::{FetcherWork, Phase};
use crate::calls::MAX_ITEMS;
use crate::error::ErrorKind;
use crate::item::Batch;
use crate::sync::MutexGuard;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The pause after a failed look at the queue.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the last try of a worker that was given up may take.
const LAST_TRY: Duration = Duration::from_secs(5);

/// Runs until the worker has stopped and nothing is left to settle. The figures list the worker as long as a fetcher holds
/// `listed`.
pub(super) fn run<Listed>(shared: &Arc<EngineShared>, listed: Listed) {
    let worked = panic::catch_unwind(AssertUnwindSafe(|| {
        while let Some(work) = next(shared) {
            match work {
                FetcherWork::Claim { call, makes_sure } => claim(shared, call, makes_sure),
                FetcherWork::Settle { ended, call } => settle(shared, &ended, call),
                FetcherWork::Clean { must } => clean(shared, must),
                FetcherWork::Fire => fire(shared),
                FetcherWork::Overrun { items } => shared.overran(&items),
            }
        }
    }));
    if let Err(payload) = worked {
        shared.panicked(payload);
    }
    // The figures forget the worker before a caller can learn that it has ended.
    drop(listed);
    shared.change().fetchers.running -= 1;
}

/// Waits for something to do. `None`: the worker has ended.
fn next(shared: &EngineShared) -> Option<FetcherWork> {
    loop {
        let mut state = shared.state.lock();
        let now = Instant::now();
        match decide(&state, shared, now) {
            Decision::End => return None,
            Decision::Do(action) if !is_its_turn(shared, action) => {}
            Decision::Do(action) => {
                if let Some(work) = state.begin(action, now) {
                    // There may be more to do, or less time for the sleepers to sleep.
                    shared.wake_fetchers(&state, now);
                    return Some(work);
                }
            }
            Decision::Sleep(until) => {
                // A quarantined item may have proven harmless, which frees the takers.
                shared.wake_takers(&state, now);
                let queue = shared.queue.inner();
                // An idle worker is still there. A call under way reports it by itself, and this counts as one: no worker with little to
                // do needs a second connection.
                let is_idle = state.overlap.is_idle();
                let report_at = queue.report_due().filter(|_| is_idle && state.phase < Phase::Stopping);
                if is_idle && (report_at.is_some_and(|at| at <= now) || queue.process.polls.lacks_poller()) {
                    let call = state.overlap.begin(0, now);
                    MutexGuard::unlocked(&mut state, || {
                        queue.report_idle_worker();
                        queue.process.polls.start_poller();
                    });
                    state.overlap.end(call, 0, Instant::now());
                    continue;
                }
                let until = until.into_iter().chain(report_at).min();
                state.fetchers.fall_asleep(until);
                match until {
                    Some(until) => drop(shared.fetchers.wait_until(&mut state, until)),
                    None => shared.fetchers.wait(&mut state),
                }
                state.fetchers.wake_up(until);
            }
        }
    }
}

/// All workers of the process on this queue share the turns to look. If another has taken this one meanwhile, the fetcher decides anew.
fn is_its_turn(shared: &EngineShared, action: FetcherAction) -> bool {
    match action {
        FetcherAction::Claim { .. } => shared.queue.inner().turn(),
        FetcherAction::Fire => shared.queue.inner().turn_to_fire(),
        FetcherAction::GiveBack
        | FetcherAction::HandBack { .. }
        | FetcherAction::Overrun
        | FetcherAction::Settle { .. }
        | FetcherAction::MakeSure { .. }
        | FetcherAction::Clean { .. } => true,
    }
}

/// Claims without settling.
fn claim(shared: &EngineShared, call: Call, makes_sure: bool) {
    let begun = Instant::now();
    let result = shared.queue.inner().claim(u32::try_from(call.room).unwrap_or(MAX_ITEMS), Duration::ZERO, makes_sure);
    let batch = result.as_ref().ok().cloned().unwrap_or_default();
    shared.report_set_aside();
    deliver(shared, batch, call, 0);
    let error = match result {
        Ok(batch) => {
            let retention = shared.retention();
            let mut state = shared.change();
            if state.looked(batch.len(), begun.elapsed(), retention.as_ref(), Instant::now()) {
                drop(state);
                shared.stop();
            }
            return;
        }
        Err(error) => error,
    };
    if error.kind() == ErrorKind::Interrupted {
        shared.stop();
    } else if shared.is_stopping() && error.is_retryable() {
        // A stopping worker does not need the claim.
    } else if settling::may_pass(&error) && !shared.terms.until_empty {
        shared.change().look_again_at(Instant::now() + PAUSE);
        shared.trouble("claim", &error);
    } else {
        shared.fail(error);
    }
}

/// Deletes some expired items, and keeps figures, unless another worker of the process has just begun to.
fn clean(shared: &EngineShared, must: bool) {
    let result = shared.queue.inner().clean(must);
    shared.change().cleaned();
    if let Err(error) = result {
        shared.trouble("delete expired items", &error);
    }
}

/// Puts in the items of schedules whose time has come.
fn fire(shared: &EngineShared) {
    let result = shared.queue.inner().fire_schedules();
    shared.change().fired();
    if let Err(error) = result {
        shared.trouble("put in the items of schedules", &error);
    }
}

/// Puts the claimed items of a call in flight, which settled so many others. Observers learn of them before a handler can get them.
fn deliver(shared: &EngineShared, batch: Batch, call: Call, settled: usize) {
    let (is_none, lease) = (batch.is_empty(), batch.lease());
    if !is_none {
        shared.report(&Event::Claimed { batch: &batch });
    }
    let (mut state, now) = (shared.change(), Instant::now());
    // It concerns what was claimed before.
    state.hand_back_if_doubtful(shared, now);
    let lost = state.claimed(batch, call, settled, now);
    drop(state);
    shared.queue.inner().counters.loses(lost.len());
    shared.lost(&lost);
    if !is_none && let Some(renewals) = &*shared.renewals.lock() {
        renewals.wake(lease);
    }
}

/// Settles what is left of a worker that a close gave up: no fetcher will. It tries once, and not for long: the program is about to
/// end. After an observer's panic the leases run out.
pub(super) fn settle_left(shared: &EngineShared) {
    let mut state = shared.change();
    if state.phase != Phase::GivenUp || shared.has_panicked.load(Ordering::Relaxed) {
        return;
    }
    let ended = state.in_flight.take_ended(usize::MAX, Instant::now());
    drop(state);
    if !ended.is_empty() {
        let settled = settling::settle(shared, &ended, 0, Some(Instant::now() + LAST_TRY));
        shared.change().settled(&ended, &settled.outcomes, settled.again);
    }
}

/// Settles, and claims in the same call.
fn settle(shared: &EngineShared, all: &Arc<Vec<EndedItem>>, call: Call) {
    let settled = settling::settle(shared, all, u32::try_from(call.room).unwrap_or(MAX_ITEMS), None);
    shared.report_set_aside();
    deliver(shared, settled.batch, call, all.len());
    shared.change().settled(all, &settled.outcomes, settled.again);
}
