//! Figures for machines: Prometheus' text format, KEDA's number, health.

use super::App;
use super::answer::{Answer, JSON, TEXT};
use super::desk::{Desk, Look, News};
use readpast::metrics::{Family, Kind, Metrics};
use readpast::{ItemState, Watched};
use serde_json::json;
use std::time::UNIX_EPOCH;

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

/// The figures of all queues, as the database has them, and after them those of this process.
pub fn prometheus(app: &App) -> Answer {
    let desks = app.queues.desks();
    let news: Vec<_> = desks.iter().map(|desk| (desk.queue.name(), desk.news())).collect();
    let looks: Vec<_> = news.iter().filter_map(|(name, news)| Some((*name, &**news.looks.last()?))).collect();
    let of_queues = told(&news).into_iter().chain(looked(&looks)).chain(found(&looks));
    let all: Metrics = of_queues.chain(readpast::metrics()).collect();
    Answer::new(200, Metrics::TEXT, all.to_string())
}

fn gauge(name: &'static str, help: &'static str) -> Family {
    Family::new(name, Kind::Gauge, help)
}

/// How the looks go.
fn told(news: &[(&str, News)]) -> [Family; 2] {
    let mut up = gauge("readpast_queue_up", "Whether the last look at the queue succeeded.");
    let mut failures =
        Family::new("readpast_queue_look_failures_total", Kind::Counter, "Looks at the queue that failed.");
    for (name, news) in news {
        up.add(&[("queue", name)], f64::from(u8::from(news.trouble.is_none() && !news.looks.is_empty())));
        failures.add(&[("queue", name)], number(i64::try_from(news.failures).unwrap_or(i64::MAX)));
    }
    [up, failures]
}

/// When they were, and what they cost.
fn looked(looks: &[(&str, &Look)]) -> [Family; 2] {
    let mut at = gauge("readpast_queue_look_timestamp_seconds", "When the figures were taken.");
    let mut took = gauge("readpast_queue_look_duration_seconds", "How long the database took for them.");
    for (name, look) in looks {
        at.add(&[("queue", name)], look.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64());
        took.add(&[("queue", name)], look.took.as_secs_f64());
    }
    [at, took]
}

/// What they found.
fn found(looks: &[(&str, &Look)]) -> Vec<Family> {
    let mut items = gauge("readpast_queue_items", "Items by state, up to the bound of a look.");
    let mut capped =
        gauge("readpast_queue_items_capped", "Whether there are more items in the state than a look counts.");
    for (name, look) in looks {
        for state in ItemState::ALL {
            let labels = [("queue", *name), ("state", state.as_str())];
            items.add(&labels, number(look.watched.stats.count(state)));
            capped.add(&labels, f64::from(u8::from(look.watched.is_capped(state))));
        }
    }
    let mut families = vec![items, capped];
    for (name, help, value) in GAUGES {
        let mut family = gauge(name, help);
        for (queue, look) in looks {
            value(&look.watched).into_iter().for_each(|value| family.add(&[("queue", queue)], value));
        }
        families.push(family);
    }
    let mut wait = gauge("readpast_queue_wait_seconds", "From due to started, of the newest items that ended.");
    let mut run = gauge("readpast_queue_run_seconds", "From started to ended, of the newest items that ended.");
    for (queue, look) in looks {
        let stats = &look.watched.stats;
        for (family, spans) in [(&mut wait, stats.wait_ms), (&mut run, stats.run_ms)] {
            for (quantile, ms) in ["0.5", "0.9", "0.99"].into_iter().zip(spans) {
                let labels = [("queue", *queue), ("quantile", quantile)];
                seconds(ms).into_iter().for_each(|value| family.add(&labels, value));
            }
        }
    }
    families.extend([wait, run]);
    families
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
