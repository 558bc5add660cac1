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
mod figures;
mod hand;
mod lane;
mod news;
pub(crate) mod note;
mod pace;
mod said;
mod settling;
mod shared;
mod source;
mod state;
mod terms;

pub use self::{
    begin::Begin,
    event::Event,
    figures::Figures,
    terms::{Observer, Terms},
};
pub(crate) use said::Said;

use crate::calls::{MAX_ITEMS, check_settlement};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Action, Answer, Batch, Settlement, Verdict};
use crate::metrics::{Listed, Source};
use crate::queue::Queue;
use crate::shared::{LeaseHolder, Watcher};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::threads;
use news::News;
use pace::Pace;
use shared::Shared;
use state::{Phase, State};
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

/// A worker in hand of its queue: any number of threads take items from it, begin each, and end it. Clones are the same worker.
///
/// Its threads ("lanes", as many as the setting `worker.lanes` says, with a connection each) make all calls: while one is
/// under way, what ends gathers, and the next call settles all of that and claims as many items as there is room for, in
/// one round trip and one commit. So calls grow with the load by themselves, and an item that ends alone is settled at once.
///
/// What had ended but was not settled when the process died is handed out again, as is what was in hand.
#[derive(Clone)]
pub struct Engine(Arc<Owner>);

/// What the clones of a worker have in common. When the last of them is gone, nobody can end what was taken: the lanes
/// settle what has ended, give back the rest, and end.
struct Owner(Arc<Shared>);

