//! The engine under every worker, in whatever language: claims ahead, groups settlements, keeps leases, gives back what
//! cannot be begun in time, and knows what to do when a call fails. A caller *takes* items, *begins* each, and *ends* it; none
//! of these waits for the database.
//!
//! What the engine does when something goes wrong stands in one table, `docs/worker.md`; each of its lines is a scenario
//! of the conformance suite.

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
mod prefetch;
mod reported;
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

use crate::calls::{MAX_ITEMS, check_settlement};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Action, Answer, Batch, Settlement, Verdict};
use crate::metrics::{Listed, Source};
use crate::queue::Queue;
use crate::shared::{LeaseHolder, PollWaiter};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::threads;
use notifier::Notifier;
use prefetch::Prefetch;
use shared::EngineShared;
use state::{EngineState, Phase};
use std::{
    any::Any,
    fmt,
    sync::{Arc, Weak, atomic::AtomicBool},
    time::{Duration, Instant},
};

/// What there is to take.
#[derive(Debug)]
pub enum Taken {
    /// Items, one at least. Each is to be ended.
    Items(Batch),
    /// None came in time.
    Nothing,
    /// The worker is stopping: there will be no more.
    Stopping,
}

/// A worker in flight of its queue: any number of threads take items from it, begin each, and end it. Clones are the same worker.
///
/// Its threads ("fetchers", as many as the setting `worker.fetchers` says, with a connection each) make all calls: while one is
/// under way, what ends gathers, and the next call settles all of that and claims as many items as there is room for, in
/// one round trip and one commit. So calls grow with the load by themselves, and an item that ends alone is settled at once.
///
/// What had ended but was not settled when the process died is handed out again, as is what was in flight.
#[derive(Clone)]
pub struct Engine(Arc<Owner>);

/// What the clones of a worker have in common. When the last of them is gone, nobody can end what was taken: the fetchers
/// settle what has ended, give back the rest, and end.
struct Owner(Arc<EngineShared>);

impl Engine {
    /// A worker that works on `queue`, with a handle of its own. Nothing happens before [`Engine::start`].
    #[must_use]
    pub fn new(queue: &Queue, terms: WorkerTerms) -> Self {
        let queue = queue.share();
        let pacing = queue.inner().pacing;
        *queue.inner().set_aside.lock() = Some(Vec::new());
        let prefetch = Prefetch::new(pacing.hold, pacing.ahead);
        let shared = EngineShared {
            state: Mutex::new(EngineState::new(prefetch, pacing.ahead_bytes, queue.lease(), terms.until_empty)),
            queue,
            terms,
            takers: Condvar::new(),
            fetchers: Condvar::new(),
            ending: Condvar::new(),
            notifier: Notifier::default(),
            renewals: Mutex::default(),
            panic: Mutex::default(),
            has_panicked: AtomicBool::new(false),
        };
        Self(Arc::new(Owner(Arc::new(shared))))
    }

