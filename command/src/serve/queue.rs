//! The pages of all queues, and of one.

use super::answer::Answer;
use super::pages::Page;
use super::request::Request;
use super::{App, chart, day, forecast, overview};
use crate::sampler::{self, Sample, Sampler};
use crate::{concerns, format};
use readpast::description::Storage;
use readpast::item::{span_text, utc_text};
use readpast::{ItemState, ask};
use serde_json::json;
use std::sync::Arc;

pub fn all(app: &App, request: &Request) -> Answer {
    let queues: Vec<_> = app.queues.all().iter().map(|sampler| overview::line(sampler, &sampler.history())).collect();
    let data = json!({"schema": app.schema, "queues": queues});
    app.pages.answer(app, request, 200, Page::new("queues.html", "Queues", "Queues", data))
}

pub fn one(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    let history = sampler.history();
    let latest = history.samples.last();
    let found = overview::of(&history);
    let trend = sampler::trend(&history.samples).zip(latest);
    let points = day::points([history.day.as_slice()]);
    let data = json!({
        "own": matches!(sampler.queue.spec().storage, Storage::Own),
        "status": concerns::status(&found),
        "concerns": found.iter().map(overview::document).collect::<Vec<_>>(),
        "trouble": history.trouble,
        "figures": latest.map(|sample| ask::watched(&sample.watched)),
        "trend": trend.map(|(trend, sample)| forecast::trend(&trend, &sample.watched)),
        "at": latest.map(|sample| utc_text(sample.at)),
        "took_ms": latest.map(|sample| i64::try_from(sample.took.as_millis()).unwrap_or(i64::MAX)),
        "day": if request.wants_json() { day::series(&points) } else { Vec::new() },
        "history": if request.wants_json() { forecast::series(&history.samples) } else { Vec::new() },
    });
    let page = Page::of_queue("queue.html", "Queues", &sampler.queue, sampler.queue.name(), data)
        .with("charts", json!(charts(app, &history.samples)))
        .with("day_charts", json!(day::charts(&points)));
    app.pages.answer(app, request, 200, page)
}

fn charts(app: &App, samples: &[Arc<Sample>]) -> String {
    let times: Vec<_> = samples.iter().map(|sample| sample.at).collect();
    let line = |name, class, of: fn(&Sample) -> Option<i64>| chart::Line {
        name,
        class,
        values: samples.iter().map(|sample| of(sample)).collect(),
    };
    let backlog = [
        line("due", "due", |sample| Some(sample.watched.stats.due)),
        line("in flight", "flight", |sample| Some(sample.watched.stats.count(ItemState::Processing))),
    ];
    let ended = [line("ended per minute", "ended", |sample| Some(sample.watched.ended_per_minute))];
    let failed = [line("failed", "failed", |sample| Some(sample.watched.stats.count(ItemState::Failed)))];
    let took = [
        line("waiting", "due", |sample| sample.watched.stats.wait_ms[1]),
        line("claim to end", "flight", |sample| sample.watched.stats.claimed_ms[1]),
    ];
    let counts: fn(i64) -> String = |value| format::count(value, false);
    let drawn = [
        ("Backlog", &backlog[..], counts),
        ("Throughput", &ended[..], counts),
        ("Failed", &failed[..], counts),
        ("Latency p90", &took[..], span_text),
    ];
    drawn.iter().map(|(title, lines, words)| chart::draw(title, &times, lines, app.every, *words)).collect()
}
