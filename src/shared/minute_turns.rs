//! The turns of a process to keep the figures of a queue's minutes.

use super::regularly::Regularly;
use crate::sync::Mutex;
use std::process;
use std::time::{Duration, Instant};

/// How often a process offers to keep the figures of a minute: each minute, although it may come some seconds late.
const EVERY: Duration = Duration::from_secs(55);

/// A process whose last minute is so old is one of those that another does it for.
const KEEPER: Duration = Duration::from_secs(150);

/// Those offer rarely: with many processes one of them is soon there when the keeper ends. Each at a time of its own.
const OTHERS: Duration = Duration::from_secs(240);

/// A turn to offer that comes so soon is taken along: one call asks about many queues.
const ALONG: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(crate) struct MinuteTurns {
    turns: Regularly,
    /// When this process last kept one.
    kept: Mutex<Option<Instant>>,
    /// When a worker last asked for its turn: a process without one keeps none.
    asked: Mutex<Option<Instant>>,
}

impl MinuteTurns {
    /// When the next turn comes. `None`: never again.
    pub(crate) fn next(&self) -> Option<Instant> {
        *self.asked.lock() = Some(Instant::now());
        self.turns.next()
    }

    pub(crate) fn take(&self) -> bool {
        self.turns.take(EVERY)
    }

    /// Takes the turn to offer beside that of another queue of the process, if it comes soon.
    pub(crate) fn take_along(&self) -> bool {
        let is_asked_for = self.asked.lock().is_some_and(|asked| asked.elapsed() <= OTHERS * 2);
        is_asked_for && !self.is_keeper() && self.turns.take_early(EVERY, ALONG)
    }

    /// Whether this process keeps the figures, as far as it knows: it need not offer.
    pub(crate) fn is_keeper(&self) -> bool {
        self.kept.lock().is_some_and(|kept| kept.elapsed() <= KEEPER)
    }

    /// No process keeps them: this one does from now on, by the next thread that asks for its turn.
    pub(crate) fn begins(&self) {
        *self.kept.lock() = Some(Instant::now());
        self.turns.hurry();
    }

    /// The minute was this process', or another's.
    pub(crate) fn answered(&self, is_ours: bool) {
        if is_ours {
            *self.kept.lock() = Some(Instant::now());
        } else if !self.is_keeper() {
            self.turns.rest(OTHERS + Duration::from_secs(u64::from(process::id() % 120)));
        }
    }

    /// The login may not keep them, or an installation of before has no record.
    pub(crate) fn end(&self) {
        self.turns.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(turns: &MinuteTurns) -> Duration {
        turns.next().unwrap().saturating_duration_since(Instant::now())
    }

    #[test]
    fn a_turn_is_taken_along_only_where_a_worker_asks_for_it() {
        let turns = MinuteTurns::default();
        assert!(!turns.take_along());
        assert!(turns.next().is_some());
        assert!(turns.take_along() && !turns.take_along());
        turns.answered(false);
        assert!(!turns.take_along(), "another process keeps them");
        turns.begins();
        assert!(!turns.take_along() && turns.take(), "it keeps them, and need not offer");
    }

    #[test]
    fn one_process_keeps_each_minute_and_the_others_offer_rarely() {
        let keeper = MinuteTurns::default();
        assert!(keeper.take());
        keeper.answered(true);
        assert!(pause(&keeper) <= EVERY);
        keeper.answered(false);
        assert!(pause(&keeper) <= EVERY, "it came twice in a minute");

        let other = MinuteTurns::default();
        assert!(other.take());
        other.answered(false);
        assert!(pause(&other) > OTHERS - EVERY);
    }
}
