//! The page of the limits of a queue, and its form: a limit is changed for all keys or for one, or is again as described.

use super::answer::Answer;
use super::encoding::encode;
use super::items::error_text;
use super::pages::Page;
use super::request::Request;
use super::{App, act};
use crate::duration;
use crate::output::note;
use crate::sampler::Sampler;
use readpast::QueueSpec;
use readpast::item::{LimitChange, PauseEnd};
use serde_json::{Value, json};

pub fn page(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    let queue = &sampler.queue;
    let (limits, problem) = match queue.limits() {
        Ok(limits) => (limits.iter().map(readpast::ask::limit).collect(), None),
        Err(error) => (Vec::new(), Some(error_text(&error))),
    };
    let data = json!({
        "limits": limits, "problem": problem, "described": described(queue.spec()), "confirm": app.environment.asks_twice(),
    });
    let page = Page::of_queue("limits.html", "Queues", queue, format!("Limits of {}", queue.name()), data)
        .below_queue(queue)
        .with("secret", json!(app.auth.secret()));
    app.pages.answer(app, request, 200, page)
}

/// The limits as the description has them.
fn described(spec: &QueueSpec) -> Vec<Value> {
    let limit = |limit: &readpast::description::LimitSpec| {
        let by = limit.by.as_ref().map(|by| by.as_str());
        json!({"by": by, "at_once": limit.at_once, "rate": limit.rate.map(|rate| rate.to_string()), "burst": limit.burst()})
    };
    spec.limits.iter().map(limit).collect()
}

/// Changes a limit.
pub fn act(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    if let Some(refusal) = act::refused(app, request).or_else(|| act::unconfirmed(app, &sampler.queue, request)) {
        return refusal;
    }
    let name = sampler.queue.name();
    let refuse = |text: &str| app.pages.problem(app, request, 400, "Nothing was done", text);
    let given = |name: &str| request.one(name).map(str::trim).filter(|text| !text.is_empty());
    let count = |name: &str| given(name).map(str::parse::<u32>).transpose();
    let resets = match request.one("verb") {
        Some("change") => false,
        Some("reset") => true,
        _ => return app.pages.problem(app, request, 400, "No such action", "The address names no action."),
    };
    let (Ok(at_once), Ok(burst)) = (count("at_once"), count("burst")) else {
        return refuse("How many: write a whole number.");
    };
    let rate = match given("rate").map(str::parse).transpose() {
        Ok(rate) => rate,
        Err(error) => return refuse(&format!("How many in a time: {}.", error_text(&error))),
    };
    if resets == (at_once.is_some() || rate.is_some()) {
        return refuse("Name how many at once, or how many in a time.");
    }
    let end = match given("for").map_or(Ok(PauseEnd::Resumed), |span| duration::parse(span).map(PauseEnd::After)) {
        Ok(end) => end,
        Err(why) => return refuse(&format!("For how long: {why}.")),
    };
    let (by, key) = (request.one("by").unwrap_or_default(), given("key"));
    let change = LimitChange { by: Some(by), key, at_once, rate, burst, end, reason: given("reason") };
    let done = sampler.queue.on_behalf_of(&request.who).set_limit(&change);
    let log = |result: &str| {
        let key = key.map_or_else(String::new, |key| format!(" of key {key:?}"));
        note(&format!("limit by {by:?}{key} of queue {name} changed by {}: {result}", request.who));
    };
    match done {
        Ok(_) => {
            log("done");
            Answer::see(&format!("/queue/{}/limits", encode(name)))
        }
        Err(error) => {
            let why = error_text(&error);
            log(&why);
            app.pages.problem(app, request, 502, "Nothing was done", &why)
        }
    }
}
