//! Which address shows what.

use super::answer::{Answer, JSON};
use super::desk::{self, Desk, Look};
use super::request::Request;
use super::{App, act, chart, item, metrics, pages, show};
use readpast::item::{span_text, utc_text};
use readpast::{ItemState, QueueSpec};
use serde_json::json;
use std::sync::Arc;

pub fn route(app: &App, request: &Request) -> Answer {
    let path = request.path();
    if request.form.is_some() {
        return match path.as_slice() {
            ["queue", name, "act"] => with(app, name, |desk| act::run(app, desk, request)),
            _ => Answer::refusal(405, "This address takes no POST.").with("allow", "GET, HEAD"),
        };
    }
    match path.as_slice() {
        [] => queues(app),
        ["queue", name] => with(app, name, |desk| queue(app, desk)),
        ["queue", name, "items"] => with(app, name, |desk| item::list(app, desk, request)),
        ["queue", name, "item"] => with(app, name, |desk| item::one(app, desk, request)),
        ["queue", name, "act"] => with(app, name, |desk| act::preview(app, desk, request)),
        ["metrics"] => metrics::prometheus(app),
        ["health", "ready"] => metrics::ready(app),
        ["scale", name] => match app.queues.find(name) {
            Some(desk) => metrics::scale(&desk, request.one("type")),
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

fn with(app: &App, name: &str, answer: impl FnOnce(&Desk) -> Answer) -> Answer {
    match app.queues.find(name) {
        Some(desk) => answer(&desk),
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
        .desks()
        .iter()
        .map(|desk| {
            let news = desk.news();
            let figures = news.looks.last().map(|look| show::figures(&look.watched));
            let mut shown = item::name(&desk.queue);
            shown["trouble"] = json!(news.trouble);
            shown["figures"] = json!(figures);
            shown
        })
        .collect();
    app.pages.answer(app, 200, "queues.html", json!({"queues": queues, "schema": app.schema}))
}

fn queue(app: &App, desk: &Desk) -> Answer {
    let news = desk.news();
    let latest = news.looks.last();
    let shown = json!({
        "queue": item::name(&desk.queue),
        "own": is_own(desk.queue.spec()),
        "trouble": news.trouble,
        "f": latest.map(|look| show::figures(&look.watched)),
        "trend": desk::trend(&news.looks).map(|trend| show::trend(&trend)),
        "charts": charts(app, &news.looks),
        "at": latest.map(|look| utc_text(look.at).get(..19).unwrap_or_default().to_owned() + "Z"),
        "took": latest.map(|look| span_text(i64::try_from(look.took.as_millis()).unwrap_or(i64::MAX))),
    });
    app.pages.answer(app, 200, "queue.html", shown)
}

fn is_own(spec: &QueueSpec) -> bool {
    matches!(spec.storage, readpast::description::Storage::Own)
}

fn charts(app: &App, looks: &[Arc<Look>]) -> String {
    let times: Vec<_> = looks.iter().map(|look| look.at).collect();
    let known = |name, class, of: fn(&Look) -> Option<i64>| chart::Line {
        name,
        class,
        values: looks.iter().map(|look| of(look)).collect(),
    };
    let line = |name, class, of: fn(&Look) -> i64| chart::Line {
        name,
        class,
        values: looks.iter().map(|look| Some(of(look))).collect(),
    };
    let backlog = [
        line("due", "due", |look| look.watched.stats.due),
        line("in flight", "flight", |look| look.watched.stats.count(ItemState::Processing)),
    ];
    let ended = [line("ended per minute", "ended", |look| look.watched.ended_per_minute)];
    let failed = [line("failed", "failed", |look| look.watched.stats.count(ItemState::Failed))];
    let took = [
        known("waiting", "due", |look| look.watched.stats.wait_ms[1]),
        known("claim to end", "flight", |look| look.watched.stats.claimed_ms[1]),
    ];
    let counts: fn(i64) -> String = |value| show::count(value, false);
    let drawn = [
        ("Due and in flight", &backlog[..], counts),
        ("Throughput", &ended[..], counts),
        ("Failed items", &failed[..], counts),
        ("Wait, and claim to end, p90", &took[..], span_text),
    ];
    drawn.iter().map(|(title, lines, words)| chart::draw(title, &times, lines, app.every, *words)).collect()
}
