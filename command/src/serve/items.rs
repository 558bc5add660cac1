//! Items that match a search.

use super::answer::Answer;
use super::encoding::encode;
use super::pages::Page;
use super::request::Request;
use super::right::Right;
use super::{App, search};
use crate::format;
use crate::printable::printable;
use crate::roles;
use crate::sampler::Sampler;
use readpast::OperatorVerb as Verb;
use readpast::{ErrorKind, Item, ItemState, Progress, Queue, QueueSpec, Value};
use serde_json::json;

/// Items on a page.
const PAGE: u32 = 50;
/// Columns of the description in a list, and the characters of a value there.
const COLUMNS: usize = 4;
const SHORT: usize = 80;

/// The error of a call, for a page.
pub fn error_text(error: &readpast::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut => {
            format!("The search took too long: name a state or a key, or a narrower filter. ({error})")
        }
        ErrorKind::PermissionDenied => {
            format!("The login of this server may not do that: it lacks the role of an operator. ({error})")
        }
        _ => error.to_string(),
    }
}

/// The search of a queue, or of the only one.
pub fn choose(app: &App, request: &Request) -> Answer {
    let queues: Vec<_> = app.queues.all().iter().map(|sampler| sampler.queue.name().to_owned()).collect();
    let only = if queues.len() == 1 { queues.first().map(String::as_str) } else { None };
    if let Some(queue) = request.one("queue").or(only) {
        let typed = request.one("q").map(|typed| format!("?q={}", encode(typed))).unwrap_or_default();
        return Answer::see(&format!("/queue/{}/items{typed}", encode(queue)));
    }
    let data = json!({"queues": queues, "q": request.one("q").unwrap_or_default()});
    app.pages.answer(app, request, 200, Page::new("choose.html", "Items", "Items", data))
}

/// The items of a queue that match.
pub fn list(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    let queue = &sampler.queue;
    let (fields, mistyped) = match search::fields(request) {
        Ok(fields) => (fields, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let (fields, misnamed) = match search::checked(app, queue, fields.clone()) {
        Ok(fields) => (fields, None),
        Err(why) => (fields, Some(why)),
    };
    let found = mistyped.or(misnamed).map_or_else(|| search::filter(&fields), Err).and_then(|filter| {
        let found = queue.look(&filter, request.one("after"), PAGE, app.most);
        let found = found.and_then(|(batch, to)| Ok((readpast::ask::progress_of(queue, &batch)?, batch, to)));
        found.map_err(|error| error_text(&error))
    });
    let columns: Vec<_> = shown_columns(app, queue).take(COLUMNS).map(str::to_owned).collect();
    let (mut items, mut next, mut further, mut problem) = (Vec::new(), None, None, None);
    match &found {
        Ok((progress, batch, to)) => {
            further.clone_from(to);
            items.extend(batch.iter().map(|item| {
                let mut line = line(queue.spec(), &item, &columns);
                line["progress"] = progress.get(item.key()).map(shown_progress).into();
                line
            }));
            next = batch.iter().last().map(|item| item.key().to_owned()).filter(|_| items.len() == PAGE as usize);
        }
        Err(why) => {
            problem = Some(why.clone());
            further = queue.page_behind(request.one("after"));
        }
    }
    let typed =
        if fields.is_empty() { request.one("q").unwrap_or_default().to_owned() } else { search::typed(&fields) };
    let data = json!({
        "search": typed,
        "words": search::words(app, queue.spec()),
        "columns": columns,
        "items": items,
        "next": next,
        "further": further,
        "elsewhere": further.as_deref().is_some_and(|key| queue.is_start_of_place(key)),
        "problem": problem,
        "query": search::query(&fields),
        "verbs": verbs(app, request, &search::states(&fields)),
        "outcome": outcome(app, request),
    });
    let status = if problem.is_some() { 400 } else { 200 };
    let page =
        Page::of_queue("items.html", "Items", queue, format!("Items of {}", queue.name()), data).below_queue(queue);
    app.pages.answer(app, request, status, page)
}

/// How far an item is.
pub fn shown_progress(progress: &Progress) -> serde_json::Value {
    let text = progress.text.as_deref().map(printable);
    json!({"percent": progress.percent, "text": text, "reported": progress.reported})
}

/// An item of a list.
pub fn line(spec: &QueueSpec, item: &Item<'_>, columns: &[String]) -> serde_json::Value {
    let values: Vec<_> = columns.iter().map(|name| text(item.value_of(name), SHORT)).collect();
    let error = roles::text(spec, item, "error");
    let error = text(error.as_deref().map(Value::Text), SHORT * 2);
    json!({
        "key": item.key(),
        "number": spec.short_number(item.key()),
        "state": item.state().map_or("", ItemState::as_str),
        "attempt": item.attempt(),
        "changed": roles::text(spec, item, "changed"),
        "values": values,
        "error": error.as_deref().and_then(|error| error.lines().next()),
    })
}

/// The columns of a list; none where payloads are hidden.
fn shown_columns<'a>(app: &App, queue: &'a Queue) -> impl Iterator<Item = &'a str> {
    let columns = if app.hides_payload { &[] } else { queue.spec().columns.as_slice() };
    columns.iter().filter(|column| !column.secret).map(|column| column.name.as_str())
}

/// The actions on items of these states, or of any where none is given, each with its effect.
pub fn verbs(app: &App, request: &Request, states: &[ItemState]) -> serde_json::Value {
    let is_possible = |verb: &&Verb| {
        app.may(request, Right::of(**verb)) && (states.is_empty() || states.iter().any(|state| verb.takes(*state)))
    };
    let verbs = Verb::ALL.iter().filter(is_possible);
    verbs.map(|verb| json!({"word": verb.word(), "what": explained(*verb)})).collect()
}

/// The effect of a verb on items, in a sentence or two.
pub fn explained(verb: Verb) -> &'static str {
    match verb {
        Verb::Retry => "Items that wait for their next attempt become due at once. Their attempt counts stay.",
        Verb::Redrive => "Ended items become Pending and due at once. Their attempt counts are reset.",
        Verb::Cancel => "They are cancelled for good. A worker that holds one loses its lease.",
        Verb::Pause => "They are not worked on until somebody resumes them.",
        Verb::Resume => "Paused items become Pending again.",
        Verb::Purge => "Ended items are deleted for good.",
    }
}

/// The notice of an action just done, which the address names.
pub fn outcome(app: &App, request: &Request) -> Option<String> {
    app.notices.find(request.one("did")?)
}

/// A value as text, cut where it is long; `None` where there is none.
pub fn text(value: Option<Value<'_>>, most: usize) -> Option<String> {
    let whole = format::value(value, most)?;
    let mut shown: String = printable(&whole.chars().take(most).collect::<String>());
    if whole.chars().nth(most).is_some() {
        shown.push('…');
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_and_nothing_in_it_is_hidden() {
        assert_eq!(text(Some(Value::Text("abc")), 2).as_deref(), Some("ab…"));
        assert_eq!(text(Some(Value::Text("ab")), 2).as_deref(), Some("ab"));
        assert_eq!(text(Some(Value::Text("a\u{202e}b\u{1b}c")), 9).as_deref(), Some("a\u{fffd}b\u{fffd}c"));
        assert_eq!(text(Some(Value::Text("a\r\nb\rc")), 9).as_deref(), Some("a\nb\u{fffd}c"), "as Windows ends lines");
        assert_eq!(text(Some(Value::Null), 9).as_deref(), None);
    }
}
