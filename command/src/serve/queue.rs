//! The pages of all queues, and of one.

use super::answer::Answer;
use super::pages::Page;
use super::request::Request;
use super::{App, chart, day, forecast, overview};
use crate::format;
use crate::sampler::{self, Sample, Sampler};
use readpast::ItemState;
use readpast::description::Storage;
use readpast::item::{span_text, utc_text};
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
    let trend = sampler::trend(&history.samples).zip(latest);
    let points = day::points([history.day.as_slice()]);
    let mut data = overview::line(sampler, &history);
    data["own"] = json!(matches!(sampler.queue.spec().storage, Storage::Own));
    data["trend"] = json!(trend.map(|(trend, sample)| forecast::trend(&trend, &sample.watched)));
    data["at"] = json!(latest.map(|sample| utc_text(sample.at)));
    data["took_ms"] = json!(latest.map(|sample| i64::try_from(sample.took.as_millis()).unwrap_or(i64::MAX)));
    let (day, course) = if request.wants_json() {
        (day::series(&points), forecast::series(&history.samples))
    } else {
        (Vec::new(), Vec::new())
    };
    data["day"] = json!(day);
    data["history"] = json!(course);
    let page = Page::of_queue("queue.html", "Queues", &sampler.queue, sampler.queue.name(), data)
        .with("limited", json!(!sampler.queue.spec().limits.is_empty()))
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
