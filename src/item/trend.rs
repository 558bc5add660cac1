//! The trend of a queue, from bounded looks.

use super::rates::{HOUR_MS, needed};
use super::state::ItemState;
use super::watched::Watched;
use std::time::Duration;

/// The trend of the queue, at the observed rates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trend {
    /// How many items come in an hour; `None` where no record exists, or until they were observed for [`Trend::MINIMUM`].
    pub arrivals_per_hour: Option<i64>,
    /// How many end in an hour; `None` likewise.
    pub ended_per_hour: Option<i64>,
    /// How many items wait now: those that are due. Items that are scheduled for later are not among them.
    pub depth: i64,
    /// How many will wait in an hour, with those that are due until then; at least none. `None` until the rates were observed for
    /// [`Trend::MINIMUM`].
    pub depth_in_an_hour: Option<i64>,
    /// How long the rates were observed, in milliseconds, an hour at most: from the first item that came or ended within the last
    /// hour on. `None` where nothing came or ended.
    pub window_ms: Option<i64>,
    /// How many workers keep up with the arrivals.
    pub workers_needed: Option<i64>,
    /// How many workers keep up with the arrivals and work off the waiting items in an hour.
    pub workers_to_catch_up: Option<i64>,
    /// Whether the rates were counted. Otherwise they follow from the waiting items and their change between two looks: right
    /// while the oldest items go first, and at least as many come where others do.
    pub counted: bool,
}

impl Trend {
    /// How long a rate must have been observed for a forecast of an hour: a burst is no rate.
    pub const MINIMUM: Duration = Duration::from_secs(600);
    const MINIMUM_MS: i64 = 600_000;
}

impl Watched {
    /// The trend. A queue may not record arrivals and ends, since it deletes completed items or its table lacks their times: then
    /// the waiting items show the arrivals, and `earlier`, a look so long ago, the ends.
    #[must_use]
    pub fn trend(&self, earlier: Option<(&Self, Duration)>) -> Trend {
        // Looks at other places show no change.
        let places = |watched: &Self| watched.away.iter().map(|away| away.place.clone()).collect::<Vec<_>>();
        let earlier = earlier.filter(|(earlier, _)| places(earlier) == places(self));
        let depth = self.stats.due;
        let is_busy = depth + self.stats.count(ItemState::Processing) > 0;
        let counts = self.came_last_hour.zip(self.ended_last_hour);
        let counted = counts.is_some();
        let (arrivals, ended, window) = match counts {
            Some((came, ended)) => {
                // Items beyond the bound came before, too.
                let full = (came.capped || ended.capped).then_some(HOUR_MS);
                let window = full.or(came.ms.max(ended.ms)).map(|ms| ms.min(HOUR_MS));
                let known = window.filter(|ms| *ms >= Trend::MINIMUM_MS);
                let rates = known.map(|ms| (came.per_hour(ms), ended.per_hour(ms)));
                // Nothing has come or ended for an hour: the rates are zero.
                let rates = rates.or_else(|| (window.is_none() && !is_busy).then_some((0, 0)));
                (rates.map(|(came, _)| came), rates.map(|(_, ended)| ended), window)
            }
            None => self.estimated(earlier, is_busy),
        };
        // The time of one item: measured, or from the rate of the workers at it.
        let busy = self.stats.claimed;
        let run = match (self.stats.claimed_mean_ms, ended) {
            (Some(ms), _) => Some(ms),
            (None, Some(ended)) if ended > 0 && busy > 0 => Some(busy.saturating_mul(HOUR_MS) / ended),
            _ => None,
        };
        let workers = |per_hour: i64| match run {
            Some(run) => Some(needed(per_hour, run, is_busy)),
            None => (per_hour == 0).then(|| i64::from(is_busy)),
        };
        // Workers do in an hour the arrivals of the last one: of a burst, too.
        let load = self.came_last_hour.map(|came| came.items).or(arrivals);
        let depth_then = |(arrivals, ended): (i64, i64)| (depth + self.due_within_hour + arrivals - ended).max(0);
        let forecast = window.is_none_or(|ms| ms >= Trend::MINIMUM_MS);
        Trend {
            arrivals_per_hour: arrivals,
            ended_per_hour: ended,
            depth,
            depth_in_an_hour: arrivals.zip(ended).filter(|_| forecast).map(depth_then),
            window_ms: window,
            workers_needed: if counted { self.stats.workers_needed } else { arrivals.and_then(workers) },
            workers_to_catch_up: load.and_then(|load| workers(load.saturating_add(depth))),
            counted,
        }
    }

