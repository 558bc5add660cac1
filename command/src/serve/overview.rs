//! The first page: what needs a person, and all queues in a line each.

use super::answer::Answer;
use super::pages::Page;
use super::request::Request;
use super::{App, day, forecast};
use crate::concerns::{self, Concern, Kind};
use crate::printable::printable;
use crate::sampler::{History, Sampler};
use readpast::ItemState;
use readpast::item::OfPlace;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

pub fn page(app: &App, request: &Request) -> Answer {
    let queues: Vec<_> = app.queues.all().into_iter().map(|sampler| (sampler.history(), sampler)).collect();
    let mut attention: Vec<_> = queues
        .iter()
        .flat_map(|(history, sampler)| of(history).into_iter().map(move |concern| (concern, sampler)))
        .collect();
    attention.sort_by_key(|(concern, _)| concern.kind);
    let attention: Vec<_> = attention
        .into_iter()
        .map(|(concern, sampler)| {
            let mut document = document(&concern);
            document["queue"] = json!(sampler.queue.name());
            document
        })
        .collect();
    let points = day::points(queues.iter().map(|(history, _)| history.day.as_slice()));
    let data = json!({
        "schema": app.schema,
        "status": if attention.is_empty() { "OK" } else { "Attention" },
        "attention": attention,
        "totals": totals(&queues),
        "queues": queues.iter().map(|(history, sampler)| line(sampler, history)).collect::<Vec<_>>(),
        "day": if request.wants_json() { day::series(&points) } else { Vec::new() },
    });
    let page = Page::new("overview.html", "Overview", "Overview", data).with("charts", json!(day::charts(&points)));
    app.pages.answer(app, request, 200, page)
}

/// All queues together, as far as their figures are known.
fn totals(queues: &[(History, Arc<Sampler>)]) -> Value {
    let known: Vec<_> = queues.iter().filter_map(|(history, _)| history.samples.last()).collect();
    let sum = |of: fn(&readpast::Watched) -> i64| known.iter().map(|sample| of(&sample.watched)).sum::<i64>();
    let any = |of: fn(&readpast::Watched) -> bool| known.iter().any(|sample| of(&sample.watched));
    let workers: BTreeSet<_> =
        known.iter().flat_map(|sample| &sample.watched.workers).map(|holding| &holding.worker).collect();
    json!({
        "due": sum(|watched| watched.stats.due),
        "due_capped": any(|watched| watched.due_capped),
        "oldest_due_ms": known.iter().filter_map(|sample| sample.watched.stats.oldest_due_ms).max(),
        "in_flight": sum(|watched| watched.stats.count(ItemState::Processing)),
        "in_flight_capped": any(|watched| watched.is_capped(ItemState::Processing)),
        "ended_per_minute": sum(|watched| watched.ended_per_minute),
        "failed": sum(|watched| watched.stats.count(ItemState::Failed)),
        "failed_capped": any(|watched| watched.is_capped(ItemState::Failed)),
        "active_workers": workers.len(),
        "active_workers_capped": any(readpast::Watched::are_workers_capped),
    })
}

/// A queue in a line.
pub fn line(sampler: &Sampler, history: &History) -> Value {
    let concerns = of(history);
    let trend = crate::sampler::trend(&history.samples).zip(history.samples.last());
    let latest = history.samples.last().map(|sample| &sample.watched);
    let mut line = concerns::document(sampler.queue.name(), &concerns, history.trouble.as_deref(), latest);
    line["concerns"] = concerns.iter().map(document).collect();
    line["places"] = history.places.iter().map(place).collect();
    line["drain"] = json!(trend.map(|(trend, sample)| forecast::trend(&trend, &sample.watched)["drain"].clone()));
    line
}

/// A place of a queue in a line.
fn place(of: &OfPlace) -> Value {
    let figures = of.watched.as_ref().ok().map(|watched| {
        json!({
            "due": watched.stats.due, "due_capped": watched.due_capped, "oldest_due_ms": watched.stats.oldest_due_ms,
            "in_flight": watched.stats.count(ItemState::Processing),
            "in_flight_capped": watched.is_capped(ItemState::Processing),
            "failed": watched.stats.count(ItemState::Failed), "failed_capped": watched.is_capped(ItemState::Failed),
            "ended_per_minute": watched.ended_per_minute, "claimed_p90_ms": watched.stats.claimed_ms[1],
            "paused": watched.is_paused(),
        })
    });
    json!({"place": of.name, "away": of.watched.as_ref().err().map(|error| printable(&error.to_string())), "figures": figures})
}

/// Why a queue needs attention, by its samples.
pub fn of(history: &History) -> Vec<Concern> {
    let latest = history.samples.last().map(|sample| &sample.watched);
    concerns::of(history.trouble.as_deref(), latest, &history.workers)
}

/// A reason, with the page that shows more of it within the queue.
pub fn document(concern: &Concern) -> Value {
    let place = match concern.kind {
        Kind::NoFigures | Kind::PlaceAway => "",
        Kind::NoWorkers | Kind::Late => "/items?status=Pending&status=Error",
        Kind::Expired => "/items?status=Processing",
        Kind::Refused => "/items?status=Pending",
        Kind::Failed => "/items?status=Failed",
    };
    let mut document = concern.document();
    document["place"] = json!(place);
    document
}
