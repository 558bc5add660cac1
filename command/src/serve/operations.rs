//! Operations: who did what, and how far actions on many items are.

use super::answer::Answer;
use super::encoding::encode;
use super::items::{error_text, text};
use super::pages::Page;
use super::request::Request;
use super::{App, act, places};
use crate::operations;
use crate::output::note;
use crate::sampler::Sampler;
use readpast::description::Storage;
use readpast::item::{utc_ms, utc_text};
use readpast::{OperatorAction, Queue, Value as Cell};
use serde_json::{Value, json};
use std::time::SystemTime;

/// Operations on a page.
const PAGE: u32 = 50;
/// Looks at so many operations for a page.
const LOOKS: usize = 10;
/// Characters of a filter in the list.
const SHORT: usize = 120;

/// The newest operations of all queues that this server shows, or of one.
pub fn list(app: &App, request: &Request) -> Answer {
    match request.one("queue") {
        // The same answer as at any other address of a queue.
        Some(name) => {
            super::routes::with(app, request, name, |app, sampler, request| show(app, Some(sampler), request))
        }
        None => show(app, None, request),
    }
}

fn show(app: &App, chosen: Option<&Sampler>, request: &Request) -> Answer {
    let queues = app.queues.all();
    // Any queue with procedures of ours leads to the records of the schema.
    let any = || queues.iter().find(|sampler| !matches!(sampler.queue.spec().storage, Storage::Procedures(_)));
    let of = chosen.or_else(|| any().map(AsRef::as_ref)).map(|sampler| &sampler.queue);
    let place = request.one("place").filter(|place| !place.is_empty());
    let each = match (of, place) {
        (None, _) => Vec::new(),
        (Some(queue), None) => places::each(queue),
        (Some(queue), Some(place)) => vec![(Some(place.to_owned()), queue.at(place))],
    };
    // The numbers of several places have no common order.
    let below = request.one("below").and_then(|number| number.parse().ok()).filter(|_| each.len() == 1);
    let (mut actions, mut next, mut older, mut problem) = (Vec::new(), None, Vec::new(), None);
    for (place, queue) in &each {
        let look = |queue: &Queue| match chosen {
            Some(_) => page(below, |_| true, |below| queue.actions(false, below, PAGE)),
            None => page(below, |queue| app.queues.shows(queue), |below| queue.actions(true, below, PAGE)),
        };
        match queue.clone().and_then(|queue| look(&queue)) {
            Ok((found, further)) => {
                actions.extend(found.iter().map(|action| document(action, place.as_deref())));
                older.extend(further.and(place.as_ref()).filter(|_| each.len() > 1));
                next = further.filter(|_| each.len() == 1);
            }
            Err(error) => problem = Some(error_text(&error)),
        }
    }
    if each.len() > 1 {
        actions.sort_by_key(|action| std::cmp::Reverse(action["begun_at"].as_str().unwrap_or_default().to_owned()));
        actions.truncate(PAGE as usize);
    }
    let names: Vec<_> = queues.iter().map(|sampler| sampler.queue.name().to_owned()).collect();
    let data = json!({
        "operations": actions, "queues": names, "chosen": request.one("queue"), "next": next, "problem": problem,
        "place": place, "older": older,
    });
    app.pages.answer(app, request, 200, Page::new("operations.html", "Operations", "Operations", data))
}

/// Up to a page of the operations whose queue is shown, and the number below which to go on. Others do not shorten it, as far as some
/// looks find enough.
fn page(
    mut below: Option<i64>,
    shows: impl Fn(&str) -> bool,
    look: impl Fn(Option<i64>) -> readpast::Result<Vec<OperatorAction>>,
) -> readpast::Result<(Vec<OperatorAction>, Option<i64>)> {
    let mut shown = Vec::new();
    for _ in 0..LOOKS {
        let found = look(below)?;
        let is_last = found.len() < PAGE as usize;
        for action in found {
            below = Some(action.number);
            if shows(&action.queue) {
                shown.push(action);
            }
            if shown.len() >= PAGE as usize {
                return Ok((shown, below));
            }
        }
        if is_last {
            return Ok((shown, None));
        }
    }
    Ok((shown, below))
}

/// One operation.
pub fn one(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    match find(app, sampler, request) {
        Err(answer) => answer,
        Ok(action) => {
            let title = format!("Operation {}", action.number);
            let mut document = document(&action, request.one("place"));
            // The list has the beginning.
            document["filter_text"] = json!(action.filter);
            let page =
                Page::of_queue("operation.html", "Operations", &sampler.queue, title, json!({"operation": document}))
                    .below_queue(&sampler.queue)
                    .below("Operations", format!("/operations?queue={}", encode(sampler.queue.name())))
                    .with("secret", json!(app.auth.secret()));
            app.pages.answer(app, request, 200, page)
        }
    }
}

/// Asks for its end.
pub fn cancel(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    if let Some(refusal) = act::refused(app, request) {
        return refusal;
    }
    let action = match find(app, sampler, request) {
        Ok(action) => action,
        Err(answer) => return answer,
    };
    let number = action.number;
    let queue = places::at(&sampler.queue.on_behalf_of(&request.who), request.one("place"));
    let cancelled = queue.and_then(|queue| queue.cancel_action(number).map(|_| queue));
    let queue = match cancelled {
        Ok(queue) => queue,
        Err(error) => return app.pages.problem(app, request, 502, "Nothing was done", &error_text(&error)),
    };
    note(&format!("cancel of operation {number} of {} asked by {}", places::label(&queue), request.who));
    Answer::see(&places::operation(&queue, number))
}

/// The operation that the request names, or a page that says what is wrong.
fn find(app: &App, sampler: &Sampler, request: &Request) -> Result<OperatorAction, Answer> {
    let number = request.one("number").and_then(|number| number.parse::<i64>().ok());
    let queue = places::at(&sampler.queue, request.one("place"));
    let found = number.map_or(Ok(None), |number| queue?.action(number));
    match found {
        Ok(Some(action)) => Ok(action),
        Ok(None) => {
            let text = "This queue has no operation of this number; it is gone 90 days after its end.";
            Err(app.pages.problem(app, request, 404, "There is no such operation", text))
        }
        Err(error) => Err(app.pages.problem(app, request, 502, "The operation cannot be read", &error_text(&error))),
    }
}

/// An operation, with what a page shows of it, and its place among several.
fn document(action: &OperatorAction, place: Option<&str>) -> Value {
    let mut document = operations::document(action);
    document["at"] = json!(place.filter(|place| !place.is_empty()));
    let gone = action.done + action.refused;
    let is_open = action.ended_at.is_none();
    document["open"] = json!(is_open);
    document["filter_text"] = json!(action.filter.as_deref().and_then(|filter| text(Some(Cell::Text(filter)), SHORT)));
    document["percent"] =
        json!(action.expected.filter(|expected| *expected > 0).map(|all| (gone * 100 / all).min(100)));
    let until = action.ended_at.clone().unwrap_or_else(|| utc_text(SystemTime::now()));
    let took = utc_ms(&until).zip(utc_ms(&action.begun_at)).map(|(until, begun)| (until - begun).max(0));
    document["took_ms"] = json!(took);
    let left = action.expected.map(|all| all - gone).filter(|left| is_open && *left > 0 && gone > 0);
    document["left_ms"] = json!(left.zip(took).map(|(left, took)| took.saturating_mul(left) / gone));
    document
}
