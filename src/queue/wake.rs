//! Waiting: the knowledge that the threads of a process share about a queue.
//!
//! While a queue is believed empty, one thread per process and queue looks at it when the time comes; the others wait for what it
//! finds. A thread that finds something wakes one more, so that as many look as there is work for: one item that comes to forty
//! waiting threads costs three looks, not forty. While the queue is busy, every thread goes to the server freely. Handles that
//! claim some kinds of items only have nothing to learn from those that claim others: a queue is known to be empty of their kinds.

use super::retention::Turns;
use crate::sync::{Condvar, Mutex, MutexGuard, PerProcess};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// What a process knows about one queue, shared by all its handles.
#[derive(Default)]
pub(super) struct Signal {
    state: Mutex<State>,
    watchers: Mutex<Vec<Weak<dyn Watcher>>>,
    resumed: Mutex<HashSet<String>>,
    retention: Mutex<Turns>,
}

/// Whoever waits for a queue in a way of its own.
pub(crate) trait Watcher: Send + Sync {
    /// Something may be due, or somebody was called off: time to look again.
    fn woken(&self);
}

#[derive(Default)]
struct State {
    /// By the kinds that are claimed: what is known of them.
    of_kinds: HashMap<String, OfKinds>,
    /// How often somebody said that something may be due, of whatever kind.
    wakes: u64,
    /// When this process last asked whether the items of dead workers are to be given back.
    recovered: Option<Instant>,
}

/// Turns to look at the queue for what a handle claims.
#[derive(Default)]
struct OfKinds {
    /// Looks that may be made at once: something came, or a look found something.
    turns: u32,
    /// The last look that found nothing, or has not answered yet.
    looked: Option<Instant>,
    /// When something is due, as far as that look or anybody since has reported.
    due: Option<Instant>,
    /// How often one look was followed by another.
    passed_on: u64,
    /// Those who wait for a turn.
    changed: Arc<Condvar>,
}

/// More turns than this are not saved up: no process has more threads that claim at once from one queue.
const MOST_TURNS: u32 = 256;

impl OfKinds {
    fn give(&mut self, turns: u32) {
        self.turns = (self.turns + turns).min(MOST_TURNS);
        self.passed_on += 1;
        (0..turns).for_each(|_| self.changed.notify_one());
    }

    /// When the next turn comes to a handle that looks every `interval`; `None`: now.
    fn next(&self, interval: Duration, now: Instant) -> Option<Instant> {
        let at = self.looked? + interval;
        let at = self.due.map_or(at, |due| due.min(at));
        (self.turns == 0 && at > now).then_some(at)
    }

    /// Takes a turn, if there is one. Without others nobody looks before this look has answered, or the interval is over.
    fn take(&mut self, interval: Duration, now: Instant) -> bool {
        if self.turns > 0 {
            self.turns -= 1;
        } else if self.next(interval, now).is_some() {
            return false;
        } else {
            (self.looked, self.due) = (Some(now), None);
        }
        true
    }
}

impl State {
    #[expect(clippy::expect_used, reason = "it has just been put in, where it was not there")]
    fn of(&mut self, kinds: &str) -> &mut OfKinds {
        if !self.of_kinds.contains_key(kinds) {
            self.of_kinds.insert(kinds.to_owned(), OfKinds::default());
        }
        self.of_kinds.get_mut(kinds).expect("there by now")
    }
}

/// Below it, what the server is told of a recovery has meanings of its own.
const LEAST_PAUSE: i32 = 3;

type Registry = Mutex<HashMap<(String, String, String), Weak<Signal>>>;

impl Signal {
    /// The signal of one queue in one schema of one database, as the connection string names it.
    // By this name bindings/c/valgrind.supp knows the list, which lives as long as the process.
    #[inline(never)]
    pub(super) fn shared(connection: &str, schema: &str, queue: &str) -> Arc<Self> {
        static REGISTRY: PerProcess<Registry> = PerProcess::new();

        let key = (connection.to_owned(), schema.to_owned(), queue.to_owned());
        let mut registry = REGISTRY.get().lock();
        if let Some(signal) = registry.get(&key).and_then(Weak::upgrade) {
            return signal;
        }
        registry.retain(|_, signal| signal.strong_count() > 0);
        let signal = Arc::new(Self::default());
        registry.insert(key, Arc::downgrade(&signal));
        signal
    }

    /// Something may be due now.
    pub(super) fn wake(&self) {
        let mut state = self.state.lock();
        state.of_kinds.values_mut().for_each(|of| of.give(1));
        state.wakes += 1;
        self.tell(state);
    }

    /// A look found something of these kinds: the thread may look again, and one more may look beside it.
    pub(super) fn found_something(&self, kinds: &str) {
        self.give(kinds, 2);
    }

