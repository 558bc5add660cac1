//! Figures for machines: Prometheus' text format, KEDA's number, health.

use super::App;
use super::answer::{Answer, JSON, TEXT};
use crate::sampler::{History, Sample, Sampler, trend};
use readpast::item::{OfType, Trend};
use readpast::metrics::{Family, Kind, Metrics};
use readpast::{ItemState, Watched};
use serde_json::json;
use std::time::UNIX_EPOCH;

/// A gauge of a queue: name, meaning, and value where there is one.
type Gauge<T = Watched> = (&'static str, &'static str, fn(&T) -> Option<f64>);

#[allow(clippy::cast_precision_loss, reason = "Prometheus knows floating point alone")]
fn number(value: i64) -> f64 {
    value as f64
}

fn seconds(ms: Option<i64>) -> Option<f64> {
    ms.map(|ms| number(ms) / 1000.0)
}

const GAUGES: [Gauge; 11] = [
    ("readpast_queue_due_items", "Items that are due and wait for a worker, up to the bound of a look.", |w| {
        Some(number(w.stats.due))
    }),
    ("readpast_queue_oldest_due_seconds", "How long the oldest due item has been due; 0 when none is.", |w| {
        Some(seconds(w.stats.oldest_due_ms).unwrap_or(0.0))
    }),
    (
        "readpast_queue_oldest_startable_seconds",
        "The same of the items that have room within the queue's limits; 0 when none has. Of queues with limits only.",
        |w| w.startable_ms.map(|ms| seconds(ms).unwrap_or(0.0)),
    ),
    ("readpast_queue_lease_expired_items", "Items in flight whose lease has run out.", |w| {
        Some(number(w.stats.expired))
    }),
    (
        "readpast_queue_refused_items",
        "Items that their table lets nobody claim or give back, at most 50; each is left aside for a while.",
        |w| Some(number(i64::try_from(w.refused.len()).unwrap_or(i64::MAX))),
    ),
    (
        "readpast_queue_claimed_items",
        "Items that are claimed, with a lease that holds; a handler may not have begun yet.",
        |w| Some(number(w.stats.claimed)),
    ),
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

const OF_PLACES: [Gauge; 4] = [
    ("readpast_place_due_items", "Items that are due at the place, up to the bound of a look.", |w| {
        Some(number(w.stats.due))
    }),
    ("readpast_place_oldest_due_seconds", "How long the oldest of them has been due; 0 when none is.", |w| {
        Some(seconds(w.stats.oldest_due_ms).unwrap_or(0.0))
    }),
    ("readpast_place_in_flight_items", "Items in flight at the place.", |w| {
        Some(number(w.stats.count(ItemState::Processing)))
    }),
    ("readpast_place_failed_items", "Failed items at the place.", |w| Some(number(w.stats.count(ItemState::Failed)))),
];

/// The figures of all queues, as the database has them, and after them those of this process.
pub fn prometheus(app: &App) -> Answer {
    let samplers = app.queues.all();
    let history: Vec<_> = samplers.iter().map(|sampler| (sampler.queue.name(), sampler.history())).collect();
    let samples: Vec<_> =
        history.iter().filter_map(|(name, history)| Some((*name, &**history.samples.last()?))).collect();
    let of_queues = availability(&history).into_iter().chain(looked(&samples)).chain(found(&samples));
    let of_queues = of_queues.chain(going(&history)).chain(of_types(&samples)).chain(planned(&history));
    let of_queues = of_queues.chain(paused(&samples)).chain(of_places(&history));
    let all: Metrics = of_queues.chain(readpast::metrics()).collect();
    Answer::new(200, Metrics::TEXT, all.to_string())
}

fn gauge(name: &'static str, help: &'static str) -> Family {
    Family::new(name, Kind::Gauge, help)
}

/// How the samples go.
fn availability(history: &[(&str, History)]) -> [Family; 2] {
    let mut up = gauge("readpast_queue_up", "Whether the last look at the queue succeeded.");
    let mut failures =
        Family::new("readpast_queue_look_failures_total", Kind::Counter, "Looks at the queue that failed.");
    for (name, history) in history {
        up.add(&[("queue", name)], f64::from(u8::from(history.trouble.is_none() && !history.samples.is_empty())));
        failures.add(&[("queue", name)], number(i64::try_from(history.failures).unwrap_or(i64::MAX)));
    }
    [up, failures]
}

/// The places of queues over several databases, in families of their own: those of queues are sums over the places, so that a sum over
/// the labels of a family counts no item twice.
fn of_places(history: &[(&str, History)]) -> Vec<Family> {
    let mut up = gauge("readpast_place_up", "Whether the place answered the last look.");
    for (queue, place) in history.iter().flat_map(|(queue, history)| history.places.iter().map(move |of| (queue, of))) {
        up.add(&[("queue", queue), ("place", &place.name)], f64::from(u8::from(place.watched.is_ok())));
    }
    let mut families = vec![up];
    for (name, help, value) in OF_PLACES {
        let mut family = gauge(name, help);
        for (queue, history) in history {
            for of in history.places.iter() {
                let value = of.watched.as_ref().ok().and_then(value);
                value.into_iter().for_each(|value| family.add(&[("queue", queue), ("place", &of.name)], value));
            }
        }
        families.push(family);
    }
    families
}

/// When they were, and what they cost.
fn looked(samples: &[(&str, &Sample)]) -> [Family; 2] {
    let mut at = gauge("readpast_queue_look_timestamp_seconds", "When the figures were taken.");
    let mut took = gauge("readpast_queue_look_duration_seconds", "How long the database took for them.");
    for (name, sample) in samples {
        at.add(&[("queue", name)], sample.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64());
        took.add(&[("queue", name)], sample.took.as_secs_f64());
    }
    [at, took]
}

/// The samples' figures.
fn found(samples: &[(&str, &Sample)]) -> Vec<Family> {
    let mut items = gauge("readpast_queue_items", "Items by state, up to the bound of a look.");
    let mut capped =
        gauge("readpast_queue_items_capped", "Whether there are more items in the state than a look counts.");
    for (name, sample) in samples {
        for state in ItemState::ALL {
            let labels = [("queue", *name), ("state", state.as_str())];
            items.add(&labels, number(sample.watched.stats.count(state)));
            capped.add(&labels, f64::from(u8::from(sample.watched.is_capped(state))));
        }
    }
    let mut families = vec![items, capped];
    for (name, help, value) in GAUGES {
        let mut family = gauge(name, help);
        for (queue, sample) in samples {
            value(&sample.watched).into_iter().for_each(|value| family.add(&[("queue", queue)], value));
        }
        families.push(family);
    }
    let summary = |name, help| Family::new(name, Kind::Summary, help);
    let mut wait = summary("readpast_queue_wait_seconds", "From due to started, of the newest items that ended.");
    let mut claimed =
        summary("readpast_queue_claimed_seconds", "From the claim to the end, of the newest items that ended.");
    for (queue, sample) in samples {
        let stats = &sample.watched.stats;
        for (family, spans) in [(&mut wait, stats.wait_ms), (&mut claimed, stats.claimed_ms)] {
            for (quantile, ms) in ["0.5", "0.9", "0.99"].into_iter().zip(spans) {
                let labels = [("queue", *queue), ("quantile", quantile)];
                seconds(ms).into_iter().for_each(|value| family.add(&labels, value));
            }
        }
    }
    families.extend([wait, claimed]);
    families
}

/// Where the queues are going.
fn going(history: &[(&str, History)]) -> Vec<Family> {
    let gauges: [Gauge<Trend>; 4] = [
        ("readpast_queue_arrivals_per_hour_items", "Items that come in an hour.", |t| t.arrivals_per_hour.map(number)),
        ("readpast_queue_ended_per_hour_items", "Items that end in an hour.", |t| t.ended_per_hour.map(number)),
        ("readpast_queue_depth_in_an_hour_items", "Items that will wait in an hour, at the rates of now.", |t| {
            t.depth_in_an_hour.map(number)
        }),
        (
            "readpast_queue_workers_to_catch_up",
            "How many items must be worked on at once to keep up and have done in an hour what waits.",
            |t| t.workers_to_catch_up.map(number),
        ),
    ];
    let trends: Vec<_> = history.iter().filter_map(|(name, history)| Some((*name, trend(&history.samples)?))).collect();
    let family = |(name, help, value): Gauge<Trend>| {
        let mut family = gauge(name, help);
        for (queue, trend) in &trends {
            value(trend).into_iter().for_each(|value| family.add(&[("queue", queue)], value));
        }
        family
    };
    gauges.into_iter().map(family).collect()
}

/// Figures of each type, in queues that have more than one.
fn of_types(samples: &[(&str, &Sample)]) -> Vec<Family> {
    let gauges: [Gauge<OfType>; 5] = [
        ("readpast_queue_type_due_items", "Items of the type that are due, up to the bound of a look.", |of| {
            Some(number(of.due))
        }),
        ("readpast_queue_type_oldest_due_seconds", "How long the oldest due item of the type has been due.", |of| {
            Some(seconds(of.oldest_due_ms).unwrap_or(0.0))
        }),
        ("readpast_queue_type_in_flight_items", "Items of the type in flight.", |of| Some(number(of.in_flight))),
        ("readpast_queue_type_ended_per_hour_items", "Items of the type that end in an hour.", |of| {
            of.ended_per_hour.map(number)
        }),
        ("readpast_queue_type_workers_needed", "How many items of the type must be worked on at once.", |of| {
            of.workers_needed.map(number)
        }),
    ];
    let family = |(name, help, value): Gauge<OfType>| {
        let mut family = gauge(name, help);
        for (queue, sample) in samples {
            for of in &sample.watched.types {
                let labels = [("queue", *queue), ("type", of.name.as_str())];
                value(of).into_iter().for_each(|value| family.add(&labels, value));
            }
        }
        family
    };
    gauges.into_iter().map(family).collect()
}

/// How late schedules are.
fn planned(history: &[(&str, History)]) -> [Family; 1] {
    let mut late = gauge(
        "readpast_schedule_late_seconds",
        "For how long a schedule's planned time has been over; 0 when it is not. Of the next 100 that fire.",
    );
    for (queue, history) in history {
        for schedule in history.schedules.iter() {
            let labels = [("queue", *queue), ("schedule", schedule.name.as_str())];
            seconds(schedule.late_ms).into_iter().for_each(|value| late.add(&labels, value));
        }
    }
    [late]
}

/// The pauses: of each queue, and of types that are paused.
fn paused(samples: &[(&str, &Sample)]) -> [Family; 1] {
    let mut paused =
        gauge("readpast_queue_paused", "Whether all of the queue is paused, or the type that the label names.");
    for (queue, sample) in samples {
        paused.add(&[("queue", queue), ("type", "")], f64::from(u8::from(sample.watched.is_paused())));
        let everywhere = sample.watched.pauses.iter().filter(|pause| pause.place.is_none());
        for kind in everywhere.filter_map(|pause| pause.kind.as_deref()) {
            paused.add(&[("queue", queue), ("type", kind)], 1.0);
        }
    }
    [paused]
}

/// Whether the figures of all queues are there and fresh.
pub fn ready(app: &App) -> Answer {
    let samplers = app.queues.all();
    let away: Vec<_> =
        samplers.iter().filter(|sampler| !sampler.latest().1).map(|sampler| sampler.queue.name()).collect();
    if away.is_empty() {
        Answer::new(200, TEXT, "ready\n")
    } else {
        Answer::new(503, TEXT, format!("no figures of: {}\n", away.join(", ")))
    }
}

/// How many workers a queue needs, or one of its types. Where nobody knows what arrives: as its backlog grows or shrinks, and
/// until that is known enough for what is due and in work, one each.
pub fn scale(sampler: &Sampler, kind: Option<&str>) -> Answer {
    let refused = |status, error: &str| Answer::new(status, JSON, json!({"error": error}).to_string());
    let (Some(sample), true) = sampler.latest() else { return refused(503, "there are no figures") };
    let name = sampler.queue.name();
    let stats = &sample.watched.stats;
    let (needed, from, due, in_flight, trend) = match kind {
        None => {
            let trend = sampler.trend().unwrap_or_default();
            let guessed = trend.ended_per_hour.and(trend.workers_needed);
            let (needed, from) = match (stats.workers_needed, guessed) {
                (Some(needed), _) => (needed, "arrivals"),
                // A guess from two samples may be far off: more than there are items nobody needs.
                (None, Some(needed)) => (needed.min((stats.due + stats.claimed).max(1)), "trend"),
                (None, None) => (stats.due + stats.claimed, "backlog"),
            };
            (needed, from, stats.due, stats.count(ItemState::Processing), Some(trend))
        }
        Some(kind) => {
            let Some(of) = sample.watched.types.iter().find(|of| of.name == kind) else {
                return refused(404, "the queue has no such type, or one type alone");
            };
            let (needed, from) =
                of.workers_needed.map_or((of.due + of.in_flight, "backlog"), |needed| (needed, "arrivals"));
            (needed, from, of.due, of.in_flight, None)
        }
    };
    // Nothing is claimed: what is in flight has its workers.
    let mut everywhere = sample.watched.pauses.iter().filter(|pause| pause.place.is_none());
    let is_paused = everywhere.any(|pause| pause.kind.is_none() || pause.kind.as_deref() == kind);
    let (needed, from) = if is_paused { (in_flight, "paused") } else { (needed, from) };
    let mut document = json!({
        "queue": name, "workers_needed": needed, "from": from, "due": due, "in_flight": in_flight,
    });
    if let Some(kind) = kind {
        document["type"] = json!(kind);
    }
    if let Some(trend) = trend {
        document["depth_in_an_hour"] = json!(trend.depth_in_an_hour);
        document["workers_to_catch_up"] = json!(trend.workers_to_catch_up);
    }
    Answer::new(200, JSON, document.to_string())
}
