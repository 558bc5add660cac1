//! Waiting: what the threads of a process know together about a queue, and how they are called off.
//!
//! While a queue is known to be empty, one thread per process and queue looks at it when the time comes; the others wait
//! for what it finds. While it is busy, every thread goes to the server freely. Handles that claim some kinds of items only
//! have nothing to learn from those that claim others: what is known to be empty is known of their kinds.

use super::retention::Turns;
use crate::sync::{Condvar, Mutex, MutexGuard, PerProcess};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// What a process knows about one queue, shared by all its handles.
#[derive(Default)]
pub(super) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
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

/// What is known of what a handle claims.
#[derive(Default)]
struct OfKinds {
    /// Until when nothing is expected; `None` when there is something, or nobody knows.
    quiet_until: Option<Instant>,
    /// How often one look was followed by another.
    passed_on: u64,
}

impl State {
    fn of(&mut self, kinds: &str) -> &mut OfKinds {
        self.of_kinds.entry(kinds.to_owned()).or_default()
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
        state.of_kinds.values_mut().for_each(|of| of.quiet_until = None);
        state.wakes += 1;
        self.tell(state);
    }

    /// There may be more of these kinds than the caller has taken, or has had a look at.
    pub(super) fn pass_on(&self, kinds: &str) {
        let mut state = self.state.lock();
        let of = state.of(kinds);
        of.quiet_until = None;
        of.passed_on += 1;
        self.tell(state);
    }

    /// Tells `watcher` from now on, for as long as it is there.
    pub(super) fn watch(&self, watcher: Weak<dyn Watcher>) {
        let mut watchers = self.watchers.lock();
        watchers.retain(|watcher| watcher.strong_count() > 0);
        watchers.push(watcher);
    }

    fn tell(&self, state: MutexGuard<'_, State>) {
        self.changed.notify_all();
        drop(state);
        // Without the lock: a watcher may ask whose turn it is.
        let watchers: Vec<_> = self.watchers.lock().iter().filter_map(Weak::upgrade).collect();
        watchers.iter().for_each(|watcher| watcher.woken());
    }

    /// Somebody was called off: those who wait find out whether they are meant, and nobody looks at the queue for it.
    pub(super) fn nudge(&self) {
        self.tell(self.state.lock());
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
        for of in state.of_kinds.values_mut().filter(|of| of.quiet_until.is_some_and(|until| until > due)) {
            of.quiet_until = Some(due);
            is_news = true;
        }
        if is_news {
            self.tell(state);
        }
    }

    /// A look found nothing of these kinds, and nothing is expected for `pause`; unless somebody has said otherwise since the look
    /// began, when there had been `wakes`.
    pub(super) fn found_nothing(&self, kinds: &str, wakes: u64, pause: Duration) {
        let mut state = self.state.lock();
        let global = state.wakes;
        let of = state.of(kinds);
        if global + of.passed_on == wakes {
            of.quiet_until = Some(Instant::now() + pause);
        }
    }

    /// Waits until it is this thread's turn to look at the queue, and keeps the others from looking for `pause` if the
    /// queue was quiet. `false` when `deadline` comes first, or when `called_off` says so; both are looked at again
    /// whenever somebody wakes the waiters.
    pub(super) fn wait_turn(
        &self,
        kinds: &str,
        deadline: Instant,
        pause: Duration,
        called_off: impl Fn() -> bool,
    ) -> bool {
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            let of = state.of(kinds);
            match of.quiet_until {
                _ if called_off() => return false,
                None => return true,
                Some(until) if until <= now => {
                    of.quiet_until = Some(now + pause);
                    return true;
                }
                Some(_) if now >= deadline => return false,
                Some(until) => drop(self.changed.wait_until(&mut state, until.min(deadline))),
            }
        }
    }

    /// Whether it is the caller's turn to look at the queue, as for [`Signal::wait_turn`]; else when to ask again.
    pub(super) fn turn(&self, kinds: &str, pause: Duration) -> Result<(), Instant> {
        let mut state = self.state.lock();
        let now = Instant::now();
        let of = state.of(kinds);
        match of.quiet_until {
            Some(until) if until > now => return Err(until),
            Some(_) => of.quiet_until = Some(now + pause),
            None => {}
        }
        Ok(())
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

/// How a handle's waits are called off: by its own interrupt, by that of a handle it was shared from, or by the end of the
/// queue, which is that of all handles.
#[derive(Default)]
pub(super) struct Interrupt {
    interrupted: Arc<AtomicBool>,
    above: Vec<Arc<AtomicBool>>,
    end: Arc<End>,
}

#[derive(Default)]
struct End {
    /// Held also to interrupt, so that nobody falls asleep between a look and the news.
    closed: Mutex<bool>,
    changed: Condvar,
}

/// What a pause yields to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum YieldsTo {
    /// Only to the end of the handle: the call must be brought to its end.
    Closing,
    /// To an interrupt too: the call can be left undone.
    Interrupts,
}