    /// A turn was not used, or what the look found is not known: somebody else is to look.
    pub(super) fn pass_on(&self, kinds: &str) {
        self.give(kinds, 1);
    }

    fn give(&self, kinds: &str, turns: u32) {
        let mut state = self.state.lock();
        state.of(kinds).give(turns);
        self.tell(state);
    }

    /// Tells `watcher` from now on, for as long as it is there.
    pub(super) fn watch(&self, watcher: Weak<dyn Watcher>) {
        let mut watchers = self.watchers.lock();
        watchers.retain(|watcher| watcher.strong_count() > 0);
        watchers.push(watcher);
    }

    fn tell(&self, state: MutexGuard<'_, State>) {
        drop(state);
        // Without the lock: a watcher may ask whose turn it is.
        let watchers: Vec<_> = self.watchers.lock().iter().filter_map(Weak::upgrade).collect();
        watchers.iter().for_each(|watcher| watcher.woken());
    }

    /// Somebody was called off: those who wait find out whether they are meant, and nobody looks at the queue for it.
    pub(super) fn nudge(&self) {
        let state = self.state.lock();
        state.of_kinds.values().for_each(|of| of.changed.notify_all());
        self.tell(state);
    }

    /// How often it was woken for these kinds; to be asked before a look.
    pub(super) fn wakes(&self, kinds: &str) -> u64 {
        let mut state = self.state.lock();
        state.wakes + state.of(kinds).passed_on
    }