impl Engine {
    /// A worker that works on `queue`, with a handle of its own. Nothing happens before [`Engine::start`].
    #[must_use]
    pub fn new(queue: &Queue, terms: Terms) -> Self {
        let queue = queue.share();
        let pacing = queue.inner().pacing;
        *queue.inner().set_aside.lock() = Some(Vec::new());
        let pace = Pace::new(pacing.hold, pacing.ahead);
        let shared = Shared {
            state: Mutex::new(State::new(pace, pacing.ahead_bytes, queue.lease(), terms.until_empty)),
            queue,
            terms,
            takers: Condvar::new(),
            lanes: Condvar::new(),
            ending: Condvar::new(),
            news: News::default(),
            keeping: Mutex::default(),
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
        shared.queue.inner().process.polls.watch(Arc::downgrade(shared) as Weak<dyn Watcher>);
        // A queue without leases has none to keep.
        match shared.queue.inner().keep(Arc::downgrade(shared) as Weak<dyn LeaseHolder>, shared.queue.lease() / 3) {
            Ok(keeping) => *shared.keeping.lock() = keeping,
            Err(error) => return Err(self.fail(error)),
        }
        // With the last lane the worker ends for those who look at its figures.
        let listed = Arc::new(Listed::new(&shared.queue.inner().ledger, Arc::clone(shared) as Arc<dyn Source>));
        for number in 1..=shared.queue.inner().pacing.lanes {
            shared.state.lock().lanes.running += 1;
            let (lane, listed) = (Arc::clone(shared), Arc::clone(&listed));
            let run = move || lane::run(&lane, listed);
            if let Err(error) = threads::start(&format!("readpast-lane-{number}"), run) {
                shared.change().lanes.running -= 1;
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
            shared.wake_lanes(&state, now);
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

    /// Ends items that were taken, each on the terms of its settlement. Returns at once: lanes settle them. The answer of
    /// each is [`Answer::Ok`], or [`Answer::NotFound`] when this worker does not have it in hand: it ended before.
    ///
    /// The token of a settlement is left aside; the engine knows it. What the library cannot send (a NUL in a text, a step
    /// that is too long) is left out, and the item's error says so; an error's text is made to fit. What does not end a
    /// claim fails the item.
    pub fn end(&self, settlements: &[Settlement<'_>]) -> Vec<Answer> {
        let said: Vec<_> = settlements.iter().map(Said::from).collect();
        self.end_as_said(&said)
    }

    /// As [`Engine::end`], for what comes from elsewhere.
    pub(crate) fn end_as_said(&self, said: &[Said<'_>]) -> Vec<Answer> {
        // Of what is not to be settled nothing is judged, nor told.
        let state = self.0.0.state.lock();
        let in_vain: Vec<_> =
            said.iter().map(|said| state.hand.is_lost(&(said.key.to_owned(), said.attempt))).collect();
        drop(state);
        let floor = self.0.0.floor();
        let ends: Vec<_> = said
            .iter()
            .zip(in_vain)
            .map(
                |(said, in_vain)| {
                    if in_vain { Verdict::release() } else { self.0.0.sendable(said).released_for(floor) }
                },
            )
            .collect();
        let now = Instant::now();
        let mut state = self.0.0.change();
        let mut end = |(said, verdict): (&Said<'_>, Verdict)| {
            let Some(spans) = state.end(&(said.key.to_owned(), said.attempt), verdict, now) else {
                return Answer::NotFound;
            };
            self.queue().inner().ledger.handled(spans.waited, spans.worked);
            Answer::Ok
        };
        said.iter().zip(ends).map(&mut end).collect()
    }

    /// Records a step of an item that was taken; its claim is kept, and its lease starts anew. Waits for the database, with
    /// patience, until the worker is given up. Any answer but [`Answer::Ok`] means that the item is lost.
    ///
    /// # Errors
    /// As [`Queue::settle`].
    pub fn step(&self, key: &str, attempt: i32, step: &str) -> Result<Answer> {
        let claim = (key.to_owned(), attempt);
        let Some(token) = self.0.0.state.lock().hand.token(&claim) else { return Ok(Answer::NotFound) };
        let settlement =
            Settlement { step: Some(step), attempt, ..Settlement::control(key, Some(&token), Action::Step) };
        check_settlement(self.queue().spec(), &settlement)?;
        let asked = Instant::now();
        let (mut outcomes, _) = settling::until_known(&self.0.0, &[settlement], 0)?;
        let outcome = outcomes.remove(0);
        match outcome.answer {
            Answer::Ok => self.0.0.change().hand.stepped(&claim, outcome.token),
            _ => {
                let lost = self.0.0.change().hand.lose_taken(&claim, asked);
                self.0.0.lost(lost.as_slice());
            }
        }
        Ok(outcome.answer)
    }

    /// Whether an item that was taken was found lost: its lease ran out, or an operator took it. Work on it is in vain then.
    #[must_use]
    pub fn is_lost(&self, key: &str, attempt: i32) -> bool {
        self.0.0.state.lock().hand.is_lost(&(key.to_owned(), attempt))
    }

    /// Waits up to `wait` for news that whoever has handlers at work must know of: that an item in hand was found lost, or that
    /// the worker was told to stop, or has failed. They are counted; `seen` is how many the caller knows of, 0 at first, and
    /// what is given how many there are, `seen` itself when none came in time. Ask then [`Engine::is_lost`] and
    /// [`Engine::is_stopping`]. `None`: the worker was closed, and there will be no more.
    #[must_use]
    pub fn news(&self, seen: u64, wait: Duration) -> Option<u64> {
        self.0.0.news.after(seen, wait)
    }

    /// Whoever waits for news learns that there will be no more.
    pub(crate) fn end_news(&self) {
        self.0.0.news.end();
    }

    /// Has the leases of all items in hand renewed now, and not only when a third of their time is over.
    pub fn renew_now(&self) {
        if let Some(keeping) = &*self.0.0.keeping.lock() {
            keeping.hurry();
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

    /// Stops the worker, and gives back at once what handlers have not ended, without spending an attempt: for a program that is
    /// about to end and waits for its handlers no longer. To whoever works on such an item it is lost, and its end is of no
    /// effect. Returns at once; [`Engine::close`] waits until the database knows.
    pub fn abandon(&self) {
        self.0.0.abandon();
    }

    /// Stops the worker, and waits up to `patience` until all that was taken has ended and is settled; without one, for as
    /// long as a lease of the queue, after which others have it anyway. After that it is given up: leases run out, and
    /// other workers take over what was in hand.
    ///
    /// # Errors
    /// What made the worker stop, if it was a failure; [`ErrorKind::TimedOut`] says what was left in hand, or that a call
    /// was under way.
    pub fn close(&self, patience: impl Into<Option<Duration>>) -> Result<()> {
        let patience = patience.into().unwrap_or_else(|| self.0.0.queue.lease());
        let closed = closing::close(&self.0.0, patience);
        self.end_news();
        closed
    }

    /// What it has done so far.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let state = self.0.0.state.lock();
        let counts = state.hand.counts_by_work();
        Figures {
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
        self.0.change().hand.forget_taken();
    }
}
