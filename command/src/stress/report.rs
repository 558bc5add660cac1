//! The final report.

use super::crew::{LoadPlan, LoadResult};
use crate::exit::Exit;
use crate::printable::one_line;
use readpast::ItemState;
use readpast::item::span_text;
use readpast::stress::Wait;
use serde_json::{Value, json};

pub struct Report {
    queue: String,
    workers: u32,
    planned: u32,
    found: LoadResult,
    signal: Option<u8>,
    /// Microseconds: claims and settlements, p50 and p99.
    took: [[Option<u32>; 2]; 2],
    lost: i64,
}

impl Report {
    pub fn new(queue: &str, plan: &LoadPlan, mut found: LoadResult, signal: Option<u8>) -> Self {
        let tally = &mut found.tally;
        let took = [&mut tally.claims, &mut tally.settles].map(|took| [50, 99].map(|percent| took.percentile(percent)));
        let lost = lost(&found);
        Self { queue: queue.to_owned(), workers: plan.workers, planned: plan.items, found, signal, took, lost }
    }

    /// Completed items, by the workers' answers.
    fn done(&self) -> i64 {
        i64::try_from(self.found.tally.done.len()).unwrap_or(i64::MAX)
    }

    /// Items that were not enqueued when the filling ended.
    fn unfilled(&self) -> u32 {
        self.planned - self.found.filled.items - self.found.filled.duplicates
    }

    fn left(&self) -> i64 {
        [ItemState::Pending, ItemState::Processing, ItemState::Error]
            .into_iter()
            .map(|state| self.found.stats.count(state))
            .sum()
    }

    #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
    fn per_second(&self) -> f64 {
        self.done() as f64 / self.found.took.as_secs_f64().max(0.001)
    }

    /// Tries that failed with this kind of error.
    fn met(&self, kind: &str) -> u64 {
        self.found.errors.iter().find(|(known, _)| known == kind).map_or(0, |(_, count)| *count)
    }

    pub fn exit(&self) -> Exit {
        let is_bad = self.found.tally.twice() > 0
            || self.lost > 0
            || self.met("Deadlock") > 0
            || !self.found.observed.graphs.is_empty();
        match self.signal {
            _ if is_bad => Exit::Refused,
            Some(signal) => Exit::Signal(signal),
            None => Exit::Done,
        }
    }

    pub fn text(&self) -> String {
        let (tally, observed, filled) = (&self.found.tally, &self.found.observed, self.found.filled);
        let span = span_text(i64::try_from(self.found.took.as_millis()).unwrap_or(i64::MAX));
        let mut lines = vec![format!("queue {}, a copy: {} workers, {} items", self.queue, self.workers, filled.items)];
        let mut row = |name: &str, text: String| lines.push(format!("  {name:<16}{text}"));
        if filled.duplicates > 0 {
            row("left out", format!("{}, which the queue treats as duplicates of others", filled.duplicates));
        }
        if self.unfilled() > 0 {
            row("not filled", format!("{}: filling was stopped", self.unfilled()));
        }
        row("done", format!("{} in {span}, {:.0} a second", self.done(), self.per_second()));
        row("left", format!("{}, and {} failed", self.left(), self.found.stats.count(ItemState::Failed)));
        row("done twice", tally.twice().to_string());
        row("lost", self.lost.to_string());
        for (name, [p50, p99], count) in
            [("claims", self.took[0], tally.claims.count()), ("settlements", self.took[1], tally.settles.count())]
        {
            row(name, format!("{count}   p50 {}   p99 {}", micros(p50), micros(p99)));
        }
        row("deadlocks", self.met("Deadlock").to_string());
        row("time-outs", self.met("TimedOut").to_string());
        row(
            "tried again",
            format!("{} calls; {} claims of items that were claimed before", self.found.retries, tally.again()),
        );
        if tally.dropped > 0 {
            row("died", format!("workers with {} items; {} settlements came too late", tally.dropped, tally.refused));
        }
        for (kind, (count, text)) in &tally.failed {
            row("failed", format!("{count} calls, {kind}: {text}"));
        }
        lines.extend(self.found.limits.text(tally.done.len()));
        let of = observed.samples.map_or_else(String::new, |samples| format!("   ({samples} samples)"));
        lines.push(format!("  waits of the workers{of}"));
        lines.extend(waits(&observed.sessions));
        lines.push("  waits of all sessions meanwhile".to_owned());
        lines.extend(waits(&observed.server));
        lines.extend(observed.graphs.iter().map(|graph| format!("  a deadlock\n{graph}")));
        lines.extend(observed.unread.iter().map(|why| format!("  cannot be read: {why}")));
        lines.iter().map(|line| one_line(line)).collect::<Vec<_>>().join("\n")
    }