    /// Starts the threads. Of no effect when they were started before, or the worker was stopped.
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
        match shared.queue.inner().keep(Arc::downgrade(shared) as Weak<dyn LeaseHolder>, shared.queue.lease() / 3) {
            Ok(renewals) => *shared.renewals.lock() = renewals,
            Err(error) => return Err(self.fail(error)),
        }
        // With the last fetcher the worker ends for those who look at its figures.
        let listed = Arc::new(Listed::new(&shared.queue.inner().counters, Arc::clone(shared) as Arc<dyn Source>));
        for number in 1..=shared.queue.inner().pacing.fetchers {
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

    /// Takes up to `max` items that are due, waiting up to `wait` for the first. They are leased, and stay so until they are
    /// ended, however long that takes. [`Engine::begin`] each before its work, and [`Engine::end`] it after.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when `max` is out of range; what made the worker stop, if it was a failure.
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

    /// Begins an item that was taken, when its turn has come: it may have been lost while those before it were worked on, or
    /// the worker may have been told to stop. An item that does not begin has left the hand: do not end it.
    ///
    /// Once an item of a batch has begun, a stop gives back at once those that have not. A caller that does not call this begins
    /// each item when it takes it; do either for all items of a batch.
    pub fn begin(&self, key: &str, attempt: i32) -> Begin {
        self.0.0.change().begin_item(&(key.to_owned(), attempt), Instant::now())
    }

    /// Gives back the items of a batch that was taken which have not begun, without spending an attempt: for a thread that goes
    /// on with none of them. Those that have begun, ended, or were given back before are left alone. If the worker goes on, they
    /// are due after `poll.interval_ms`, like items that handlers release.
    pub fn give_back(&self, batch: &Batch) {
        self.0.0.change().give_back(batch, self.queue().inner().poll_interval);
    }

    /// Ends items that were taken, each on the terms of its settlement. Returns at once: fetchers settle them. The answer of
    /// each is [`Answer::Ok`], or [`Answer::NotFound`] when this worker does not have it in flight: it ended before.
    ///
    /// The token of a settlement is left aside; the engine knows it. What the library cannot send (a NUL in a text, a step
    /// that is too long) is left out, and the item's error says so; an error's text is made to fit. What does not end a
    /// claim fails the item.
    pub fn end(&self, settlements: &[Settlement<'_>]) -> Vec<Answer> {
        let reported: Vec<_> = settlements.iter().map(ReportedResult::from).collect();
        self.end_as_reported(&reported)
    }

    /// As [`Engine::end`], for what comes from elsewhere.
    pub(crate) fn end_as_reported(&self, reported: &[ReportedResult<'_>]) -> Vec<Answer> {
        // Of what is not to be settled nothing is judged, nor told.
        let state = self.0.0.state.lock();
        let in_vain: Vec<_> = reported
            .iter()
            .map(|reported| state.in_flight.is_lost(&(reported.key.to_owned(), reported.attempt)))
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
        let mut end = |(reported, verdict): (&ReportedResult<'_>, Verdict)| {
            let Some(spans) = state.end(&(reported.key.to_owned(), reported.attempt), verdict, now) else {
                return Answer::NotFound;
            };
            self.queue().inner().counters.handled(spans.waited, spans.worked);
            Answer::Ok
        };
        reported.iter().zip(ends).map(&mut end).collect()
    }

    /// Records a step of an item that was taken; its claim is kept, and its lease starts anew. Waits for the database, with
    /// patience, until the worker is abandoned. Any answer but [`Answer::Ok`] means that the item is lost.
    ///
    /// # Errors
    /// As [`Queue::settle`].
    pub fn step(&self, key: &str, attempt: i32, step: &str) -> Result<Answer> {
        let claim = (key.to_owned(), attempt);
        let Some(token) = self.0.0.state.lock().in_flight.token(&claim) else { return Ok(Answer::NotFound) };
        let settlement =
            Settlement { step: Some(step), attempt, ..Settlement::control(key, Some(&token), Action::Step) };
        check_settlement(self.queue().spec(), &settlement)?;
        let asked = Instant::now();
        let (mut outcomes, _) = settling::until_known(&self.0.0, &[settlement], 0)?;
        let outcome = outcomes.remove(0);
        match outcome.answer {
            Answer::Ok => self.0.0.change().in_flight.stepped(&claim, outcome.token),
            _ => {
                let lost = self.0.0.change().in_flight.lose_taken(&claim, asked);
                self.0.0.lost(lost.as_slice());
            }
        }
        Ok(outcome.answer)
    }

    /// Whether an item that was taken was found lost: its lease ran out, or an operator took it. Work on it is in vain then.
    #[must_use]
    pub fn is_lost(&self, key: &str, attempt: i32) -> bool {
        self.0.0.state.lock().in_flight.is_lost(&(key.to_owned(), attempt))
    }

    /// Waits up to `wait` for news that whoever has handlers at work must know of: that an item in flight was found lost, or that
    /// the worker was told to stop, or has failed. They are counted; `seen` is how many the caller knows of, 0 at first, and
    /// what is given how many there are, `seen` itself when none came in time. Ask then [`Engine::is_lost`] and
    /// [`Engine::is_stopping`]. `None`: the worker was closed, and there will be no more.
    #[must_use]
    pub fn changes(&self, seen: u64, wait: Duration) -> Option<u64> {
        self.0.0.notifier.after(seen, wait)
    }

    /// Whoever waits for news learns that there will be no more.
    pub(crate) fn end_news(&self) {
        self.0.0.notifier.end();
    }

    /// Has the leases of all items in flight renewed now, and not only when a third of their time is over.
    pub fn renew_now(&self) {
        if let Some(renewals) = &*self.0.0.renewals.lock() {
            renewals.hurry();
        }
    }

    /// Whether it was told to stop, or has failed.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.0.0.is_stopping()
    }

    /// Tells the worker to stop: nothing is handed out any more, what nobody works on is given back without costing an
    /// attempt ([`Engine::begin`]), and what ends is settled. Returns at once. Takes a lock for a moment, so it is not for the inside of a
    /// signal handler.
    pub fn stop(&self) {
        self.0.0.stop();
    }

    /// Stops the worker, and waits up to `patience` until all that was taken has ended and is settled; without one, for as
    /// long as a lease of the queue, after which others have it anyway. After that it is abandoned: leases run out, and
    /// other workers take over what was in flight.
    ///
    /// # Errors
    /// What made the worker stop, if it was a failure; [`ErrorKind::TimedOut`] says what was left in flight, or that a call
    /// was under way.
    pub fn close(&self, patience: impl Into<Option<Duration>>) -> Result<()> {
        let patience = patience.into().unwrap_or_else(|| self.0.0.queue.lease());
        let closed = closing::close(&self.0.0, patience);
        self.end_news();
        closed
    }

    /// What it has done so far.
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

    /// What an observer panicked with, once: for a caller who lets it go on.
    pub(crate) fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        self.0.0.panic.lock().take()
    }

    /// Whether both are clones of one worker.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The queue it works on.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.0.queue
    }

    /// Stops for good; the error is given back.
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
    }
}
