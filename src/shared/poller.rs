//! The poller: one thread of a process looks for all its queues in one schema of one database, by one statement, while threads sleep
//! over them.

use super::doorbell::{Doorbell, Rung};
use super::of_queue::OfQueue;
use super::poll_coordinator::LooksForAll;
use super::turns::PollAt;
use crate::calls::{AskedQueue, Due, KnownQueues};
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
    /// Whether a connection is free, or may be opened.
    fn has_room(&self) -> bool;

    /// Asks about the queues, with one try; `None` about those that the login may not claim from. `known` keeps what `connection`
    /// it was asked on, and about which queues.
    fn due(&self, queues: &[AskedQueue], known: &mut KnownQueues) -> Result<Vec<Option<Due>>>;

    /// The log-in for a doorbell beside its connections; `None` where there is none.
    fn doorbell(&self) -> Option<&Arc<LibpqLogin>>;

    /// Asks that who adds to one of these queues notifies the channel, on which this session listens.
    fn sleep(&self, stems: &[&str], channel: &str, listener: i32) -> Result<()>;
}

/// The poller of one schema of one database in this process.
pub(crate) struct Poller {
    state: Mutex<PollerState>,
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
    /// A thread has fallen asleep, or a queue came or went.
    plans_anew: bool,
    /// Whether the thread runs.
    runs: bool,
}

/// A queue that the poller looks at.
#[derive(Clone)]
struct PolledQueue {
    asked: AskedQueue,
    of: Weak<OfQueue>,
    handle: Weak<dyn AsksDue>,
}

type Registry = Mutex<HashMap<(String, String), Weak<Poller>>>;

/// The thread ends when no thread has slept over a queue for so long.
const IDLE: Duration = Duration::from_secs(30);

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
        let doorbell = Arc::new(Doorbell::new());
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

    /// Looks at the queue from now on, as long as `handle` lives.
    pub(crate) fn serve(self: &Arc<Self>, asked: AskedQueue, of: &Arc<OfQueue>, handle: Weak<dyn AsksDue>) {
        of.polls.is_served_by(Arc::clone(self) as Arc<dyn LooksForAll>);
        let mut state = self.state.lock();
        state.queues.retain(|queue| queue.handle.strong_count() > 0);
        state.queues.push(PolledQueue { asked, of: Arc::downgrade(of), handle });
        self.is_changed(&mut state);
    }

    fn is_changed(&self, state: &mut MutexGuard<'_, PollerState>) {
        state.plans_anew = true;
        self.changed.notify_all();
    }

    fn run(self: &Arc<Self>) {
        let (mut known, mut last) = (KnownQueues::default(), None);
        let mut idle_since = Instant::now();
        let mut fails = false;
        let mut state = self.state.lock();
        loop {
            state.plans_anew = false;
            state.queues.retain(|queue| queue.handle.strong_count() > 0);
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
        state.runs = false;
    }
}

impl LooksForAll for Poller {
    fn plan_anew(self: Arc<Self>) {
        if process::id() != self.process {
            return;
        }
        let mut state = self.state.lock();
        self.is_changed(&mut state);
        if !state.runs {
            let poller = Arc::clone(&self);
            // Without it the threads look by themselves.
            match threads::start("readpast-poller", move || poller.run()) {
                Ok(_) => state.runs = true,
                Err(error) => log::warn!("no thread polls for all queues, so that each polls by itself: {error}"),
            }
        }
    }

    fn forget(&self) {
        if process::id() == self.process {
            self.is_changed(&mut self.state.lock());
        }
    }
}

/// The next look.
struct Plan {
    next: Option<Instant>,
    /// The queues to look at, if it is time: those for which it nearly is, too.
    due: Vec<PlannedLook>,
}

/// A look at one queue.
struct PlannedLook {
    asked: AskedQueue,
    of: Arc<OfQueue>,
    handles: Vec<Weak<dyn AsksDue>>,
    /// The last look found nothing either.
    rests: bool,
}

impl Plan {
    fn new(queues: Vec<PolledQueue>, phase: Instant, now: Instant) -> Self {
        let mut plan = Self { next: None, due: Vec::new() };
        for PolledQueue { asked, of, handle } in queues {
            let Some(of) = of.upgrade() else { continue };
            // A queue may have several handles.
            if let Some(known) = plan.due.iter_mut().find(|known| Arc::ptr_eq(&known.of, &of)) {
                known.asked.recovery = known.asked.recovery.min(asked.recovery);
                known.handles.push(handle);
                continue;
            }
            let Some(PollAt { at, slack, rests }) = of.polls.poll_at(phase, now) else { continue };
            plan.next = plan.next.map_or(Some(at), |next| Some(next.min(at)));
            if at <= now + slack {
                plan.due.push(PlannedLook { asked, of, handles: vec![handle], rests });
            }
        }
        plan
    }
}

impl Poller {
    /// Looks at the queues; returns whether it failed. It asks on the connections that it asked on `last`, if it can: they know the
    /// looks.
    fn look(
        self: &Arc<Self>,
        due: &[PlannedLook],
        known: &mut KnownQueues,
        last: &mut Option<Weak<dyn AsksDue>>,
        failed: bool,
    ) -> bool {
        let asked: Vec<_> = due.iter().map(|look| look.asked.clone()).collect();
        let wakes: Vec<_> = due.iter().map(|look| look.of.polls.all_wakes()).collect();
        let handles = last.iter().chain(due.iter().flat_map(|look| &look.handles)).filter_map(Weak::upgrade);
        let handle = handles.into_iter().find(|handle| handle.has_room());
        *last = handle.as_ref().map(Arc::downgrade).or_else(|| last.take());
        let answers = match handle {
            // All connections are at work, or closed.
            None => Ok(Vec::new()),
            Some(handle) => {
                self.sleep(&*handle, due);
                handle.due(&asked, known)
            }
        };
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
        let answers = answers.unwrap_or_default();
        for (place, look) in due.iter().enumerate() {
            match answers.get(place).copied().flatten() {
                Some(due) => look.of.polls.polled(wakes[place], due),
                None => look.of.polls.is_left_alone(),
            }
        }
        fails
    }

    /// Asks to be woken for the queues that rest, before the look: what is added later rings.
    fn sleep(self: &Arc<Self>, handle: &dyn AsksDue, due: &[PlannedLook]) {
        let Some(login) = handle.doorbell() else { return };
        let resting: Vec<_> = due.iter().filter(|look| look.rests).map(|look| look.asked.stem.as_str()).collect();
        if resting.is_empty() {
            return;
        }
        self.doorbell.listen(login, Arc::downgrade(self) as Weak<dyn Rung>);
        if let Some(listener) = self.doorbell.must_ask(&resting)
            && let Err(error) = handle.sleep(&resting, &self.doorbell.channel, listener)
        {
            log::debug!("the process could not ask to be woken: {error}");
            self.doorbell.was_not_asked();
        }
    }
}

impl Rung for Poller {
    fn rung(&self, stem: &str) {
        let queues = self.state.lock().queues.clone();
        let rung = queues.iter().filter(|queue| queue.asked.stem == stem).filter_map(|queue| queue.of.upgrade());
        // The handles of a queue share what they know of it.
        rung.take(1).for_each(|of| of.polls.wake());
    }

    fn listens(&self) {
        self.is_changed(&mut self.state.lock());
    }
}