    pub fn json(&self) -> Value {
        let (tally, observed) = (&self.found.tally, &self.found.observed);
        let took = |[p50, p99]: [Option<u32>; 2], count: usize| json!({"count": count, "p50_us": p50, "p99_us": p99});
        let wait = |wait: &Wait| json!({"name": wait.name, "count": wait.count, "ms": wait.ms});
        let failed: Vec<_> = tally
            .failed
            .iter()
            .map(|(kind, (count, text))| json!({"kind": kind, "count": count, "text": text}))
            .collect();
        json!({
            "queue": self.queue,
            "workers": self.workers,
            "items": self.found.filled.items,
            "left_out": self.found.filled.duplicates,
            "not_filled": self.unfilled(),
            "ms": i64::try_from(self.found.took.as_millis()).unwrap_or(i64::MAX),
            "done": self.done(),
            "per_second": self.per_second(),
            "left": self.left(),
            "failed_items": self.found.stats.count(ItemState::Failed),
            "twice": tally.twice(),
            "lost": self.lost,
            "claims": took(self.took[0], tally.claims.count()),
            "settlements": took(self.took[1], tally.settles.count()),
            "deadlocks": self.met("Deadlock"),
            "timeouts": self.met("TimedOut"),
            "retries": self.found.retries,
            "claimed_again": tally.again(),
            "died_with": tally.dropped,
            "refused": tally.refused,
            "unknown": tally.unknown,
            "failed_calls": failed,
            "limit": self.found.limits.json(tally.done.len()),
            "waits": observed.sessions.iter().map(wait).collect::<Vec<_>>(),
            "samples": observed.samples,
            "server": observed.server.iter().map(wait).collect::<Vec<_>>(),
            "deadlock_graphs": observed.graphs,
            "unread": observed.unread,
            "signal": self.signal,
        })
    }
}

/// Items that are nowhere, and those that a worker completed and that are not Completed.
fn lost(found: &LoadResult) -> i64 {
    let there: i64 = ItemState::ALL.into_iter().map(|state| found.stats.count(state)).sum();
    let completed = found.stats.count(ItemState::Completed);
    let done = i64::try_from(found.tally.done.len()).unwrap_or(i64::MAX);
    let unknown = i64::try_from(found.tally.unknown).unwrap_or(i64::MAX);
    let filled = i64::from(found.filled.items);
    // When completed items leave the table, only the workers know their number.
    let missing = if found.keeps { filled - there } else { filled - (there - completed) - done - unknown };
    let undone = if found.keeps { done - completed } else { 0 };
    missing.max(0) + undone.max(0)
}

fn waits(waits: &[Wait]) -> Vec<String> {
    if waits.is_empty() {
        return vec!["    nothing".to_owned()];
    }
    let line = |wait: &Wait| {
        let ms = wait.ms.map_or_else(String::new, |ms| format!("{:>14}", span_text(ms)));
        format!("    {:<32}{:>10}{ms}", wait.name, wait.count)
    };
    waits.iter().take(12).map(line).collect()
}

#[allow(clippy::cast_precision_loss, reason = "figures for people")]
fn micros(us: Option<u32>) -> String {
    us.map_or_else(|| "-".to_owned(), |us| format!("{:.1} ms", f64::from(us) / 1000.0))
}