    /// Arrivals and ends an hour, and the time of their observation.
    fn estimated(&self, earlier: Option<(&Self, Duration)>, is_busy: bool) -> (Option<i64>, Option<i64>, Option<i64>) {
        let arrivals = match self.came_last_hour {
            Some(came) => came.ms.map_or(Some(0), |ms| Some(came.per_hour(ms))),
            None => self.estimated_arrivals(is_busy),
        };
        let ended = earlier.zip(arrivals).and_then(|((earlier, ago), arrivals)| {
            let ms = i64::try_from(ago.as_millis()).ok().filter(|ms| *ms > 0)?;
            let whole = !self.due_capped && !earlier.due_capped;
            let grown = (self.stats.due - earlier.stats.due).saturating_mul(HOUR_MS) / ms;
            whole.then(|| arrivals.saturating_sub(grown).max(0))
        });
        let window = self.came_last_hour.and_then(|came| came.ms).or(self.came.1);
        (arrivals, ended, window.map(|ms| ms.min(HOUR_MS)))
    }

    /// While the oldest go first, all items that came since the oldest waiting one are waiting still, or in flight.
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
    use super::super::rates::HourlyEvents;
    use super::*;

    const SECOND: i64 = 1000;
    const MINUTE: i64 = 60 * SECOND;

    /// A look at a queue with so many due items; so many came and ended, the first of them so long ago.
    fn looked(due: i64, came: (i64, Option<i64>), ended: (i64, Option<i64>)) -> Watched {
        let mut watched = waiting(due);
        watched.stats.arrivals_last_hour = Some(came.0);
        watched.came_last_hour = Some(HourlyEvents { items: came.0, capped: false, ms: came.1 });
        watched.ended_last_hour = Some(HourlyEvents { items: ended.0, capped: false, ms: ended.1 });
        watched.ended_per_hour = Some(ended.0);
        watched.conclude()
    }

    fn waiting(due: i64) -> Watched {
        let mut stats = QueueStats { due, ..QueueStats::default() };
        stats.counts[0] = due;
        Watched { stats, ..Watched::default() }
    }

    fn rates(trend: &Trend) -> (Option<i64>, Option<i64>, Option<i64>) {
        (trend.arrivals_per_hour, trend.ended_per_hour, trend.depth_in_an_hour)
    }

    #[test]
    fn a_burst_is_no_rate() {
        let trend = looked(280, (300, Some(12 * SECOND)), (20, Some(10 * SECOND))).trend(None);
        assert_eq!((rates(&trend), trend.window_ms), ((None, None, None), Some(12 * SECOND)));
        // Once it was observed long enough, arrivals and ends are of the same time.
        let drained = looked(0, (300, Some(10 * MINUTE)), (300, Some(10 * MINUTE - SECOND))).trend(None);
        assert_eq!(rates(&drained), (Some(1800), Some(1800), Some(0)));
    }

    #[test]
    fn items_that_are_scheduled_wait_from_their_time_on() {
        let mut scheduled = looked(0, (0, None), (0, None));
        (scheduled.stats.counts[0], scheduled.stats.arrivals_last_hour) = (3, Some(3));
        let scheduled = scheduled.conclude();
        let trend = scheduled.trend(None);
        assert_eq!((trend.depth, trend.depth_in_an_hour, trend.workers_needed), (0, Some(0), Some(0)));
        let soon = Watched { due_within_hour: 2, ..scheduled };
        assert_eq!(soon.trend(None).depth_in_an_hour, Some(2), "two of three are due within the hour");
    }

