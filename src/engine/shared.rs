//! A worker's state under its lock, and the threads that wait for changes of it: fetchers, takers, and waiters for its end.

use super::decide::{Outside, Wake};
use super::event::Event;
use super::in_flight::ClaimName;
use super::log_lines;
use super::notifier::Notifier;
use super::reported::{LeftOut, ReportedResult};
use super::reports::Reports;
use super::state::{EngineState, Phase};
use super::terms::WorkerTerms;
use crate::calls::{RefusedItem, Sessions};
use crate::error::{Error, ErrorKind};
use crate::item::{Action, Batch, Verdict};
use crate::queue::Queue;
use crate::shared::{CleaningDue, Doubt, LeaseHolder, PollWaiter, Renewals};
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::any::Any;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(super) struct EngineShared {
    /// A handle of its own: an interrupt of the original handle ends this worker; an interrupt of this one ends nothing else.
    pub(super) queue: Queue,
    pub(super) terms: WorkerTerms,
    /// Only [`EngineShared::change`] changes it, but for counters.
    pub(super) state: Mutex<EngineState>,
    /// Threads that wait for items.
    pub(super) takers: Condvar,
    pub(super) fetchers: Condvar,
    /// Threads that wait for an end of the worker.
    pub(super) ending: Condvar,
    pub(super) notifier: Arc<Notifier>,
    /// Counts items that came, for threads that wait for those of several databases.
    pub(super) arrivals: Option<Arc<Notifier>>,
    /// Set once, when the engine begins.
    pub(super) renewals: Mutex<Option<Renewals>>,
    /// How far the handlers are.
    pub(super) reports: Arc<Reports>,
    /// The payload of an observer's panic.
    pub(super) panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// The observer has panicked, and is not called again.
    pub(super) has_panicked: AtomicBool,
}

/// The locked state. Its drop wakes the threads that the change concerns, so that no change can forget them.
pub(super) struct Change<'a> {
    shared: &'a EngineShared,
    pub(super) state: MutexGuard<'a, EngineState>,
}

impl Deref for Change<'_> {
    type Target = EngineState;

    fn deref(&self) -> &EngineState {
        &self.state
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut EngineState {
        &mut self.state
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.shared.wake(&self.state, Instant::now());
    }
}

