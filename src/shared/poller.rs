//! The poller: one thread of a process looks for all its queues in one schema of one database, by one statement, while threads sleep
//! over them.

mod plan;
#[cfg(test)]
mod tests;

use self::plan::{Plan, PlannedLook};
use super::doorbell::{BellPull, Doorbell, Ring, Rung, WORKER};
use super::of_queue::OfQueue;
use super::poll_coordinator::LooksForAll;
use crate::calls::{AskedQueue, Awaited, Due, KnownQueues, SeenWorker};
use crate::config::LibpqLogin;
use crate::error::{ErrorKind, Result};
use crate::sync::{Condvar, Mutex, MutexGuard, PerProcess};
use crate::threads;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::process;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A handle of a queue, on whose connections the poller may ask.
pub(crate) trait AsksDue: Send + Sync {
    /// Asks about the queues, with one try; `None` about those that the login may not claim from. `known` keeps what `connection`
    /// it was asked on, and about which queues. `bell` is asked first, if it is given. `None`: no connection is free.
    fn due(
        &self,
        queues: &[AskedQueue],
        known: &mut KnownQueues,
        bell: Option<&BellPull<'_>>,
    ) -> Result<Option<Vec<Option<Due>>>>;

    /// The log-in for a doorbell beside its connections; `None` where there is none.
    fn doorbell(&self) -> Option<&Arc<LibpqLogin>>;

    /// An item was taken from a worker whose name ends so.
    fn taken_from(&self, worker: &str);

    /// Its worker, for a report of another one of the process, if it is to report soon: the turn is taken.
    fn reported_along(&self) -> Option<SeenWorker>;
}

/// The poller of one schema of one database in this process.
pub(crate) struct Poller {
    state: Mutex<PollerState>,
    /// A plan has changed, or a look has ended.
    changed: Condvar,
    doorbell: Arc<Doorbell>,
    /// The process of its thread. In the child of a fork the thread is not there, and may have held the lock.
    process: u32,
    /// Keeps the looks of many processes apart.
    phase: Instant,
}

#[derive(Default)]
struct PollerState {
    queues: Vec<PolledQueue>,
    next_number: u64,
    /// A thread has fallen asleep, or a queue came or went.
    plans_anew: bool,
    /// The number of the thread that runs.
    runs: Option<u64>,
    /// The handle on whose connections it asks just now.
    asks_on: Option<(u64, usize)>,
}

/// A queue that the poller looks at.
#[derive(Clone)]
struct PolledQueue {
    /// The number of the handle.
    number: u64,
    asked: AskedQueue,
    of: Weak<OfQueue>,
    handle: Weak<dyn AsksDue>,
}

/// Keeps a handle among those of the poller. Its drop waits a moment for a look under way on the handle's connections, so that the
/// thread that drops the handle closes them.
pub(crate) struct Served {
    poller: Arc<Poller>,
    number: u64,
}

/// The thread of a poller. Its end lets another begin, also after a panic.
struct Run<'a> {
    of: &'a Poller,
    number: u64,
}

type Registry = Mutex<HashMap<(String, String), Weak<Poller>>>;

/// The thread ends when no thread has slept over a queue for so long.
const IDLE: Duration = Duration::from_secs(30);

/// How long the drop of a handle waits for a look under way: a program that ended meanwhile would unload the driver from under it.
/// It does not wait for a call that hangs.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest that the phases of processes are apart: the default interval.
const SPREAD: Duration = Duration::from_secs(1);

