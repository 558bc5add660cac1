//! The last 24 hours, from the minutes that the database keeps.

use super::chart;
use crate::format;
use readpast::item::{Minute, span_text, utc_text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Minutes that are one point of a chart.
const POINT: u64 = 5;
const SPAN: Duration = Duration::from_secs(POINT * 60);

/// The figures of some minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    at: SystemTime,
    due: i64,
    oldest_ms: i64,
    in_flight: i64,
    failed: i64,
    ended: i64,
}

/// The minutes of one or several queues as points: counts as they were last in each, ages as they were at most, and rates as means;
/// of several queues added, but for the age.
pub fn points<'a>(queues: impl IntoIterator<Item = &'a [Minute]>) -> Vec<Point> {
    let mut all = BTreeMap::<u64, Point>::new();
    for minutes in queues {
        let slot = |minute: &Minute| seconds(minute.at) / SPAN.as_secs();
        for of in minutes.chunk_by(|one, other| slot(one) == slot(other)) {
            let (Some(last), Ok(count)) = (of.last(), i64::try_from(of.len())) else { continue };
            let number = slot(last);
            let point = all.entry(number).or_insert(Point {
                at: UNIX_EPOCH + Duration::from_secs(number * SPAN.as_secs()),
                due: 0,
                oldest_ms: 0,
                in_flight: 0,
                failed: 0,
                ended: 0,
            });
            point.due += last.due;
            point.oldest_ms = point.oldest_ms.max(of.iter().filter_map(|minute| minute.oldest_ms).max().unwrap_or(0));
            point.in_flight += last.in_flight;
            point.failed += last.failed;
            point.ended += of.iter().map(|minute| minute.ended).sum::<i64>() / count;
        }
    }
    all.into_values().collect()
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Charts of them; nothing before there are two points.
pub fn charts(points: &[Point]) -> String {
    if points.len() < 2 {
        return String::new();
    }
    let times: Vec<_> = points.iter().map(|point| point.at).collect();
    let line = |name, class, of: fn(&Point) -> i64| chart::Line {
        name,
        class,
        values: points.iter().map(|point| Some(of(point))).collect(),
    };
    let backlog = [line("due", "due", |point| point.due), line("in flight", "flight", |point| point.in_flight)];
    let oldest = [line("oldest", "due", |point| point.oldest_ms)];
    let ended = [line("ended per minute", "ended", |point| point.ended)];
    let failed = [line("failed", "failed", |point| point.failed)];
    let counts: fn(i64) -> String = |value| format::count(value, false);
    let drawn = [
        ("Backlog", &backlog[..], counts),
        ("Oldest", &oldest[..], span_text),
        ("Throughput", &ended[..], counts),
        ("Failed", &failed[..], counts),
    ];
    drawn.iter().map(|(title, lines, words)| chart::draw(title, &times, lines, SPAN, *words)).collect()
}

/// The same as JSON.
pub fn series(points: &[Point]) -> Vec<Value> {
    let point = |point: &Point| {
        json!({
            "at": utc_text(point.at), "due": point.due, "oldest_due_ms": point.oldest_ms, "in_flight": point.in_flight,
            "failed": point.failed, "ended_per_minute": point.ended,
        })
    };
    points.iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(at: u64, due: i64, ended: i64) -> Minute {
        let at = UNIX_EPOCH + Duration::from_secs(at * 60);
        Minute { at, due, oldest_ms: Some(due * 1_000), in_flight: 1, failed: 2, ended }
    }

    #[test]
    fn minutes_become_points_and_queues_are_added() {
        let one = [minute(0, 5, 10), minute(4, 3, 20), minute(5, 7, 6)];
        let other = [minute(5, 100, 1)];
        let points = points([&one[..], &other[..]]);
        let short: Vec<_> = points.iter().map(|p| (seconds(p.at), p.due, p.oldest_ms, p.failed, p.ended)).collect();
        assert_eq!(short, [(0, 3, 5_000, 2, 15), (300, 107, 100_000, 4, 7)]);
        assert!(charts(&points).contains("due now 107"), "{}", charts(&points));
        assert_eq!(charts(&points[..1]), "");
    }
}
