//! How often the poller looks at a queue: soon after it had work, and then less and less often, down to the interval of its
//! settings.

use std::time::{Duration, Instant};

/// The first pause after work.
pub(super) const FIRST: Duration = Duration::from_millis(50);

/// The pace of the looks at one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// The last look, or the last work.
    since: Option<Instant>,
    /// The pause after it, where the interval is not shorter.
    pause: Duration,
}

impl Pace {
    /// A thread begins to sleep over a queue over which none did.
    pub(super) fn begin(&mut self, now: Instant) {
        self.since.get_or_insert(now);
        self.pause = self.pause.max(FIRST);
    }

    /// The queue had work.
    pub(super) fn worked(&mut self, now: Instant) {
        (self.since, self.pause) = (Some(now), FIRST);
    }

    /// The poller has looked.
    pub(super) fn looked(&mut self, now: Instant) {
        (self.since, self.pause) = (Some(now), (self.pause * 2).clamp(FIRST, Duration::from_secs(86_400)));
    }

    /// When to look again. At the whole `interval` all queues of a process have the same moments, one statement for all; `phase`
    /// keeps the processes apart.
    pub(super) fn next(&self, interval: Duration, phase: Instant) -> Instant {
        let since = self.since.unwrap_or(phase);
        if self.pause < interval {
            return since + self.pause;
        }
        let nanos = interval.as_nanos().max(1);
        let over = since.saturating_duration_since(phase).as_nanos() % nanos;
        since + Duration::from_nanos(u64::try_from(nanos - over).unwrap_or(u64::MAX))
    }

    /// Whether a look has found nothing since the last work.
    pub(super) fn rests(&self) -> bool {
        self.pause > FIRST
    }

    /// How much too early the poller may look, so that a look at one queue takes others along.
    pub(super) fn slack(&self, interval: Duration) -> Duration {
        self.pause.min(interval) / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(1);

    #[test]
    fn looks_become_rarer_after_work_and_then_keep_to_the_interval() {
        let phase = Instant::now();
        let (mut pace, mut now) = (Pace::default(), phase + Duration::from_millis(10_330));
        pace.worked(now);
        let mut pauses = Vec::new();
        for _ in 0..7 {
            let next = pace.next(INTERVAL, phase);
            pauses.push((next - now).as_millis());
            now = next;
            pace.looked(now);
        }
        // At 11,080 ms the pause reaches the interval: from there on at each whole second of the phase.
        assert_eq!(pauses, [50, 100, 200, 400, 800, 120, 1000]);
        pace.worked(now);
        assert_eq!(pace.next(INTERVAL, phase) - now, FIRST);
        assert_eq!(pace.next(FIRST / 5, phase) - now, FIRST / 5, "no interval is longer than the settings say");
    }

    #[test]
    fn queues_that_rest_are_looked_at_together() {
        let phase = Instant::now();
        let rests = |ms| {
            let mut pace = Pace::default();
            (0..9).for_each(|_| pace.looked(phase + Duration::from_millis(ms)));
            pace.next(INTERVAL, phase) - phase
        };
        assert_eq!([rests(5_001), rests(5_500), rests(5_999)], [Duration::from_secs(6); 3]);
        assert_eq!(rests(6_000), Duration::from_secs(7), "a whole interval, and no look twice");
    }
}
