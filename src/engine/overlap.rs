//! Calls side by side: when a fetcher may begin a call while another is under way, and whether that pays.
//!
//! One call at a time makes the largest groups, so it costs the least. A second one beside it is worth its price when a large group
//! waits meanwhile. Whether both together then do more is up to the server: claims that meet at the head of one index may wait for
//! each other. So the worker measures: after some seconds of calls side by side it makes them one after the other for a moment, and
//! goes back to one for a while when that did as much.

use std::time::{Duration, Instant};

/// A group of so many items is worth a call of its own beside another one.
const GROUP: usize = 100;

/// A call that takes this long may hang, and holds nobody up any more.
const PATIENCE: Duration = Duration::from_secs(1);

/// A time without any call, after which earlier measurements mean nothing.
const IDLE: Duration = Duration::from_millis(20);

/// How long calls run side by side before the first comparison, and before each later one.
const FIRST: Duration = Duration::from_secs(2);
const LATER: Duration = Duration::from_secs(10);

/// How long they run one after the other, to be compared with.
const ALONE: Duration = Duration::from_millis(250);

/// The calls side by side have to do this much more.
const GAIN: f64 = 1.05;

/// How long they do not when they did not: twice as long after each time, up to the longest.
const BAR: Duration = Duration::from_secs(10);
const LONGEST_BAR: Duration = Duration::from_secs(320);

/// A call under way that settles or claims, or reports the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    /// How many items it may bring.
    pub(super) room: usize,
    begun: Instant,
    number: u64,
}

#[derive(Debug, Default)]
pub(super) struct Overlap {
    under_way: Vec<Call>,
    /// How many calls have begun so far.
    calls: u64,
    /// When the last call ended.
    ended: Option<Instant>,
    mode: Mode,
    window: Option<Window>,
    /// How long the next bar lasts.
    bar: Option<Duration>,
    /// A comparison spoke for calls side by side.
    pays: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Mode {
    #[default]
    SideBySide,
    /// One after the other, for a comparison with this many items a second.
    Compares { side_by_side: f64 },
    /// One after the other, since more did no more.
    Barred { until: Instant },
}

/// The calls that ended since a moment, and their items.
#[derive(Debug, Clone, Copy)]
struct Window {
    since: Instant,
    calls: usize,
    items: usize,
}

impl Window {
    /// Whether its groups were large: with small ones there is little to do, and a second call would have nothing to add.
    fn is_full(&self) -> bool {
        self.items >= self.calls * GROUP
    }

    fn rate(&self, now: Instant) -> f64 {
        self.items as f64 / now.duration_since(self.since).as_secs_f64().max(1e-6)
    }
}

impl Overlap {
    /// Notes the begin of a call.
    pub(super) fn begin(&mut self, room: usize, now: Instant) -> Call {
        let is_first = self.under_way.is_empty();
        if is_first && self.ended.is_none_or(|ended| now.duration_since(ended) > IDLE) {
            if matches!(self.mode, Mode::Compares { .. }) {
                self.mode = Mode::SideBySide;
            }
            self.window = None;
        }
        // A call that ran beside others does not count for one after the other.
        if self.window.is_none() && (is_first || !matches!(self.mode, Mode::Compares { .. })) {
            self.window = Some(Window { since: now, calls: 0, items: 0 });
        }
        self.calls += 1;
        let call = Call { room, begun: now, number: self.calls };
        self.under_way.push(call);
        call
    }

    /// Notes the end of a call that settled or claimed this many items.
    pub(super) fn end(&mut self, call: Call, items: usize, now: Instant) {
        self.under_way.retain(|other| other.number != call.number);
        self.ended = Some(now);
        let Some(window) = &mut self.window else { return };
        window.calls += 1;
        window.items += items;
        let (passed, is_full, rate) = (now.duration_since(window.since), window.is_full(), window.rate(now));
        let next = match self.mode {
            Mode::SideBySide if passed >= if self.pays { LATER } else { FIRST } => {
                if is_full {
                    Mode::Compares { side_by_side: rate }
                } else {
                    Mode::SideBySide
                }
            }
            Mode::Compares { .. } if passed >= ALONE && !is_full => Mode::SideBySide,
            Mode::Compares { side_by_side } if passed >= ALONE => {
                self.pays = side_by_side >= rate * GAIN;
                if self.pays {
                    self.bar = None;
                    Mode::SideBySide
                } else {
                    let bar = self.bar.unwrap_or(BAR);
                    self.bar = Some((bar * 2).min(LONGEST_BAR));
                    Mode::Barred { until: now + bar }
                }
            }
            Mode::Barred { until } if until <= now => Mode::SideBySide,
            _ => return,
        };
        self.mode = next;
        self.window = None;
    }

