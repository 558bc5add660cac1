//! Where a queue is going, and what each type of work has: from bounded looks.

use super::{ItemState, Watched};
use std::time::Duration;

/// What a type of a queue has, as far as the looks reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfType {
    /// The type.
    pub name: String,
    /// How many of its items are Pending or Error.
    pub waiting: i64,
    /// How many of these are due.
    pub due: i64,
    /// For how long the oldest of those has been due, in milliseconds.
    pub oldest_due_ms: Option<i64>,
    /// How many are in flight.
    pub in_flight: i64,
    /// How many ended in an hour, by the last one; `None` where the queue does not tell.
    pub ended_per_hour: Option<i64>,
    /// How many arrived within the last hour; `None` where the queue does not tell, since it deletes what is completed.
    pub arrivals_last_hour: Option<i64>,
    /// Milliseconds from started to finished, on average of those that were looked at.
    pub run_mean_ms: Option<i64>,
    /// How many must be worked on at once to keep up, as [`QueueStats::workers_needed`](super::QueueStats::workers_needed) has
    /// it.
    pub workers_needed: Option<i64>,
    /// Whether a count of it stopped at the bound of a look: it has as much or more.
    pub capped: bool,
}

impl OfType {
    /// Takes in a figure by what comes after `type.` in its name.
    pub(super) fn record(&mut self, what: &str, value: i64, ms: Option<i64>, capped: bool) {
        self.capped |= capped && what != "ended";
        match what {
            "waiting" => self.waiting = value,
            "due" => (self.due, self.oldest_due_ms) = (value, ms),
            "flying" => self.in_flight = value,
            "ended" => self.ended_per_hour = Some(per_hour(value, ms, capped)),
            "arrivals" => self.arrivals_last_hour = Some(self.arrivals_last_hour.unwrap_or(0) + value),
            "run_mean_ms" => self.run_mean_ms = Some(value),
            _ => {}
        }
    }

    pub(super) fn conclude(&mut self, tells_arrivals: bool, tells_ended: bool) {
        if tells_ended {
            self.ended_per_hour.get_or_insert(0);
        }
        if tells_arrivals {
            let arrivals = *self.arrivals_last_hour.get_or_insert(0);
            let busy = self.waiting + self.in_flight > 0;
            self.workers_needed = Some(needed(arrivals, self.run_mean_ms.unwrap_or(0), busy));
        }
    }
}

/// So many that ended within the last hour, as a rate: where a look stopped at its bound, that of the newest of them.
pub(super) fn per_hour(value: i64, ms: Option<i64>, capped: bool) -> i64 {
    match ms {
        Some(ms) if capped => value.saturating_mul(HOUR_MS) / ms.max(1),
        _ => value,
    }
}

const HOUR_MS: i64 = 3_600_000;

/// How many workers keep up with so many items an hour (Little's law), at four fifths of their time, rounded up.
pub(super) fn needed(per_hour: i64, run_mean_ms: i64, is_busy: bool) -> i64 {
    let work = i128::from(per_hour) * i128::from(run_mean_ms) * 5;
    i64::try_from((work + 14_399_999) / 14_400_000).unwrap_or(i64::MAX).max(i64::from(is_busy))
}

/// Where the queue is going, at the rates of now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trend {
    /// How many items come in an hour; `None` where nothing tells.
    pub arrivals_per_hour: Option<i64>,
    /// How many end in an hour; `None` where nothing tells.
    pub ended_per_hour: Option<i64>,
    /// How many wait now: Pending and Error.
    pub depth: i64,
    /// How many will wait in an hour; at least none.
    pub depth_in_an_hour: Option<i64>,
    /// How many workers keep up with what comes.
    pub workers_needed: Option<i64>,
    /// How many workers keep up with what comes and have done in an hour what waits now.
    pub workers_to_catch_up: Option<i64>,
    /// Whether the rates were counted. If not they follow from what waits and how that changes between two looks: right while
    /// the oldest items go first, and at least as many come where others do.
    pub counted: bool,
}

