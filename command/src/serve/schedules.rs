//! Schedules: what queues put in by themselves, when next, and how it went; run now, off and on.

use super::answer::Answer;
use super::pages::Page;
use super::request::Request;
use super::{App, act, items};
use crate::output::note;
use crate::sampler::Sampler;
use readpast::item::ScheduleChange;
use serde_json::json;

/// A schedule that is over for longer is late.
const LATE_MS: i64 = 60_000;

pub fn page(app: &App, request: &Request) -> Answer {
    let (mut schedules, mut problems) = (Vec::new(), Vec::new());
    for sampler in app.queues.all().into_iter().filter(|sampler| sampler.queue.spec().schedules.is_some()) {
        match sampler.queue.schedules() {
            Ok(found) => schedules.extend(found.iter().map(|schedule| {
                let mut document = readpast::ask::schedule(schedule);
                document["queue"] = json!(sampler.queue.name());
                document["late"] = json!(schedule.enabled && schedule.late_ms.is_some_and(|late| late > LATE_MS));
                document
            })),
            Err(error) => problems.push(json!({"queue": sampler.queue.name(), "text": items::error_text(&error)})),
        }
    }
    // Those that fire come first, the next one at the top.
    schedules.sort_by_key(|of| (of["enabled"] == json!(false), of["next"].as_str().unwrap_or_default().to_owned()));
    let data = json!({"schedules": schedules, "problems": problems, "confirm": app.environment.asks_twice()});
    let page = Page::new("schedules.html", "Schedules", "Schedules", data).with("secret", json!(app.auth.secret()));
    app.pages.answer(app, request, 200, page)
}

/// Runs a schedule now, or switches it.
pub fn act(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    if let Some(refusal) = act::refused(app, request) {
        return refusal;
    }
    let (name, verb) = (request.one("name").unwrap_or_default(), request.one("verb").unwrap_or_default());
    if app.environment.asks_twice() && request.one("confirm").map(str::trim) != Some(name) {
        let text = format!("This is {}: type the name of the schedule.", app.environment.name().unwrap_or_default());
        return app.pages.problem(app, request, 400, "Nothing was done", &text);
    }
    let queue = sampler.queue.on_behalf_of(&request.who);
    let switched = |enabled| {
        let change = ScheduleChange { enabled: Some(enabled), ..ScheduleChange::default() };
        queue.set_schedule(name, &change).map(drop)
    };
    let done = match verb {
        "run" => queue.run_schedule(name).map(drop),
        "enable" => switched(true),
        "disable" => switched(false),
        _ => return app.pages.problem(app, request, 400, "No such action", "The address names no action."),
    };
    let log = |result: &str| {
        note(&format!("{verb} schedule {name:?} of {} by {}: {result}", queue.name(), request.who));
    };
    match done {
        Ok(()) => {
            log("done");
            Answer::see("/schedules")
        }
        Err(error) => {
            let why = items::error_text(&error);
            log(&why);
            app.pages.problem(app, request, 502, "Nothing was done", &why)
        }
    }
}
