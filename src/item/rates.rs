//! Hourly rates of a queue and of each of its types.

/// Events of the last hour, as far as a look reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HourlyEvents {
    pub items: i64,
    /// Whether there were as many or more.
    pub capped: bool,
    /// The time since the first of them, in milliseconds.
    pub ms: Option<i64>,
}

impl HourlyEvents {
    /// The rate an hour; when the look stopped at its bound, that of the events it saw.
    pub(super) fn per_hour(self, window_ms: i64) -> i64 {
        let ms = if self.capped { self.ms.unwrap_or(window_ms) } else { window_ms };
        self.items.saturating_mul(HOUR_MS) / ms.max(1)
    }

    /// Those of two databases. Where a look stopped at its bound, the time is as long as gives the sum of the rates.
    pub(super) fn plus(self, other: Self) -> Self {
        let (items, capped) = (self.items + other.items, self.capped || other.capped);
        let rate = self.per_hour(HOUR_MS).saturating_add(other.per_hour(HOUR_MS));
        let ms = if capped { Some(items.saturating_mul(HOUR_MS) / rate.max(1)) } else { self.ms.max(other.ms) };
        Self { items, capped, ms }
    }
}

/// The figures of a type, as far as the looks reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfType {
    /// The type.
    pub name: String,
    /// How many of its items are Pending or Error.
    pub waiting: i64,
    /// How many of these are due.
    pub due: i64,
    /// How long the oldest of those has been due, in milliseconds.
    pub oldest_due_ms: Option<i64>,
    /// How many are in flight.
    pub in_flight: i64,
    /// How many ended in an hour, by the last one; `None` where the queue does not record it.
    pub ended_per_hour: Option<i64>,
    /// How many arrived within the last hour; `None` where the queue does not record it, since it deletes completed items.
    pub arrivals_last_hour: Option<i64>,
    /// Milliseconds from the claim to the end, on average of the items that the look saw.
    pub claimed_mean_ms: Option<i64>,
    /// How many workers keep up, as in [`QueueStats::workers_needed`](super::QueueStats::workers_needed).
    pub workers_needed: Option<i64>,
    /// Whether a count stopped at the bound of a look: the true count is as high or higher.
    pub capped: bool,
}

impl OfType {
    /// Adds a figure by the part of its name after `type.`.
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

    /// Adds the figures of another database.
    pub(super) fn add(&mut self, other: &Self) {
        self.claimed_mean_ms = match (self.claimed_mean_ms, other.claimed_mean_ms) {
            (Some(ours), Some(theirs)) => {
                let [our, their] = [&*self, other].map(|of| of.arrivals_last_hour.unwrap_or(0));
                Some(if our + their > 0 { (ours * our + theirs * their) / (our + their) } else { ours.max(theirs) })
            }
            (one, other) => one.or(other),
        };
        self.waiting += other.waiting;
        self.due += other.due;
        self.oldest_due_ms = self.oldest_due_ms.max(other.oldest_due_ms);
        self.in_flight += other.in_flight;
        self.ended_per_hour = sum(self.ended_per_hour, other.ended_per_hour);
        self.arrivals_last_hour = sum(self.arrivals_last_hour, other.arrivals_last_hour);
        self.capped |= other.capped;
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

/// The rate of so many ends within the last hour; when the look stopped at its bound, that of the newest of them.
pub(super) fn per_hour(value: i64, ms: Option<i64>, capped: bool) -> i64 {
    match ms {
        Some(ms) if capped => value.saturating_mul(HOUR_MS) / ms.max(1),
        _ => value,
    }
}

/// A sum that is known where both parts are.
pub(super) fn sum(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    Some(one?.saturating_add(other?))
}

pub(super) const HOUR_MS: i64 = 3_600_000;

/// How many workers keep up with so many items an hour (Little's law), at four fifths of their time, rounded up.
pub(super) fn needed(per_hour: i64, claimed_mean_ms: i64, is_busy: bool) -> i64 {
    let work = i128::from(per_hour) * i128::from(claimed_mean_ms) * 5;
    i64::try_from((work + 14_399_999) / 14_400_000).unwrap_or(i64::MAX).max(i64::from(is_busy))
}
