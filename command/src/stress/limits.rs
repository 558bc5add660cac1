//! The limit of a run, in the report: the shares of the workers' time, the figures behind them, and the advice.

use readpast::stress::{Budget, Busy, Circumstances, Limit, Observed, Spent, remedy};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The limit of a run, and its figures.
pub struct Limits {
    budget: Budget,
    at: Circumstances,
    spent: Spent,
    is_near: Option<bool>,
    /// Looks while items waited: those that found all handlers at work, and all of them.
    all_busy: [u64; 2],
    observed: [Option<Duration>; 3],
}

/// The shares that are shown however small they are.
const ALWAYS: [Limit; 4] = [Limit::LogFlush, Limit::RoundTrip, Limit::Head, Limit::Handlers];

impl Limits {
    pub fn new(
        at: Circumstances,
        spent: &Spent,
        took: Duration,
        observed: &Observed,
        busy: Busy,
        all_busy: [u64; 2],
    ) -> Self {
        let budget = Budget::new(at.dialect, spent, took, observed, busy);
        let is_near = observed.probe.is_near;
        let observed = [observed.probe.round_trip, observed.trip, observed.probe.commit];
        Self { budget, at, spent: spent.clone(), is_near, all_busy, observed }
    }

    /// Lines under the rows of the report; `done` items were completed.
    pub fn text(&self, done: usize) -> Vec<String> {
        let limit = self.budget.limit();
        let share = match limit {
            Limit::Processors => ", busy all the time".to_owned(),
            Limit::OtherPrograms => " keep the processors busy".to_owned(),
            Limit::Unknown => ": the run was too short".to_owned(),
            _ => format!(", {} of the workers' time", percent(self.budget.share(limit))),
        };
        let mut lines = vec![
            format!("  {:<16}{}{share}", "limit", limit.label()),
            format!("  {:<16}{}", "would help", remedy(&self.budget, self.at)),
            "  the workers' time".to_owned(),
        ];
        let mut parts = self.budget.parts.clone();
        parts.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        for (limit, share) in parts.into_iter().filter(|(limit, share)| *share >= 0.01 || ALWAYS.contains(limit)) {
            let line = format!("    {:<20}{:>6}   {}", limit.label(), percent(share), self.figures(limit, done));
            lines.push(line.trim_end().to_owned());
        }
        lines.push(format!("  {:<16}{}", "processors", self.processors_text()));
        lines
    }

    /// The figures behind a share.
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    fn figures(&self, limit: Limit, done: usize) -> String {
        let [trip, loaded, commit] = self.observed.map(|time| time.map(millis));
        let or = |time: Option<String>| time.unwrap_or_else(|| "-".to_owned());
        match limit {
            Limit::RoundTrip => {
                let each = self.spent.count as f64 / done.max(1) as f64;
                format!("a bare one {}, meanwhile {}; {each:.2} calls an item", or(trip), or(loaded))
            }
            Limit::LogFlush => {
                let reckoned = if self.budget.is_reckoned { "; reckoned from it" } else { "" };
                format!("a commit of one row {} before the run{reckoned}", or(commit))
            }
            Limit::Handlers => {
                format!("all at work in {} of {} looks while items waited", self.all_busy[0], self.all_busy[1])
            }
            _ => String::new(),
        }
    }

    fn processors_text(&self) -> String {
        let mut parts = vec![format!("{} here", self.budget.here.processors)];
        parts.extend(self.budget.here.machine.map(|busy| format!("{} busy", percent(busy))));
        parts.extend(self.budget.here.own.map(|busy| format!("{} by this process", percent(busy))));
        parts.extend(self.budget.server_busy.map(|busy| format!("{} of the server's by the run", percent(busy))));
        parts.extend(self.is_near.map(|near| {
            (if near { "the server is on this machine" } else { "the server is on another machine" }).to_owned()
        }));
        parts.join(", ")
    }

    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    pub fn json(&self, done: usize) -> Value {
        let parts: Map<_, _> = self
            .budget
            .parts
            .iter()
            .map(|(limit, share)| (limit.as_str().to_owned(), json!(rounded(*share))))
            .collect();
        let micros = |time: Option<Duration>| time.map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        let [trip, loaded, commit] = self.observed.map(micros);
        json!({
            "is": self.budget.limit().as_str(),
            "would_help": remedy(&self.budget, self.at),
            "shares": parts,
            "round_trip_us": trip,
            "round_trip_meanwhile_us": loaded,
            "commit_us": commit,
            "log_flush_is_reckoned": self.budget.is_reckoned,
            "calls": self.spent.count,
            "calls_an_item": rounded(self.spent.count as f64 / done.max(1) as f64),
            "looks": self.all_busy[1],
            "looks_all_handlers_busy": self.all_busy[0],
            "processors": self.budget.here.processors,
            "own_busy": self.budget.here.own.map(rounded),
            "machine_busy": self.budget.here.machine.map(rounded),
            "server_busy": self.budget.server_busy.map(rounded),
            "server_is_near": self.is_near,
        })
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
