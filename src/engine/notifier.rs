//! Wakes threads whose handlers run: an item in flight was lost, or the worker is to stop.
//!
//! It only counts. A woken thread asks for the state itself, so a late reader misses nothing, and nothing grows.

use super::waker::Waker;
use crate::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

#[derive(Default)]
pub(super) struct Notifier {
    state: Mutex<NotifierState>,
    more: Condvar,
    /// Wakes an event loop too.
    waker: Waker,
}

#[derive(Default)]
struct NotifierState {
    count: u64,
    is_over: bool,
    /// How many changes there were when an event loop last began to wait.
    #[cfg(unix)]
    armed_at: u64,
}

impl Notifier {
    /// Reports a change.
    pub(super) fn notify(&self) {
        self.state.lock().count += 1;
        self.more.notify_all();
        self.waker.wake();
    }

    /// Empties the descriptor of an event loop, and wakes the loop at once if a change has come since it last did so: the loop may have
    /// looked before it.
    #[cfg(unix)]
    pub(super) fn arm(&self) -> crate::error::Result<std::os::fd::RawFd> {
        let descriptor = self.waker.arm()?;
        let mut state = self.state.lock();
        let count = state.count;
        let is_news = std::mem::replace(&mut state.armed_at, count) != count;
        drop(state);
        if is_news {
            self.waker.wake();
        }
        Ok(descriptor)
    }

    pub(super) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// How many changes there are.
    pub(super) fn count(&self) -> u64 {
        self.state.lock().count
    }

    /// Ends all waits: no more changes follow.
    pub(super) fn end(&self) {
        self.state.lock().is_over = true;
        self.more.notify_all();
        self.waker.wake();
    }

    /// Waits up to `wait` until there are more changes than `seen`, and returns how many; `seen` itself when none came. `None`:
    /// no more follow.
    pub(super) fn after(&self, seen: u64, wait: Duration) -> Option<u64> {
        let deadline = Instant::now().checked_add(wait);
        let mut state = self.state.lock();
        while state.count <= seen {
            if state.is_over {
                return None;
            }
            match deadline {
                Some(deadline) if Instant::now() >= deadline => return Some(seen),
                Some(deadline) => drop(self.more.wait_until(&mut state, deadline)),
                None => self.more.wait(&mut state),
            }
        }
        Some(state.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_late_reader_misses_nothing() {
        let notifier = Notifier::default();
        assert_eq!(notifier.after(0, Duration::ZERO), Some(0), "none in time");
        notifier.notify();
        notifier.notify();
        assert_eq!(notifier.after(0, Duration::MAX), Some(2));
        assert_eq!(notifier.after(1, Duration::MAX), Some(2), "each reader has a count of its own");
        notifier.end();
        assert_eq!(notifier.after(1, Duration::MAX), Some(2), "also after the end");
        assert_eq!(notifier.after(2, Duration::MAX), None);
        assert_eq!(notifier.after(u64::MAX, Duration::MAX), None);
    }

    #[test]
    #[cfg(unix)]
    fn an_event_loop_misses_no_change_between_its_look_and_its_wait() {
        let notifier = Notifier::default();
        let armed = || {
            notifier.arm().unwrap();
            notifier.waker.is_full()
        };
        assert!(!armed());
        notifier.notify();
        // It has looked for the first change, and then comes the second.
        notifier.notify();
        assert!(armed(), "it looks once more");
        assert!(!armed());
    }

    #[test]
    fn changes_and_the_end_wake_all_waiters() {
        let notifier = Notifier::default();
        thread::scope(|scope| {
            let readers = [(); 3].map(|()| {
                scope.spawn(|| {
                    let first = notifier.after(0, Duration::MAX);
                    (first, notifier.after(1, Duration::MAX))
                })
            });
            notifier.notify();
            notifier.end();
            for reader in readers {
                assert_eq!(reader.join().unwrap(), (Some(1), None));
            }
        });
    }
}
