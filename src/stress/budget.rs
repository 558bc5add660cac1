//! The limit of a run: its workers' time, divided among the causes, and the largest of them.

use super::{Limit, Observed};
use crate::dialect::Dialect;
use std::time::Duration;

/// The workers' time, as they measured it themselves; the sum over all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spent {
    /// From the first claim of each to its end.
    pub total: Duration,
    /// In calls that found items or settled some.
    pub calls: Duration,
    /// The number of those calls.
    pub count: u64,
    /// In handlers.
    pub handlers: Duration,
    /// In claims that found nothing, and in the pauses after them.
    pub idle: Duration,
}

/// The shares of this machine's processors that were busy, of 1. A system that does not show a figure leaves it out.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Busy {
    /// How many there are.
    pub processors: usize,
    /// With this process.
    pub own: Option<f64>,
    /// With all programs.
    pub machine: Option<f64>,
    /// Whether the server is among them.
    pub has_server: bool,
}

impl Busy {
    /// Whether the run had less than half of processors that were busy all the time. `at_work` sessions of the server ran, or
    /// waited for a processor: it had no more.
    #[allow(clippy::cast_precision_loss, reason = "a number of processors")]
    fn is_of_others(&self, at_work: f64) -> bool {
        let server = if self.has_server { at_work / self.processors.max(1) as f64 } else { 0.0 };
        self.machine.is_some_and(|busy| busy >= BUSY) && self.own.is_some_and(|own| own + server < 0.5)
    }
}

/// The shares of the workers' time, and the processors.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Each cause with its share, of 1 altogether; none where no time was spent.
    pub parts: Vec<(Limit, f64)>,
    /// How long the workers were at work.
    pub took: Duration,
    /// Whether the flush of the log was reckoned from the time of a commit, since the server's waits cannot be read.
    pub is_reckoned: bool,
    /// How many sessions the server worked for at a time.
    pub at_work: f64,
    /// The share of the server's processors that the run's sessions had.
    pub server_busy: Option<f64>,
    /// The processors of this machine.
    pub here: Busy,
}

/// The share from which processors are the limit.
const BUSY: f64 = 0.9;

/// The time below which figures are chance.
const BRIEF: Duration = Duration::from_millis(500);

impl Budget {
    /// Divides the workers' time. What the server counts is fitted into the time of the calls, since samples are chance and
    /// part of them is a round trip's.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "shares, for people")]
    pub fn new(dialect: Dialect, spent: &Spent, took: Duration, observed: &Observed, here: Busy) -> Self {
        let on_processors = observed.on_processors.unwrap_or(0) as f64 / 1e3;
        let seconds = |limit| {
            let amount = observed.amount(dialect, limit) as f64;
            let counted = match observed.samples {
                // A sample stands for the time to the next one.
                Some(samples) => amount * took.as_secs_f64() / samples.max(1) as f64,
                None => amount / 1e3,
            };
            counted + if limit == Limit::ServerWork { on_processors } else { 0.0 }
        };
        let total = spent.total.as_secs_f64();
        let calls = spent.calls.as_secs_f64().min(total);
        let count = spent.count as f64;
        let trip = observed.round_trip().unwrap_or_default();
        let trips = (count * trip.as_secs_f64()).min(calls);
        let room = calls - trips;
        let mut server = [Limit::LogFlush, Limit::Replica, Limit::Head, Limit::OtherWaits, Limit::ServerWork]
            .map(|limit| (limit, seconds(limit)));
        let is_reckoned = !observed.sees_waits() && observed.probe.commit.is_some();
        if is_reckoned {
            server[0].1 = count * observed.probe.commit.unwrap_or_default().saturating_sub(trip).as_secs_f64();
        }
        let seen: f64 = server.iter().map(|(_, seconds)| seconds).sum();
        let fit = if seen > room { room / seen } else { 1.0 };
        let (handlers, idle) = (spent.handlers.as_secs_f64(), spent.idle.as_secs_f64());
        let mut parts = vec![(Limit::Handlers, handlers), (Limit::NothingDue, idle), (Limit::RoundTrip, trips)];
        parts.extend(server.map(|(limit, seconds)| (limit, seconds * fit)));
        parts.push((Limit::Unexplained, (room - seen).max(0.0)));
        parts.push((Limit::Client, (total - handlers - idle - calls).max(0.0)));
        let sum: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
        parts.iter_mut().for_each(|(_, seconds)| *seconds /= sum);
        if sum <= 0.0 {
            parts.clear();
        }
        let wall = took.as_secs_f64().max(f64::MIN_POSITIVE);
        let server_busy =
            observed.processors.filter(|count| *count > 0).map(|count| on_processors / wall / count as f64);
        Self { parts, took, is_reckoned, at_work: seconds(Limit::ServerWork) / wall, server_busy, here }
    }

