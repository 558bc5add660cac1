//! A thread that makes calls: each settles all that has ended, and claims as many items as there is room for.

use super::hand::Ended;
use super::{Event, Phase, Shared, State, settling};
use crate::error::ErrorKind;
use crate::item::{Action, Answer, Batch, Outcome};
use crate::queue::MAX_ITEMS;
use crate::sync::MutexGuard;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between a look at the queue that failed and the next one.
const PAUSE: Duration = Duration::from_secs(1);

/// What one call is to do.
enum Round {
    Work {
        ended: Arc<Vec<Ended>>,
        room: usize,
    },
    /// Delete what is over.
    Tidy,
}

/// Until the worker has stopped and nothing is left to settle. A panic, which only an observer can cause, ends the worker.
/// `listed` keeps the worker among those whose figures are shown; with the last lane's it has left them.
pub(super) fn run<Listed>(shared: &Arc<Shared>, listed: Listed) {
    let worked = panic::catch_unwind(AssertUnwindSafe(|| {
        while let Some(round) = next(shared) {
            match round {
                Round::Work { ended, room } if ended.is_empty() => look(shared, room),
                Round::Work { ended, room } => settle(shared, &ended, room),
                Round::Tidy => tidy(shared),
            }
        }
    }));
    if let Err(payload) = worked {
        shared.panicked(payload);
    }
    // Before anybody can learn that the worker has ended.
    drop(listed);
    shared.state.lock().running -= 1;
    shared.ending.notify_all();
}

/// Waits for something to do. `None`: there is nothing more.
fn next(shared: &Shared) -> Option<Round> {
    let mut state = shared.state.lock();
    loop {
        let now = Instant::now();
        let is_stopping = state.phase >= Phase::Stopping;
        let is_done = is_stopping && state.hand.is_empty() && state.claiming == 0;
        if state.phase == Phase::Abandoned || is_done {
            return None;
        }
        give_back_overdue(&mut state, now);
        if state.wanted > 0 && state.may_begin_suspect(shared.proof, now) {
            shared.takers.notify_one();
        }
        // After one bite it is the turn of other work, if there is any.
        if !is_stopping && !state.has_tidied && !state.is_tidying && shared.queue.must_retain() {
            return Some(begin_to_tidy(&mut state));
        }
        let ended = state.hand.take_ended(MAX_ITEMS as usize, now);
        let room = if is_stopping { 0 } else { room(&mut state, shared.proof, now) };
        let unproven = state.hand.unproven_until(shared.proof);
        let mut until = state.hand.next_try().into_iter().chain(unproven.filter(|at| *at > now)).min();
        if !ended.is_empty() {
            state.claiming += room;
            state.has_tidied = false;
            return Some(Round::Work { ended, room });
        }
        if room > 0 && !is_to_clear(shared, &state) {
            match turn(shared, &state, now) {
                Ok(()) => {
                    state.claiming += room;
                    state.has_tidied = false;
                    state.is_clearing = false;
                    return Some(Round::Work { ended, room });
                }
                Err(at) => until = Some(until.map_or(at, |until| until.min(at))),
            }
        }
        if state.hand.is_empty() && state.claiming == 0 {
            state.pace.idle();
        }
        if !is_stopping && !state.is_tidying {
            match shared.queue.turn_to_retain() {
                Some(Ok(())) => return Some(begin_to_tidy(&mut state)),
                Some(Err(at)) => until = Some(until.map_or(at, |until| until.min(at))),
                None => {}
            }
        }
        let overdue = state.hand.oldest().map(|claimed| claimed + state.pace.hold());
        match until.into_iter().chain(overdue).min() {
            Some(until) => drop(shared.lanes.wait_until(&mut state, until)),
            None => shared.lanes.wait(&mut state),
        }
    }
}

/// What has waited for a handler too long goes back to the queue, where others may have time for it.
fn give_back_overdue(state: &mut State, now: Instant) {
    let hold = state.pace.hold();
    if state.hand.has_waited(hold, now) {
        // Strictly before, so that the ones it was found by are among them.
        state.hand.give_back(now.checked_sub(hold).map(|since| since + Duration::from_nanos(1)));
    }
}

/// How many items a call may claim: what handlers wait for, and what they will begin soon.
fn room(state: &mut State, proof: Duration, now: Instant) -> usize {
    if state.hand.has_suspect(proof, now) || (state.claiming > 0 && state.is_cautious(now)) {
        return 0;
    }
    let ahead = state.pace.ahead(now);
    let wanted = state.wanted + ahead;
    wanted.saturating_sub(state.hand.counts().ready + state.claiming).min(MAX_ITEMS as usize)
}

