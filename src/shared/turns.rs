//! The turns to look at one queue, as a value: who may look, until when it is quiet, and what the poller's answers change.

use super::pace::{FIRST, Pace};
use crate::calls::Due;
use crate::sync::Condvar;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// When the poller is to look at a queue.
pub(super) struct PollAt {
    pub(super) at: Instant,
    /// How much too early it may.
    pub(super) slack: Duration,
    /// Whether its last look found nothing.
    pub(super) rests: bool,
}

#[derive(Default)]
pub(super) struct Turns {
    /// The turns of each kind filter.
    pub(super) of_kinds: HashMap<String, OfKinds>,
    /// How many wakes there have been, for any kind.
    pub(super) wakes: u64,
    /// When this process last offered to recover the items of dead workers.
    pub(super) recovered: Option<Instant>,
    /// Until when threads sleep that count on a look of the poller, and the interval of each. They ask again then, or when they are
    /// woken.
    asleep: Vec<(Duration, Instant)>,
    /// The least of those intervals, as far as is known.
    pub(super) interval: Duration,
    pub(super) pace: Pace,
    /// The poller is to plan anew when a thread falls asleep: there was work, or the poller has failed.
    is_news: bool,
    /// Whether the poller's last look at this queue was answered.
    pub(super) is_polled: bool,
}

/// Turns to look at the queue for one kind filter.
#[derive(Default)]
pub(super) struct OfKinds {
    /// Looks that may be made at once: something came, or a look found something.
    pub(super) turns: u32,
    /// The last look that found nothing, or has not answered yet.
    pub(super) looked: Option<Instant>,
    /// When something is due, by that look or a later report.
    pub(super) due: Option<Instant>,
    /// How often one look led to another.
    pub(super) passed_on: u64,
    /// The poller gave a turn, and no look has shown yet whether it was right.
    pub(super) is_rung: bool,
    /// The poller was wrong: what is due is not to be claimed. It rings no more before this time.
    pub(super) barred: Option<Instant>,
    /// How long it was barred the last time.
    pub(super) bar: Duration,
    /// Threads that wait for a turn.
    pub(super) changed: Arc<Condvar>,
}

/// The most saved turns: no process has more threads that claim at once from one queue.
const MOST_TURNS: u32 = 256;

impl OfKinds {
    pub(super) fn give(&mut self, turns: u32) {
        self.turns = (self.turns + turns).min(MOST_TURNS);
        self.passed_on += 1;
        (0..turns).for_each(|_| self.changed.notify_one());
    }

    /// When the next turn comes to a handle that looks after `patience`; `None`: now.
    pub(super) fn next(&self, patience: Duration, now: Instant) -> Option<Instant> {
        let at = self.looked? + patience;
        let at = self.due.map_or(at, |due| due.min(at));
        (self.turns == 0 && at > now).then_some(at)
    }

    /// Takes a turn, if there is one. Otherwise no thread looks before this look has answered, or the time is over.
    pub(super) fn take(&mut self, patience: Duration, now: Instant) -> bool {
        if self.turns > 0 {
            self.turns -= 1;
        } else if self.next(patience, now).is_some() {
            return false;
        } else {
            (self.looked, self.due) = (Some(now), None);
        }
        true
    }

    /// A turn by the poller, unless its last one was in vain a moment ago.
    fn ring(&mut self, now: Instant) -> bool {
        let rings = self.turns == 0 && self.barred.is_none_or(|until| until <= now);
        if rings {
            self.is_rung = true;
            self.give(1);
        }
        rings
    }

    /// A look has found nothing. Was it the poller's, others have what is due, or it is not for these kinds, or waits for something
    /// else: the poller rings again after a time that doubles, as it cannot know what comes meanwhile.
    fn was_in_vain(&mut self, interval: Duration, now: Instant) {
        if std::mem::take(&mut self.is_rung) {
            self.bar = (self.bar * 2).clamp(FIRST, interval.max(FIRST));
            self.barred = Some(now + self.bar);
        }
    }

    fn is_right_again(&mut self) {
        (self.is_rung, self.barred, self.bar) = (false, None, Duration::ZERO);
    }
}

