//! Counters of one queue in a process, which any number of threads raise at once.

use super::source::{Reading, Sources};
use crate::error::{ErrorKind, Result};
use crate::item::{Answer, ItemState, Outcome};
use crate::sync::{Mutex, MutexGuard, PerProcess};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// The kinds of calls to a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    Claim,
    /// A look at all queues of the process, on a connection of one of them.
    Poll,
    Settle,
    SettleAndClaim,
    Enqueue,
    Renew,
    Recover,
    Find,
    Redrive,
    Purge,
    Retain,
    Attempts,
    Progress,
    Why,
    Stats,
    Watch,
    IsDone,
    Installed,
    Settings,
    Actions,
    Workers,
    Minutes,
    Schedules,
    Pauses,
    Limits,
    /// A look for a procedure that handles items.
    Procedure,
    /// A claim, its handling by a procedure, and the settle.
    Work,
}

impl CallKind {
    /// All kinds, each at its number, with its name in figures.
    pub(super) const ALL: [(Self, &'static str); 27] = [
        (Self::Claim, "claim"),
        (Self::Poll, "poll"),
        (Self::Settle, "settle"),
        (Self::SettleAndClaim, "settle_and_claim"),
        (Self::Enqueue, "enqueue"),
        (Self::Renew, "renew"),
        (Self::Recover, "recover"),
        (Self::Find, "find"),
        (Self::Redrive, "redrive"),
        (Self::Purge, "purge"),
        (Self::Retain, "retain"),
        (Self::Attempts, "attempts"),
        (Self::Progress, "progress"),
        (Self::Why, "why"),
        (Self::Stats, "stats"),
        (Self::Watch, "watch"),
        (Self::IsDone, "is_done"),
        (Self::Installed, "installed"),
        (Self::Settings, "settings"),
        (Self::Actions, "actions"),
        (Self::Workers, "workers"),
        (Self::Minutes, "minutes"),
        (Self::Schedules, "schedules"),
        (Self::Pauses, "pauses"),
        (Self::Limits, "limits"),
        (Self::Procedure, "procedure"),
        (Self::Work, "work"),
    ];
}

/// The answers that refuse a settlement.
pub(super) const REFUSALS: [Answer; 5] =
    [Answer::LeaseLost, Answer::Conflict, Answer::IllegalTransition, Answer::NotFound, Answer::Duplicate];

/// The upper ends of the classes of a histogram, in microseconds.
pub(super) const BOUNDS_US: [u64; 15] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000, 30_000_000,
];

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A histogram of durations.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    counts: [Counter; BOUNDS_US.len() + 1],
    sum_ns: AtomicU64,
}

impl Histogram {
    fn add(&self, took: Duration) {
        let us = u64::try_from(took.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
        self.counts[BOUNDS_US.partition_point(|bound| *bound < us)].add(1);
        self.sum_ns.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The count of each class, and the sum of all durations.
    pub(super) fn read(&self) -> ([u64; BOUNDS_US.len() + 1], Duration) {
        (std::array::from_fn(|i| self.counts[i].get()), Duration::from_nanos(self.sum_ns.load(Ordering::Relaxed)))
    }
}

/// The counters of one queue.
#[derive(Default)]
pub(crate) struct Counters {
    pub(super) schema: String,
    pub(super) queue: String,
    /// Looks that found something, and those that did not.
    pub(super) claims: [Counter; 2],
    pub(super) claimed: Counter,
    /// New items, and duplicates.
    pub(super) enqueued: [Counter; 2],
    /// By the item's state after it.
    pub(super) settled: [Counter; ItemState::ALL.len()],
    pub(super) refused: [Counter; REFUSALS.len()],
    pub(super) lost: Counter,
    /// Claims and recoveries that an item's table refused.
    pub(super) aside: Counter,
    pub(super) retries: Counter,
    pub(super) calls: [Histogram; CallKind::ALL.len()],
    /// The times from an item's claim until its handler began, and from then until its end.
    pub(super) waited: Histogram,
    pub(super) worked: Histogram,
    /// By their kind.
    pub(super) errors: [Counter; ErrorKind::ALL.len()],
    sources: Mutex<Sources>,
}

/// All counters of this process.
fn here() -> MutexGuard<'static, Vec<Arc<Counters>>> {
    static LEDGERS: PerProcess<Mutex<Vec<Arc<Counters>>>> = PerProcess::new();

    LEDGERS.get().lock()
}

/// All counters of this process, by name.
pub(super) fn all() -> Vec<Arc<Counters>> {
    let mut all = here().clone();
    all.sort_by(|one, other| (&one.schema, &one.queue).cmp(&(&other.schema, &other.queue)));
    all
}

impl Counters {
    /// The counters of a queue, which live as long as the process: they outlast a close of the queue.
    pub(crate) fn of(schema: &str, queue: &str) -> Arc<Self> {
        let mut ledgers = here();
        if let Some(counters) = ledgers.iter().find(|counters| counters.schema == schema && counters.queue == queue) {
            return Arc::clone(counters);
        }
        let counters = Arc::new(Self { schema: schema.to_owned(), queue: queue.to_owned(), ..Self::default() });
        ledgers.push(Arc::clone(&counters));
        counters
    }