impl Interrupt {
    /// Of a handle that is shared from this one.
    pub(super) fn share(&self) -> Self {
        let above = self.above.iter().chain([&self.interrupted]).cloned().collect();
        Self { interrupted: Arc::default(), above, end: Arc::clone(&self.end) }
    }

    pub(super) fn set(&self, interrupted: bool) {
        let _news = self.end.closed.lock();
        self.interrupted.store(interrupted, Ordering::Relaxed);
        self.end.changed.notify_all();
    }

    pub(super) fn is_set(&self) -> bool {
        let _settled = self.end.closed.lock();
        self.reached()
    }

    /// With the lock held.
    fn reached(&self) -> bool {
        self.above.iter().chain([&self.interrupted]).any(|flag| flag.load(Ordering::Relaxed))
    }

    pub(super) fn close(&self) {
        *self.end.closed.lock() = true;
        self.end.changed.notify_all();
    }

    pub(super) fn is_closed(&self) -> bool {
        *self.end.closed.lock()
    }

    /// Waits for `pause`, less when the handle is called off; says whether it is.
    pub(super) fn wait(&self, pause: Duration, yields_to: YieldsTo) -> bool {
        let deadline = Instant::now() + pause;
        let mut closed = self.end.closed.lock();
        loop {
            let interrupted = yields_to == YieldsTo::Interrupts && self.reached();
            if *closed || interrupted {
                return true;
            }
            if self.end.changed.wait_until(&mut closed, deadline).timed_out() {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_looks_at_a_quiet_queue_and_all_at_a_busy_one() {
        let signal = Signal::default();
        let soon = Instant::now() + Duration::from_millis(5);
        let hour = Duration::from_secs(3600);
        assert!(signal.wait_turn("", soon, hour, || false));
        assert!(signal.wait_turn("", soon, hour, || false));

        signal.found_nothing("", signal.wakes(""), Duration::ZERO);
        assert!(signal.wait_turn("", soon, hour, || false), "the quiet time is over: somebody looks");
        assert!(!signal.wait_turn("", soon, hour, || false), "and the others wait for what is found");

        let before = signal.wakes("");
        signal.wake();
        signal.found_nothing("", before, hour);
        assert!(signal.wait_turn("", soon, hour, || false), "what was enqueued during a look is not overlooked");
    }

    #[test]
    fn what_is_known_of_some_kinds_says_nothing_of_others() {
        let signal = Signal::default();
        let hour = Duration::from_secs(3600);
        signal.found_nothing("a", signal.wakes("a"), hour);
        assert!(signal.turn("a", hour).is_err());
        assert!(signal.turn("b", hour).is_ok());
        signal.found_nothing("b", signal.wakes("b"), hour);
        let before = signal.wakes("a");
        signal.pass_on("b");
        assert!(signal.turn("a", hour).is_err(), "it is still empty");
        assert_eq!(signal.wakes("a"), before);
        assert!(signal.turn("b", hour).is_ok());
        signal.wake();
        assert!(signal.turn("a", hour).is_ok(), "what comes may be of any kind");
    }

    #[test]
    fn a_nearer_due_time_shortens_the_quiet_and_a_farther_one_does_not() {
        let signal = Signal::default();
        signal.found_nothing("", signal.wakes(""), Duration::from_secs(3600));
        signal.wake_in(Duration::from_secs(7200));
        let soon = Instant::now() + Duration::from_millis(5);
        assert!(!signal.wait_turn("", soon, Duration::ZERO, || false));
        signal.wake_in(Duration::ZERO);
        assert!(signal.wait_turn("", soon, Duration::ZERO, || false));
    }

    #[test]
    fn waiters_can_be_called_off() {
        let signal = Arc::new(Signal::default());
        signal.found_nothing("", signal.wakes(""), Duration::from_secs(3600));
        let interrupt = Arc::new(Interrupt::default());
        let waiter = std::thread::spawn({
            let (signal, interrupt) = (Arc::clone(&signal), Arc::clone(&interrupt));
            move || {
                let late = Instant::now() + Duration::from_secs(3600);
                signal.wait_turn("", late, Duration::ZERO, || interrupt.is_set())
            }
        });
        interrupt.set(true);
        while !waiter.is_finished() {
            signal.changed.notify_all();
            std::thread::yield_now();
        }
        assert!(!waiter.join().unwrap());
    }

    #[test]
    fn handles_of_one_queue_share_a_signal() {
        let a = Signal::shared("c", "s", "q");
        assert!(Arc::ptr_eq(&a, &Signal::shared("c", "s", "q")));
        assert!(!Arc::ptr_eq(&a, &Signal::shared("c", "s", "r")));
    }
}
