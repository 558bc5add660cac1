//! A worker's state under its lock, and the threads that wait for a change of it: lanes, takers, and those who wait for its end.

use super::decide::{Outside, Wake};
use super::event::Event;
use super::hand::Claim;
use super::news::News;
use super::note;
use super::said::{LeftOut, Said};
use super::state::{Phase, State};
use super::terms::Terms;
use crate::calls::{Refused, Sessions};
use crate::error::{Error, ErrorKind};
use crate::item::{Action, Batch, Verdict};
use crate::queue::Queue;
use crate::shared::{CleaningDue, LeaseHolder, Renewals, Watcher};
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::any::Any;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(super) struct Shared {
    /// A handle of its own: an interrupt of the handle that it was made from ends this worker; its own interrupt ends nothing else.
    pub(super) queue: Queue,
    pub(super) terms: Terms,
    /// Changed by [`Shared::change`] alone, but for counters.
    pub(super) state: Mutex<State>,
    /// Those who wait for items.
    pub(super) takers: Condvar,
    pub(super) lanes: Condvar,
    /// Those who wait for an end of the worker.
    pub(super) ending: Condvar,
    pub(super) news: News,
    /// Set once, when the engine begins.
    pub(super) keeping: Mutex<Option<Renewals>>,
    /// The payload of an observer's panic.
    pub(super) panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// The observer has panicked, and is not called again.
    pub(super) has_panicked: AtomicBool,
}

/// The state, locked to be changed. In the end it wakes those whom the change concerns, so that no change can forget them.
pub(super) struct Change<'a> {
    shared: &'a Shared,
    pub(super) state: MutexGuard<'a, State>,
}

impl Deref for Change<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.shared.wake(&self.state, Instant::now());
    }
}

impl Shared {
    pub(super) fn change(&self) -> Change<'_> {
        Change { shared: self, state: self.state.lock() }
    }

    /// Wakes those whom the state concerns.
    pub(super) fn wake(&self, state: &State, now: Instant) {
        self.wake_lanes(state, now);
        self.wake_takers(state, now);
        if state.phase >= Phase::Stopping {
            self.ending.notify_all();
        }
    }

    pub(super) fn wake_lanes(&self, state: &State, now: Instant) {
        wake(&self.lanes, state.lanes_to_wake(self, now));
    }

    pub(super) fn wake_takers(&self, state: &State, now: Instant) {
        wake(&self.takers, state.takers_to_wake(now));
    }

    /// The part of an end that can be sent.
    pub(super) fn sendable(&self, said: &Said<'_>) -> Verdict {
        let (verdict, left_out) = said.sendable(self.queue.spec(), self.queue.inner().terms.most_item_bytes);
        if let Some(LeftOut { what, why }) = left_out {
            self.refused(said.key, said.attempt, verdict.action(), &what, &why);
        }
        verdict
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.state.lock().phase >= Phase::Stopping
    }

    /// How long an item waits at least that a handler has released. Items that a worker gives back when it stops are for others
    /// at once.
    pub(super) fn floor(&self) -> Option<Duration> {
        (!self.is_stopping()).then(|| self.queue.inner().poll_interval)
    }

    /// Logs what happened, and calls the observer, with no lock held. Its panic ends the worker, on whatever thread it comes; it is
    /// not called again.
    pub(super) fn tell(&self, event: &Event<'_>) {
        if let Some(line) = event.line() {
            let line = format!("queue {}: {line}", self.queue.name());
            note::Fields::from(event).log(&self.queue, log::Level::Warn, &line);
        }
        let Some(observer) = &self.terms.observer else { return };
        if self.has_panicked.load(Ordering::Relaxed) {
            return;
        }
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| observer(event))) {
            self.panicked(payload);
        }
    }

    /// A part of what was given with an item was refused.
    pub(super) fn refused(&self, key: &str, attempt: i32, action: Action, left_out: &str, error: &Error) {
        self.state.lock().tallies.refused += 1;
        self.tell(&Event::Refused { key, attempt, action, left_out, error });
    }

    /// Reports what calls of this worker found its table to refuse.
    pub(super) fn report_set_aside(&self) {
        let kept = self.queue.inner().set_aside.lock().as_mut().map(mem::take);
        for item in kept.into_iter().flatten() {
            let (line, key) = (item.to_string(), item.key.as_deref());
            let Refused { times, by_recovery, ref reason, .. } = item;
            self.tell(&Event::SetAside { key, times, by_recovery, reason, line: &line });
        }
    }

    pub(super) fn trouble(&self, doing: &str, error: &Error) {
        self.state.lock().tallies.troubles += 1;
        self.tell(&Event::Trouble { doing, error });
    }

    /// These items were found not to be ours any more.
    pub(super) fn lost(&self, items: &[Batch]) {
        if items.is_empty() {
            return;
        }
        self.state.lock().tallies.lost += items.len() as u64;
        for item in items.iter().flat_map(Batch::iter) {
            self.news.tell();
            self.tell(&Event::Lost { key: item.key(), attempt: item.attempt(), token: item.token() });
        }
    }

    pub(super) fn fail(&self, error: Error) {
        self.state.lock().failure.get_or_insert(error);
        self.stop();
    }

    /// An observer has panicked. Nobody knows what it has learned; the leases run out.
    pub(super) fn panicked(&self, payload: Box<dyn Any + Send>) {
        self.has_panicked.store(true, Ordering::Relaxed);
        self.panic.lock().get_or_insert(payload);
        self.fail(Error::new(ErrorKind::Protocol, "an observer of the worker panicked"));
        self.change().phase = Phase::GivenUp;
    }

    /// Stops, and gives back what handlers have not ended.
    pub(super) fn abandon(&self) {
        self.stop();
        let abandoned = self.change().abandon();
        for item in abandoned.iter().flat_map(Batch::iter) {
            self.news.tell();
            self.tell(&Event::Abandoned { key: item.key(), attempt: item.attempt() });
        }
    }

    pub(super) fn stop(&self) {
        if self.change().stop() {
            self.news.tell();
            // Ends the pauses of claims that are tried again.
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

impl Outside for Shared {
    fn quiet_until(&self) -> Option<Instant> {
        self.queue.inner().quiet_until()
    }

    fn retention(&self) -> Option<CleaningDue> {
        self.queue.inner().cleaning_due()
    }
}

impl Watcher for Shared {
    fn woken(&self) {
        match self.queue.inner().called_off() {
            Some(error) if error.kind() == ErrorKind::Interrupted => self.stop(),
            Some(error) if !self.is_stopping() => self.fail(error),
            _ => drop(self.change()),
        }
    }
}

impl LeaseHolder for Shared {
    fn held(&self) -> Vec<Claim> {
        let state = self.state.lock();
        if state.phase == Phase::GivenUp { Vec::new() } else { state.hand.claims() }
    }

    fn lost(&self, claims: &[Claim], asked: Instant) -> usize {
        let mut state = self.change();
        let lost: Vec<_> = claims.iter().flat_map(|claim| state.hand.lose(claim, asked)).collect();
        drop(state);
        Self::lost(self, &lost);
        lost.len()
    }
}