impl EngineShared {
    pub(super) fn change(&self) -> Change<'_> {
        Change { shared: self, state: self.state.lock() }
    }

    /// Wakes the threads that the state concerns.
    pub(super) fn wake(&self, state: &EngineState, now: Instant) {
        self.wake_fetchers(state, now);
        self.wake_takers(state, now);
        if state.phase >= Phase::Stopping {
            self.ending.notify_all();
        }
    }

    pub(super) fn wake_fetchers(&self, state: &EngineState, now: Instant) {
        let whom = match state.fetchers_to_wake(self, now) {
            // It starts the poller: this thread may hold locks.
            Wake::None if self.queue.inner().process.polls.lacks_poller() => Wake::One,
            whom => whom,
        };
        wake(&self.fetchers, whom);
    }

    pub(super) fn wake_takers(&self, state: &EngineState, now: Instant) {
        let whom = state.takers_to_wake(now);
        if whom != Wake::None {
            self.notifier.waker().wake();
        }
        match &self.arrivals {
            None => wake(&self.takers, whom),
            Some(arrivals) if whom != Wake::None => arrivals.notify(),
            Some(_) => {}
        }
    }

    /// The sendable part of a result.
    pub(super) fn sendable(&self, reported: &ReportedResult<'_>) -> Verdict {
        let (verdict, left_out) = reported.sendable(self.queue.spec(), self.queue.inner().terms.most_item_bytes);
        if let Some(LeftOut { what, why }) = left_out {
            self.refused(reported.key, reported.attempt, verdict.action(), &what, &why);
        }
        verdict
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.state.lock().phase >= Phase::Stopping
    }

    /// The least delay of an item that a handler releases. Items that a stopping worker releases are due for others at once.
    pub(super) fn floor(&self) -> Option<Duration> {
        (!self.is_stopping()).then(|| self.queue.inner().poll_interval)
    }

    /// Logs the event, and calls the observer, with no lock held. An observer's panic ends the worker, on any thread; the
    /// observer is not called again.
    pub(super) fn report(&self, event: &Event<'_>) {
        if let Some(line) = event.line() {
            let line = format!("queue {}: {line}", self.queue.name());
            log_lines::Fields::from(event).log(&self.queue, log::Level::Warn, &line);
        }
        let Some(observer) = &self.terms.observer else { return };
        if self.has_panicked.load(Ordering::Relaxed) {
            return;
        }
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| observer(event))) {
            self.panicked(payload);
        }
    }

    /// Reports a refused value of a result.
    pub(super) fn refused(&self, key: &str, attempt: i32, action: Action, left_out: &str, error: &Error) {
        self.state.lock().tallies.refused += 1;
        self.report(&Event::Refused { key, attempt, action, left_out, error });
    }

    /// Reports items whose table refused a call of this worker.
    pub(super) fn report_set_aside(&self) {
        let kept = self.queue.inner().set_aside.lock().as_mut().map(mem::take);
        for item in kept.into_iter().flatten() {
            let (line, key) = (item.to_string(), item.key.as_deref());
            let RefusedItem { times, by_recovery, ref reason, .. } = item;
            self.report(&Event::SetAside { key, times, by_recovery, reason, line: &line });
        }
    }

    pub(super) fn trouble(&self, doing: &str, error: &Error) {
        self.state.lock().tallies.troubles += 1;
        self.report(&Event::Trouble { doing, error });
    }

    /// Reports items that this worker has lost.
    pub(super) fn lost(&self, items: &[Batch]) {
        if items.is_empty() {
            return;
        }
        self.state.lock().tallies.lost += items.len() as u64;
        for item in items.iter().flat_map(Batch::iter) {
            self.notifier.notify();
            self.report(&Event::Lost { key: item.key(), attempt: item.attempt(), token: item.token() });
        }
    }

    /// Logs items whose handlers have run for too long, and lets those learn of it.
    pub(super) fn overran(&self, items: &[Batch]) {
        let most = self.queue.inner().pacing.max_run.unwrap_or_default().as_millis();
        for item in items.iter().flat_map(Batch::iter) {
            self.notifier.notify();
            let (name, key, attempt) = (self.queue.name(), item.key(), item.attempt());
            let line = format!(
                "queue {name}: item {key}, attempt {attempt} is being worked on for more than {most} ms (worker.max_run_ms): its handler \
                 is cancelled, and its lease is not renewed"
            );
            log_lines::Fields { key: Some(key), attempt: Some(attempt), ..log_lines::Fields::default() }.log(
                &self.queue,
                log::Level::Warn,
                &line,
            );
        }
    }

    pub(super) fn fail(&self, error: Error) {
        self.state.lock().failure.get_or_insert(error);
        self.stop();
    }

    /// An observer has panicked, so the program's knowledge of the items is uncertain; the leases run out.
    pub(super) fn panicked(&self, payload: Box<dyn Any + Send>) {
        self.has_panicked.store(true, Ordering::Relaxed);
        self.panic.lock().get_or_insert(payload);
        self.fail(Error::new(ErrorKind::Protocol, "an observer of the worker panicked"));
        self.change().phase = Phase::GivenUp;
    }

    /// Stops, and gives back what handlers have not ended. Observers learn of it before it is settled.
    pub(super) fn abandon(&self) {
        self.stop();
        let abandoned = self.change().in_flight.abandon_taken();
        for item in abandoned.iter().flat_map(Batch::iter) {
            self.notifier.notify();
            self.report(&Event::Abandoned { key: item.key(), attempt: item.attempt() });
        }
        self.change().give_back_abandoned();
    }

    pub(super) fn stop(&self) {
        if self.change().stop() {
            self.notifier.notify();
            // The interrupt ends the pauses between tries of a claim.
            self.queue.interrupt();
        }
    }
}

fn wake(waiting: &Condvar, whom: Wake) {
    match whom {
        Wake::None => {}
        Wake::One => waiting.notify_one(),
        Wake::All => waiting.notify_all(),
    }
}

impl Outside for EngineShared {
    fn quiet_until(&self) -> Option<Instant> {
        self.queue.inner().quiet_until()
    }

    fn retention(&self) -> Option<CleaningDue> {
        self.queue.inner().cleaning_due()
    }

    fn planned_at(&self) -> Option<Instant> {
        self.queue.inner().planned_at()
    }

    fn workers(&self) -> usize {
        self.queue.inner().process.workers()
    }

    fn doubt(&self) -> Doubt {
        self.queue.inner().lifeline.doubt()
    }
}

impl PollWaiter for EngineShared {
    fn woken(&self) {
        match self.queue.inner().called_off() {
            Some(error) if error.kind() == ErrorKind::Interrupted => self.stop(),
            Some(error) if !self.is_stopping() => self.fail(error),
            _ => drop(self.change()),
        }
    }
}

impl LeaseHolder for EngineShared {
    fn held(&self) -> Vec<ClaimName> {
        let state = self.state.lock();
        if state.phase == Phase::GivenUp { Vec::new() } else { state.in_flight.claims() }
    }

    fn lost(&self, claims: &[ClaimName], asked: Instant) -> usize {
        let mut state = self.change();
        let lost: Vec<_> = claims.iter().flat_map(|claim| state.in_flight.lose(claim, asked)).collect();
        drop(state);
        Self::lost(self, &lost);
        lost.len()
    }
}