    /// Counts one try at a call on a connection: its duration, and its failure.
    pub(crate) fn time<T>(&self, call: CallKind, attempt: impl FnOnce() -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        let result = attempt();
        self.calls[call as usize].add(begun.elapsed());
        result.inspect_err(|error| self.failed(error.kind()))
    }

    /// Counts a failed try, perhaps for want of a connection.
    pub(crate) fn failed(&self, kind: ErrorKind) {
        if let Some(count) = self.errors.get(kind as usize) {
            count.add(1);
        }
    }

    /// Counts a retry.
    pub(crate) fn tries_again(&self) {
        self.retries.add(1);
    }

    /// Counts a claim or a recovery that the table refused.
    pub(crate) fn sets_aside(&self) {
        self.aside.add(1);
    }

    /// Counts the items of a look at the queue.
    pub(crate) fn claims(&self, items: usize) {
        self.claims[usize::from(items == 0)].add(1);
        self.claimed.add(items);
    }

    /// Counts new items and duplicates.
    pub(crate) fn enqueues(&self, items: usize, duplicates: usize) {
        self.enqueued[0].add(items);
        self.enqueued[1].add(duplicates);
    }

    /// Counts answered settlements; `is_claimed` is true of those of a claim.
    pub(crate) fn settles(&self, outcomes: &[Outcome], is_claimed: impl Fn(usize) -> bool) {
        for (i, outcome) in outcomes.iter().enumerate() {
            self.ends(outcome.answer, outcome.state);
            if outcome.answer != Answer::Ok && is_claimed(i) {
                self.loses(1);
            }
        }
    }

    /// Counts an item that a procedure handled; without a state another worker has it.
    pub(crate) fn works(&self, state: Option<ItemState>) {
        self.claims(1);
        match state {
            Some(_) => self.ends(Answer::Ok, state),
            None => {
                self.ends(Answer::LeaseLost, None);
                self.loses(1);
            }
        }
    }

    fn ends(&self, answer: Answer, state: Option<ItemState>) {
        let count = if answer == Answer::Ok {
            ItemState::ALL.iter().zip(&self.settled).find(|(known, _)| Some(**known) == state).map(|(_, count)| count)
        } else {
            REFUSALS.iter().zip(&self.refused).find(|(known, _)| **known == answer).map(|(_, count)| count)
        };
        if let Some(count) = count {
            count.add(1);
        }
    }

    /// Counts an item that a worker's handler ended.
    pub(crate) fn handled(&self, waited: Duration, worked: Duration) {
        self.waited.add(waited);
        self.worked.add(worked);
    }

    /// Counts lost claims.
    pub(crate) fn loses(&self, claims: usize) {
        self.lost.add(claims);
    }

    /// The sum of its sources.
    pub(super) fn read(&self) -> Reading {
        self.sources().read()
    }

