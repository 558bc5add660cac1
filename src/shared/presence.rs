//! The turns of a worker to report that it is there.

use super::regularly::Regularly;
use crate::sync::Mutex;
use std::time::{Duration, Instant};

/// How often a worker reports that it is there.
const EVERY: Duration = Duration::from_secs(30);

/// Shared by the threads of one handle.
pub(crate) struct Presence {
    turns: Regularly,
    /// When a thread that waits for work last asked for its turn: such a handle has a worker.
    waited: Mutex<Option<Instant>>,
}

impl Presence {
    /// Due after half a minute, or when a worker begins.
    pub(crate) fn new() -> Self {
        Self { turns: Regularly::after(EVERY), waited: Mutex::new(None) }
    }

    /// When a thread that waits for work is to report. `None`: never again.
    pub(crate) fn next(&self) -> Option<Instant> {
        *self.waited.lock() = Some(Instant::now());
        self.turns.next()
    }

    pub(crate) fn take(&self) -> bool {
        self.turns.take(EVERY)
    }

    /// Takes the turn for a report of another worker of the process, if it comes soon. A thread that waits asks at least that often.
    pub(crate) fn take_along(&self) -> bool {
        let waits = self.waited.lock().is_some_and(|waited| waited.elapsed() <= EVERY);
        waits && self.turns.take_early(EVERY, EVERY / 2)
    }

    /// A worker begins: it reports now.
    pub(crate) fn begins(&self) {
        self.turns.hurry();
    }

    /// The login may not report, or an installation of before has no record.
    pub(crate) fn end(&self) {
        self.turns.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_on_which_nobody_waits_is_not_reported_along() {
        let presence = Presence::new();
        presence.begins();
        assert!(!presence.take_along(), "it only adds items");
        assert!(presence.next().is_some());
        assert!(presence.take_along());
        assert!(!presence.take_along() && !presence.take(), "the next turn comes in half a minute");
    }
}
