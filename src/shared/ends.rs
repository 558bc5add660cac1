//! The threads of a process that wait for items of one queue to end. One of them asks the server for all, soon when something
//! ended in this process, else after growing pauses.

use crate::item::Batch;
use crate::sync::{Condvar, Mutex};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The first pause between two questions, and the least; each is half as long again as the one before.
const SHORTEST: Duration = Duration::from_millis(20);

/// The same after the bell has rung for an item that is waited for.
const RUNG: Duration = Duration::from_millis(5);

/// The end of an item that was waited for.
#[derive(Debug, Clone)]
pub(crate) enum End {
    Ended(Batch),
    Gone,
}

#[derive(Default)]
pub(crate) struct Ends {
    waiting: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    wanted: HashMap<String, Wanted>,
    /// A thread is asking.
    is_asked: bool,
    /// When the last question that was answered began.
    answered: Option<Instant>,
    /// When the next one may begin. `None`: now.
    next: Option<Instant>,
    pause: Duration,
}

#[derive(Default)]
struct Wanted {
    by: usize,
    end: Option<End>,
}

/// The thread's next action.
#[derive(Debug)]
pub(crate) enum Turn {
    /// Its item has ended.
    Ended(End),
    /// The time is over.
    TimedOut,
    /// It asks the server for these keys.
    Ask(Vec<String>),
    /// It looks whether it was called off, and asks for its turn again.
    Again,
}

/// A thread that waits.
pub(crate) struct Waiter<'a> {
    ends: &'a Ends,
    key: &'a str,
    asks: bool,
}

impl Ends {
    pub(crate) fn enter<'a>(&'a self, key: &'a str) -> Waiter<'a> {
        let mut state = self.state.lock();
        let wanted = state.wanted.entry(key.to_owned()).or_default();
        // The item may be open again since.
        *wanted = Wanted { by: wanted.by + 1, end: None };
        state.hurry(SHORTEST);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
        Waiter { ends: self, key, asks: false }
    }

    /// Something may have ended: one thread asks soon.
    pub(crate) fn ring(&self) {
        self.asks_after(SHORTEST);
    }

    /// An item that is waited for may have ended: one thread asks very soon.
    pub(crate) fn rung(&self) {
        self.asks_after(RUNG);
    }

    fn asks_after(&self, pause: Duration) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.state.lock().hurry(pause);
            self.changed.notify_one();
        }
    }

    /// A handle was called off.
    pub(crate) fn nudge(&self) {
        drop(self.state.lock());
        self.changed.notify_all();
    }
}

impl State {
    /// The next question follows as soon as one may, this pause after the last one.
    fn hurry(&mut self, pause: Duration) {
        (self.next, self.pause) = (self.answered.map(|at| at + pause), SHORTEST);
    }
}

