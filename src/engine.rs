//! The engine under every worker, in whatever language: claims ahead, groups settlements, keeps leases, gives back what
//! cannot be begun in time, and knows what to do when a call fails. Whoever works *takes* items and *ends* them; neither
//! waits for the database.
//!
//! What the engine does when something goes wrong stands in one table, `docs/worker.md`; each of its lines is a scenario
//! of the conformance suite.

mod closing;
mod event;
mod figures;
mod hand;
mod lane;
mod news;
pub(crate) mod note;
mod pace;
mod said;
mod settling;

pub use self::{event::Event, figures::Figures};
pub(crate) use said::Said;

use crate::error::{Error, ErrorKind, Result};
use crate::item::{Action, Answer, Batch, Settlement, Verdict};
use crate::metrics::Source;
use crate::queue::{Keeping, LeaseHolder, MAX_ITEMS, Queue, Watcher, check_settlement};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::threads;
use figures::Durations;
use hand::{Claim, Hand};
use news::News;
use pace::Pace;
use said::LeftOut;
use std::{
    any::Any,
    fmt,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// Is told what happens, on the thread that it happens on.
pub type Observer = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

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

/// A worker in hand of its queue: any number of threads take items from it and end them. Clones are the same worker.
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

/// How an engine is to work, besides what the settings of its queue say.
#[derive(Clone, Default)]
pub struct Terms {
    /// Stops by itself when nothing is due and nothing is in hand.
    pub until_empty: bool,
    /// Is told what happens. A panic in it ends the worker.
    pub observer: Option<Observer>,
}

struct Shared {
    /// A handle of its own: what interrupts the handle that it was made from ends this worker; its own interrupt is nobody
    /// else's concern.
    queue: Queue,
    terms: Terms,
    /// How long an item that came back from a dead worker is worked on before the next of them is begun.
    proof: Duration,
    state: Mutex<State>,
    /// Those who wait for items.
    takers: Condvar,
    /// The lanes.
    lanes: Condvar,
    /// Those who wait for an end of the worker.
    ending: Condvar,
    news: News,
    /// Set once, when the engine begins.
    keeping: Mutex<Option<Keeping>>,
    /// What an observer panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

struct State {
    hand: Hand,
    pace: Pace,
    phase: Phase,
    /// What made the worker stop, if it was a failure.
    failure: Option<Error>,
    /// How many items those want who wait.
    wanted: usize,
    /// How many items the calls under way may bring.
    claiming: usize,
    /// Until when the queue may hold more of what came back from a dead worker.
    cautious_until: Option<Instant>,
    /// How many lanes run.
    running: usize,
    /// No look at the queue before: the last one failed.
    not_before: Option<Instant>,
    /// A lane deletes what is over.
    is_tidying: bool,
    /// That was the last that a lane began.
    has_tidied: bool,
    /// One that stops by itself has found the queue empty, and deletes what is over before it looks again.
    is_clearing: bool,
    tallies: Figures,
    durations: Durations,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Not begun.
    New,
    /// Claims and settles.
    Working,
    /// Hands out nothing more: gives back what nobody has begun, and settles what ends.
    Stopping,
    /// Nobody waits any more for what is still in hand.
    Abandoned,
}

impl Engine {
    /// A worker that works on `queue`, with a handle of its own. Nothing happens before [`Engine::start`].
    #[must_use]
    pub fn new(queue: &Queue, terms: Terms) -> Self {
        let queue = queue.share();
        let pacing = queue.pacing();
        let state = State {
            hand: Hand::default(),
            pace: Pace::new(pacing.hold, pacing.ahead),
            phase: Phase::New,
            failure: None,
            wanted: 0,
            claiming: 0,
            cautious_until: None,
            running: 0,
            not_before: None,
            is_tidying: false,
            has_tidied: false,
            is_clearing: false,
            tallies: Figures::default(),
            durations: Durations::default(),
        };
        let shared = Shared {
            proof: queue.lease() / 3,
            queue,
            terms,
            state: Mutex::new(state),
            takers: Condvar::new(),
            lanes: Condvar::new(),
            ending: Condvar::new(),
            news: News::default(),
            keeping: Mutex::default(),
            panic: Mutex::default(),
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
        shared.queue.watched_by(Arc::downgrade(shared) as Weak<dyn Watcher>);
        // A queue without leases has none to keep.
        match shared.queue.keep(Arc::downgrade(shared) as Weak<dyn LeaseHolder>, shared.queue.lease() / 3) {
            Ok(keeping) => *shared.keeping.lock() = keeping,
            Err(error) => return Err(self.fail(error)),
        }
        // With the last lane the worker ends for those who look at its figures.
        let listed = Arc::new(shared.queue.ledger().list(Arc::clone(shared) as Arc<dyn Source>));
        for number in 1..=shared.queue.pacing().lanes {
            shared.state.lock().running += 1;
            let (lane, listed) = (Arc::clone(shared), Arc::clone(&listed));
            let run = move || lane::run(&lane, listed);
            if let Err(error) = threads::start(&format!("readpast-lane-{number}"), run) {
                shared.state.lock().running -= 1;
                return Err(self.fail(error));
            }
        }
        Ok(())
    }

    /// Takes up to `max` items that are due, waiting up to `wait` for the first. They are leased, and stay so until they are
    /// ended, however long that takes.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when `max` is out of range; what made the worker stop, if it was a failure.
    pub fn take(&self, max: u32, wait: Duration) -> Result<Taken> {
        if !(1..=MAX_ITEMS).contains(&max) {
            let message = format!("the number of items to take is {max}; it must be from 1 to {MAX_ITEMS}");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let deadline = Instant::now().checked_add(wait);
        let max = max as usize;
        let mut state = self.0.0.state.lock();
        if state.phase == Phase::New {
            MutexGuard::unlocked(&mut state, || self.start())?;
        }
        loop {
            if state.phase >= Phase::Stopping {
                return state.failure.clone().map_or(Ok(Taken::Stopping), Err);
            }
            let now = Instant::now();
            if let Some(batch) = state.take(max, self.0.0.proof, now) {
                state.pace.busy(now);
                if batch.is_alone() {
                    // It has begun to prove itself: a lane is to look when it has.
                    self.0.0.lanes.notify_one();
                } else if state.may_begin_suspect(self.0.0.proof, now) {
                    // That was the last one it had to wait for.
                    self.0.0.takers.notify_one();
                }
                return Ok(Taken::Items(batch));
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Taken::Nothing);
            }
            state.wanted += max;
            self.0.0.lanes.notify_one();
            match deadline {
                Some(deadline) => drop(self.0.0.takers.wait_until(&mut state, deadline)),
                None => self.0.0.takers.wait(&mut state),
            }
            state.wanted -= max;
        }
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
        let mut state = self.0.0.state.lock();
        let mut count = 0;
        let answers = said
            .iter()
            .zip(ends)
            .map(|(said, verdict)| {
                if state.hand.end(&(said.key.to_owned(), said.attempt), verdict) {
                    count += 1;
                    Answer::Ok
                } else {
                    Answer::NotFound
                }
            })
            .collect();
        if count > 0 {
            state.pace.ended(count, Instant::now());
            self.0.0.lanes.notify_one();
            if state.hand.waits() {
                self.0.0.takers.notify_one();
            }
            if state.hand.is_empty() {
                // They were all lost.
                self.0.0.lanes.notify_all();
                self.0.0.ending.notify_all();
            }
        }
        answers
    }

    /// Records a step of an item that was taken; its claim is kept, and its lease starts anew. Waits for the database, with
    /// patience, until the worker is abandoned. Any answer but [`Answer::Ok`] means that the item is lost.
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
            Answer::Ok => self.0.0.state.lock().hand.stepped(&claim, outcome.token),
            _ => {
                let mut state = self.0.0.state.lock();
                let lost = state.hand.lose_begun(&claim, asked);
                self.0.0.lost(state, lost.as_slice());
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

    /// Tells the worker to stop: nothing is handed out any more, what nobody has begun is given back without costing an
    /// attempt, and what ends is settled. Returns at once. Takes a lock for a moment, so it is not for the inside of a
    /// signal handler.
    pub fn stop(&self) {
        self.0.0.stop(self.0.0.state.lock());
    }

    /// What it has done so far.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let state = self.0.0.state.lock();
        let counts = state.hand.counts();
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
        self.0.state.lock().hand.forget_begun();
        self.0.stop(self.0.state.lock());
        self.0.lanes.notify_all();
    }
}

impl State {
    /// Hands out what a handler can begin: of what came back from a dead worker one, and only when nothing else is there.
    fn take(&mut self, max: usize, proof: Duration, now: Instant) -> Option<Batch> {
        let batch = self.hand.take(max);
        if batch.is_none() && self.claiming == 0 { self.hand.take_suspect(proof, now) } else { batch }
    }

    fn may_begin_suspect(&self, proof: Duration, now: Instant) -> bool {
        self.claiming == 0 && self.hand.may_begin_suspect(proof, now)
    }

    /// Whether one lane is to claim at a time: two could bring one each that came back from a dead worker, and what is given back
    /// is no suspect any more, though nobody has begun it. A dead worker's items come back together, and nobody knows what a
    /// worker finds that begins.
    fn is_cautious(&self, now: Instant) -> bool {
        self.tallies.claimed == 0 || self.cautious_until.is_some_and(|until| until > now)
    }
}

impl Shared {
    /// What is said of an end, as far as it can be sent.
    fn sendable(&self, said: &Said<'_>) -> Verdict {
        let (verdict, left_out) = said.sendable(self.queue.spec(), self.queue.most_item_bytes());
        if let Some(LeftOut { what, why }) = left_out {
            self.refused(said.key, said.attempt, verdict.action(), &what, &why);
        }
        verdict
    }

    fn is_stopping(&self) -> bool {
        self.state.lock().phase >= Phase::Stopping
    }

    /// How long an item waits at least that a handler has released. What a worker leaves when it stops is for others at once.
    fn floor(&self) -> Option<Duration> {
        (!self.is_stopping()).then(|| self.queue.poll_interval())
    }

    /// Logs what happened, and tells who observes.
    fn tell(&self, event: &Event<'_>) {
        if let Some(line) = event.line() {
            let line = format!("queue {}: {line}", self.queue.name());
            note::Fields::from(event).log(&self.queue, log::Level::Warn, &line);
        }
        if let Some(observer) = &self.terms.observer {
            observer(event);
        }
    }

    /// A part of what was given with an item was refused.
    fn refused(&self, key: &str, attempt: i32, action: Action, left_out: &str, error: &Error) {
        self.state.lock().tallies.refused += 1;
        self.tell(&Event::Refused { key, attempt, action, left_out, error });
    }

    fn trouble(&self, doing: &str, error: &Error) {
        self.state.lock().tallies.troubles += 1;
        self.tell(&Event::Trouble { doing, error });
    }

    /// These items were found not to be ours any more.
    fn lost(&self, mut state: MutexGuard<'_, State>, items: &[Batch]) {
        if items.is_empty() {
            return;
        }
        state.tallies.lost += items.len() as u64;
        // There is room for others, or nothing left to wait for.
        self.lanes.notify_all();
        drop(state);
        for item in items.iter().flat_map(Batch::iter) {
            self.news.tell();
            self.tell(&Event::Lost { key: item.key(), attempt: item.attempt(), token: item.token() });
        }
    }

    fn fail(&self, error: Error) {
        let mut state = self.state.lock();
        state.failure.get_or_insert(error);
        self.stop(state);
    }

    /// An observer has panicked. Nobody knows what it was told of; the leases run out.
    fn panicked(&self, payload: Box<dyn Any + Send>) {
        self.panic.lock().get_or_insert(payload);
        self.fail(Error::new(ErrorKind::Protocol, "an observer of the worker panicked"));
        self.state.lock().phase = Phase::Abandoned;
        self.lanes.notify_all();
    }

    fn stop(&self, mut state: MutexGuard<'_, State>) {
        if state.phase >= Phase::Stopping {
            return;
        }
        state.phase = Phase::Stopping;
        state.hand.give_back(None);
        self.takers.notify_all();
        self.lanes.notify_all();
        drop(state);
        self.news.tell();
        // Ends the pauses of claims that are tried again.
        self.queue.interrupt();
    }
}

impl Watcher for Shared {
    fn woken(&self) {
        match self.queue.called_off() {
            Some(error) if error.kind() == ErrorKind::Interrupted => self.stop(self.state.lock()),
            Some(error) if !self.is_stopping() => self.fail(error),
            _ => {
                // A lane that has just asked whose turn it is, and is about to sleep, still holds it.
                drop(self.state.lock());
                self.lanes.notify_all();
            }
        }
    }
}

impl LeaseHolder for Shared {
    fn held(&self) -> Vec<Claim> {
        let state = self.state.lock();
        if state.phase == Phase::Abandoned { Vec::new() } else { state.hand.claims() }
    }

    fn lost(&self, claims: &[Claim], asked: Instant) -> usize {
        let mut state = self.state.lock();
        let lost: Vec<_> = claims.iter().flat_map(|claim| state.hand.lose(claim, asked)).collect();
        self.lost(state, &lost);
        lost.len()
    }
}