    /// The share of a cause.
    #[must_use]
    pub fn share(&self, limit: Limit) -> f64 {
        self.parts.iter().find(|(known, _)| *known == limit).map_or(0.0, |(_, share)| *share)
    }

    /// The limit of the run: processors that are never free, since waiting for one looks like any of the others; else the
    /// largest part.
    #[must_use]
    pub fn limit(&self) -> Limit {
        if self.took < BRIEF {
            return Limit::Unknown;
        }
        if self.here.is_of_others(self.at_work) {
            return Limit::OtherPrograms;
        }
        if [self.here.machine, self.here.own, self.server_busy].into_iter().flatten().any(|busy| busy >= BUSY) {
            return Limit::Processors;
        }
        let most = self.parts.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        most.map_or(Limit::Unknown, |(limit, _)| *limit)
    }

    /// Whether this process alone keeps the processors busy.
    #[must_use]
    pub fn is_own_work(&self) -> bool {
        self.here.own.is_some_and(|busy| busy >= BUSY)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Probe, Wait};
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Eight workers for ten seconds in 20,000 calls of 3 ms.
    fn spent() -> Spent {
        Spent { total: 80 * SECOND, calls: 60 * SECOND, count: 20_000, handlers: Duration::ZERO, idle: 5 * SECOND }
    }

    fn wait(name: &str, count: i64, ms: Option<i64>) -> Wait {
        Wait { name: name.to_owned(), count, ms }
    }

    fn observed(waits: &[(&str, i64, Option<i64>)], samples: Option<i64>) -> Observed {
        let probe = Probe {
            round_trip: Some(Duration::from_micros(500)),
            commit: Some(Duration::from_micros(1500)),
            is_near: Some(false),
        };
        let sessions = waits.iter().map(|(name, count, ms)| wait(name, *count, *ms)).collect();
        Observed { sessions, samples, probe, ..Observed::default() }
    }