impl Poller {
    /// The poller of a schema of a database, as named by the connection string.
    // bindings/c/valgrind.supp knows the list, which lives as long as the process, by this name.
    #[inline(never)]
    pub(crate) fn of(connection: &str, schema: &str) -> Arc<Self> {
        static REGISTRY: PerProcess<Registry> = PerProcess::new();

        let key = (connection.to_owned(), schema.to_owned());
        let mut registry = REGISTRY.get().lock();
        if let Some(known) = registry.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        registry.retain(|_, known| known.strong_count() > 0);
        let spread = Duration::from_nanos(RandomState::new().hash_one(()) % SPREAD.as_nanos() as u64);
        let phase = Instant::now().checked_sub(spread).unwrap_or_else(Instant::now);
        let doorbell = Arc::new(Doorbell::new(schema));
        let new = Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            doorbell,
            process: process::id(),
            phase,
        });
        registry.insert(key, Arc::downgrade(&new));
        new
    }

    /// Looks at the queue from now on, until the result is dropped or leaves.
    pub(crate) fn serve(
        self: &Arc<Self>,
        asked: AskedQueue,
        of: &Arc<OfQueue>,
        handle: Weak<dyn AsksDue>,
    ) -> Arc<Served> {
        of.polls.is_served_by(Arc::clone(self) as Arc<dyn LooksForAll>);
        let mut state = self.state.lock();
        let number = state.next_number;
        state.next_number += 1;
        state.queues.push(PolledQueue { number, asked, of: Arc::downgrade(of), handle });
        self.is_changed(&mut state);
        Arc::new(Served { poller: Arc::clone(self), number })
    }

    fn is_changed(&self, state: &mut MutexGuard<'_, PollerState>) {
        state.plans_anew = true;
        self.changed.notify_all();
    }

    /// Nobody is to be woken any more. A look under way may just have begun to listen; its thread ends with the last queue.
    fn hang_up_with_the_last(&self, state: &PollerState) {
        if state.queues.is_empty() {
            self.doorbell.hang_up();
        }
    }

    fn run(self: &Arc<Self>, number: u64) {
        let _run = Run { of: self, number };
        let (mut known, mut last) = (KnownQueues::default(), None);
        let mut idle_since = Instant::now();
        let mut fails = false;
        let mut state = self.state.lock();
        loop {
            state.plans_anew = false;
            let queues = state.queues.clone();
            let now = Instant::now();
            let next = MutexGuard::unlocked(&mut state, || {
                let plan = Plan::new(queues, self.phase, now);
                if plan.next.is_some_and(|next| next <= now) {
                    fails = self.look(&plan.due, &mut known, &mut last, fails);
                    return Some(now);
                }
                plan.next
            });
            match next {
                Some(next) if next <= now => {
                    idle_since = now;
                    continue;
                }
                Some(_) => idle_since = now,
                None if state.plans_anew => continue,
                None if state.queues.is_empty() || now >= idle_since + IDLE => break,
                None => {}
            }
            let until = next.unwrap_or(idle_since + IDLE);
            while !state.plans_anew && !self.changed.wait_until(&mut state, until).timed_out() {}
        }
        // Under the same lock: a thread that falls asleep now starts another.
        state.runs = None;
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let mut state = self.of.state.lock();
        if state.runs == Some(self.number) {
            // It has panicked, or could not begin.
            (state.runs, state.asks_on) = (None, None);
            self.of.changed.notify_all();
            let queues = state.queues.clone();
            MutexGuard::unlocked(&mut state, || {
                queues.iter().filter_map(|queue| queue.of.upgrade()).for_each(|of| of.polls.is_left_alone());
            });
        }
        self.of.hang_up_with_the_last(&state);
    }
}

impl Served {
    /// The handle is closed: the poller asks on it no more. Waits until `deadline` for a look that does.
    pub(crate) fn leave(&self, deadline: Instant) {
        if process::id() != self.poller.process {
            return;
        }
        let here = threads::here();
        let mut state = self.poller.state.lock();
        state.queues.retain(|queue| queue.number != self.number);
        self.poller.is_changed(&mut state);
        self.poller.hang_up_with_the_last(&state);
        while state.asks_on.is_some_and(|(on, by)| on == self.number && by != here)
            && !self.poller.changed.wait_until(&mut state, deadline).timed_out()
        {}
    }
}

impl Served {
    /// The workers of the process in this schema that are to report soon, too.
    pub(crate) fn reported_along(&self) -> Vec<SeenWorker> {
        let queues = self.poller.state.lock().queues.clone();
        let others = queues.iter().filter(|queue| queue.number != self.number);
        others.filter_map(|queue| queue.handle.upgrade()?.reported_along()).collect()
    }

    /// The other queues of the process in this schema that are soon to offer to keep figures, too, each with its name in names of
    /// objects: their turns are taken.
    pub(crate) fn offered_along(&self) -> Vec<(String, Arc<OfQueue>)> {
        let queues = self.poller.state.lock().queues.clone();
        let others = queues.into_iter().filter(|queue| queue.number != self.number);
        let others = others.filter_map(|queue| Some((queue.asked.stem, queue.of.upgrade()?)));
        others.filter(|(_, of)| of.minutes.take_along()).collect()
    }

    /// Asks by `send` that the process is woken as these items end. It does so where it listens; `begins`: it is to listen, else.
    /// Whether it relies on it.
    pub(crate) fn awaits(
        &self,
        login: &Arc<LibpqLogin>,
        keys: &[String],
        begins: bool,
        send: impl FnOnce(&Awaited<'_>) -> Result<()>,
    ) -> bool {
        if process::id() != self.poller.process {
            return false;
        }
        if begins {
            self.poller.listen_after(Duration::ZERO, login);
        }
        let state = self.poller.state.lock();
        let stem = state.queues.iter().find(|queue| queue.number == self.number).map(|queue| queue.asked.stem.clone());
        drop(state);
        stem.is_some_and(|stem| self.poller.doorbell.awaits(&stem, keys, send))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.leave(Instant::now() + PATIENCE);
    }
}

impl LooksForAll for Poller {
    fn plan_anew(&self) -> bool {
        if process::id() != self.process {
            return false;
        }
        let mut state = self.state.lock();
        self.is_changed(&mut state);
        state.runs.is_none()
    }