    /// Something will be due in `delay`.
    pub(super) fn wake_in(&self, delay: Duration) {
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
            self.tell(state);
        }
    }

    /// A look found nothing of these kinds, and that something is due in `due`, if it did; unless it was reported since the look
    /// began, when there had been `wakes`, that something may be there.
    pub(super) fn found_nothing(&self, kinds: &str, wakes: u64, due: Option<Duration>) {
        let mut state = self.state.lock();
        let global = state.wakes;
        let of = state.of(kinds);
        if global + of.passed_on == wakes {
            let now = Instant::now();
            of.turns = 0;
            (of.looked, of.due) = (Some(now), due.map(|due| now + due));
        }
    }

    /// Waits for a turn to look at the queue, as [`Signal::take_turn`] takes. `false` when `deadline` comes first, or when
    /// `called_off` answers so; both are looked at again whenever the waiters are woken.
    pub(super) fn wait_turn(
        &self,
        kinds: &str,
        deadline: Instant,
        interval: Duration,
        called_off: impl Fn() -> bool,
    ) -> bool {
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            let of = state.of(kinds);
            let is_called_off = called_off();
            if !is_called_off && of.take(interval, now) {
                return true;
            }
            if is_called_off || now >= deadline {
                // It may have been woken for a turn that another can use.
                of.changed.notify_one();
                return false;
            }
            let until = of.next(interval, now).map_or(now, |next| next.min(deadline));
            let changed = Arc::clone(&of.changed);
            changed.wait_until(&mut state, until);
        }
    }

    /// Takes a turn to look at the queue for a handle that does every `interval`, if the queue is quiet. `false`: not before
    /// [`Signal::quiet_until`].
    pub(super) fn take_turn(&self, kinds: &str, interval: Duration) -> bool {
        self.state.lock().of(kinds).take(interval, Instant::now())
    }

    /// When the next turn of such a handle comes. `None`: now.
    pub(super) fn quiet_until(&self, kinds: &str, interval: Duration) -> Option<Instant> {
        self.state.lock().of(kinds).next(interval, Instant::now())
    }

    /// The workers of this process that have taken up what they left in flight when they were last alive. Whoever does
    /// it keeps this locked meanwhile.
    pub(super) fn resumed(&self) -> MutexGuard<'_, HashSet<String>> {
        self.resumed.lock()
    }

    /// Whose turn it is to delete what is over.
    pub(super) fn retention(&self) -> MutexGuard<'_, Turns> {
        self.retention.lock()
    }

    /// What the server is to be told of the items of dead workers: nothing (0), or to give them back unless somebody did within so
    /// many milliseconds.
    ///
    /// All processes together are to do it once in `interval`, and never later. So each asks several times in it, which costs a
    /// look at one row, and a part of it before it is over the answer is yes.
    pub(super) fn recovery(&self, interval: Duration) -> i32 {
        const ASKED: u32 = 8;

        let pause = interval / ASKED;
        let mut state = self.state.lock();
        let now = Instant::now();
        if state.recovered.is_some_and(|last| now.duration_since(last) < pause) {
            return 0;
        }
        state.recovered = Some(now);
        i32::try_from((interval - pause).as_millis()).unwrap_or(i32::MAX).max(LEAST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::interrupt::Interrupt;

    #[test]
    fn one_thread_looks_at_a_quiet_queue_and_all_at_a_busy_one() {
        let signal = Signal::default();
        let soon = Instant::now() + Duration::from_millis(5);
        let hour = Duration::from_secs(3600);
        assert!(signal.wait_turn("", soon, hour, || false), "the first look");
        assert!(!signal.wait_turn("", soon, hour, || false), "the others wait for what it finds");
        signal.found_something("");
        let mut looks = 1;
        while signal.take_turn("", hour) {
            looks += 1;
            signal.found_something("");
            if looks == 100 {
                break;
            }
        }
        assert_eq!(looks, 100, "each look that finds something is followed by others");

        signal.found_nothing("", signal.wakes(""), Some(Duration::ZERO));
        assert!(signal.wait_turn("", soon, hour, || false), "something is due: one looks");
        assert!(!signal.wait_turn("", soon, hour, || false), "and the others wait for what it finds");

        let before = signal.wakes("");
        signal.wake();
        signal.found_nothing("", before, None);
        assert!(signal.wait_turn("", soon, hour, || false), "what was enqueued during a look is not overlooked");
    }

    #[test]
    fn an_item_that_comes_to_many_who_wait_costs_three_looks() {
        let (signal, looks, items) = (Signal::default(), Mutex::new(0), Mutex::new(0));
        let hour = Duration::from_secs(3600);
        signal.found_nothing("", signal.wakes(""), None);
        let (waiting, interrupt) = (Mutex::new(0), Interrupt::default());
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    *waiting.lock() += 1;
                    let late = Instant::now() + hour;
                    while signal.wait_turn("", late, hour, || interrupt.is_set()) {
                        *looks.lock() += 1;
                        let wakes = signal.wakes("");
                        let mut left = items.lock();
                        if *left > 0 {
                            *left -= 1;
                            signal.found_something("");
                        } else {
                            signal.found_nothing("", wakes, None);
                        }
                    }
                });
            }
            while *waiting.lock() < 40 {
                std::thread::yield_now();
            }
            *items.lock() = 1;
            signal.wake();
            while *items.lock() > 0 || signal.quiet_until("", hour).is_none() {
                std::thread::yield_now();
            }
            interrupt.set(true);
            signal.nudge();
        });
        assert!(*looks.lock() <= 3, "{} looks", *looks.lock());
    }

    #[test]
    fn what_is_known_of_some_kinds_says_nothing_of_others() {
        let signal = Signal::default();
        let hour = Duration::from_secs(3600);
        signal.found_nothing("a", signal.wakes("a"), None);
        assert!(!signal.take_turn("a", hour));
        assert!(signal.take_turn("b", hour));
        signal.found_nothing("b", signal.wakes("b"), None);
        let before = signal.wakes("a");
        signal.pass_on("b");
        assert!(!signal.take_turn("a", hour), "it is still empty");
        assert_eq!(signal.wakes("a"), before);
        assert!(signal.take_turn("b", hour));
        signal.wake();
        assert!(signal.take_turn("a", hour), "what comes may be of any kind");
    }

    #[test]
    fn a_nearer_due_time_shortens_the_quiet_and_a_farther_one_does_not() {
        let signal = Signal::default();
        signal.found_nothing("", signal.wakes(""), None);
        signal.wake_in(Duration::from_secs(7200));
        let (soon, hour) = (Instant::now() + Duration::from_millis(5), Duration::from_secs(3600));
        assert!(!signal.wait_turn("", soon, hour, || false));
        signal.wake_in(Duration::ZERO);
        assert!(signal.wait_turn("", soon, hour, || false));
        signal.found_nothing("", signal.wakes(""), None);
        assert!(!signal.take_turn("", hour));
        assert!(signal.take_turn("", Duration::ZERO), "each handle looks as often as its own interval says");
    }

    #[test]
    fn waiters_can_be_called_off() {
        let signal = Arc::new(Signal::default());
        signal.found_nothing("", signal.wakes(""), None);
        let interrupt = Arc::new(Interrupt::default());
        let waiter = std::thread::spawn({
            let (signal, interrupt) = (Arc::clone(&signal), Arc::clone(&interrupt));
            move || {
                let late = Instant::now() + Duration::from_secs(3600);
                signal.wait_turn("", late, Duration::from_secs(3600), || interrupt.is_set())
            }
        });
        interrupt.set(true);
        signal.nudge();
        assert!(!waiter.join().unwrap());
    }

    #[test]
    fn handles_of_one_queue_share_a_signal() {
        let a = Signal::shared("c", "s", "q");
        assert!(Arc::ptr_eq(&a, &Signal::shared("c", "s", "q")));
        assert!(!Arc::ptr_eq(&a, &Signal::shared("c", "s", "r")));
    }
}
