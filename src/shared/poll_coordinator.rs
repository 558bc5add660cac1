//! The poll coordinator: the knowledge that the threads of a process share about a queue.
//!
//! While a queue is believed empty, its threads sleep: the poller looks for all queues of the process, and wakes one of them.
//! Where no poller does (hand-written procedures, or a poller that gets no answer), one thread per process and queue looks when the
//! time comes, and the others wait for its find: a poller that fails costs time, never an item. A thread that finds something wakes
//! one more, so that as many look as there is work for: one item that comes to forty
//! waiting threads costs three looks, not forty. While the queue is busy, every thread goes to the server freely. Handles that
//! claim some kinds of items learn nothing from those that claim others: a queue is known to be empty of their kinds.

use super::turns::{PollAt, Turns};
use crate::calls::Due;
use crate::config::LibpqLogin;
use crate::sync::{Mutex, MutexGuard};
use std::{
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// The turns of a process to look at one queue, shared by all its handles.
#[derive(Default)]
pub(crate) struct PollCoordinator {
    state: Mutex<Turns>,
    watchers: Mutex<Vec<Weak<dyn PollWaiter>>>,
    /// Set when the first handle of a queue that the poller serves is opened.
    poller: OnceLock<Arc<dyn LooksForAll>>,
    /// A thread sleeps over the queue, and the poller has no thread.
    lacks_poller: AtomicBool,
}

/// A waiter for a queue that does not wait in [`PollCoordinator::wait_turn`].
pub(crate) trait PollWaiter: Send + Sync {
    /// Something may be due, or a handle was called off: time to look again.
    fn woken(&self);
}

/// The poller, as its queues know it.
pub(super) trait LooksForAll: Send + Sync {
    /// A thread has fallen asleep over a queue, or is to be woken sooner. Returns whether the poller is to be started.
    fn plan_anew(&self) -> bool;

    /// Listens for what happens to the items of a worker.
    fn listen(self: Arc<Self>, login: &Arc<LibpqLogin>);

    /// Starts the thread, if none runs. The caller holds no lock: a failure is logged, and a logger is the program's code.
    fn start(self: Arc<Self>);
}

/// How often a process asks within the interval between two recoveries.
const ASKED: u32 = 8;

/// Within this time no other recovery follows one.
pub(crate) fn before_recovery(interval: Duration) -> Duration {
    interval - interval / ASKED
}

/// Below it, the parameter of a recovery has other meanings.
const LEAST_PAUSE: i32 = 3;

impl PollCoordinator {
    /// Something may be due now.
    pub(crate) fn wake(&self) {
        let mut state = self.state.lock();
        state.of_kinds.values_mut().for_each(|of| of.give(1));
        state.wakes += 1;
        self.notify(state);
    }

    /// An item will be due in so many milliseconds.
    pub(crate) fn due_in(&self, delay_ms: i64) {
        match delay_ms {
            0 => self.wake(),
            later => self.wake_in(Duration::from_millis(later.unsigned_abs())),
        }
    }

    /// A look found something of these kinds: the thread may look again, and one more may look in parallel.
    pub(crate) fn found_something(&self, kinds: &str) {
        let mut state = self.state.lock();
        state.found_something(kinds, Instant::now());
        self.notify(state);
    }

    /// A turn was not used, or the look's find is unknown: another thread is to look.
    pub(crate) fn pass_on(&self, kinds: &str) {
        let mut state = self.state.lock();
        state.of(kinds).give(1);
        self.notify(state);
    }

    /// Wakes `watcher` from now on, as long as it lives.
    pub(crate) fn watch(&self, watcher: Weak<dyn PollWaiter>) {
        let mut watchers = self.watchers.lock();
        watchers.retain(|watcher| watcher.strong_count() > 0);
        watchers.push(watcher);
    }

    fn notify(&self, state: MutexGuard<'_, Turns>) {
        drop(state);
        // Without the lock: a watcher may ask whose turn it is.
        let watchers: Vec<_> = self.watchers.lock().iter().filter_map(Weak::upgrade).collect();
        watchers.iter().for_each(|watcher| watcher.woken());
    }

    /// A handle was called off: the waiters check whether it is theirs, and do not look at the queue.
    pub(crate) fn nudge(&self) {
        let state = self.state.lock();
        state.of_kinds.values().for_each(|of| of.changed.notify_all());
        self.notify(state);
    }

    /// The count of wakes for these kinds; read it before a look.
    pub(crate) fn wakes(&self, kinds: &str) -> u64 {
        let mut state = self.state.lock();
        state.wakes + state.of(kinds).passed_on
    }

    /// Something will be due in `delay`.
    fn wake_in(&self, delay: Duration) {
        let mut state = self.state.lock();
        state.wakes += 1;
        let due = Instant::now() + delay;
        let mut is_news = false;
        for of in state.of_kinds.values_mut().filter(|of| of.due.is_none_or(|other| other > due)) {
            of.due = Some(due);
            of.changed.notify_all();
            is_news = true;
        }
        if is_news {
            self.notify(state);
        }
    }

    /// A look found nothing of these kinds, or that something is due in `due`; ignored if a wake came since the look began at the
    /// count `wakes`.
    pub(crate) fn found_nothing(&self, kinds: &str, wakes: u64, due: Option<Duration>) {
        self.state.lock().found_nothing(kinds, wakes, due, Instant::now());
    }

    /// Waits for a turn to look at the queue, as [`PollCoordinator::take_turn`] takes. `false` when `deadline` comes first, or
    /// when `called_off` answers so; both are checked whenever the waiters wake.
    pub(crate) fn wait_turn(
        &self,
        kinds: &str,
        deadline: Instant,
        interval: Duration,
        called_off: impl Fn() -> bool,
    ) -> bool {
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            let patience = state.patience(interval);
            let of = state.of(kinds);
            let is_called_off = called_off();
            if !is_called_off && of.take(patience, now) {
                return true;
            }
            if is_called_off || now >= deadline {
                // It may have been woken for a turn that another can use.
                of.changed.notify_one();
                return false;
            }
            let until = of.next(patience, now).map_or(now, |next| next.min(deadline));
            let changed = Arc::clone(&of.changed);
            self.sleeps(&mut state, until, interval, now);
            if self.lacks_poller() {
                MutexGuard::unlocked(&mut state, || self.start_poller());
                continue;
            }
            changed.wait_until(&mut state, until);
        }
    }

    /// Takes a turn to look at the queue for a handle that does every `interval`, if the queue is quiet. `false`: not before
    /// [`PollCoordinator::quiet_until`].
    pub(crate) fn take_turn(&self, kinds: &str, interval: Duration) -> bool {
        let mut state = self.state.lock();
        let patience = state.patience(interval);
        state.of(kinds).take(patience, Instant::now())
    }

    /// When the next turn of such a handle comes, which sleeps until then. `None`: now. Before it sleeps, it starts the poller where
    /// that [is lacking](Self::lacks_poller).
    pub(crate) fn quiet_until(&self, kinds: &str, interval: Duration) -> Option<Instant> {
        let (mut state, now) = (self.state.lock(), Instant::now());
        let patience = state.patience(interval);
        let until = state.of(kinds).next(patience, now);
        until.inspect(|until| self.sleeps(&mut state, *until, interval, now))
    }

    fn sleeps(&self, state: &mut Turns, until: Instant, interval: Duration, now: Instant) {
        if let Some(poller) = self.poller.get()
            && state.sleeps(until, interval, now)
            && poller.plan_anew()
        {
            self.lacks_poller.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a thread that falls asleep is to [start the poller](Self::start_poller) first.
    pub(crate) fn lacks_poller(&self) -> bool {
        self.lacks_poller.load(Ordering::Relaxed)
    }

    /// Starts the poller's thread, on a thread that holds no lock.
    pub(crate) fn start_poller(&self) {
        if self.lacks_poller.swap(false, Ordering::Relaxed)
            && let Some(poller) = self.poller.get()
        {
            Arc::clone(poller).start();
        }
    }

    /// A worker of the queue holds items: the process listens for what happens to them.
    pub(crate) fn listen(&self, login: &Arc<LibpqLogin>) {
        self.poller.get().inspect(|poller| Arc::clone(poller).listen(login));
    }

    /// The queue is one of those that `poller` looks at, soon at first: a bell that would have rung may have gone with an earlier handle.
    pub(super) fn is_served_by(&self, poller: Arc<dyn LooksForAll>) {
        _ = self.poller.set(poller);
        self.state.lock().pace.worked(Instant::now());
    }

    /// When the poller is to look at the queue, if a thread sleeps over it.
    pub(super) fn poll_at(&self, phase: Instant, now: Instant) -> Option<PollAt> {
        self.state.lock().poll_at(phase, now)
    }

    /// The count of wakes of all kinds; the poller reads it before it looks.
    pub(super) fn all_wakes(&self) -> u64 {
        self.state.lock().all_wakes()
    }

    /// The poller's look at the queue, which began at the count `wakes`, was answered.
    pub(super) fn polled(&self, wakes: u64, due: Due) {
        let mut state = self.state.lock();
        if state.polled(wakes, due, Instant::now()) {
            self.notify(state);
        }
    }

    /// The poller cannot look at the queue for now: the threads do.
    pub(super) fn is_left_alone(&self) {
        let mut state = self.state.lock();
        if state.is_left_alone(Instant::now()) {
            self.notify(state);
        }
    }

    /// A claim's parameter for the items of dead workers: 0 leaves them, a number recovers them unless another call did within so
    /// many milliseconds.
    ///
    /// All processes together recover once in `interval`, and never later. So each asks several times in it, which costs a look
    /// at one row, and the answer is yes a little before the interval is over.
    pub(crate) fn recovery(&self, interval: Duration) -> i32 {
        let pause = interval / ASKED;
        let mut state = self.state.lock();
        let now = Instant::now();
        if state.recovered.is_some_and(|last| now.duration_since(last) < pause) {
            return 0;
        }
        state.recovered = Some(now);
        i32::try_from(before_recovery(interval).as_millis()).unwrap_or(i32::MAX).max(LEAST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::interrupt::Interrupt;

    #[test]
    fn one_thread_looks_at_a_quiet_queue_and_all_at_a_busy_one() {
        let polls = PollCoordinator::default();
        let soon = Instant::now() + Duration::from_millis(5);
        let hour = Duration::from_secs(3600);
        assert!(polls.wait_turn("", soon, hour, || false), "the first look");
        assert!(!polls.wait_turn("", soon, hour, || false), "the others wait for what it finds");
        polls.found_something("");
        let mut looks = 1;
        while polls.take_turn("", hour) {
            looks += 1;
            polls.found_something("");
            if looks == 100 {
                break;
            }
        }
        assert_eq!(looks, 100, "each look that finds something is followed by others");

        polls.found_nothing("", polls.wakes(""), Some(Duration::ZERO));
        assert!(polls.wait_turn("", soon, hour, || false), "something is due: one looks");
        assert!(!polls.wait_turn("", soon, hour, || false), "and the others wait for what it finds");

        let before = polls.wakes("");
        polls.wake();
        polls.found_nothing("", before, None);
        assert!(polls.wait_turn("", soon, hour, || false), "what was enqueued during a look is not overlooked");
    }

    #[test]
    fn an_item_that_comes_to_many_waiters_costs_three_looks() {
        let (polls, looks, items) = (PollCoordinator::default(), Mutex::new(0), Mutex::new(0));
        let hour = Duration::from_secs(3600);
        polls.found_nothing("", polls.wakes(""), None);
        let (waiting, interrupt) = (Mutex::new(0), Interrupt::default());
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    *waiting.lock() += 1;
                    let late = Instant::now() + hour;
                    while polls.wait_turn("", late, hour, || interrupt.is_set()) {
                        *looks.lock() += 1;
                        let wakes = polls.wakes("");
                        let mut left = items.lock();
                        if *left > 0 {
                            *left -= 1;
                            polls.found_something("");
                        } else {
                            polls.found_nothing("", wakes, None);
                        }
                    }
                });
            }
            while *waiting.lock() < 40 {
                std::thread::yield_now();
            }
            *items.lock() = 1;
            polls.wake();
            while *items.lock() > 0 || polls.quiet_until("", hour).is_none() {
                std::thread::yield_now();
            }
            interrupt.set(true);
            polls.nudge();
        });
        assert!(*looks.lock() <= 3, "{} looks", *looks.lock());
    }

    #[test]
    fn knowledge_of_some_kinds_says_nothing_of_others() {
        let polls = PollCoordinator::default();
        let hour = Duration::from_secs(3600);
        polls.found_nothing("a", polls.wakes("a"), None);
        assert!(!polls.take_turn("a", hour));
        assert!(polls.take_turn("b", hour));
        polls.found_nothing("b", polls.wakes("b"), None);
        let before = polls.wakes("a");
        polls.pass_on("b");
        assert!(!polls.take_turn("a", hour), "it is still empty");
        assert_eq!(polls.wakes("a"), before);
        assert!(polls.take_turn("b", hour));
        polls.wake();
        assert!(polls.take_turn("a", hour), "what comes may be of any kind");
    }

    #[test]
    fn a_nearer_due_time_shortens_the_quiet_and_a_farther_one_does_not() {
        let polls = PollCoordinator::default();
        polls.found_nothing("", polls.wakes(""), None);
        polls.wake_in(Duration::from_secs(7200));
        let (soon, hour) = (Instant::now() + Duration::from_millis(5), Duration::from_secs(3600));
        assert!(!polls.wait_turn("", soon, hour, || false));
        polls.wake_in(Duration::ZERO);
        assert!(polls.wait_turn("", soon, hour, || false));
        polls.found_nothing("", polls.wakes(""), None);
        assert!(!polls.take_turn("", hour));
        assert!(polls.take_turn("", Duration::ZERO), "each handle looks as often as its own interval says");
    }

    #[test]
    fn waiters_can_be_called_off() {
        let polls = Arc::new(PollCoordinator::default());
        polls.found_nothing("", polls.wakes(""), None);
        let interrupt = Arc::new(Interrupt::default());
        let waiter = std::thread::spawn({
            let (polls, interrupt) = (Arc::clone(&polls), Arc::clone(&interrupt));
            move || {
                let late = Instant::now() + Duration::from_secs(3600);
                polls.wait_turn("", late, Duration::from_secs(3600), || interrupt.is_set())
            }
        });
        interrupt.set(true);
        polls.nudge();
        assert!(!waiter.join().unwrap());
    }
}