impl Watched {
    /// Where the queue is going. Of a queue where nobody can count what came and what ended, since it deletes what is completed or
    /// its table does not say when that was, what waits tells how much comes, and `earlier`, a look so long ago, how much ended.
    #[must_use]
    pub fn trend(&self, earlier: Option<(&Self, Duration)>) -> Trend {
        let waiting = |watched: &Self| watched.stats.count(ItemState::Pending) + watched.stats.count(ItemState::Error);
        let depth = waiting(self);
        let is_busy = depth + self.stats.count(ItemState::Processing) > 0;
        let counted = self.stats.arrivals_last_hour.is_some() && self.ended_per_hour.is_some();
        let arrivals = self.stats.arrivals_last_hour.or_else(|| self.estimated_arrivals(is_busy));
        let ended = if counted {
            self.ended_per_hour
        } else {
            earlier.zip(arrivals).and_then(|((earlier, ago), arrivals)| {
                let ms = i64::try_from(ago.as_millis()).ok().filter(|ms| *ms > 0)?;
                let whole = !self.due_capped && !earlier.due_capped;
                let grown = (depth - waiting(earlier)).saturating_mul(HOUR_MS) / ms;
                whole.then(|| arrivals.saturating_sub(grown).max(0))
            })
        };
        // What one item takes: measured, or what those who are at it get done.
        let busy = self.stats.workers_busy;
        let run = match (self.stats.run_mean_ms, ended) {
            (Some(ms), _) => Some(ms),
            (None, Some(ended)) if ended > 0 && busy > 0 => Some(busy.saturating_mul(HOUR_MS) / ended),
            _ => None,
        };
        let workers = |per_hour: i64| match run {
            Some(run) => Some(needed(per_hour, run, is_busy)),
            None => (per_hour == 0).then(|| i64::from(is_busy)),
        };
        Trend {
            arrivals_per_hour: arrivals,
            ended_per_hour: ended,
            depth,
            depth_in_an_hour: arrivals.zip(ended).map(|(arrivals, ended)| (depth + arrivals - ended).max(0)),
            workers_needed: if counted { self.stats.workers_needed } else { arrivals.and_then(workers) },
            workers_to_catch_up: arrivals.and_then(|arrivals| workers(arrivals.saturating_add(depth))),
            counted,
        }
    }

    /// While the oldest go first, all that came since the oldest that waits are waiting still, or in flight.
    fn estimated_arrivals(&self, is_busy: bool) -> Option<i64> {
        match self.came {
            (0, _) => (!is_busy).then_some(0),
            (items, Some(ms)) if ms > 0 => Some(items.saturating_mul(HOUR_MS) / ms),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::QueueStats;
    use super::*;

    fn watched(pending: i64, arrivals: Option<i64>) -> Watched {
        let mut stats = QueueStats { arrivals_last_hour: arrivals, ..QueueStats::default() };
        stats.counts[0] = pending;
        Watched { stats, ..Watched::default() }
    }

    #[test]
    fn what_is_counted_tells_where_it_goes() {
        let mut now = watched(100, Some(600));
        (now.ended_per_hour, now.stats.run_mean_ms) = (Some(500), Some(12_000));
        let now = now.conclude();
        let trend = now.trend(None);
        assert!(trend.counted);
        assert_eq!((trend.depth, trend.depth_in_an_hour), (100, Some(200)));
        // 600 an hour of 12 s are two at once, 2.5 at four fifths; 700 an hour are 2.9.
        assert_eq!((trend.workers_needed, trend.workers_to_catch_up), (Some(3), Some(3)));
        let quiet = Watched { ended_per_hour: Some(900), ..now };
        assert_eq!(quiet.trend(None).depth_in_an_hour, Some(0), "never less than none");
    }

    #[test]
    fn of_a_queue_that_deletes_what_waits_tells() {
        // 50 came within 5 minutes and wait; a minute ago it were 45.
        let mut now = watched(50, None);
        (now.came, now.stats.workers_busy, now.stats.counts[1]) = ((50, Some(300_000)), 4, 4);
        let alone = now.trend(None);
        assert!(!alone.counted);
        assert_eq!((alone.arrivals_per_hour, alone.ended_per_hour, alone.workers_needed), (Some(600), None, None));
        let trend = now.trend(Some((&watched(45, None), Duration::from_secs(60))));
        assert_eq!((trend.ended_per_hour, trend.depth_in_an_hour), (Some(300), Some(350)));
        // Four get 300 an hour done, 48 s each; 600 of these take 8, and 10 at four fifths.
        assert_eq!((trend.workers_needed, trend.workers_to_catch_up), (Some(10), Some(11)));
        // What was not counted to its end tells no change.
        now.due_capped = true;
        assert_eq!(now.trend(Some((&watched(45, None), Duration::from_secs(60)))).ended_per_hour, None);
    }

    #[test]
    fn what_came_is_counted_and_what_ended_is_not() {
        let now = watched(50, Some(600)).conclude();
        let alone = now.trend(None);
        assert!(!alone.counted);
        assert_eq!((alone.arrivals_per_hour, alone.ended_per_hour, alone.depth_in_an_hour), (Some(600), None, None));
        let trend = now.trend(Some((&watched(45, Some(600)), Duration::from_secs(60))));
        assert_eq!((trend.ended_per_hour, trend.depth_in_an_hour), (Some(300), Some(350)));
    }

    #[test]
    fn of_an_idle_queue_nothing_comes() {
        let trend = watched(0, None).trend(None);
        assert_eq!(
            (trend.arrivals_per_hour, trend.workers_needed, trend.workers_to_catch_up),
            (Some(0), Some(0), Some(0))
        );
        let mut busy = watched(0, None);
        busy.stats.counts[1] = 2;
        assert_eq!(busy.trend(None).arrivals_per_hour, None, "what is in flight came, but nobody knows how fast");
    }
}
