//! Deleting what is over: whose turn it is in this process, and one bite of it.

use super::wake::YieldsTo;
use super::{Inner, claim, operate};
use crate::error::{ErrorKind, Result};
use std::time::{Duration, Instant};

/// Items of one call: few enough that nobody waits long for who makes it.
const BITE: u32 = 250;

/// How much longer than a call the pause to the next one is: other work comes first.
const REST: u32 = 3;

/// The pause after many failures, in intervals.
const MOST_INTERVALS: u32 = 16;

/// What a process knows of it.
#[derive(Default)]
pub(super) struct Turns {
    /// When it is next to be done; `None` until somebody has asked.
    at: Option<Instant>,
    /// The last bite was not all.
    is_more: bool,
    /// Calls that have failed in a row.
    failures: u32,
}

impl Turns {
    /// Whether it has been time for `patience`, or there is more; the one who is told so does it, and the next turn is in
    /// `interval` unless he says otherwise. Else when to ask again.
    fn take(&mut self, patience: Duration, interval: Duration, now: Instant) -> Result<(), Instant> {
        let patience = if self.is_more { Duration::ZERO } else { patience };
        let turn = *self.at.get_or_insert(now) + patience;
        if turn > now {
            return Err(turn);
        }
        self.at = Some(now + interval);
        self.is_more = false;
        Ok(())
    }

    /// Whether somebody is to take a turn soon.
    fn is_pending(&self, now: Instant) -> bool {
        self.is_more || self.at.is_none_or(|at| at <= now)
    }

    /// What came of a turn that took so long; `None` when nothing was asked.
    fn done(&mut self, deleted: Option<u64>, took: Duration, now: Instant) {
        match deleted {
            Some(deleted) => {
                self.failures = 0;
                if deleted >= BITE.into() {
                    self.is_more = true;
                    self.at = Some(now + took * REST);
                }
            }
            // Others may have it.
            None => self.at = Some(now),
        }
    }

    /// A turn failed: it is tried again, ever later while nobody mends it.
    fn failed(&mut self, interval: Duration, now: Instant) {
        let intervals = 1_u32.checked_shl(self.failures).unwrap_or(MOST_INTERVALS).min(MOST_INTERVALS);
        self.failures = (self.failures + 1).min(MOST_INTERVALS);
        self.at = Some(now + interval * intervals);
    }
}

/// Whether it is the caller's turn. `None` for a queue that keeps all.
pub(super) fn turn(queue: &Inner, patience: Duration) -> Option<Result<(), Instant>> {
    if !queue.spec.deletes_what_is_over() {
        return None;
    }
    Some(queue.signal.retention().take(patience, queue.retention_interval, Instant::now()))
}

pub(super) fn is_pending(queue: &Inner) -> bool {
    queue.spec.deletes_what_is_over() && queue.signal.retention().is_pending(Instant::now())
}

/// One bite, by who has the turn. Like a claim it is left undone once the handle is called off.
pub(super) fn bite(queue: &Inner) -> Result<()> {
    let begun = Instant::now();
    let result = claim::unless_called_off(queue).and_then(|()| operate::retain(queue, BITE, YieldsTo::Interrupts));
    let (now, took) = (Instant::now(), begun.elapsed());
    let mut turns = queue.signal.retention();
    match result {
        Ok(deleted) => turns.done(Some(deleted), took, now),
        Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Interrupted) => turns.done(None, took, now),
        Err(error) => {
            turns.failed(queue.retention_interval, now);
            return Err(error);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_queue_that_is_never_idle_is_cleared_once_somebody_has_begun() {
        let (mut turns, start) = (Turns::default(), Instant::now());
        assert_eq!(turns.take(MINUTE, MINUTE, start), Err(start + MINUTE), "work comes first");
        let mut now = start + MINUTE;
        for _ in 0..3 {
            assert_eq!(turns.take(MINUTE, MINUTE, now), Ok(()));
            assert!(turns.take(MINUTE, MINUTE, now).is_err(), "one does it");
            turns.done(Some(250), SECOND, now);
            assert!(turns.is_pending(now));
            assert_eq!(turns.take(MINUTE, MINUTE, now), Err(now + SECOND * 3));
            now += SECOND * 3;
        }
        assert_eq!(turns.take(MINUTE, MINUTE, now), Ok(()));
        turns.done(Some(249), SECOND, now);
        assert!(!turns.is_pending(now));
        assert_eq!(turns.take(MINUTE, MINUTE, now), Err(now + MINUTE * 2), "that was all");
    }

    #[test]
    fn failures_are_tried_again_ever_later() {
        let (mut turns, mut now) = (Turns::default(), Instant::now());
        for intervals in [1, 2, 4, 8, 16, 16, 16] {
            assert_eq!(turns.take(Duration::ZERO, MINUTE, now), Ok(()));
            turns.failed(MINUTE, now);
            assert!(!turns.is_pending(now));
            assert_eq!(turns.take(Duration::ZERO, MINUTE, now), Err(now + MINUTE * intervals));
            now += MINUTE * intervals;
        }
        assert_eq!(turns.take(Duration::ZERO, MINUTE, now), Ok(()));
        turns.done(Some(0), SECOND, now);
        now += MINUTE;
        assert_eq!(turns.take(Duration::ZERO, MINUTE, now), Ok(()));
        turns.failed(MINUTE, now);
        assert_eq!(turns.take(Duration::ZERO, MINUTE, now), Err(now + MINUTE), "it had been mended");
    }

    #[test]
    fn a_turn_that_was_not_used_is_somebody_elses() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        assert_eq!(turns.take(Duration::ZERO, MINUTE, now), Ok(()));
        turns.done(None, SECOND, now);
        assert_eq!(turns.take(Duration::ZERO, MINUTE, now), Ok(()));
    }
}
