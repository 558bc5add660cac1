//! Which address shows what.

use super::answer::{Answer, JSON};
use super::request::Request;
use super::{
    App, act, doctor, edit, failed, item, items, limits, metrics, moving, operations, overview, pages, pauses, queue,
    schedules, workers,
};
use crate::sampler::Sampler;
use serde_json::json;

/// Whether the answer needs a call to the database. All else comes from memory, also while the database is slow: health and metrics,
/// above all.
pub fn needs_database(request: &Request) -> bool {
    let is_from_memory = matches!(
        request.path().as_slice(),
        [] | ["queues" | "items" | "doctor" | "metrics" | "style.css" | "live.js" | "search.js" | "icon.svg"]
            | ["queue" | "scale", _]
            | ["health", _]
    );
    request.form.is_some() || !is_from_memory
}

pub fn route(app: &App, request: &Request) -> Answer {
    let path = request.path();
    let with = |name: &str, answer: fn(&App, &Sampler, &Request) -> Answer| with(app, request, name, answer);
    if request.form.is_some() {
        return match path.as_slice() {
            ["doctor"] => doctor::run(app, request),
            ["queue", name, "act"] => with(name, act::run),
            ["queue", name, "edit"] => with(name, edit::run),
            ["queue", name, "limits"] => with(name, limits::act),
            ["queue", name, "move"] => with(name, moving::run),
            ["queue", name, "operation"] => with(name, operations::cancel),
            ["queue", name, "pauses"] => with(name, pauses::act),
            ["queue", name, "schedule"] => with(name, schedules::act),
            _ => Answer::refusal(405, "This address takes no POST.").with("allow", "GET, HEAD"),
        };
    }
    match path.as_slice() {
        [] => overview::page(app, request),
        ["queues"] => queue::all(app, request),
        ["items"] => items::choose(app, request),
        ["failed"] => failed::page(app, request),
        ["workers"] => workers::page(app, request),
        ["schedules"] => schedules::page(app, request),
        ["operations"] => operations::list(app, request),
        ["doctor"] => doctor::page(app, request),
        ["queue", name] => with(name, queue::one),
        ["queue", name, "items"] => with(name, items::list),
        ["queue", name, "item"] => with(name, item::page),
        ["queue", name, "act"] => with(name, act::preview),
        ["queue", name, "edit"] => with(name, edit::form),
        ["queue", name, "limits"] => with(name, limits::page),
        ["queue", name, "operation"] => with(name, operations::one),
        ["queue", name, "pauses"] => with(name, pauses::page),
        ["metrics"] => metrics::prometheus(app),
        ["health", "ready"] => metrics::ready(app),
        ["scale", name] => match app.queues.find(name) {
            Some(sampler) => metrics::scale(&sampler, request.one("type")),
            None => Answer::new(404, JSON, json!({"error": "there is no such queue"}).to_string()),
        },
        ["style.css"] => Answer::new(200, "text/css; charset=utf-8", pages::STYLE),
        ["live.js"] => Answer::new(200, "text/javascript; charset=utf-8", pages::LIVE),
        ["search.js"] => Answer::new(200, "text/javascript; charset=utf-8", pages::SEARCH),
        ["icon.svg"] => Answer::new(200, "image/svg+xml", pages::ICON),
        _ => app.pages.problem(app, request, 404, "There is nothing here", "No page has this address."),
    }
}

/// The answer about a queue, or that there is none of this name.
pub fn with(app: &App, request: &Request, name: &str, answer: fn(&App, &Sampler, &Request) -> Answer) -> Answer {
    match app.queues.find(name) {
        Some(sampler) => answer(app, &sampler, request),
        None => {
            let text = format!(
                "This server shows no queue {name}. If it was installed just now, it appears with the next figures."
            );
            app.pages.problem(app, request, 404, "There is no such queue", &text)
        }
    }
}
