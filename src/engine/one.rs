//! A worker in one database: all that an [`Engine`](super::Engine) does, for the items of that database.

use super::begin::Begin;
use super::figures::WorkerFigures;
use super::in_flight::{ClaimName, InFlight};
use super::notifier::Notifier;
use super::prefetch::Prefetch;
use super::reported::ReportedResult;
use super::reports::Report;
use super::shared::EngineShared;
use super::state::{EngineState, Phase};
use super::take::{Taken, check_taken};
use super::terms::WorkerTerms;
use super::{closing, fetcher, progress, settling};
use crate::calls::{check_settlement, no_progress};
use crate::error::{Error, Result};
use crate::item::{Action, Answer, Batch, Settlement, Verdict, kept_percent, kept_text};
use crate::metrics::{Listed, Source};
use crate::queue::Queue;
use crate::shared::{LeaseHolder, PollWaiter, RunningWorker};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::threads;
use std::any::Any;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Clones are the same worker.
#[derive(Clone)]
pub(super) struct OneEngine(Arc<Owner>);

/// The part that all clones of a worker share. After the last clone no caller can end an item: the fetchers settle those that
/// have ended, release the rest, and end.
struct Owner(Arc<EngineShared>);

/// The counts that a worker shares with those of the other places.
#[derive(Default)]
pub(super) struct Outward {
    /// Changes that running handlers must know of.
    pub(super) notifier: Arc<Notifier>,
    /// Items that may be taken, for threads that wait for those of any place.
    pub(super) arrivals: Option<Arc<Notifier>>,
}

impl OneEngine {
    /// A worker on `queue`, which is that of one database, with a handle of its own.
    pub(super) fn new(queue: &Queue, terms: WorkerTerms, outward: Outward) -> Self {
        let queue = queue.share();
        let pacing = queue.inner().pacing;
        *queue.inner().set_aside.lock() = Some(Vec::new());
        let prefetch = Prefetch::new(pacing.hold, pacing.ahead);
        let shared = EngineShared {
            state: Mutex::new(EngineState::new(
                InFlight::with_longest_run(pacing.max_run),
                prefetch,
                pacing.ahead_bytes,
                queue.lease(),
                terms.until_empty,
            )),
            queue,
            terms,
            takers: Condvar::new(),
            fetchers: Condvar::new(),
            ending: Condvar::new(),
            notifier: outward.notifier,
            arrivals: outward.arrivals,
            renewals: Mutex::default(),
            reports: Arc::default(),
            panic: Mutex::default(),
            has_panicked: AtomicBool::new(false),
        };
        Self(Arc::new(Owner(Arc::new(shared))))
    }

    pub(super) fn start(&self) -> Result<()> {
        let shared = &self.0.0;
        let mut state = shared.state.lock();
        if state.phase != Phase::New {
            return Ok(());
        }
        state.phase = Phase::Working;
        drop(state);
        shared.queue.inner().process.polls.watch(Arc::downgrade(shared) as Weak<dyn PollWaiter>);
        // A queue without leases has none to keep.
        match shared
            .queue
            .inner()
            .renew_leases(Arc::downgrade(shared) as Weak<dyn LeaseHolder>, shared.queue.lease() / 3)
        {
            Ok(renewals) => *shared.renewals.lock() = renewals,
            Err(error) => return Err(self.fail(error)),
        }
        // It is in the registry from its first call on.
        shared.queue.inner().presence.begins();
        shared.queue.inner().begin_lifeline();
        // The figures list the worker until its last fetcher ends.
        let queue = shared.queue.inner();
        let figures = Listed::new(&queue.counters, Arc::clone(shared) as Arc<dyn Source>);
        let listed = Arc::new((figures, RunningWorker::new(&queue.process)));
        for number in 1..=queue.pacing.fetchers {
            shared.state.lock().fetchers.running += 1;
            let (fetcher, listed) = (Arc::clone(shared), Arc::clone(&listed));
            let run = move || fetcher::run(&fetcher, listed);
            if let Err(error) = threads::start(&format!("readpast-fetcher-{number}"), run) {
                shared.change().fetchers.running -= 1;
                return Err(self.fail(error));
            }
        }
        Ok(())
    }

    pub(super) fn take(&self, max: u32, wait: Duration) -> Result<Taken> {
        check_taken(max)?;
        let deadline = Instant::now().checked_add(wait);
        let (shared, max) = (&*self.0.0, max as usize);
        let mut state = shared.change();
        if state.phase == Phase::New {
            MutexGuard::unlocked(&mut state.state, || self.start())?;
        }
        loop {
            if state.phase >= Phase::Stopping {
                return state.failure.clone().map_or(Ok(Taken::Stopping), Err);
            }
            let now = Instant::now();
            state.hand_back_if_doubtful(shared, now);
            if let Some(batch) = state.take(max, now) {
                return Ok(Taken::Items(batch));
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(Taken::Nothing);
            }
            state.takers.begin_to_wait(max);
            shared.wake_fetchers(&state, now);
            match deadline {
                Some(deadline) => drop(shared.takers.wait_until(&mut state.state, deadline)),
                None => shared.takers.wait(&mut state.state),
            }
            state.takers.end_wait(max);
        }
    }

    /// An event loop wants so many items.
    #[cfg(unix)]
    pub(super) fn want(&self, max: usize) {
        self.0.0.change().takers.loop_wants(max);
    }

    #[cfg(unix)]
    pub(super) fn notifier(&self) -> &Notifier {
        &self.0.0.notifier
    }

    pub(super) fn begin(&self, key: &str, attempt: i32) -> Begin {
        let (shared, claim, now) = (&*self.0.0, (key.to_owned(), attempt), Instant::now());
        let mut state = shared.change();
        state.begin_if_sure(&claim, shared, now)
    }

