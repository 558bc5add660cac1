//! The engine under every worker, in every language: it claims ahead, groups settlements, renews leases, releases items that no
//! handler begins in time, and decides what follows a failed call. A caller *takes* items, *begins* each, and *ends* it; none of
//! these waits for the database.
//!
//! The table in `docs/worker.md` says how the engine answers each failure; each line is a scenario of the conformance suite.

mod action;
mod begin;
mod closing;
mod decide;
mod event;
mod fetcher;
mod figures;
mod in_flight;
pub(crate) mod log_lines;
mod notifier;
mod overlap;
mod prefetch;
mod progress;
mod reported;
mod reports;
mod settling;
mod shared;
mod source;
mod state;
mod terms;

pub use self::{
    begin::Begin,
    event::Event,
    figures::WorkerFigures,
    terms::{Observer, WorkerTerms},
};
pub(crate) use reported::ReportedResult;

use crate::calls::{MAX_ITEMS, check_settlement, no_progress};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Action, Answer, Batch, Settlement, Verdict, kept_percent, kept_text};
use crate::metrics::{Listed, Source};
use crate::queue::Queue;
use crate::shared::{LeaseHolder, PollWaiter, RunningWorker};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::threads;
use in_flight::{ClaimName, InFlight};
use notifier::Notifier;
use prefetch::Prefetch;
use reports::Report;
use shared::EngineShared;
use state::{EngineState, Phase};
use std::{
    any::Any,
    fmt,
    sync::{Arc, Weak, atomic::AtomicBool},
    time::{Duration, Instant},
};

/// The answer of a take.
#[derive(Debug)]
pub enum Taken {
    /// Items, one at least. Each is to be ended.
    Items(Batch),
    /// None came in time.
    Nothing,
    /// The worker is stopping: no more items follow.
    Stopping,
}

/// A worker on a queue: any number of threads take items from it, begin each, and end it. Clones are the same worker.
///
/// Its fetchers (threads, as many as the setting `worker.fetchers`) make all calls, one at a time unless two do more. While a call is
/// under way, ended items gather; the next call settles them all and claims as many items as there is room for, in one round trip
/// and one commit. So calls grow with the load by themselves, and an item that ends alone is settled at once.
///
/// When the process dies, the queue hands out again all items in flight, those that had ended but were not settled among them.
#[derive(Clone)]
pub struct Engine(Arc<Owner>);

/// The part that all clones of a worker share. After the last clone no caller can end an item: the fetchers settle those that
/// have ended, release the rest, and end.
struct Owner(Arc<EngineShared>);

