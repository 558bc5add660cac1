//! The prefetch: a worker claims as many items ahead as its handlers will begin in half the time that an item may wait.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The number of parts of the time over which the rate is measured.
const PARTS: u32 = 8;

/// Measures how fast items end, over the time that an item may wait.
pub(super) struct Prefetch {
    hold: Duration,
    /// The most items to be claimed ahead.
    most: usize,
    /// How many items ended in each part, by its begin; the newest last.
    parts: VecDeque<(Instant, usize)>,
    /// Since when there have been items in flight without a break.
    busy_since: Option<Instant>,
}

impl Prefetch {
    pub(super) fn new(hold: Duration, most: usize) -> Self {
        Self { hold, most, parts: VecDeque::new(), busy_since: None }
    }

    /// How long an item may wait in flight.
    pub(super) fn hold(&self) -> Duration {
        self.hold
    }

    /// Handlers have something to do from `now` on.
    pub(super) fn busy(&mut self, now: Instant) {
        self.busy_since.get_or_insert(now);
    }

    /// No item is in flight: the time until the next one does not measure the handlers.
    pub(super) fn idle(&mut self) {
        self.busy_since = None;
        self.parts.clear();
    }

    /// `count` items have ended.
    pub(super) fn ended(&mut self, count: usize, now: Instant) {
        match self.parts.back_mut() {
            Some((begun, ended)) if now.duration_since(*begun) < self.hold / PARTS => *ended += count,
            _ => {
                self.parts.push_back((now, count));
                while self.parts.len() > PARTS as usize + 1 {
                    self.parts.pop_front();
                }
            }
        }
    }

    /// How many items to claim ahead of the handlers' requests.
    pub(super) fn ahead(&self, now: Instant) -> usize {
        let Some(busy_since) = self.busy_since else { return 0 };
        let lately = self.parts.iter().filter(|(begun, _)| now.duration_since(*begun) <= self.hold);
        let ended: usize = lately.map(|(_, ended)| ended).sum();
        let watched = now.duration_since(busy_since).min(self.hold).max(Duration::from_micros(100));
        let in_half_the_time = ended as f64 * self.hold.as_secs_f64() / watched.as_secs_f64() / 2.0;
        (in_half_the_time as usize).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_millis(400);

    fn after(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn nothing_is_claimed_ahead_before_something_has_ended() {
        let now = Instant::now();
        let mut prefetch = Prefetch::new(HOLD, 1000);
        assert_eq!(prefetch.ahead(now), 0);
        prefetch.busy(now);
        assert_eq!(prefetch.ahead(now + after(5000)), 0, "handlers that take long hoard nothing");
    }

    #[test]
    fn it_follows_the_handlers_at_once_up_and_down() {
        let start = Instant::now();
        let mut prefetch = Prefetch::new(HOLD, 1000);
        prefetch.busy(start);
        prefetch.ended(10, start + after(4));
        assert_eq!(prefetch.ahead(start + after(4)), 500, "10 in 4 ms are 500 in 200 ms");
        assert_eq!(prefetch.ahead(start + after(40)), 50);
        assert_eq!(prefetch.ahead(start + after(405)), 0, "none within the last 400 ms");
    }

    #[test]
    fn items_that_end_together_are_no_higher_rate() {
        // 64 handlers need 100 ms for each item.
        let start = Instant::now();
        let mut prefetch = Prefetch::new(HOLD, 1000);
        prefetch.busy(start);
        for round in 1..=10 {
            let now = start + after(100 * round);
            prefetch.ended(1, now);
            prefetch.ended(63, now + after(1));
            let ahead = prefetch.ahead(now + after(1));
            assert!((60..=170).contains(&ahead), "{ahead} in round {round}");
        }
    }

    #[test]
    fn there_is_a_most_and_a_pause_is_no_slowness() {
        let start = Instant::now();
        let mut prefetch = Prefetch::new(HOLD, 100);
        prefetch.busy(start);
        prefetch.ended(10_000, start + after(1));
        assert_eq!(prefetch.ahead(start + after(1)), 100);
        prefetch.idle();
        assert_eq!(prefetch.ahead(start + after(1)), 0);
        let later = start + Duration::from_secs(60);
        prefetch.busy(later);
        prefetch.ended(10, later + after(10));
        assert_eq!(prefetch.ahead(later + after(10)), 100);
    }
}