/// Whether to look at the queue now; else until when not to.
fn turn(shared: &Shared, state: &State, now: Instant) -> Result<(), Instant> {
    match state.not_before {
        Some(at) if at > now => Err(at),
        // Whether the queue is empty, and all is done, is not to be told by what others have seen.
        _ if shared.terms.until_empty && state.hand.is_empty() && state.claiming == 0 => Ok(()),
        _ => shared.queue.turn(),
    }
}

/// Claims without settling.
fn look(shared: &Shared, room: usize) {
    let begun = Instant::now();
    let result = shared.queue.claim(u32::try_from(room).unwrap_or(MAX_ITEMS), Duration::ZERO);
    let batch = result.as_ref().ok().cloned().unwrap_or_default();
    deliver(shared, batch, room);
    let mut state = shared.state.lock();
    match result {
        Ok(batch) => {
            state.not_before = None;
            state.tallies.calls += 1;
            state.durations.add(begun.elapsed());
            if batch.is_empty() {
                drained(shared, state);
            }
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => shared.stop(state),
        Err(error) if state.phase >= Phase::Stopping && error.is_retryable() => {}
        Err(error) if settling::may_pass(&error) && !shared.terms.until_empty => {
            state.not_before = Some(Instant::now() + PAUSE);
            drop(state);
            shared.trouble("claim", &error);
        }
        Err(error) => {
            drop(state);
            shared.fail(error);
        }
    }
}

/// The queue was found empty.
fn drained(shared: &Shared, mut state: MutexGuard<'_, State>) {
    if shared.terms.until_empty && state.hand.is_empty() && state.claiming == 0 {
        state.is_clearing = true;
        if !is_to_clear(shared, &state) {
            shared.stop(state);
        }
    }
}

/// Whether what is over is to be deleted before the next look: a worker that stops by itself has found the queue empty, and
/// leaves nothing behind.
fn is_to_clear(shared: &Shared, state: &State) -> bool {
    state.is_clearing && (state.is_tidying || shared.queue.is_retention_pending())
}

/// The caller has the turn.
fn begin_to_tidy(state: &mut State) -> Round {
    state.has_tidied = true;
    state.is_tidying = true;
    Round::Tidy
}

/// Deletes some of what is over.
fn tidy(shared: &Shared) {
    let result = shared.queue.retain_some();
    let mut state = shared.state.lock();
    state.is_tidying = false;
    // Something may have come meanwhile.
    state.is_clearing = false;
    shared.lanes.notify_all();
    drop(state);
    if let Err(error) = result {
        shared.trouble("delete what is over", &error);
    }
}

/// Hands in what a call has claimed that had room for so much; what was claimed is told before a handler can have it.
fn deliver(shared: &Shared, batch: Batch, room: usize) {
    let count = batch.len();
    if count > 0 {
        shared.tell(&Event::Claimed { batch: &batch });
    }
    let mut state = shared.state.lock();
    state.claiming -= room;
    if count == 0 {
        return;
    }
    state.tallies.claimed += count as u64;
    let now = Instant::now();
    state.pace.busy(now);
    if batch.is_alone() {
        state.cautious_until = Some(now + shared.proof);
        if state.hand.has_suspect(shared.proof, now) {
            // Two lanes have claimed at once.
            state.hand.decline(&batch);
            shared.lanes.notify_one();
            return;
        }
    }
    let lost = state.hand.put(batch, now);
    shared.queue.ledger().loses(lost.len());
    if state.phase >= Phase::Stopping {
        // It came too late.
        state.hand.give_back(None);
    } else if state.wanted <= count {
        shared.takers.notify_all();
    } else {
        (0..count).for_each(|_| {
            shared.takers.notify_one();
        });
    }
    shared.lost(state, &lost);
    if let Some(keeping) = &*shared.keeping.lock() {
        keeping.wake();
    }
}

/// Settles, and claims with it.
fn settle(shared: &Shared, all: &Arc<Vec<Ended>>, room: usize) {
    let settled = settling::settle(shared, all, u32::try_from(room).unwrap_or(MAX_ITEMS));
    deliver(shared, settled.batch, room);
    let mut state = shared.state.lock();
    for (ended, outcome) in all.iter().zip(&settled.outcomes) {
        tally(&mut state, ended, outcome.as_ref());
    }
    state.hand.settled(all, settled.again);
    if state.phase >= Phase::Stopping && state.hand.is_empty() {
        // That was the last of it.
        shared.lanes.notify_all();
        shared.ending.notify_all();
    }
}

fn tally(state: &mut State, ended: &Ended, outcome: Option<&Outcome>) {
    match outcome.map(|outcome| outcome.answer) {
        Some(Answer::Ok) if ended.verdict().action() == Action::Release => state.tallies.released += 1,
        Some(Answer::Ok) => state.tallies.settled += 1,
        Some(_) => state.tallies.lost += 1,
        None => {}
    }
}