    pub(super) fn give_back(&self, batch: &Batch) {
        self.0.0.change().give_back(batch, self.queue().inner().poll_interval);
    }

    pub(super) fn end_as_reported(&self, reported: &[ReportedResult<'_>]) -> Vec<Answer> {
        // An item that is not settled needs no check and no log line.
        let state = self.0.0.state.lock();
        let in_vain: Vec<_> = reported
            .iter()
            .map(|reported| state.in_flight.ends_in_vain(&(reported.key.to_owned(), reported.attempt)))
            .collect();
        drop(state);
        let floor = self.0.0.floor();
        let ends: Vec<_> = reported
            .iter()
            .zip(in_vain)
            .map(
                |(reported, in_vain)| {
                    if in_vain { Verdict::release() } else { self.0.0.sendable(reported).released_for(floor) }
                },
            )
            .collect();
        let now = Instant::now();
        let mut state = self.0.0.change();
        if state.phase == Phase::GivenUp {
            // Nobody settles any more.
            return vec![Answer::NotFound; reported.len()];
        }
        let mut end = |(reported, verdict): (&ReportedResult<'_>, Verdict)| {
            let Some(spans) = state.end(&(reported.key.to_owned(), reported.attempt), verdict, now) else {
                return Answer::NotFound;
            };
            self.queue().inner().counters.handled(spans.waited, spans.worked);
            Answer::Ok
        };
        reported.iter().zip(ends).map(&mut end).collect()
    }

    pub(super) fn step(&self, key: &str, attempt: i32, step: &str) -> Result<Answer> {
        let claim = (key.to_owned(), attempt);
        let Some(token) = self.begin_step(&claim) else { return Ok(Answer::NotFound) };
        let settlement =
            Settlement { step: Some(step), attempt, ..Settlement::control(key, Some(&token), Action::Step) };
        let asked = Instant::now();
        let result = check_settlement(self.queue().spec(), &settlement)
            .and_then(|()| settling::until_known(&self.0.0, &[settlement], 0, None));
        let outcome = result.map(|(mut outcomes, _)| outcomes.remove(0));
        let token = outcome.as_ref().ok().filter(|outcome| outcome.answer == Answer::Ok).map(|it| it.token.clone());
        let mut state = self.0.0.change();
        let is_lost = outcome.as_ref().is_ok_and(|outcome| outcome.answer != Answer::Ok);
        let lost = is_lost.then(|| state.in_flight.lose_taken(&claim, asked)).flatten();
        state.stepped(&claim, token);
        drop(state);
        self.0.0.lost(lost.as_slice());
        Ok(outcome?.answer)
    }

    pub(super) fn progress(&self, key: &str, attempt: i32, percent: Option<i32>, text: Option<&str>) -> Result<()> {
        let shared = &self.0.0;
        if !shared.queue.spec().progress {
            return Err(no_progress(&shared.queue.inner().terms));
        }
        let claim = (key.to_owned(), attempt);
        let (percent, text) = (kept_percent(percent), text.and_then(kept_text));
        let claimed = shared.state.lock().in_flight.claimed_at(&claim).filter(|_| percent.is_some() || text.is_some());
        claimed.map_or(Ok(()), |claimed| progress::report(shared, claim, Report { claimed, percent, text }))
    }

    fn begin_step(&self, claim: &ClaimName) -> Option<String> {
        let mut state = self.0.0.state.lock();
        (state.phase != Phase::GivenUp).then(|| state.in_flight.begin_step(claim)).flatten()
    }

    pub(super) fn is_lost(&self, key: &str, attempt: i32) -> bool {
        let state = self.0.0.state.lock();
        state.phase == Phase::GivenUp || state.in_flight.is_lost(&(key.to_owned(), attempt))
    }

    pub(super) fn changes(&self, seen: u64, wait: Duration) -> Option<u64> {
        self.0.0.notifier.after(seen, wait)
    }

    pub(super) fn end_changes(&self) {
        self.0.0.notifier.end();
    }

    pub(super) fn renew_now(&self) {
        if let Some(renewals) = &*self.0.0.renewals.lock() {
            renewals.hurry();
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.0.0.is_stopping()
    }

    pub(super) fn stop(&self) {
        self.0.0.stop();
    }

    pub(super) fn abandon(&self) {
        self.0.0.abandon();
        fetcher::settle_left(&self.0.0);
    }

    pub(super) fn close(&self, patience: Duration) -> Result<()> {
        closing::close(&self.0.0, patience)
    }

    /// The failure that stopped it.
    pub(super) fn failure(&self) -> Option<Error> {
        self.0.0.state.lock().failure.clone()
    }

    /// A thread begins to wait for items of any place, `max` of them.
    pub(super) fn begin_to_wait(&self, max: usize) {
        let shared = &self.0.0;
        let mut state = shared.change();
        state.takers.begin_to_wait(max);
        shared.wake_fetchers(&state, Instant::now());
    }

    pub(super) fn end_wait(&self, max: usize) {
        self.0.0.change().takers.end_wait(max);
    }

    pub(super) fn figures(&self) -> WorkerFigures {
        let state = self.0.0.state.lock();
        let counts = state.in_flight.counts_by_work();
        WorkerFigures {
            ready: counts.ready as u64,
            begun: counts.begun as u64,
            ended: counts.ended as u64,
            call_us_p50: state.durations.quantile(0.5),
            call_us_p99: state.durations.quantile(0.99),
            ..state.tallies
        }
    }

    pub(super) fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        self.0.0.panic.lock().take()
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.0.0.queue
    }

    fn fail(&self, error: Error) -> Error {
        self.0.0.fail(error.clone());
        error
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.stop();
        self.0.change().in_flight.forget_taken();
        self.0.reports.end();
    }
}
