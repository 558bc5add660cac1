//! Figures about a queue.

use super::ItemState;
use super::rates::sum;

/// Figures about a queue at one moment. Percentiles and means are of the newest items that were started and finished.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// How many items are in each state, in the order of [`ItemState::ALL`].
    pub counts: [i64; 9],
    /// How many items are due now and wait for a worker.
    pub due: i64,
    /// How long the longest-waiting of them has been due, in milliseconds; `None` when none is due.
    pub oldest_due_ms: Option<i64>,
    /// How many items in flight have outlived their lease.
    pub expired: i64,
    /// The number of items behind the percentiles and means (at most 10,000).
    pub sample: i64,
    /// Milliseconds from due to started: 50th, 90th and 99th percentile.
    pub wait_ms: [Option<i64>; 3],
    /// Milliseconds from the claim to the end, with the wait for a handler: 50th, 90th and 99th percentile.
    pub claimed_ms: [Option<i64>; 3],
    /// Milliseconds from due to started, on average.
    pub wait_mean_ms: Option<i64>,
    /// Milliseconds from the claim to the end, on average.
    pub claimed_mean_ms: Option<i64>,
    /// How many items were enqueued within the last hour; `None` when the queue deletes completed items.
    pub arrivals_last_hour: Option<i64>,
    /// How many items are claimed now: in flight, with a lease that has not run out. Items that workers claimed ahead are among
    /// them; a worker's own figures have those that handlers have begun.
    pub claimed: i64,
    /// How many workers keep up (Little's law): the arrivals of the last hour per millisecond, times the mean time claimed,
    /// divided by 0.8, so that workers are idle for a fifth of their time and waits stay short. At least 1 while items are due or
    /// in flight. `None` when the arrivals are not known.
    pub workers_needed: Option<i64>,
    /// How many items are at each step of the queue's description, in that order; the last one, if its name is empty, counts
    /// those that are at none of them. Without `steps` in the description there are none.
    pub steps: Vec<StepCounts>,
}

/// How many items are at a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// The step; empty: none of the queue's.
    pub step: String,
    /// How many items are in each state, in the order of [`ItemState::ALL`].
    pub counts: [i64; 9],
}

impl StepCounts {
    /// How many items at the step are in `state`.
    #[must_use]
    pub fn count(&self, state: ItemState) -> i64 {
        in_state(&self.counts, state)
    }
}

fn in_state(counts: &[i64; 9], state: ItemState) -> i64 {
    ItemState::ALL.iter().position(|s| *s == state).and_then(|i| counts.get(i)).copied().unwrap_or(0)
}

impl QueueStats {
    /// How many items are in `state`.
    #[must_use]
    pub fn count(&self, state: ItemState) -> i64 {
        in_state(&self.counts, state)
    }

    /// Adds the figures of another database. Percentiles are those of the one where they are longest, and means those of all items
    /// behind them.
    pub fn add(&mut self, other: &Self) {
        let longest = |one: &mut Option<i64>, other: Option<i64>| *one = (*one).max(other);
        let (ours, theirs) = (self.sample, other.sample);
        let mean = |one: Option<i64>, other: Option<i64>| match (one, other) {
            (Some(one), Some(other)) if ours + theirs > 0 => Some((one * ours + other * theirs) / (ours + theirs)),
            (one, other) => one.or(other),
        };
        self.wait_mean_ms = mean(self.wait_mean_ms, other.wait_mean_ms);
        self.claimed_mean_ms = mean(self.claimed_mean_ms, other.claimed_mean_ms);
        self.counts.iter_mut().zip(other.counts).for_each(|(one, other)| *one += other);
        (self.due, self.expired, self.claimed) =
            (self.due + other.due, self.expired + other.expired, self.claimed + other.claimed);
        self.sample += theirs;
        longest(&mut self.oldest_due_ms, other.oldest_due_ms);
        self.wait_ms.iter_mut().zip(other.wait_ms).for_each(|(one, other)| longest(one, other));
        self.claimed_ms.iter_mut().zip(other.claimed_ms).for_each(|(one, other)| longest(one, other));
        self.arrivals_last_hour = sum(self.arrivals_last_hour, other.arrivals_last_hour);
        self.workers_needed = sum(self.workers_needed, other.workers_needed);
        for step in &other.steps {
            match self.steps.iter_mut().find(|known| known.step == step.step) {
                Some(known) => known.counts.iter_mut().zip(step.counts).for_each(|(one, other)| *one += other),
                None => self.steps.push(step.clone()),
            }
        }
    }

    /// Adds one figure by the procedure's name for it; an unknown name is one of a later version of the library.
    pub(crate) fn record(&mut self, name: &str, value: Option<i64>) {
        let percentile = |list: &mut [Option<i64>; 3], label: &str| {
            if let Some(i) = ["p50_ms", "p90_ms", "p99_ms"].iter().position(|l| *l == label) {
                list[i] = value;
            }
        };
        match name.split_once('.') {
            Some(("count", state)) => {
                if let Some(i) = ItemState::ALL.iter().position(|s| s.as_str() == state) {
                    self.counts[i] = value.unwrap_or(0);
                }
            }
            Some(("step", name)) => {
                let Some((state, step)) = name.split_once('.') else { return };
                let place = self.steps.iter().position(|counts| counts.step == step).unwrap_or_else(|| {
                    self.steps.push(StepCounts { step: step.to_owned(), ..StepCounts::default() });
                    self.steps.len() - 1
                });
                if let Some(i) = ItemState::ALL.iter().position(|s| s.as_str() == state) {
                    self.steps[place].counts[i] = value.unwrap_or(0);
                }
            }
            Some(("due", "count")) => self.due = value.unwrap_or(0),
            Some(("due", "oldest_ms")) => self.oldest_due_ms = value,
            Some(("lease", "expired")) => self.expired = value.unwrap_or(0),
            Some(("sample", "items")) => self.sample = value.unwrap_or(0),
            Some(("wait", "mean_ms")) => self.wait_mean_ms = value,
            Some(("claimed", "mean_ms")) => self.claimed_mean_ms = value,
            Some(("arrivals", "last_hour")) => self.arrivals_last_hour = value,
            Some(("claimed", "count")) => self.claimed = value.unwrap_or(0),
            Some(("workers", "needed")) => self.workers_needed = value,
            Some(("wait", label)) => percentile(&mut self.wait_ms, label),
            Some(("claimed", label)) => percentile(&mut self.claimed_ms, label),
            _ => {}
        }
    }
}
