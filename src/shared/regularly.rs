//! The pace of what one thread of all does every so often.

use crate::sync::Mutex;
use std::time::{Duration, Instant};

/// When it is next due; `None`: never again.
pub(crate) struct Regularly(Mutex<Option<Instant>>);

impl Regularly {
    /// Due from now on.
    pub(crate) fn now() -> Self {
        Self(Mutex::new(Some(Instant::now())))
    }

    /// Due after a pause.
    pub(crate) fn after(pause: Duration) -> Self {
        Self(Mutex::new(Some(Instant::now() + pause)))
    }

    /// When it is next due; `None`: never again.
    pub(crate) fn next(&self) -> Option<Instant> {
        *self.0.lock()
    }

    /// Takes the turn, if it is due; the next comes after `pause`.
    pub(crate) fn take(&self, pause: Duration) -> bool {
        self.take_early(pause, Duration::ZERO)
    }

    /// The same up to `early` before it is due.
    pub(crate) fn take_early(&self, pause: Duration, early: Duration) -> bool {
        let now = Instant::now();
        let mut next = self.0.lock();
        let is_due = next.is_some_and(|next| next <= now + early);
        if is_due {
            *next = Some(now + pause);
        }
        is_due
    }

    /// Makes it due after `pause`.
    pub(crate) fn rest(&self, pause: Duration) {
        let mut next = self.0.lock();
        if next.is_some() {
            *next = Some(Instant::now() + pause);
        }
    }

    /// Makes it due now.
    pub(crate) fn hurry(&self) {
        self.rest(Duration::ZERO);
    }

    /// Ends it.
    pub(crate) fn end(&self) {
        *self.0.lock() = None;
    }
}

impl Default for Regularly {
    fn default() -> Self {
        Self::now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(86_400);

    #[test]
    fn one_of_all_takes_each_turn() {
        let pace = Regularly::now();
        assert!(pace.take(LONG) && !pace.take(LONG));
        pace.hurry();
        assert!(pace.take(LONG) && !pace.take(LONG));
        assert!(!Regularly::after(LONG).take(LONG));
        let early = Regularly::after(LONG);
        assert!(early.take_early(LONG, LONG) && !early.take(LONG));
    }

    #[test]
    fn an_ended_pace_has_no_turns() {
        let pace = Regularly::now();
        pace.end();
        pace.hurry();
        assert!(!pace.take(Duration::ZERO));
    }
}