    fn budget(dialect: Dialect, spent: &Spent, observed: &Observed) -> Budget {
        let budget = Budget::new(dialect, spent, 10 * SECOND, observed, Busy::default());
        let sum: f64 = budget.parts.iter().map(|(_, share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-9 && budget.parts.iter().all(|(_, share)| *share >= 0.0), "{budget:?}");
        budget
    }

    fn assert_shares(budget: &Budget, expected: &[(Limit, f64)]) {
        for (limit, share) in expected {
            assert!((budget.share(*limit) - share).abs() < 1e-9, "{limit:?}: {budget:?}");
        }
    }

    #[test]
    fn samples_stand_for_the_time_between_them() {
        let waits = [("IO/WALSync", 400, None), ("running", 200, None), ("LWLock/BufferContent", 100, None)];
        let budget = budget(Dialect::Postgres, &spent(), &observed(&waits, Some(200)));
        let expected = [
            (Limit::LogFlush, 20.0 / 80.0),
            (Limit::ServerWork, 10.0 / 80.0),
            (Limit::Head, 5.0 / 80.0),
            (Limit::RoundTrip, 10.0 / 80.0),
            (Limit::Unexplained, 15.0 / 80.0),
            (Limit::NothingDue, 5.0 / 80.0),
            (Limit::Client, 15.0 / 80.0),
        ];
        assert_shares(&budget, &expected);
        assert_eq!((budget.limit(), budget.is_reckoned), (Limit::LogFlush, false));
    }

    #[test]
    fn milliseconds_count_as_they_are() {
        let waits =
            [("PAGELATCH_EX", 9, Some(30_000)), ("WRITELOG", 9, Some(8000)), ("HADR_SYNC_COMMIT", 1, Some(1000))];
        let mut observed = observed(&waits, None);
        (observed.processors, observed.on_processors) = (Some(4), Some(4000));
        let budget = budget(Dialect::SqlServer, &spent(), &observed);
        let expected = [
            (Limit::Head, 30.0 / 80.0),
            (Limit::LogFlush, 8.0 / 80.0),
            (Limit::Replica, 1.0 / 80.0),
            (Limit::ServerWork, 4.0 / 80.0),
        ];
        assert_shares(&budget, &expected);
        assert_eq!((budget.limit(), budget.server_busy), (Limit::Head, Some(0.1)));
    }

    #[test]
    fn waits_longer_than_the_calls_are_fitted() {
        let waits = [("IO/WALSync", 1500, None), ("running", 500, None)];
        let budget = budget(Dialect::Postgres, &spent(), &observed(&waits, Some(200)));
        assert_shares(&budget, &[(Limit::LogFlush, 37.5 / 80.0), (Limit::ServerWork, 12.5 / 80.0)]);
        assert_shares(&budget, &[(Limit::Unexplained, 0.0), (Limit::RoundTrip, 10.0 / 80.0)]);
    }

    #[test]
    fn a_commit_stands_for_waits_that_cannot_be_read() {
        let mut observed = observed(&[], None);
        observed.unread.push("waits of the sessions: no VIEW SERVER STATE".to_owned());
        let budget = budget(Dialect::SqlServer, &spent(), &observed);
        assert!(budget.is_reckoned);
        assert_shares(&budget, &[(Limit::LogFlush, 20.0 / 80.0), (Limit::RoundTrip, 10.0 / 80.0)]);
    }

    #[test]
    fn the_largest_part_is_the_limit() {
        let long = |us| Some(Duration::from_micros(us));
        let waits = |name| [(name, 1000, None)];
        let run = |waits: &[_], trip, change: fn(&mut Spent)| {
            let (mut spent, mut observed) = (spent(), observed(waits, Some(200)));
            observed.probe.round_trip = trip;
            change(&mut spent);
            budget(Dialect::Postgres, &spent, &observed).limit()
        };
        assert_eq!(run(&[], long(2500), |_| {}), Limit::RoundTrip);
        assert_eq!(run(&[], long(100), |_| {}), Limit::Unexplained);
        assert_eq!(run(&[], long(100), |spent| spent.calls = SECOND), Limit::Client);
        assert_eq!(run(&[], long(100), |spent| (spent.calls, spent.idle) = (SECOND, 60 * SECOND)), Limit::NothingDue);
        assert_eq!(run(&[], long(100), |spent| (spent.calls, spent.handlers) = (SECOND, 60 * SECOND)), Limit::Handlers);
        assert_eq!(run(&waits("running"), long(100), |_| {}), Limit::ServerWork);
        assert_eq!(run(&waits("IPC/SyncRep"), long(100), |_| {}), Limit::Replica);
        assert_eq!(run(&waits("IO/DataFileRead"), long(100), |_| {}), Limit::OtherWaits);
        assert_eq!(run(&waits("Lock/tuple"), long(100), |_| {}), Limit::Head);
    }

    /// A bare statement under load takes longer, and by chance one before it.
    #[test]
    fn the_shorter_round_trip_counts() {
        let mut observed = observed(&[], Some(200));
        for (trip, counts) in [(Duration::from_millis(9), 500), (Duration::from_micros(100), 100)] {
            observed.trip = Some(trip);
            let expected = f64::from(counts) * 1e-6 * 20_000.0 / 80.0;
            assert_shares(&budget(Dialect::Postgres, &spent(), &observed), &[(Limit::RoundTrip, expected)]);
        }
    }

    #[test]
    fn busy_processors_come_first() {
        let of =
            |observed: &Observed, here| Budget::new(Dialect::Postgres, &spent(), 10 * SECOND, observed, here).limit();
        let sync = observed(&[("IO/WALSync", 400, None)], Some(200));
        let running = observed(&[("running", 300, None), ("IO/WALSync", 900, None)], Some(200));
        let here = Busy { processors: 2, own: Some(0.3), machine: Some(0.95), has_server: true };
        assert_eq!(of(&running, here), Limit::Processors);
        // The run itself has too little of them.
        assert_eq!(of(&sync, here), Limit::OtherPrograms);
        assert_eq!(of(&running, Busy { has_server: false, ..here }), Limit::OtherPrograms);
        assert_eq!(of(&running, Busy { machine: Some(0.5), ..here }), Limit::LogFlush);
        assert_eq!(of(&running, Busy { own: Some(0.95), ..here }), Limit::Processors);
        assert_eq!(of(&running, Busy { own: Some(0.95), machine: None, ..here }), Limit::Processors);
        let server = Observed { processors: Some(2), on_processors: Some(19_000), ..sync };
        assert_eq!(of(&server, Busy::default()), Limit::Processors);
    }

    #[test]
    fn a_run_of_a_moment_has_no_limit() {
        let observed = observed(&[], Some(1));
        let here = Busy { machine: Some(1.0), ..Busy::default() };
        let brief = Budget::new(Dialect::Postgres, &spent(), Duration::from_millis(100), &observed, here);
        assert_eq!(brief.limit(), Limit::Unknown);
        let nothing = Budget::new(Dialect::Postgres, &Spent::default(), SECOND, &observed, Busy::default());
        assert_eq!((nothing.limit(), nothing.parts.len()), (Limit::Unknown, 0));
    }
}
