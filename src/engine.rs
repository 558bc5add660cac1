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
mod one;
mod overlap;
mod places;
mod prefetch;
mod progress;
mod reported;
mod reports;
mod settling;
mod shared;
mod source;
mod state;
mod take;
mod terms;
#[cfg(unix)]
mod waker;

/// Event loops of Windows poll no pipes.
#[cfg(not(unix))]
mod waker {
    #[derive(Default)]
    pub(super) struct Waker;

    impl Waker {
        pub(super) fn wake(&self) {}
    }
}

pub use self::{
    begin::Begin,
    event::Event,
    figures::WorkerFigures,
    take::Taken,
    terms::{Observer, WorkerTerms},
};
pub(crate) use reported::ReportedResult;

#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::item::{Answer, Batch, Settlement};
use crate::queue::Queue;
use one::{OneEngine, Outward};
use places::PlacesEngine;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A worker on a queue: any number of threads take items from it, begin each, and end it. Clones are the same worker.
///
/// Its fetchers (threads, as many as the setting `worker.fetchers`) make all calls, one at a time unless two do more. While a call is
/// under way, ended items gather; the next call settles them all and claims as many items as there is room for, in one round trip
/// and one commit. So calls grow with the load by themselves, and an item that ends alone is settled at once.
///
/// When the process dies, the queue hands out again all items in flight, those that had ended but were not settled among them.
#[derive(Clone)]
pub struct Engine(Works);

/// In one database, or in several.
#[derive(Clone)]
enum Works {
    One(OneEngine),
    Places(Arc<PlacesEngine>),
}

impl Engine {
    /// A worker on `queue`, with a handle of its own. It does nothing before [`Engine::start`].
    #[must_use]
    pub fn new(queue: &Queue, terms: WorkerTerms) -> Self {
        let works = match queue.over() {
            None => Works::One(OneEngine::new(queue, terms, Outward::default())),
            Some(_) => Works::Places(PlacesEngine::new(queue, terms)),
        };
        Self(works)
    }

    /// Starts the threads. Has no effect on a worker that was started before or has stopped.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] when the system has no thread left; the worker is stopped then.
    pub fn start(&self) -> Result<()> {
        match &self.0 {
            Works::One(one) => one.start(),
            Works::Places(places) => places.start(),
        }
    }

    /// Takes up to `max` items that are due, waiting up to `wait` for the first. The engine renews their leases until they end,
    /// however long that takes. Call [`Engine::begin`] for each before its work, and [`Engine::end`] after it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when `max` is out of range; the failure that stopped the worker, if one did.
    pub fn take(&self, max: u32, wait: Duration) -> Result<Taken> {
        match &self.0 {
            Works::One(one) => one.take(max, wait),
            Works::Places(places) => places.take(max, wait),
        }
    }

    /// Waits for up to `max` items without a thread, for a program with an event loop: returns a descriptor, always the same, that can be
    /// read from once there is something to do. Then take, without waiting, until there is nothing or no room left, ask whether items
    /// in work are lost and whether the worker stops, and call this again, with the number of items that there is room for by now: it
    /// empties the descriptor, which nobody else is to read. With 0 the descriptor shows losses and the stop alone. After a stop it can
    /// always be read from.
    ///
    /// One event loop may do so for a worker. The descriptor is closed with the worker; take it out of the loop before.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when `max` is above 1,000; [`ErrorKind::Unavailable`] when the system has no descriptor left.
    #[cfg(unix)]
    pub fn want(&self, max: u32) -> Result<std::os::fd::RawFd> {
        take::check_wanted(max)?;
        self.start()?;
        let descriptor = self.notifier().arm()?;
        match &self.0 {
            Works::One(one) => one.want(max as usize),
            Works::Places(places) => places.want(max as usize),
        }
        // A stop, or a failure, may have come before.
        if self.is_stopping() {
            self.notifier().waker().wake();
        }
        Ok(descriptor)
    }

    #[cfg(unix)]
    fn notifier(&self) -> &notifier::Notifier {
        match &self.0 {
            Works::One(one) => one.notifier(),
            Works::Places(places) => places.notifier(),
        }
    }

    /// Begins an item that was taken, when its turn has come: the worker may have lost it meanwhile, or may be stopping. An item
    /// that does not begin is no longer in flight: do not end it.
    ///
    /// Once an item of a batch has begun, a stop releases at once those that have not. A caller that does not call this begins
    /// each item when it takes it; do either for all items of a batch.
    pub fn begin(&self, key: &str, attempt: i32) -> Begin {
        self.of(key, |one| one.begin(key, attempt)).unwrap_or(Begin::Lost)
    }

    /// Releases the items of a batch that have not begun, without spending an attempt, for a thread that gives up the batch.
    /// Items that have begun, ended or been released stay as they are. If the worker goes on, the items are due after
    /// `poll.interval_ms`, like items that handlers release.
    pub fn give_back(&self, batch: &Batch) {
        if let Some(item) = batch.get(0) {
            self.of(item.key(), |one| one.give_back(batch));
        }
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
        match &self.0 {
            Works::One(one) => one.end_as_reported(reported),
            Works::Places(places) => places.end_as_reported(reported),
        }
    }