#[cfg(test)]
mod tests {
    use super::super::crew::Filled;
    use super::super::limits::Limits;
    use super::super::tally::Tally;
    use super::*;
    use readpast::stress::{Busy, Circumstances, Observed, Spent};
    use readpast::{Dialect, QueueStats};
    use std::collections::HashMap;
    use std::time::Duration;

    /// A run of ten items: how often each of some was completed, and how many are Completed, Pending and Failed.
    fn report(done: &[u32], states: [i64; 3], keeps: bool, errors: &[(&str, u64)]) -> Report {
        let done: HashMap<_, _> = done.iter().enumerate().map(|(i, times)| (i.to_string(), *times)).collect();
        let mut stats = QueueStats::default();
        (stats.counts[4], stats.counts[0], stats.counts[3]) = (states[0], states[1], states[2]);
        let at = Circumstances {
            dialect: Dialect::Postgres,
            batch: 1,
            has_shards: false,
            takes_turns: false,
            sees_waits: true,
        };
        let (took, observed) = (Duration::from_secs(2), Observed::default());
        let found = LoadResult {
            limits: Limits::new(at, &Spent::default(), took, &observed, Busy::default(), [0, 0]),
            filled: Filled { items: 10, duplicates: 3 },
            tally: Tally { done, ..Tally::default() },
            took,
            stats,
            keeps,
            observed,
            errors: errors.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect(),
            retries: 0,
        };
        let plan =
            LoadPlan { workers: 2, items: 20, limit: Duration::ZERO, batch: 1, handler: Duration::ZERO, kill: 0 };
        Report::new("Mail", &plan, found, None)
    }

    #[test]
    fn losses_and_repetitions_end_with_1() {
        for (report, lost, exit) in [
            (report(&[1; 7], [7, 2, 1], true, &[("TimedOut", 3)]), 0, Exit::Done),
            (report(&[1; 7], [0, 2, 1], false, &[]), 0, Exit::Done),
            (report(&[1, 1, 1, 1, 1, 1, 2], [7, 2, 1], true, &[]), 0, Exit::Refused),
            (report(&[1; 7], [7, 1, 1], true, &[]), 1, Exit::Refused),
            (report(&[1; 7], [0, 1, 1], false, &[]), 1, Exit::Refused),
            // A worker's completion was lost.
            (report(&[1; 7], [6, 3, 1], true, &[]), 1, Exit::Refused),
            (report(&[1; 10], [10, 0, 0], true, &[("Deadlock", 1)]), 0, Exit::Refused),
        ] {
            assert_eq!((report.lost, report.exit()), (lost, exit), "{}", report.text());
        }
    }

    #[test]
    fn unfilled_items_are_reported_and_not_lost() {
        let mut report = report(&[1; 10], [10, 0, 0], true, &[("TimedOut", 3)]);
        let text = report.text();
        for words in
            ["2 workers, 10 items\n", "  left out        3, ", "  not filled      7: ", "  time-outs       3\n"]
        {
            assert!(text.contains(words), "{words} is missing in {text}");
        }
        let json = report.json();
        let number = |name: &str| json[name].as_i64();
        assert_eq!(["items", "left_out", "not_filled", "timeouts"].map(number), [10, 3, 7, 3].map(Some));
        (report.planned, report.found.filled.duplicates) = (10, 0);
        assert!(!report.text().contains("left out") && !report.text().contains("not filled"));
    }

    #[test]
    fn unreadable_figures_are_reported() {
        let mut report = report(&[1; 10], [10, 0, 0], true, &[]);
        report.found.observed.unread.push("the deadlock graphs: permission denied".to_owned());
        assert!(report.text().contains("  cannot be read: the deadlock graphs: permission denied"));
        assert_eq!((report.json()["unread"].as_array().unwrap().len(), report.exit()), (1, Exit::Done));
        report.signal = Some(2);
        assert_eq!(report.exit(), Exit::Signal(2));
    }
}
