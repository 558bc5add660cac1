//! The page of the pauses of a queue, and what it does: pauses the queue or a type, and resumes them.

use super::answer::Answer;
use super::encoding::encode;
use super::items::error_text;
use super::pages::Page;
use super::request::Request;
use super::{App, act};
use crate::duration;
use crate::output::note;
use crate::sampler::Sampler;
use readpast::item::PauseEnd;
use serde_json::json;

pub fn page(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    let queue = &sampler.queue;
    let (pauses, problem) = match queue.pauses() {
        Ok(pauses) => (pauses, None),
        Err(error) => (Vec::new(), Some(error_text(&error))),
    };
    let data = json!({
        "pauses": readpast::ask::pauses(&pauses), "problem": problem, "types": queue.spec().types,
        "confirm": app.environment.asks_twice(),
    });
    let page = Page::of_queue("pauses.html", "Queues", queue, format!("Pauses of {}", queue.name()), data)
        .below_queue(queue)
        .with("secret", json!(app.auth.secret()));
    app.pages.answer(app, request, 200, page)
}

/// Pauses or resumes the queue, or one type.
pub fn act(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    if let Some(refusal) = act::refused(app, request) {
        return refusal;
    }
    let name = sampler.queue.name();
    let refuse = |text: &str| app.pages.problem(app, request, 400, "Nothing was done", text);
    if app.environment.asks_twice() && request.one("confirm").map(str::trim) != Some(name) {
        return refuse(&format!("This is {}: type the name of the queue.", app.environment.name().unwrap_or_default()));
    }
    let given = |name: &str| request.one(name).map(str::trim).filter(|text| !text.is_empty());
    let kind = given("type");
    let queue = sampler.queue.on_behalf_of(&request.who);
    let verb = request.one("verb").unwrap_or_default();
    let done = match verb {
        "pause" => {
            let end = given("for").map_or(Ok(PauseEnd::Resumed), |span| duration::parse(span).map(PauseEnd::After));
            match end {
                Ok(end) => queue.pause_queue(kind, end, given("reason")),
                Err(why) => return refuse(&format!("For how long: {why}.")),
            }
        }
        "resume" => queue.resume_queue(kind).map(drop),
        _ => return app.pages.problem(app, request, 400, "No such action", "The address names no action."),
    };
    let log = |result: &str| {
        let of = kind.map_or_else(String::new, |kind| format!(" type {kind:?} of"));
        note(&format!("{verb}{of} queue {name} by {}: {result}", request.who));
    };
    match done {
        Ok(()) => {
            log("done");
            Answer::see(&format!("/queue/{}/pauses", encode(name)))
        }
        Err(error) => {
            let why = error_text(&error);
            log(&why);
            app.pages.problem(app, request, 502, "Nothing was done", &why)
        }
    }
}
