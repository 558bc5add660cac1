//! Which address shows what.

use super::answer::{Answer, JSON};
use super::request::Request;
use super::sampler::{self, Sample, Sampler};
use super::{App, act, chart, format, item, metrics, pages};
use readpast::item::{span_text, utc_text};
use readpast::{ItemState, QueueSpec};
use serde_json::json;
use std::sync::Arc;

pub fn route(app: &App, request: &Request) -> Answer {
    let path = request.path();
    if request.form.is_some() {
        return match path.as_slice() {
            ["queue", name, "act"] => with(app, name, |sampler| act::run(app, sampler, request)),
            _ => Answer::refusal(405, "This address takes no POST.").with("allow", "GET, HEAD"),
        };
    }
    match path.as_slice() {
        [] => queues(app),
        ["queue", name] => with(app, name, |sampler| queue(app, sampler)),
        ["queue", name, "items"] => with(app, name, |sampler| item::list(app, sampler, request)),
        ["queue", name, "item"] => with(app, name, |sampler| item::one(app, sampler, request)),
        ["queue", name, "act"] => with(app, name, |sampler| act::preview(app, sampler, request)),
        ["metrics"] => metrics::prometheus(app),
        ["health", "ready"] => metrics::ready(app),
        ["scale", name] => match app.queues.find(name) {
            Some(sampler) => metrics::scale(&sampler, request.one("type")),
            None => Answer::new(404, JSON, json!({"error": "there is no such queue"}).to_string()),
        },
        ["style.css"] => kept("text/css; charset=utf-8", pages::STYLE),
        ["live.js"] => kept("text/javascript; charset=utf-8", pages::SCRIPT),
        ["icon.svg"] => kept("image/svg+xml", pages::ICON),
        _ => app.pages.problem(app, 404, "There is nothing here", "No page has this address."),
    }
}

/// What is the same for everybody. It may be looked at again after a new version has been started.
fn kept(kind: &'static str, text: &'static str) -> Answer {
    Answer::new(200, kind, text)
}

fn with(app: &App, name: &str, answer: impl FnOnce(&Sampler) -> Answer) -> Answer {
    match app.queues.find(name) {
        Some(sampler) => answer(&sampler),
        None => {
            let text = format!(
                "This server shows no queue {name}. If it was installed just now, it appears with the next figures."
            );
            app.pages.problem(app, 404, "There is no such queue", &text)
        }
    }
}

fn queues(app: &App) -> Answer {
    let queues: Vec<_> = app
        .queues
        .all()
        .iter()
        .map(|sampler| {
            let history = sampler.history();
            let figures = history.samples.last().map(|sample| format::figures(&sample.watched));
            let mut shown = item::name(&sampler.queue);
            shown["trouble"] = json!(history.trouble);
            shown["figures"] = json!(figures);
            shown
        })
        .collect();
    app.pages.answer(app, 200, "queues.html", json!({"queues": queues, "schema": app.schema}))
}

fn queue(app: &App, sampler: &Sampler) -> Answer {
    let history = sampler.history();
    let latest = history.samples.last();
    let shown = json!({
        "queue": item::name(&sampler.queue),
        "own": is_own(sampler.queue.spec()),
        "trouble": history.trouble,
        "f": latest.map(|sample| format::figures(&sample.watched)),
        "trend": sampler::trend(&history.samples).map(|trend| format::trend(&trend)),
        "charts": charts(app, &history.samples),
        "at": latest.map(|sample| utc_text(sample.at).get(..19).unwrap_or_default().to_owned() + "Z"),
        "took": latest.map(|sample| span_text(i64::try_from(sample.took.as_millis()).unwrap_or(i64::MAX))),
    });
    app.pages.answer(app, 200, "queue.html", shown)
}

fn is_own(spec: &QueueSpec) -> bool {
    matches!(spec.storage, readpast::spec::Storage::Own)
}

fn charts(app: &App, samples: &[Arc<Sample>]) -> String {
    let times: Vec<_> = samples.iter().map(|sample| sample.at).collect();
    let known = |name, class, of: fn(&Sample) -> Option<i64>| chart::Line {
        name,
        class,
        values: samples.iter().map(|sample| of(sample)).collect(),
    };
    let line = |name, class, of: fn(&Sample) -> i64| chart::Line {
        name,
        class,
        values: samples.iter().map(|sample| Some(of(sample))).collect(),
    };
    let backlog = [
        line("due", "due", |sample| sample.watched.stats.due),
        line("in flight", "flight", |sample| sample.watched.stats.count(ItemState::Processing)),
    ];
    let ended = [line("ended per minute", "ended", |sample| sample.watched.ended_per_minute)];
    let failed = [line("failed", "failed", |sample| sample.watched.stats.count(ItemState::Failed))];
    let took = [
        known("waiting", "due", |sample| sample.watched.stats.wait_ms[1]),
        known("claim to end", "flight", |sample| sample.watched.stats.claimed_ms[1]),
    ];
    let counts: fn(i64) -> String = |value| format::count(value, false);
    let drawn = [
        ("Due and in flight", &backlog[..], counts),
        ("Throughput", &ended[..], counts),
        ("Failed items", &failed[..], counts),
        ("Wait, and claim to end, p90", &took[..], span_text),
    ];
    drawn.iter().map(|(title, lines, words)| chart::draw(title, &times, lines, app.every, *words)).collect()
}