impl Waiter<'_> {
    /// Waits up to `deadline` for the thread's next action. At the deadline the server is asked once more.
    pub(crate) fn turn(&mut self, deadline: Instant) -> Turn {
        let mut state = self.ends.state.lock();
        if let Some(end) = state.wanted.get(self.key).and_then(|wanted| wanted.end.clone()) {
            return Turn::Ended(end);
        }
        let now = Instant::now();
        if state.answered.is_some_and(|at| at >= deadline) {
            return Turn::TimedOut;
        }
        if !state.is_asked && state.next.is_none_or(|next| next <= now || now >= deadline) {
            state.is_asked = true;
            self.asks = true;
            let open = state.wanted.iter().filter(|(_, wanted)| wanted.end.is_none());
            return Turn::Ask(open.map(|(key, _)| key.clone()).collect());
        }
        let until = if state.is_asked { None } else { state.next };
        // After the deadline it waits for the answer that another thread is about to get.
        match until.into_iter().chain(Some(deadline).filter(|deadline| *deadline > now)).min() {
            Some(until) => drop(self.ends.changed.wait_until(&mut state, until)),
            None => self.ends.changed.wait(&mut state),
        }
        Turn::Again
    }

    /// The answer to the question that began at `asked`. The next one follows after at most `longest`. `is_rung`: the bell is relied
    /// on, but for an end that came while the process asked for its ring, which is found by the next two.
    pub(crate) fn answered(&mut self, ends: Vec<(String, End)>, asked: Instant, longest: Duration, is_rung: bool) {
        let mut state = self.ends.state.lock();
        if !ends.is_empty() {
            self.ends.changed.notify_all();
        }
        for (key, end) in ends {
            state.wanted.entry(key).and_modify(|wanted| wanted.end = Some(end));
        }
        state.answered = Some(asked);
        state.next = Some(Instant::now() + state.pause);
        let is_over = is_rung && state.pause > SHORTEST;
        state.pause = if is_over { longest } else { state.pause * 3 / 2 }.min(longest.max(SHORTEST));
        state.is_asked = false;
        self.asks = false;
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let ends = self.ends;
        let mut state = ends.state.lock();
        ends.waiting.fetch_sub(1, Ordering::Relaxed);
        // Its question failed.
        state.is_asked &= !self.asks;
        // The others sleep without an alarm while one asks, or waits until it does.
        ends.changed.notify_one();
        if let Some(wanted) = state.wanted.get_mut(self.key) {
            wanted.by -= 1;
            if wanted.by == 0 {
                state.wanted.remove(self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(3600);

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(5)
    }

    /// The keys that it asks for, once it may.
    fn asks(waiter: &mut Waiter<'_>, deadline: Instant) -> Vec<String> {
        loop {
            match waiter.turn(deadline) {
                Turn::Again => {}
                turn => return asked(turn),
            }
        }
    }

    fn asked(turn: Turn) -> Vec<String> {
        let Turn::Ask(mut keys) = turn else { panic!("{turn:?}") };
        keys.sort();
        keys
    }

    #[test]
    fn one_thread_asks_for_all() {
        let ends = Ends::default();
        let (mut a, mut b) = (ends.enter("a"), ends.enter("b"));
        assert_eq!(asked(a.turn(soon())), ["a", "b"]);
        assert!(matches!(b.turn(soon()), Turn::Again), "another thread asks");
        a.answered(vec![("b".to_owned(), End::Gone)], Instant::now(), LONGEST, false);
        assert!(matches!(b.turn(soon()), Turn::Ended(End::Gone)));
        drop(b);
        let deadline = Instant::now();
        assert_eq!(asked(a.turn(deadline)), ["a"], "at the deadline it looks once more");
        a.answered(Vec::new(), Instant::now(), LONGEST, false);
        assert!(matches!(a.turn(deadline), Turn::TimedOut));
    }

    #[test]
    fn the_next_thread_asks_when_one_fails_or_leaves() {
        let ends = Ends::default();
        let (mut a, mut b) = (ends.enter("a"), ends.enter("b"));
        assert_eq!(asked(a.turn(soon())).len(), 2);
        drop(a);
        assert_eq!(asked(b.turn(soon())), ["b"]);
        drop(b);
        assert!(ends.state.lock().wanted.is_empty());
    }

    #[test]
    fn a_ring_ends_the_pause() {
        let ends = Ends::default();
        let mut a = ends.enter("a");
        for _ in 0..20 {
            ends.state.lock().next = None;
            assert_eq!(asked(a.turn(soon())), ["a"]);
            a.answered(Vec::new(), Instant::now(), LONGEST, false);
        }
        assert!(ends.state.lock().next.unwrap() > Instant::now() + Duration::from_secs(10), "pauses grow");
        let begun = Instant::now();
        ends.ring();
        assert_eq!(asks(&mut a, begun + LONGEST), ["a"]);
        assert!(begun.elapsed() < LONGEST);
        a.answered(Vec::new(), Instant::now(), LONGEST, false);
        ends.ring();
        assert!(ends.state.lock().next.unwrap() > Instant::now(), "many rings in a row are one question");
    }

    #[test]
    fn two_may_wait_for_one_item() {
        let ends = Ends::default();
        let (mut a, mut b) = (ends.enter("a"), ends.enter("a"));
        assert_eq!(asked(a.turn(soon())), ["a"]);
        a.answered(vec![("a".to_owned(), End::Gone)], Instant::now(), LONGEST, false);
        drop(a);
        assert!(matches!(b.turn(soon()), Turn::Ended(End::Gone)));
    }
}
