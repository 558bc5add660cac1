//! Turns of a process to look at the schedules of a queue.

use crate::sync::Mutex;
use std::collections::HashSet;
use std::sync::atomic::AtomicI32;
use std::time::{Duration, Instant};

/// A schedule that another process makes, changes or switches counts within this time.
const LOOK: Duration = Duration::from_secs(15);

/// The turns of a process's workers.
pub(crate) struct ScheduleTurns {
    /// The next look; the first is due at once.
    at: Mutex<Instant>,
    /// Rules whose problem was logged.
    pub(crate) logged: Mutex<HashSet<String>>,
    /// The schedules that the last look could not fire.
    pub(crate) stuck: AtomicI32,
}

impl Default for ScheduleTurns {
    fn default() -> Self {
        Self { at: Mutex::new(Instant::now()), logged: Mutex::default(), stuck: AtomicI32::new(0) }
    }
}

impl ScheduleTurns {
    /// When the next look is due.
    pub(crate) fn at(&self) -> Instant {
        *self.at.lock()
    }

    /// Takes the turn, if it is due.
    pub(crate) fn take(&self) -> bool {
        let (mut at, now) = (self.at.lock(), Instant::now());
        if *at > now {
            return false;
        }
        *at = now + LOOK;
        true
    }

    /// The next look is due within `wait`.
    pub(crate) fn within(&self, wait: Duration) {
        let (mut at, then) = (self.at.lock(), Instant::now() + wait.min(LOOK));
        *at = then.min(*at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_one_threads_and_the_next_comes_with_the_next_planned_time() {
        let turns = ScheduleTurns::default();
        assert!(turns.at() <= Instant::now());
        assert!(turns.take());
        assert!(!turns.take());
        turns.within(Duration::from_secs(3600));
        assert!(turns.at() <= Instant::now() + LOOK);
        turns.within(Duration::ZERO);
        assert!(turns.take());
    }
}