impl Engine {
    /// A worker on `queue`, with a handle of its own. It does nothing before [`Engine::start`].
    #[must_use]
    pub fn new(queue: &Queue, terms: WorkerTerms) -> Self {
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
            notifier: Notifier::default(),
            renewals: Mutex::default(),
            reports: Arc::default(),
            panic: Mutex::default(),
            has_panicked: AtomicBool::new(false),
        };
        Self(Arc::new(Owner(Arc::new(shared))))
    }

    /// Starts the threads. Has no effect on a worker that was started before or has stopped.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] when the system has no thread left; the worker is stopped then.
    pub fn start(&self) -> Result<()> {
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

    /// Takes up to `max` items that are due, waiting up to `wait` for the first. The engine renews their leases until they end,
    /// however long that takes. Call [`Engine::begin`] for each before its work, and [`Engine::end`] after it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when `max` is out of range; the failure that stopped the worker, if one did.
    pub fn take(&self, max: u32, wait: Duration) -> Result<Taken> {
        if !(1..=MAX_ITEMS).contains(&max) {
            let message = format!("the number of items to take is {max}; it must be from 1 to {MAX_ITEMS}");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
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

    /// Begins an item that was taken, when its turn has come: the worker may have lost it meanwhile, or may be stopping. An item
    /// that does not begin is no longer in flight: do not end it.
    ///
    /// Once an item of a batch has begun, a stop releases at once those that have not. A caller that does not call this begins
    /// each item when it takes it; do either for all items of a batch.
    pub fn begin(&self, key: &str, attempt: i32) -> Begin {
        self.0.0.change().begin_item(&(key.to_owned(), attempt), Instant::now())
    }

    /// Releases the items of a batch that have not begun, without spending an attempt, for a thread that gives up the batch.
    /// Items that have begun, ended or been released stay as they are. If the worker goes on, the items are due after
    /// `poll.interval_ms`, like items that handlers release.
    pub fn give_back(&self, batch: &Batch) {
        self.0.0.change().give_back(batch, self.queue().inner().poll_interval);
    }

    /// Ends items that were taken, each on the terms of its settlement. Returns at once: fetchers settle them. The answer of each
    /// is [`Answer::Ok`], or [`Answer::NotFound`] when this worker does not have it in flight: it ended before.
    ///
    /// The engine ignores the token of a settlement, which it knows. It leaves out values that it cannot send (a NUL in a text, a
    /// step that is too long) and says so in the item's error; it makes an error's text fit. An action that does not end a claim
    /// fails the item.
    pub fn end(&self, settlements: &[Settlement<'_>]) -> Vec<Answer> {
        let reported: Vec<_> = settlements.iter().map(ReportedResult::from).collect();
        self.end_as_reported(&reported)
    }

    /// As [`Engine::end`], for results from another language.
    pub(crate) fn end_as_reported(&self, reported: &[ReportedResult<'_>]) -> Vec<Answer> {
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

    /// Records a step of an item that was taken; the worker keeps the claim, and its lease starts anew. Waits for the database
    /// until the worker is abandoned. Any answer but [`Answer::Ok`] means that the item is lost.
    ///
    /// # Errors
    /// As [`Queue::settle`].
    pub fn step(&self, key: &str, attempt: i32, step: &str) -> Result<Answer> {
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

    /// Reports how far a taken item is: a percentage from 0 to 100, a line of text, or both, each in place of the one before. Returns
    /// at once. A thread writes the newest report of each item, those of all items of the worker by one call, at most one in a second.
    /// A report may be lost: when the item ends right after it, or the database refuses it.
    ///
    /// A percentage above 100 counts as 100, one below 0 as none; a text is cut after 200 characters (units of UTF-16). Without both,
    /// nothing is reported. The report of an item that is not in flight, or is lost, has no effect.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the queue's description has no `progress`; [`ErrorKind::Unavailable`] when the system has no
    /// thread left.
    pub fn progress(&self, key: &str, attempt: i32, percent: Option<i32>, text: Option<&str>) -> Result<()> {
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

    /// Whether a taken item is lost: its lease ran out, an operator took it, or the worker was abandoned or given up. Further work
    /// on it is in vain.
    #[must_use]
    pub fn is_lost(&self, key: &str, attempt: i32) -> bool {
        let state = self.0.0.state.lock();
        state.phase == Phase::GivenUp || state.in_flight.is_lost(&(key.to_owned(), attempt))
    }

    /// Waits up to `wait` for a change that running handlers must know of: an item in flight was lost, or the worker is to stop,
    /// or has failed. Changes are counted: `seen` is how many the caller knows of, 0 at first; the result is how many there are,
    /// `seen` itself when none came in time. Then ask [`Engine::is_lost`] and [`Engine::is_stopping`]. `None`: the worker was
    /// closed, and no more changes follow.
    #[must_use]
    pub fn changes(&self, seen: u64, wait: Duration) -> Option<u64> {
        self.0.0.notifier.after(seen, wait)
    }

    /// Ends all waits in [`Engine::changes`].
    pub(crate) fn end_changes(&self) {
        self.0.0.notifier.end();
    }

    /// Renews the leases of all items in flight now, without waiting for a third of their time.
    pub fn renew_now(&self) {
        if let Some(renewals) = &*self.0.0.renewals.lock() {
            renewals.hurry();
        }
    }

    /// Whether the worker is to stop, or has failed.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.0.0.is_stopping()
    }

    /// Stops the worker: it hands out no more items, releases those that have not begun without spending an attempt
    /// ([`Engine::begin`]), and settles those that end. Returns at once. Takes a lock for a moment, so it is not for the inside
    /// of a signal handler.
    pub fn stop(&self) {
        self.0.0.stop();
    }

    /// Stops the worker, and gives back at once what handlers have not ended, without spending an attempt: for a program that is
    /// about to end and waits for its handlers no longer. A handler that works on such an item has lost it, and its end is of no
    /// effect. Returns at once; [`Engine::close`] waits until the database knows. After a close that gave the worker up it makes the
    /// call itself, once, and waits five seconds for it at most: no thread is left that would.
    pub fn abandon(&self) {
        self.0.0.abandon();
        fetcher::settle_left(&self.0.0);
    }

    /// Stops the worker, and waits up to `patience` until all taken items have ended and are settled; without one, for as long as
    /// a lease of the queue, after which others get the items anyway. Then it gives the worker up: leases run out, and other
    /// workers claim the items in flight.
    ///
    /// # Errors
    /// The failure that stopped the worker, if one did; [`ErrorKind::TimedOut`] says how many items were in flight, or that a
    /// call was under way.
    pub fn close(&self, patience: impl Into<Option<Duration>>) -> Result<()> {
        let patience = patience.into().unwrap_or_else(|| self.0.0.queue.lease());
        let closed = closing::close(&self.0.0, patience);
        self.end_changes();
        closed
    }

    /// The worker's figures so far.
    #[must_use]
    pub fn figures(&self) -> WorkerFigures {
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

    /// The payload of an observer's panic, once: for a caller that resumes it.
    pub(crate) fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        self.0.0.panic.lock().take()
    }

    /// Whether both are clones of one worker.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The worker's queue.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.0.queue
    }

    /// Stops for good, and returns the error.
    fn fail(&self, error: Error) -> Error {
        self.0.0.fail(error.clone());
        error
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("queue", self.queue()).field("figures", &self.figures()).finish_non_exhaustive()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.stop();
        self.0.change().in_flight.forget_taken();
        self.0.reports.end();
    }
}
