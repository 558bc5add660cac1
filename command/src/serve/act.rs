//! Actions on items: a preview first, then the action on those items that are still as they were.

mod perform;

use super::answer::Answer;
use super::auth::STRANGE_FORM;
use super::encoding::encode;
use super::items::{error_text, explained, line};
use super::pages::Page;
use super::request::Request;
use super::right::Right;
use super::search::{Fields, checked, fields, filter, query};
use super::{App, places};
use crate::looked;
use crate::output::note;
use crate::sampler::Sampler;
use perform::{Ended, Shown, perform};
use readpast::OperatorVerb as Verb;
use readpast::{Batch, ItemRef, ItemState, Queue};
use serde_json::json;
use std::collections::BTreeMap;

/// Items that are counted before, and those that are shown.
const COUNTED: u32 = 1_000;
const SHOWN: usize = 50;
/// Fields of the form: a state of the items that were shown; and where they were chosen by key, a token with its key.
const SEEN: &str = "seen";
const TOKEN: &str = "token";

/// Why nothing can be changed.
pub const CHANGES_NOTHING: &str = "This server, or your right, only shows. It takes --allow-actions, a login that may change items, and a \
                                   token or a user with the right to operate.";

/// The page for a form that may not operate, or that is not of this server.
pub fn refused(app: &App, request: &Request) -> Option<Answer> {
    if !app.may(request, Right::Operate) {
        return Some(app.pages.problem(app, request, 403, "Nothing can be changed here", CHANGES_NOTHING));
    }
    let is_ours = app.auth.trusts_form(&request.headers, request.one("secret"));
    (!is_ours).then(|| app.pages.problem(app, request, 403, "Nothing was done", STRANGE_FORM))
}

/// The page for a form without the queue's name, where the environment asks for it.
pub fn unconfirmed(app: &App, queue: &Queue, request: &Request) -> Option<Answer> {
    let lacks = app.environment.asks_twice() && request.one("confirm").map(str::trim) != Some(queue.name());
    let text = || format!("This is {}: type the name of the queue.", app.environment.name().unwrap_or_default());
    lacks.then(|| app.pages.problem(app, request, 400, "Nothing was done", &text()))
}

/// The action that the request asks for, or a page that says what is wrong.
fn asked(app: &App, request: &Request) -> Result<Verb, Answer> {
    if !app.may(request, Right::Operate) {
        let text = CHANGES_NOTHING;
        return Err(app.pages.problem(app, request, 403, "Nothing can be changed here", text));
    }
    let verb = Verb::ALL
        .into_iter()
        .find(|verb| Some(verb.word()) == request.one("verb"))
        .ok_or_else(|| app.pages.problem(app, request, 400, "No such action", "The address names no action."))?;
    if !app.may(request, Right::of(verb)) {
        let text = "This server, or your right, does not go so far: it takes --allow-purge, and the right to purge.";
        return Err(app.pages.problem(app, request, 403, "Nothing can be deleted here", text));
    }
    Ok(verb)
}

