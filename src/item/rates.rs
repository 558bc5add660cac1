//! Rates an hour, of a queue and of each type of its work.

/// Events of the last hour, as far as a look reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HourlyEvents {
    pub items: i64,
    /// Whether there were as many or more.
    pub capped: bool,
    /// For how long there have been any, in milliseconds.
    pub ms: Option<i64>,
}

impl HourlyEvents {
    /// So many an hour: where a look stopped at its bound, by the time that those of the look took.
    pub(super) fn per_hour(self, window_ms: i64) -> i64 {
        let ms = if self.capped { self.ms.unwrap_or(window_ms) } else { window_ms };
        self.items.saturating_mul(HOUR_MS) / ms.max(1)
    }
}

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
    /// Milliseconds from the claim to the end, on average of those that were looked at.
    pub claimed_mean_ms: Option<i64>,
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
            "claimed_mean_ms" => self.claimed_mean_ms = Some(value),
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
            self.workers_needed = Some(needed(arrivals, self.claimed_mean_ms.unwrap_or(0), busy));
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

pub(super) const HOUR_MS: i64 = 3_600_000;

/// How many workers keep up with so many items an hour (Little's law), at four fifths of their time, rounded up.
pub(super) fn needed(per_hour: i64, claimed_mean_ms: i64, is_busy: bool) -> i64 {
    let work = i128::from(per_hour) * i128::from(claimed_mean_ms) * 5;
    i64::try_from((work + 14_399_999) / 14_400_000).unwrap_or(i64::MAX).max(i64::from(is_busy))
}