    pub(super) fn sources(&self) -> MutexGuard<'_, Sources> {
        self.sources.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::super::listed::Listed;
    use super::super::source::Source;
    use super::*;
    use crate::error::Error;
    use crate::metrics::source::{CurrentFigures, SoFar};

    #[test]
    fn every_call_and_kind_of_error_stands_at_its_number() {
        for (place, (call, name)) in CallKind::ALL.into_iter().enumerate() {
            assert_eq!(call as usize, place, "{name}");
        }
        for (place, kind) in ErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place, "{kind:?}");
        }
    }

    #[test]
    fn times_are_in_the_first_class_that_holds_them() {
        let histogram = Histogram::default();
        for ns in [0, 500_000, 500_001, 30_000_000_000, 30_000_000_001] {
            histogram.add(Duration::from_nanos(ns));
        }
        histogram.add(Duration::MAX.min(Duration::from_secs(86_400)));
        let (counts, sum) = histogram.read();
        assert_eq!((counts[0], counts[1], counts[14], counts[15]), (2, 1, 1, 2));
        assert_eq!(counts.iter().sum::<u64>(), 6);
        assert_eq!(sum, Duration::from_nanos(60_001_000_002) + Duration::from_secs(86_400));
    }

    #[test]
    fn every_settlement_has_one_outcome_and_what_was_claimed_can_be_lost() {
        let counters = Counters::default();
        let outcome = |answer, state| Outcome { answer, state, token: String::new(), attempt: 1 };
        let outcomes: Vec<_> = ItemState::ALL.map(|state| outcome(Answer::Ok, Some(state))).into();
        counters.settles(&outcomes, |_| true);
        let refused = REFUSALS.map(|answer| outcome(answer, Some(ItemState::Completed)));
        counters.settles(&refused, |i| i < 2);
        assert!(counters.settled.iter().chain(&counters.refused).all(|count| count.get() == 1));
        assert_eq!(counters.lost.get(), 2);
        counters.loses(5);
        assert_eq!(counters.lost.get(), 7);
    }

    #[test]
    fn a_try_is_timed_whatever_comes_of_it() {
        let counters = Counters::default();
        assert!(counters.time(CallKind::Find, || Ok(())).is_ok());
        let fail = || -> Result<()> { Err(Error::new(ErrorKind::Deadlock, "")) };
        assert!(counters.time(CallKind::Find, fail).is_err());
        assert!(counters.time(CallKind::Find, fail).is_err());
        assert_eq!(counters.calls[CallKind::Find as usize].read().0.iter().sum::<u64>(), 3);
        let failed = counters.errors.iter().zip(ErrorKind::ALL).filter(|(count, _)| count.get() > 0);
        let failed: Vec<_> = failed.map(|(count, kind)| (kind, count.get())).collect();
        assert_eq!(failed, [(ErrorKind::Deadlock, 2)]);
    }

    struct Fixed(Reading);

    impl Source for Fixed {
        fn read(&self) -> Reading {
            self.0
        }
    }

    #[test]
    fn counts_of_a_source_outlast_it_and_its_gauges_do_not() {
        let counters = Arc::new(Counters::default());
        let reading = Reading {
            now: CurrentFigures { idle: 2, ..CurrentFigures::default() },
            so_far: SoFar { waits: 3, ..SoFar::default() },
        };
        let list = || Listed::new(&counters, Arc::new(Fixed(reading)));
        let (one, other) = (list(), list());
        assert_eq!((counters.read().now.idle, counters.read().so_far.waits), (4, 6));
        drop(one);
        assert_eq!((counters.read().now.idle, counters.read().so_far.waits), (2, 6));
        drop(other);
        assert_eq!(
            counters.read(),
            Reading { now: CurrentFigures::default(), so_far: SoFar { waits: 6, ..SoFar::default() } }
        );
    }

    #[test]
    fn a_queue_has_one_set_of_counters() {
        let counters = Counters::of("a schema", "Q");
        assert!(Arc::ptr_eq(&counters, &Counters::of("a schema", "Q")));
        assert!(!Arc::ptr_eq(&counters, &Counters::of("another", "Q")));
        assert!(all().iter().any(|other| Arc::ptr_eq(other, &counters)));
    }
}
