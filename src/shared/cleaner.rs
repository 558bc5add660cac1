//! The cleaner: turns of this process to delete expired items, a chunk at a time.

use crate::error::{ErrorKind, Result};
use crate::sync::Mutex;
use std::time::{Duration, Instant};

/// Items of one call: few enough that its caller does not wait long.
pub(crate) const CHUNK: u32 = 250;

/// How many times longer than a call its following pause is: other work comes first.
const REST: u32 = 3;

/// The pause after many failures, in intervals.
const MOST_INTERVALS: u32 = 16;

/// When deleting is due in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CleaningDue {
    /// For a worker that is idle.
    pub(crate) at: Instant,
    /// Although there is other work: it has been due for a whole interval, or the last chunk left items.
    pub(crate) at_latest: Instant,
    /// The last chunk left items.
    pub(crate) is_more: bool,
}

impl CleaningDue {
    /// When one or the other is due.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            at: self.at.min(other.at),
            at_latest: self.at_latest.min(other.at_latest),
            is_more: self.is_more || other.is_more,
        }
    }

    /// Whether it is due now, or after a pause since the last chunk left items.
    pub(crate) fn is_pending(&self, now: Instant) -> bool {
        self.is_more || self.at <= now
    }
}

/// The turns of a process's workers.
#[derive(Default)]
pub(crate) struct Cleaner(Mutex<Turns>);

#[derive(Default)]
struct Turns {
    /// When it is due next; `None` before the first question.
    at: Option<Instant>,
    /// The last chunk left items.
    is_more: bool,
    /// Failures in a row.
    failures: u32,
}

impl Turns {
    fn due(&mut self, interval: Duration, now: Instant) -> CleaningDue {
        let at = *self.at.get_or_insert(now);
        let at_latest = if self.is_more { at } else { at + interval };
        CleaningDue { at, at_latest, is_more: self.is_more }
    }

    /// Takes the turn if it is due, with `must` at the latest time; the next is in `interval`, unless the taker reports
    /// otherwise.
    fn take(&mut self, must: bool, interval: Duration, now: Instant) -> bool {
        let due = self.due(interval, now);
        if if must { due.at_latest } else { due.at } > now {
            return false;
        }
        self.at = Some(now + interval);
        self.is_more = false;
        true
    }

    /// Ends a turn that took so long; `None`: the server was not asked.
    fn done(&mut self, deleted: Option<u64>, took: Duration, now: Instant) {
        match deleted {
            Some(deleted) => {
                self.failures = 0;
                if deleted >= CHUNK.into() {
                    self.is_more = true;
                    self.at = Some(now + took * REST);
                }
            }
            // Another thread may take it.
            None => self.at = Some(now),
        }
    }

    /// Ends a failed turn: the next comes later and later while the failure lasts.
    fn failed(&mut self, interval: Duration, now: Instant) {
        let intervals = 1_u32.checked_shl(self.failures).unwrap_or(MOST_INTERVALS).min(MOST_INTERVALS);
        self.failures = (self.failures + 1).min(MOST_INTERVALS);
        self.at = Some(now + interval * intervals);
    }
}

impl Cleaner {
    /// When it is due in a process that deletes every `interval`.
    pub(crate) fn due(&self, interval: Duration) -> CleaningDue {
        self.0.lock().due(interval, Instant::now())
    }

    /// Takes the process's turn, if it is due; with `must` only if it is due although there is other work: a busy queue must not
    /// grow for ever.
    pub(crate) fn take_turn(&self, must: bool, interval: Duration) -> bool {
        self.0.lock().take(must, interval, Instant::now())
    }

    /// Deletes one chunk, on the thread that has the turn: `delete` returns how many items it deleted.
    pub(crate) fn chunk(&self, interval: Duration, delete: impl FnOnce() -> Result<u64>) -> Result<()> {
        let begun = Instant::now();
        let result = delete();
        let (now, took) = (Instant::now(), begun.elapsed());
        let mut turns = self.0.lock();
        match result {
            Ok(deleted) => turns.done(Some(deleted), took, now),
            Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Interrupted) => {
                turns.done(None, took, now);
            }
            Err(error) => {
                turns.failed(interval, now);
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    fn idle_at(turns: &mut Turns, now: Instant) -> Instant {
        turns.due(MINUTE, now).at
    }

    #[test]
    fn a_busy_queue_is_cleaned_once_a_worker_has_begun() {
        let (mut turns, start) = (Turns::default(), Instant::now());
        assert!(!turns.take(true, MINUTE, start), "work comes first");
        let mut now = start + MINUTE;
        assert_eq!(turns.due(MINUTE, start).at_latest, now);
        for _ in 0..3 {
            assert!(turns.take(true, MINUTE, now));
            assert!(!turns.take(true, MINUTE, now), "one does it");
            turns.done(Some(250), SECOND, now);
            let due = turns.due(MINUTE, now);
            assert!(due.is_pending(now));
            assert_eq!((due.at, due.at_latest), (now + SECOND * 3, now + SECOND * 3));
            now += SECOND * 3;
        }
        assert!(turns.take(true, MINUTE, now));
        turns.done(Some(249), SECOND, now);
        let due = turns.due(MINUTE, now);
        assert!(!due.is_pending(now));
        assert_eq!(due.at_latest, now + MINUTE * 2, "that was all");
    }

    #[test]
    fn failures_are_tried_again_ever_later() {
        let (mut turns, mut now) = (Turns::default(), Instant::now());
        for intervals in [1, 2, 4, 8, 16, 16, 16] {
            assert!(turns.take(false, MINUTE, now));
            turns.failed(MINUTE, now);
            assert!(!turns.due(MINUTE, now).is_pending(now));
            assert_eq!(idle_at(&mut turns, now), now + MINUTE * intervals);
            now += MINUTE * intervals;
        }
        assert!(turns.take(false, MINUTE, now));
        turns.done(Some(0), SECOND, now);
        now += MINUTE;
        assert!(turns.take(false, MINUTE, now));
        turns.failed(MINUTE, now);
        assert_eq!(idle_at(&mut turns, now), now + MINUTE, "it had been mended");
    }

    #[test]
    fn an_unused_turn_passes_to_another_thread() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        assert!(turns.take(false, MINUTE, now));
        turns.done(None, SECOND, now);
        assert!(turns.take(false, MINUTE, now));
    }
}
