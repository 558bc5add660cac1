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

#[derive(Default)]
pub(crate) struct MinuteTurns {
    turns: Regularly,
    /// When this process last kept one.
    kept: Mutex<Option<Instant>>,
}

impl MinuteTurns {
    /// When the next turn comes. `None`: never again.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.turns.next()
    }

    pub(crate) fn take(&self) -> bool {
        self.turns.take(EVERY)
    }

    /// The minute was this process', or another's.
    pub(crate) fn answered(&self, is_ours: bool) {
        let mut kept = self.kept.lock();
        if is_ours {
            *kept = Some(Instant::now());
        } else if kept.is_none_or(|kept| kept.elapsed() > KEEPER) {
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