    /// Records a step of an item that was taken; the worker keeps the claim, and its lease starts anew. Waits for the database
    /// until the worker is abandoned. Any answer but [`Answer::Ok`] means that the item is lost.
    ///
    /// # Errors
    /// As [`Queue::settle`].
    pub fn step(&self, key: &str, attempt: i32, step: &str) -> Result<Answer> {
        self.of(key, |one| one.step(key, attempt, step)).unwrap_or(Ok(Answer::NotFound))
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
        self.of(key, |one| one.progress(key, attempt, percent, text)).unwrap_or(Ok(()))
    }

    /// Whether a taken item is lost: its lease ran out, an operator took it, or the worker was abandoned or given up. Further work
    /// on it is in vain.
    #[must_use]
    pub fn is_lost(&self, key: &str, attempt: i32) -> bool {
        self.of(key, |one| one.is_lost(key, attempt)).unwrap_or(true)
    }

    /// Waits up to `wait` for a change that running handlers must know of: an item in flight was lost, or the worker is to stop,
    /// or has failed. Changes are counted: `seen` is how many the caller knows of, 0 at first; the result is how many there are,
    /// `seen` itself when none came in time. Then ask [`Engine::is_lost`] and [`Engine::is_stopping`]. `None`: the worker was
    /// closed, and no more changes follow.
    #[must_use]
    pub fn changes(&self, seen: u64, wait: Duration) -> Option<u64> {
        match &self.0 {
            Works::One(one) => one.changes(seen, wait),
            Works::Places(places) => places.changes(seen, wait),
        }
    }

    /// Ends all waits in [`Engine::changes`].
    pub(crate) fn end_changes(&self) {
        match &self.0 {
            Works::One(one) => one.end_changes(),
            Works::Places(places) => places.end_changes(),
        }
    }

    /// Renews the leases of all items in flight now, without waiting for a third of their time.
    pub fn renew_now(&self) {
        self.each(OneEngine::renew_now);
    }

    /// Whether the worker is to stop, or has failed.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        match &self.0 {
            Works::One(one) => one.is_stopping(),
            Works::Places(places) => places.is_stopping(),
        }
    }

    /// Stops the worker: it hands out no more items, releases those that have not begun without spending an attempt
    /// ([`Engine::begin`]), and settles those that end. Returns at once. Takes a lock for a moment, so it is not for the inside
    /// of a signal handler.
    pub fn stop(&self) {
        match &self.0 {
            Works::One(one) => one.stop(),
            Works::Places(places) => places.stop(),
        }
    }

    /// Stops the worker, and gives back at once what handlers have not ended, without spending an attempt: for a program that is
    /// about to end and waits for its handlers no longer. A handler that works on such an item has lost it, and its end is of no
    /// effect. Returns at once; [`Engine::close`] waits until the database knows. After a close that gave the worker up it makes the
    /// call itself, once, and waits five seconds for it at most: no thread is left that would.
    pub fn abandon(&self) {
        match &self.0 {
            Works::One(one) => one.abandon(),
            Works::Places(places) => places.abandon(),
        }
    }

    /// Stops the worker, and waits up to `patience` until all taken items have ended and are settled; without one, for as long as
    /// a lease of the queue, after which others get the items anyway. Then it gives the worker up: leases run out, and other
    /// workers claim the items in flight.
    ///
    /// # Errors
    /// The failure that stopped the worker, if one did; [`ErrorKind::TimedOut`] says how many items were in flight, or that a
    /// call was under way.
    pub fn close(&self, patience: impl Into<Option<Duration>>) -> Result<()> {
        let patience = patience.into().unwrap_or_else(|| self.queue().lease());
        let closed = match &self.0 {
            Works::One(one) => one.close(patience),
            Works::Places(places) => places.close(patience),
        };
        self.end_changes();
        closed
    }

    /// The worker's figures so far.
    #[must_use]
    pub fn figures(&self) -> WorkerFigures {
        match &self.0 {
            Works::One(one) => one.figures(),
            Works::Places(places) => places.figures(),
        }
    }

    /// The payload of an observer's panic, once: for a caller that resumes it.
    pub(crate) fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        let mut payload = None;
        self.each(|one| payload = payload.take().or_else(|| one.take_panic()));
        payload
    }

    /// Whether both are clones of one worker.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Works::One(one), Works::One(other)) => one.is_same(other),
            (Works::Places(one), Works::Places(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// The worker's queue.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        match &self.0 {
            Works::One(one) => one.queue(),
            Works::Places(places) => places.queue(),
        }
    }

    /// Works on the worker of an item's database; `None`: there is none.
    fn of<R>(&self, key: &str, work: impl FnOnce(&OneEngine) -> R) -> Option<R> {
        match &self.0 {
            Works::One(one) => Some(work(one)),
            Works::Places(places) => places.of(key).map(|one| work(&one)),
        }
    }

    fn each(&self, mut work: impl FnMut(&OneEngine)) {
        match &self.0 {
            Works::One(one) => work(one),
            Works::Places(places) => places.engines().iter().for_each(|(_, one)| work(one)),
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("queue", self.queue()).field("figures", &self.figures()).finish_non_exhaustive()
    }
}