    #[test]
    fn an_hour_of_observation_shows_the_direction() {
        let hour = Some(HOUR_MS - SECOND);
        for (due, came, ended, then) in [(10, 600, 600, 10), (100, 600, 500, 200), (100, 500, 580, 20), (10, 5, 900, 0)]
        {
            let trend = looked(due, (came, hour), (ended, hour)).trend(None);
            assert!(trend.counted);
            assert_eq!((trend.depth, trend.depth_in_an_hour), (due, Some(then)));
        }
        let mut now = looked(100, (600, hour), (500, hour));
        now.stats.claimed_mean_ms = Some(12_000);
        // 600 an hour of 12 s are two at once, 2.5 at four fifths; 700 an hour are 2.9.
        let trend = now.conclude().trend(None);
        assert_eq!((trend.workers_needed, trend.workers_to_catch_up), (Some(3), Some(3)));
    }

    #[test]
    fn more_than_a_look_reads_is_a_rate_of_its_own_time() {
        let mut now = looked(0, (10_000, Some(30 * MINUTE)), (9_000, Some(HOUR_MS)));
        now.came_last_hour = now.came_last_hour.map(|came| HourlyEvents { capped: true, ..came });
        assert_eq!(rates(&now.trend(None)), (Some(20_000), Some(9_000), Some(11_000)));
    }

    #[test]
    fn a_deleting_queue_is_estimated_by_its_waiting_items() {
        // 50 came within 20 minutes and wait; a minute ago it was 45.
        let mut now = waiting(50);
        (now.came, now.stats.claimed, now.stats.counts[1]) = ((50, Some(20 * MINUTE)), 4, 4);
        let alone = now.trend(None);
        assert!(!alone.counted);
        assert_eq!((rates(&alone), alone.workers_needed), ((Some(150), None, None), None));
        let earlier = waiting(49);
        let trend = now.trend(Some((&earlier, Duration::from_secs(60))));
        assert_eq!(rates(&trend), (Some(150), Some(90), Some(110)));
        // Four get 90 an hour done, 160 s each; 150 of these take 7, and 9 at four fifths.
        assert_eq!((trend.workers_needed, trend.workers_to_catch_up), (Some(9), Some(12)));
        now.came.1 = Some(12 * SECOND);
        assert_eq!(now.trend(Some((&earlier, Duration::from_secs(60)))).depth_in_an_hour, None, "a burst is no rate");
        // A count that stopped at its bound shows no change.
        now.due_capped = true;
        assert_eq!(now.trend(Some((&earlier, Duration::from_secs(60)))).ended_per_hour, None);
    }

    #[test]
    fn arrivals_are_counted_and_ends_are_not() {
        let mut now = looked(50, (600, Some(HOUR_MS)), (0, None));
        now.ended_last_hour = None;
        let alone = now.trend(None);
        assert!(!alone.counted);
        assert_eq!(rates(&alone), (Some(600), None, None));
        let trend = now.trend(Some((&waiting(45), Duration::from_secs(60))));
        assert_eq!(rates(&trend), (Some(600), Some(300), Some(350)));
    }

    #[test]
    fn an_idle_queue_has_no_arrivals() {
        for idle in [waiting(0), looked(0, (0, None), (0, None))] {
            let trend = idle.trend(None);
            assert_eq!(
                (trend.arrivals_per_hour, trend.workers_needed, trend.workers_to_catch_up),
                (Some(0), Some(0), Some(0))
            );
        }
        let mut busy = waiting(0);
        busy.stats.counts[1] = 2;
        assert_eq!(busy.trend(None).arrivals_per_hour, None, "items in flight came, at an unknown rate");
    }
}