impl Turns {
    #[expect(clippy::expect_used, reason = "it has just been put in, where it was not there")]
    pub(super) fn of(&mut self, kinds: &str) -> &mut OfKinds {
        if !self.of_kinds.contains_key(kinds) {
            self.of_kinds.insert(kinds.to_owned(), OfKinds::default());
        }
        self.of_kinds.get_mut(kinds).expect("there by now")
    }

    /// How long after a look without a find threads wait that would look every `interval`. The poller looks for them, if it can: they
    /// look by themselves once it has missed its time.
    pub(super) fn patience(&self, interval: Duration) -> Duration {
        if self.is_polled { interval * 2 + GRACE } else { interval }
    }

    /// Notes that a thread sleeps until then, which looks every `interval`; returns whether the poller is to plan anew.
    pub(super) fn sleeps(&mut self, until: Instant, interval: Duration, now: Instant) -> bool {
        let least = self.least_interval(now);
        match self.asleep.iter_mut().find(|(of, _)| *of == interval) {
            Some((_, latest)) => *latest = until.max(*latest),
            None => self.asleep.push((interval, until)),
        }
        self.interval = least.map_or(interval, |least| least.min(interval));
        self.pace.begin(now);
        std::mem::take(&mut self.is_news) || least.is_none_or(|least| interval < least)
    }

    /// The least interval of the threads that sleep; `None`: none does.
    fn least_interval(&mut self, now: Instant) -> Option<Duration> {
        self.asleep.retain(|(_, until)| *until > now);
        self.asleep.iter().map(|(interval, _)| *interval).min()
    }

    /// A look found something of these kinds: the thread may look again, and one more.
    pub(super) fn found_something(&mut self, kinds: &str, now: Instant) {
        self.pace.worked(now);
        self.is_news = true;
        self.of(kinds).is_right_again();
        self.of(kinds).give(2);
    }

    /// A look that began at the count `wakes` found nothing of these kinds, or that something is due in `due`.
    pub(super) fn found_nothing(&mut self, kinds: &str, wakes: u64, due: Option<Duration>, now: Instant) {
        let (global, interval) = (self.wakes, self.interval);
        let of = self.of(kinds);
        of.was_in_vain(interval, now);
        if global + of.passed_on == wakes {
            of.turns = 0;
            (of.looked, of.due) = (Some(now), due.map(|due| now + due));
        }
    }

    /// When the poller is to look, if a thread sleeps.
    pub(super) fn poll_at(&mut self, phase: Instant, now: Instant) -> Option<PollAt> {
        self.interval = self.least_interval(now)?;
        let (at, slack) = (self.pace.next(self.interval, phase), self.pace.slack(self.interval));
        Some(PollAt { at, slack, rests: self.pace.rests() })
    }

    /// The poller's look, which began at the count `wakes`, was answered; returns whether threads are woken.
    pub(super) fn polled(&mut self, wakes: u64, due: Due, now: Instant) -> bool {
        let is_stale = self.all_wakes() != wakes;
        self.pace.looked(now);
        self.is_polled = true;
        if due == Due::Recovery {
            // The claim that follows is to ask for it.
            self.recovered = None;
        }
        let patience = self.patience(self.interval);
        let mut wakes_some = false;
        for of in self.of_kinds.values_mut() {
            match due {
                Due::Now | Due::Recovery => wakes_some |= of.ring(now),
                Due::Later(due) if !is_stale && of.turns == 0 => {
                    let before = of.next(patience, now);
                    of.is_right_again();
                    (of.looked, of.due) = (Some(now), due.map(|due| now + due));
                    if of.next(patience, now) < before {
                        of.changed.notify_all();
                        wakes_some = true;
                    }
                }
                Due::Later(_) => {}
            }
        }
        wakes_some
    }

    /// The poller cannot look for now: the threads do. Returns whether they are woken.
    pub(super) fn is_left_alone(&mut self, now: Instant) -> bool {
        self.pace.looked(now);
        self.is_news = true;
        let was_polled = std::mem::take(&mut self.is_polled);
        if was_polled {
            self.of_kinds.values().for_each(|of| of.changed.notify_all());
        }
        was_polled
    }

    /// The wakes so far, of all kinds.
    pub(super) fn all_wakes(&self) -> u64 {
        self.of_kinds.values().map(|of| of.passed_on).sum::<u64>() + self.wakes
    }
}

/// How late the poller may be.
const GRACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