    fn listen(self: Arc<Self>, login: &Arc<LibpqLogin>) {
        self.listen_after(WORKER, login);
    }

    fn start(self: Arc<Self>) {
        if process::id() != self.process {
            return;
        }
        let mut state = self.state.lock();
        if state.runs.is_some() {
            return;
        }
        let number = state.next_number;
        state.next_number += 1;
        state.runs = Some(number);
        drop(state);
        let poller = Arc::clone(&self);
        // Without it the threads look by themselves.
        if let Err(error) = threads::start("readpast-poller", move || poller.run(number)) {
            drop(Run { of: &self, number });
            log::warn!("no thread polls for all queues, so that each polls by itself: {error}");
        }
    }
}

impl Poller {
    /// Looks at the queues; returns whether it failed. It asks on the connections that it asked on `last`, if it can: they know the
    /// looks.
    fn look(
        self: &Arc<Self>,
        due: &[PlannedLook],
        known: &mut KnownQueues,
        last: &mut Option<u64>,
        failed: bool,
    ) -> bool {
        let asked: Vec<_> = due.iter().map(|look| look.asked.clone()).collect();
        let wakes: Vec<_> = due.iter().map(|look| look.of.polls.all_wakes()).collect();
        // All connections may be at work, or closed.
        let handles = last.iter().chain(due.iter().flat_map(|look| &look.handles)).copied();
        let mut answers = Ok(None);
        for number in handles.collect::<Vec<_>>() {
            answers = self.ask(number, &asked, due, known);
            if !matches!(answers, Ok(None)) {
                *last = Some(number);
                break;
            }
        }
        let fails = match &answers {
            Ok(_) if failed => {
                log::info!("one thread polls for all queues of the process again");
                false
            }
            Ok(_) => false,
            Err(error) if !failed && error.kind() != ErrorKind::Closed => {
                log::warn!("no thread polls for all queues for now, so that each polls by itself: {error}");
                true
            }
            Err(_) => true,
        };
        let answers = answers.ok().flatten().unwrap_or_default();
        for (place, look) in due.iter().enumerate() {
            match answers.get(place).copied().flatten() {
                Some(due) => look.of.polls.polled(wakes[place], due),
                None => look.of.polls.is_left_alone(),
            }
        }
        fails
    }

    /// Asks on the connections of a handle. The handle does not go meanwhile, unless the call hangs.
    fn ask(
        self: &Arc<Self>,
        number: u64,
        asked: &[AskedQueue],
        due: &[PlannedLook],
        known: &mut KnownQueues,
    ) -> Result<Option<Vec<Option<Due>>>> {
        let mut state = self.state.lock();
        let Some(handle) = state.queues.iter().find(|queue| queue.number == number) else { return Ok(None) };
        let handle = handle.handle.clone();
        state.asks_on = Some((number, threads::here()));
        drop(state);
        // Its own drop comes before the next line's.
        let answers =
            handle.upgrade().map_or(Ok(None), |handle| handle.due(asked, known, self.pull(&*handle, due).as_ref()));
        self.state.lock().asks_on = None;
        self.changed.notify_all();
        answers
    }

    fn listen_after(self: &Arc<Self>, pause: Duration, login: &Arc<LibpqLogin>) {
        if process::id() == self.process {
            self.doorbell.listen(login, Arc::downgrade(self) as Weak<dyn Rung>, pause);
        }
    }

    /// The question to be woken for the queues that rest, before the look: what is added later rings.
    fn pull<'a>(self: &'a Arc<Self>, handle: &dyn AsksDue, due: &'a [PlannedLook]) -> Option<BellPull<'a>> {
        let login = handle.doorbell()?;
        let resting: Vec<_> = due.iter().filter(|look| look.rests).map(|look| look.asked.stem.as_str()).collect();
        if resting.is_empty() {
            return None;
        }
        self.listen_after(Duration::ZERO, login);
        Some(BellPull { bell: &self.doorbell, resting })
    }
}

impl Rung for Poller {
    fn rung(&self, ring: Ring<'_>) {
        let queues = self.state.lock().queues.clone();
        let handles = |stem| queues.iter().filter(move |queue| queue.asked.stem == stem);
        // The handles of a queue share what they know of it.
        let of = |stem| handles(stem).find_map(|queue| queue.of.upgrade());
        match ring {
            Ring::Proof => {}
            Ring::Added { stem } => _ = of(stem).inspect(|of| of.polls.wake()),
            Ring::Settled { stem, .. } => _ = of(stem).inspect(|of| of.ends.rung()),
            Ring::Taken { stem, worker } => {
                handles(stem).filter_map(|queue| queue.handle.upgrade()).for_each(|handle| handle.taken_from(worker))
            }
        }
    }

    fn listens(&self) {
        self.is_changed(&mut self.state.lock());
    }
}
