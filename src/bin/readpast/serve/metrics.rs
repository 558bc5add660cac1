//! Figures for machines: Prometheus' text format, KEDA's number, health.

use super::App;
use super::answer::{Answer, JSON, TEXT};
use super::desk::Desk;
use readpast::{ItemState, Watched};
use serde_json::json;
use std::fmt::Write;
use std::time::UNIX_EPOCH;

/// The version of the text format is part of its type.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is told of a queue: a gauge's name, its unit and meaning, and its value where there is one.
type Gauge = (&'static str, &'static str, fn(&Watched) -> Option<f64>);

#[allow(clippy::cast_precision_loss, reason = "Prometheus knows floating point alone")]
fn number(value: i64) -> f64 {
    value as f64
}

fn seconds(ms: Option<i64>) -> Option<f64> {
    ms.map(|ms| number(ms) / 1000.0)
}

const GAUGES: [Gauge; 9] = [
    ("readpast_queue_due_items", "Items that are due and wait for a worker, up to the bound of a look.", |w| {
        Some(number(w.stats.due))
    }),
    ("readpast_queue_oldest_due_seconds", "How long the oldest due item has been due; 0 when none is.", |w| {
        Some(seconds(w.stats.oldest_due_ms).unwrap_or(0.0))
    }),
    ("readpast_queue_lease_expired_items", "Items in flight whose lease has run out.", |w| {
        Some(number(w.stats.expired))
    }),
    ("readpast_queue_in_work_items", "Items in flight with a lease that holds.", |w| {
        Some(number(w.stats.workers_busy))
    }),
    ("readpast_queue_workers", "Workers that have items in flight, at most 100.", |w| {
        Some(number(i64::try_from(w.workers.len()).unwrap_or(i64::MAX)))
    }),
    ("readpast_queue_workers_needed", "How many items must be worked on at once to keep up.", |w| {
        w.stats.workers_needed.map(number)
    }),
    (
        "readpast_queue_ended_last_minute_items",
        "Items that ended within the last minute, of those that were looked at.",
        |w| Some(number(w.ended_last_minute)),
    ),
    ("readpast_queue_arrivals_last_hour_items", "Items enqueued within the last hour, of the newest.", |w| {
        w.stats.arrivals_last_hour.map(number)
    }),
    ("readpast_queue_newest_items", "How many of the newest items the figures are of.", |w| Some(number(w.window))),
];

/// Text within quotes.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// All queues in Prometheus' text format.
pub fn prometheus(app: &App) -> Answer {
    let news: Vec<_> = app.queues.desks().iter().map(|desk| (label(desk.queue.name()), desk.news())).collect();
    let known: Vec<_> = news.iter().filter_map(|(name, news)| Some((name, news.looks.last()?))).collect();
    let mut out = String::new();
    head(&mut out, "readpast_build_info", "gauge", "The version of readpast.");
    let _ = writeln!(out, "readpast_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
    head(&mut out, "readpast_queue_up", "gauge", "Whether the last look at the queue succeeded.");
    for (name, news) in &news {
        let up = u8::from(news.trouble.is_none() && !news.looks.is_empty());
        let _ = writeln!(out, "readpast_queue_up{{queue=\"{name}\"}} {up}");
    }
    head(&mut out, "readpast_queue_look_failures_total", "counter", "Looks at the queue that failed.");
    for (name, news) in &news {
        let _ = writeln!(out, "readpast_queue_look_failures_total{{queue=\"{name}\"}} {}", news.failures);
    }
    head(&mut out, "readpast_queue_look_timestamp_seconds", "gauge", "When the figures were taken.");
    for (name, look) in &known {
        let at = look.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let _ = writeln!(out, "readpast_queue_look_timestamp_seconds{{queue=\"{name}\"}} {at:.3}");
    }
    head(&mut out, "readpast_queue_look_duration_seconds", "gauge", "How long the database took for them.");
    for (name, look) in &known {
        let _ =
            writeln!(out, "readpast_queue_look_duration_seconds{{queue=\"{name}\"}} {:.6}", look.took.as_secs_f64());
    }
    head(&mut out, "readpast_queue_items", "gauge", "Items by state, up to the bound of a look.");
    for (name, look) in &known {
        for state in ItemState::ALL {
            let items = look.watched.stats.count(state);
            let _ = writeln!(out, "readpast_queue_items{{queue=\"{name}\",state=\"{state}\"}} {items}");
        }
    }
    head(
        &mut out,
        "readpast_queue_items_capped",
        "gauge",
        "Whether there are more items in the state than a look counts.",
    );
    for (name, look) in &known {
        for state in ItemState::ALL {
            let capped = u8::from(look.watched.is_capped(state));
            let _ = writeln!(out, "readpast_queue_items_capped{{queue=\"{name}\",state=\"{state}\"}} {capped}");
        }
    }
    for (gauge, help, value) in GAUGES {
        head(&mut out, gauge, "gauge", help);
        for (name, look) in &known {
            if let Some(value) = value(&look.watched) {
                let _ = writeln!(out, "{gauge}{{queue=\"{name}\"}} {value}");
            }
        }
    }
    for (metric, help, is_wait) in [
        ("readpast_queue_wait_seconds", "From due to started, of the newest items that ended.", true),
        ("readpast_queue_run_seconds", "From started to ended, of the newest items that ended.", false),
    ] {
        head(&mut out, metric, "gauge", help);
        for (name, look) in &known {
            let stats = &look.watched.stats;
            for (quantile, ms) in ["0.5", "0.9", "0.99"].iter().zip(if is_wait { stats.wait_ms } else { stats.run_ms })
            {
                if let Some(value) = seconds(ms) {
                    let _ = writeln!(out, "{metric}{{queue=\"{name}\",quantile=\"{quantile}\"}} {value}");
                }
            }
        }
    }
    Answer::new(200, PROMETHEUS, out)
}

/// Whether the figures of all queues are there and fresh.
pub fn ready(app: &App) -> Answer {
    let desks = app.queues.desks();
    let away: Vec<_> = desks.iter().filter(|desk| !desk.latest().1).map(|desk| desk.queue.name()).collect();
    if away.is_empty() {
        Answer::new(200, TEXT, "ready\n")
    } else {
        Answer::new(503, TEXT, format!("no figures of: {}\n", away.join(", ")))
    }
}

/// How many workers a queue needs. Where nobody knows what arrives: enough for what is due and in work, one each.
pub fn scale(desk: &Desk) -> Answer {
    let (Some(look), true) = desk.latest() else {
        return Answer::new(503, JSON, json!({"error": "there are no figures"}).to_string());
    };
    let stats = &look.watched.stats;
    let known = stats.workers_needed.is_some();
    let needed = stats.workers_needed.unwrap_or(stats.due + stats.workers_busy);
    Answer::new(
        200,
        JSON,
        json!({
            "queue": desk.queue.name(),
            "workers_needed": needed,
            "from": if known { "arrivals" } else { "backlog" },
            "due": stats.due,
            "in_flight": stats.count(ItemState::Processing),
        })
        .to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stay_within_their_quotes() {
        assert_eq!(label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
