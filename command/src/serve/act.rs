//! Actions on items: a preview first, then the action on those items that are still as they were.

use super::App;
use super::answer::Answer;
use super::auth::STRANGE_FORM;
use super::encoding::encode;
use super::items::{error_text, explained, line};
use super::pages::Page;
use super::request::Request;
use super::search::{fields, filter, query, with_keys};
use crate::failure::Failure;
use crate::filter::{Pages, token};
use crate::output::note;
use crate::sampler::Sampler;
use crate::steer::Verb;
use readpast::{Answer as Outcome, Filter, Item, ItemRef, ItemState};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Items of one call, of one form, and those that are counted and shown before.
const BATCH: u32 = 500;
const COUNTED: u32 = 1_000;
const MOST: usize = 5_000;
const SHOWN: usize = 50;
/// Fields of the form: a state of the items that were shown; and where they were chosen by key, a token with its key.
const SEEN: &str = "seen";
const TOKEN: &str = "token";

/// The action that the request asks for, or a page that says what is wrong.
fn asked(app: &App, request: &Request) -> Result<Verb, Answer> {
    if !app.acts {
        let text = "This server only shows. Start it with --allow-actions, and with a login that may change items.";
        return Err(app.pages.problem(app, request, 403, "Nothing can be changed here", text));
    }
    Verb::ALL
        .into_iter()
        .find(|verb| Some(verb.word()) == request.one("verb"))
        .ok_or_else(|| app.pages.problem(app, request, 400, "No such action", "The address names no action."))
}

/// Which items are meant, and the form that does it.
pub fn preview(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    let verb = match asked(app, request) {
        Ok(verb) => verb,
        Err(answer) => return answer,
    };
    let queue = &sampler.queue;
    let mut fields = match fields(request).and_then(|fields| with_keys(queue, fields)) {
        Ok(fields) => fields,
        Err(why) => return app.pages.problem(app, request, 400, "Nothing can be changed", &why),
    };
    let (mut items, mut states, mut others) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let mut seen = Vec::new();
    let (mut more, mut problem) = (false, None);
    let names_keys = fields.iter().any(|(name, _)| name == "key");
    // One bounded look, as the page of items takes it, whatever the size of the queue.
    let found = filter(&fields, verb.states())
        .and_then(|filter| queue.look(&filter, None, COUNTED, app.most).map_err(|error| error_text(&error)));
    match found {
        Ok((batch, further)) => {
            more = further.is_some() || batch.len() == COUNTED as usize;
            for item in batch.iter() {
                let is_possible = item.state().is_some_and(|state| verb.takes(state));
                let counts = if is_possible { &mut states } else { &mut others };
                *counts.entry(item.state().map_or("gone", ItemState::as_str)).or_insert(0_i64) += 1;
                if is_possible && items.len() < SHOWN {
                    items.push(line(queue.spec(), &item, &[]));
                    if let Some(token) = token(&item).filter(|_| names_keys) {
                        seen.push((TOKEN.to_owned(), format!("{token} {}", item.key())));
                    }
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
        "at_once": MOST,
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
    if app.environment.asks_twice() && request.one("confirm").map(str::trim) != Some(queue.name()) {
        let text = format!("This is {}: type the name of the queue.", app.environment.name().unwrap_or_default());
        return app.pages.problem(app, request, 400, "Nothing was done", &text);
    }
    let asked = fields(request)
        .and_then(|fields| with_keys(queue, fields))
        .and_then(|fields| Ok((filter(&fields, verb.states())?, fields)));
    let (mut filter, fields) = match asked {
        Ok(asked) => asked,
        Err(why) => return app.pages.problem(app, request, 400, "Nothing was done", &why),
    };
    let (states, tokens) = previewed(request);
    narrow(&mut filter, states);
    let (mut done, mut refused) = (0, 0);
    // The log names user, action and items, also after a failure.
    let log = |done: usize, refused: usize| {
        let name = queue.name();
        note(&format!("{} of {name}: {done}, refused: {refused}; {}; by {}", verb.done(), query(&fields), request.who));
    };
    for page in Pages::of(queue, &filter, BATCH).take(MOST / BATCH as usize) {
        let outcomes = page.and_then(|page| {
            // An item that was shown is changed as it was shown.
            let of = |item: &Item<'_>| tokens.get(item.key()).copied();
            let items = page.iter().map(|item| ItemRef { key: item.key(), token: of(&item).or(token(&item)) });
            verb.apply_to(queue, &items.collect::<Vec<_>>())
        });
        match outcomes {
            Ok(outcomes) => {
                let fine = outcomes.iter().filter(|outcome| outcome.answer == Outcome::Ok).count();
                done += fine;
                refused += outcomes.len() - fine;
            }
            Err(failure) => {
                log(done, refused);
                let text = format!("{}. {}: {done}, before that.", words(&failure), verb.done());
                return app.pages.problem(app, request, 502, "Not all items were changed", &text);
            }
        }
    }
    if let Some(keys) = &filter.keys {
        // Those that are gone, or in another state by now.
        refused = keys.iter().collect::<BTreeSet<_>>().len().saturating_sub(done);
    }
    log(done, refused);
    let back = app.notices.keep(notice(verb, done, refused)).map_or_else(String::new, |name| format!("&did={name}"));
    let keys: Vec<_> = fields.iter().filter(|(name, _)| name == "key").collect();
    let place = match keys.as_slice() {
        [(_, key)] => format!("/queue/{}/item?key={}{back}", encode(queue.name()), encode(key)),
        _ => format!("/queue/{}/items?{}{back}", encode(queue.name()), query(&fields)),
    };
    Answer::see(&place)
}

/// The states and the tokens, by key, of the items that were shown before.
fn previewed(request: &Request) -> (Vec<ItemState>, BTreeMap<&str, &str>) {
    let given = |wanted: &'static str| {
        request.given().iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value.as_str())
    };
    let states = given(SEEN).filter_map(|seen| ItemState::ALL.into_iter().find(|state| state.as_str() == seen));
    let tokens = given(TOKEN).filter_map(|of| of.split_once(' ')).map(|(token, key)| (key, token));
    (states.collect(), tokens.collect())
}

/// Leaves only items in these states, if there are any; none where the filter has others.
fn narrow(filter: &mut Filter, states: Vec<ItemState>) {
    if filter.states.is_empty() {
        filter.states = states;
    } else if !states.is_empty() {
        filter.states.retain(|state| states.contains(state));
        if filter.states.is_empty() {
            filter.keys = Some(Vec::new());
        }
    }
}

fn notice(verb: Verb, done: usize, refused: usize) -> String {
    let left = if refused > 0 {
        format!(", left unchanged: {refused}, which changed meanwhile or are in another state")
    } else {
        String::new()
    };
    format!("{}: {done}{left}", verb.done())
}

fn words(failure: &Failure) -> String {
    match failure {
        Failure::Library(error) | Failure::Remedied(error, _) => error_text(error),
        other => other.message(),
    }
}