    /// Whether no call is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether a call for a group of this size may begin now, where `share` calls may run side by side.
    pub(super) fn allows(&self, group: usize, share: usize, now: Instant) -> bool {
        let pays = self.mode == Mode::SideBySide && group >= GROUP && self.under_way.len() < share;
        pays || self.hold_up_until().is_none_or(|until| until <= now)
    }

    /// Until when the calls under way hold up others. `None`: there are none.
    pub(super) fn hold_up_until(&self) -> Option<Instant> {
        self.under_way.iter().map(|call| call.begun + PATIENCE).max()
    }

    /// How many items the calls under way may bring.
    pub(super) fn claiming(&self) -> usize {
        self.under_way.iter().map(|call| call.room).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes calls for so long, as many at once as are allowed, each of 500 items; a call alone takes `alone` milliseconds, one
    /// beside another `beside`. Returns how many items a second that made.
    fn work(overlap: &mut Overlap, now: &mut Instant, seconds: u64, alone: u64, beside: u64) -> u64 {
        let end = *now + Duration::from_secs(seconds);
        let mut under_way = vec![overlap.begin(500, *now)];
        let mut items = 0;
        while *now < end {
            if under_way.len() == 1 && overlap.allows(500, 2, *now) {
                under_way.push(overlap.begin(500, *now));
            }
            let pair = under_way.len();
            *now += Duration::from_millis(if pair == 2 { beside / 2 } else { alone });
            overlap.end(under_way.remove(0), 500, *now);
            items += 500;
            if under_way.is_empty() {
                under_way.push(overlap.begin(500, *now));
            }
        }
        under_way.into_iter().for_each(|call| overlap.end(call, 500, *now));
        items / seconds
    }

    #[test]
    fn calls_run_side_by_side_while_that_does_more() {
        let (mut overlap, mut now) = (Overlap::default(), Instant::now());
        let rate = work(&mut overlap, &mut now, 60, 10, 14);
        assert!(rate > 68_000, "{rate} of at most 71,400; one after the other 50,000");
    }

    #[test]
    fn calls_that_only_contend_run_one_after_the_other() {
        let (mut overlap, mut now) = (Overlap::default(), Instant::now());
        let rate = work(&mut overlap, &mut now, 600, 10, 30);
        assert!(rate > 49_000, "{rate} of at most 50,000; side by side 33,300");
        // The server serves both again.
        work(&mut overlap, &mut now, 320, 10, 14);
        let rate = work(&mut overlap, &mut now, 60, 10, 14);
        assert!(rate > 68_000, "{rate}");
    }

    /// One call alone is as good as two then, and says nothing about the flood that follows.
    #[test]
    fn little_to_do_bars_no_second_call() {
        let (mut overlap, mut now) = (Overlap::default(), Instant::now());
        for _ in 0..6000 {
            let call = overlap.begin(10, now);
            now += Duration::from_millis(10);
            overlap.end(call, 10, now);
            assert_eq!(overlap.mode, Mode::SideBySide);
        }
        overlap.begin(500, now);
        assert!(overlap.allows(500, 2, now));
    }

    #[test]
    fn a_small_group_waits_for_the_call_under_way() {
        let (mut overlap, now) = (Overlap::default(), Instant::now());
        assert!(overlap.allows(1, 1, now), "no call is under way");
        let first = overlap.begin(10, now);
        assert!(!overlap.allows(GROUP - 1, 2, now) && overlap.allows(GROUP, 2, now));
        assert!(!overlap.allows(GROUP, 1, now), "others have their share");
        assert_eq!(overlap.claiming(), 10);
        overlap.end(first, 10, now);
        assert!(overlap.allows(1, 1, now));
        assert_eq!((overlap.claiming(), overlap.hold_up_until()), (0, None));
    }

    #[test]
    fn a_call_that_hangs_holds_up_nobody() {
        let (mut overlap, now) = (Overlap::default(), Instant::now());
        overlap.begin(10, now);
        let later = overlap.hold_up_until().unwrap();
        assert!(!overlap.allows(1, 2, later - Duration::from_millis(1)) && overlap.allows(1, 2, later));
    }
}