/// Which items are meant, and the form that does it.
pub fn preview(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    let verb = match asked(app, request) {
        Ok(verb) => verb,
        Err(answer) => return answer,
    };
    let queue = &sampler.queue;
    let mut fields = match fields(request).and_then(|fields| checked(app, queue, fields)) {
        Ok(fields) => fields,
        Err(why) => return app.pages.problem(app, request, 400, "Nothing can be changed", &why),
    };
    let (mut items, mut states, mut others) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let mut seen = Vec::new();
    let (mut more, mut problem) = (false, None);
    let names_keys = fields.iter().any(|(name, _)| name == "key");
    // One bounded look, as the page of items takes it, whatever the size of the queue.
    let found = filter(&fields)
        // Items that were named are all shown, and the form names the states that it takes of them.
        .map(|filter| if names_keys { filter } else { verb.narrow(filter) })
        .map(|filter| looked::look(queue, &filter, COUNTED, app.most))
        .and_then(|looked| looked.failure.map_or(Ok((looked.pages, looked.more)), |error| Err(error_text(&error))));
    match found {
        Ok((pages, is_cut)) => {
            more = is_cut;
            for item in pages.iter().flat_map(Batch::iter) {
                let is_possible = item.state().is_some_and(|state| verb.takes(state));
                let counts = if is_possible { &mut states } else { &mut others };
                *counts.entry(item.state().map_or("gone", ItemState::as_str)).or_insert(0_i64) += 1;
                if !is_possible {
                    continue;
                }
                if items.len() < SHOWN {
                    items.push(line(queue.spec(), &item, &[]));
                }
                // Each item that was named, also those that the page only counts.
                if let Some(token) = ItemRef::from(item).token.filter(|_| names_keys) {
                    seen.push((TOKEN.to_owned(), format!("{token} {}", item.key())));
                }
            }
            // Items that were not looked at may be in other states.
            if !more {
                seen.extend(states.keys().map(|state| (SEEN.to_owned(), (*state).to_owned())));
            }
        }
        Err(why) => problem = Some(why),
    }
    let query = query(&fields);
    fields.push(("verb".to_owned(), verb.word().to_owned()));
    fields.append(&mut seen);
    let counted = |states: &BTreeMap<&str, i64>| {
        states.iter().map(|(state, of)| json!({"state": state, "items": of})).collect::<Vec<_>>()
    };
    let status = if problem.is_some() { 400 } else { 200 };
    let data = json!({
        "verb": verb.word(),
        "what": explained(verb),
        "items": items,
        "states": counted(&states),
        "others": counted(&others),
        "total": states.values().sum::<i64>(),
        "more": more,
        "at_most": COUNTED,
        "problem": problem,
        "query": query,
        "confirm": app.environment.asks_twice(),
    });
    let title = format!("Items of {}: {}", queue.name(), verb.word());
    let address = format!("/queue/{}/items?{query}", encode(queue.name()));
    let page = Page::of_queue("act.html", "Items", queue, title, data)
        .below_queue(queue)
        .below("Items", address)
        .with("fields", json!(fields))
        .with("secret", json!(app.auth.secret()));
    app.pages.answer(app, request, status, page)
}

/// Does it, and goes back to the items.
pub fn run(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    let verb = match asked(app, request) {
        Ok(verb) => verb,
        Err(answer) => return answer,
    };
    if !app.auth.trusts_form(&request.headers, request.one("secret")) {
        return app.pages.problem(app, request, 403, "Nothing was done", STRANGE_FORM);
    }
    let queue = &sampler.queue;
    if let Some(refusal) = unconfirmed(app, queue, request) {
        return refusal;
    }
    let asked = fields(request)
        .and_then(|fields| checked(app, queue, fields))
        .and_then(|fields| Ok((filter(&fields)?, fields)));
    let (filter, fields) = match asked {
        Ok(asked) => asked,
        Err(why) => return app.pages.problem(app, request, 400, "Nothing was done", &why),
    };
    let acting = queue.on_behalf_of(&request.who);
    let ended = perform(app, &acting, verb, filter, &Shown::of(request));
    // The log names user, action and items, also after a failure.
    let log = |word: &str, result: &str| {
        note(&format!("{word} of {}: {result}; {}; by {}", queue.name(), query(&fields), request.who));
    };
    match ended {
        Ok(Ended::Now(done, refused)) => {
            log(verb.done(), &format!("{done}, refused: {refused}"));
            Answer::see(&place(queue.name(), verb, &fields, app.notices.keep(notice(verb, done, refused))))
        }
        Ok(Ended::Later(begun)) => {
            begun.iter().for_each(|(queue, number)| {
                log(verb.word(), &format!("operation {number} of {}", places::label(queue)))
            });
            match begun.as_slice() {
                [(queue, number)] => Answer::see(&places::operation(queue, *number)),
                _ => Answer::see(&format!("/operations?queue={}", encode(queue.name()))),
            }
        }
        Err(why) => {
            log(verb.word(), &why);
            app.pages.problem(app, request, 502, "Not all items were changed", &why)
        }
    }
}

fn notice(verb: Verb, done: i64, refused: i64) -> String {
    let left = if refused > 0 {
        format!(", left unchanged: {refused}, which changed meanwhile or are in another state")
    } else {
        String::new()
    };
    format!("{}: {done}{left}", verb.done())
}

/// The page after an action, with the name of its notice: the item, or the items that match.
fn place(queue: &str, verb: Verb, fields: &Fields, notice: Option<String>) -> String {
    let back = notice.map_or_else(String::new, |name| format!("&did={name}"));
    let keys: Vec<_> = fields.iter().filter(|(name, _)| name == "key").collect();
    match keys.as_slice() {
        [(_, key)] if verb != Verb::Purge => format!("/queue/{}/item?key={}{back}", encode(queue), encode(key)),
        _ => format!("/queue/{}/items?{}{back}", encode(queue), query(fields)),
    }
}
