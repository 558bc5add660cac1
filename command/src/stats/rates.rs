//! `stats --by type` and `stats --trend`: from bounded looks, whatever the size of the table.

use crate::duration;
use readpast::item::{OfType, Trend, span_text};
use readpast::{Queue, Watched, ask};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// The rows of a look, as in `serve`.
const MOST: u32 = 10_000;

/// The values of `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// The types of the queue's items
    Type,
}

/// The requested rates besides the counts.
#[derive(Debug, Clone, Copy)]
pub struct RateOptions {
    pub by: Option<By>,
    /// The pause between two looks, if two are needed.
    pub trend: Option<Duration>,
}

/// A bounded look, and its trend.
pub struct Rates {
    by: Option<By>,
    trend: Option<Trend>,
    watched: Watched,
    at: Instant,
}

impl Rates {
    /// Looks at the queue; `before` is the look before this one, under `--watch`.
    pub fn take(queue: &Queue, asked: RateOptions, before: Option<&Self>) -> readpast::Result<Option<Self>> {
        if asked.by.is_none() && asked.trend.is_none() {
            return Ok(None);
        }
        let (watched, trend) = match (asked.trend, before) {
            (None, _) => (queue.watch(MOST)?, None),
            (Some(_), Some(before)) => {
                let watched = queue.watch(MOST)?;
                let trend = watched.trend(Some((&before.watched, before.at.elapsed())));
                (watched, Some(trend))
            }
            (Some(pause), None) => queue.trend(MOST, pause).map(|(watched, trend)| (watched, Some(trend)))?,
        };
        let at = Instant::now();
        Ok(Some(Self { by: asked.by, trend, watched, at }))
    }

    /// The lines for a person.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = if self.by == Some(By::Type) { types(&self.watched.types) } else { Vec::new() };
        lines.extend(self.trend.as_ref().map(trend_line));
        lines
    }

    /// The members of the JSON document.
    pub fn document(&self) -> Map<String, Value> {
        let mut members = Map::new();
        if self.by == Some(By::Type) {
            members.insert("types".to_owned(), ask::types(&self.watched.types));
        }
        if let Some(trend) = &self.trend {
            members.insert("trend".to_owned(), ask::trend(trend));
        }
        members
    }
}

fn shown(value: Option<i64>) -> String {
    value.map_or_else(|| "?".to_owned(), |value| value.to_string())
}

fn types(types: &[OfType]) -> Vec<String> {
    if types.is_empty() {
        return vec!["  all items are of one type".to_owned()];
    }
    let row = |cells: [&str; 7]| {
        let [name, due, oldest, others @ ..] = cells;
        // Eighty characters, the width of most terminals.
        format!("  {name:<18}{due:>8}{oldest:>12}{}", others.map(|cell| format!("{cell:>10}")).concat())
    };
    let mut lines = vec![row(["of the type", "due", "the oldest", "in flight", "ended/h", "arrived/h", "needed"])];
    for of in types {
        let due = if of.capped { format!("{}+", of.due) } else { of.due.to_string() };
        let oldest = of.oldest_due_ms.map_or_else(|| "-".to_owned(), span_text);
        let cells = [
            of.in_flight.to_string(),
            shown(of.ended_per_hour),
            shown(of.arrivals_last_hour),
            shown(of.workers_needed),
        ];
        let [flying, ended, arrived, needed] = &cells;
        lines.push(row([&of.name, &due, &oldest, flying, ended, arrived, needed]));
    }
    lines
}

fn trend_line(trend: &Trend) -> String {
    let estimated =
        if trend.counted { "" } else { "   (estimated from the waiting items: the queue deletes completed items)" };
    let then = trend.depth_in_an_hour.map_or_else(
        || "in an hour: not known yet".to_owned(),
        |then| {
            let [arrivals, ended] = [trend.arrivals_per_hour, trend.ended_per_hour].map(shown);
            format!("in an hour {then}, at {arrivals} arrivals and {ended} ends an hour")
        },
    );
    let window = trend.window_ms.map_or_else(String::new, |ms| format!(" (observed for {})", span_text(ms)));
    format!(
        "  {:<8}{} wait now; {then}{window}; workers needed {} to keep up, {} to catch up in an hour{estimated}",
        "trend",
        trend.depth,
        shown(trend.workers_needed),
        shown(trend.workers_to_catch_up),
    )
}

/// The value of `--trend`: the pause between two looks.
pub fn pause(text: &str) -> Result<Duration, String> {
    let pause = duration::parse(text)?;
    if pause.is_zero() { Err("two looks at the same time show no change; 5s is usual".to_owned()) } else { Ok(pause) }
}
