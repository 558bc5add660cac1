//! An item goes to another queue that takes it, from its page.

use super::App;
use super::act;
use super::answer::Answer as Reply;
use super::edit;
use super::encoding::encode;
use super::items::error_text;
use super::request::Request;
use crate::output::note;
use crate::sampler::Sampler;
use readpast::{Answer, Item, ItemRef, ItemState, Queue};

/// The queues that this server shows and that take the item as it is.
pub fn targets(app: &App, queue: &Queue, item: &Item<'_>) -> Vec<String> {
    if !edit::waits(item) && item.state() != Some(ItemState::Failed) {
        return Vec::new();
    }
    let takes = |other: &Queue| other.name() != queue.name() && queue.takes(item, other.spec()).is_ok();
    let queues = app.queues.all();
    queues.iter().filter(|sampler| takes(&sampler.queue)).map(|sampler| sampler.queue.name().to_owned()).collect()
}

/// Moves the item, if it is as it was shown.
pub fn run(app: &App, sampler: &Sampler, request: &Request) -> Reply {
    if let Some(refusal) = act::refused(app, request) {
        return refusal;
    }
    let queue = &sampler.queue;
    if let Some(refusal) = act::unconfirmed(app, queue, request) {
        return refusal;
    }
    let (key, to) = (request.one("key").unwrap_or_default(), request.one("to").unwrap_or_default());
    if app.queues.find(to).is_none() {
        return app.pages.problem(app, request, 400, "Nothing was moved", &format!("This server shows no queue {to}."));
    }
    let item = ItemRef { key, token: request.one("token") };
    let moved = queue.on_behalf_of(&request.who).move_item(&item, to, None);
    let log = |result: &str| {
        note(&format!("move of {} to {to}: {result}; key={}; by {}", queue.name(), encode(key), request.who));
    };
    match moved {
        Ok(moved) if moved.outcome.answer == Answer::Ok => {
            log(&moved.key);
            let back = app.notices.keep(format!("moved from {}: 1", queue.name()));
            let back = back.map_or_else(String::new, |name| format!("&did={name}"));
            Reply::see(&format!("/queue/{}/item?key={}{back}", encode(to), encode(&moved.key)))
        }
        Ok(moved) => {
            let answer = moved.outcome.answer.as_str();
            log(answer);
            let text = match moved.outcome.answer {
                Answer::Duplicate => format!("{to} has the same work already."),
                _ => format!("It changed since the page was shown, or a worker holds it now ({answer})."),
            };
            app.pages.problem(app, request, 409, "Nothing was moved", &text)
        }
        Err(error) => {
            let why = error_text(&error);
            log(&why);
            app.pages.problem(app, request, 502, "Nothing was moved", &why)
        }
    }
}
