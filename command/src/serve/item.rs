//! One item: where it is in its life, its attempts, its payload, and what can be done to it.

use super::answer::Answer;
use super::items::{error_text, outcome, shown_progress, text, verbs};
use super::pages::Page;
use super::request::Request;
use super::right::Right;
use super::{App, edit, graph, life, moving};
use crate::printable::printable;
use crate::roles;
use crate::sampler::Sampler;
use readpast::item::{ColumnType, OnFailed, Wait, utc_ms};
use readpast::{Attempt, ErrorKind, Item, ItemRef, ItemState, Queue, QueueSpec, Value, Why};
use serde_json::{Value as Json, json};

/// The characters of a value in full.
const LONG: usize = 100_000;
/// A value of more characters or lines than this is folded.
const FOLDED: (usize, usize) = (200, 4);

pub fn page(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    let queue = &sampler.queue;
    let key = queue.whole_key(request.one("key").unwrap_or_default());
    let found = match key.and_then(|key| Ok((queue.get(&key)?, key))) {
        Ok(found) => found,
        Err(error) => return app.pages.problem(app, request, 400, "This item cannot be shown", &error_text(&error)),
    };
    let (found, key) = found;
    let Some(item) = found.get(0) else {
        let text = crate::why::unseen(queue, &key);
        return app.pages.problem(app, request, 404, "There is no such item", &text);
    };
    let why = queue.why(&key);
    // The one to look at next.
    let blocker = match why.as_ref().map(|why| why.as_ref().map(Why::reason)) {
        Ok(Some(Why::Blocked { by, .. })) => Some(by.clone()),
        _ => None,
    };
    let why = match &why {
        Ok(Some(why)) => readpast::ask::reason(why),
        Ok(None) => json!({"reason": null, "text": "it was deleted just now"}),
        Err(error) => json!({"reason": null, "text": error_text(error)}),
    };
    let (attempts, unseen) = match attempts(queue, &item, &key) {
        Ok(found) => found,
        Err(error) => {
            return app.pages.problem(
                app,
                request,
                400,
                "The attempts at this item cannot be shown",
                &error_text(&error),
            );
        }
    };
    let of_item = readpast::ask::waits(queue, &key).and_then(|waits| {
        let label = |key: &str| queue.spec().short_number(key).unwrap_or_else(|| printable(key));
        let asked = |key: &str| readpast::ask::waits(queue, key);
        let graph = graph::around(&key, item.state(), &waits, label, asked)?;
        Ok((waits, graph))
    });
    let (waits, graph) = match of_item {
        Ok(found) => found,
        Err(error) => {
            let why = "The items for which this one waits cannot be shown";
            return app.pages.problem(app, request, 400, why, &error_text(&error));
        }
    };
    let sides = [("Waits for", true), ("Waited for by", false)].map(|(title, side)| related(title, side, &waits));
    let progress = match readpast::ask::progress(queue, &[&key]) {
        Ok(mut progress) => progress.pop().map(|progress| shown_progress(&progress)),
        Err(error) => {
            let why = "How far this item is cannot be shown";
            return app.pages.problem(app, request, 400, why, &error_text(&error));
        }
    };
    let (payload, columns): (Vec<_>, Vec<_>) =
        columns(app, queue.spec(), &item).into_iter().partition(|column| column["payload"] == true);
    let data = json!({
        "key": item.key(),
        "short_number": queue.spec().short_number(&key),
        "state": item.state().map_or("", ItemState::as_str),
        "attempt": item.attempt(),
        "why": why,
        "blocker": blocker,
        "life": life::stages(queue.spec(), &item, waits.iter().any(|wait| wait.is_parent && !wait.is_over)),
        "attempts": attempts,
        "waits": sides,
        "graph": graph,
        "progress": progress,
        "unseen": unseen,
        "payload": payload,
        "payload_hidden": app.hides_payload,
        "columns": columns,
        "verbs": item.state().map(|state| verbs(app, request, &[state])).unwrap_or_default(),
        "targets": if app.may(request, Right::Operate) { moving::targets(app, queue, &item) } else { Vec::new() },
        "confirm": app.environment.asks_twice(),
        "edits": app.may(request, Right::Operate) && edit::waits(&item),
        "outcome": outcome(app, request),
    });
    let items = format!("/queue/{}/items", super::encoding::encode(queue.name()));
    let title = format!("Item {}", printable(item.key()));
    let page = Page::of_queue("item.html", "Items", queue, title, data)
        .below_queue(queue)
        .below("Items", items)
        .with("secret", json!(app.auth.secret()))
        .with("token", json!(ItemRef::from(item).token));
    app.pages.answer(app, request, 200, page)
}

/// The items for which this one waits, or those that wait for it.
fn related(title: &str, side: bool, waits: &[Wait]) -> Json {
    let of_side = || waits.iter().filter(|wait| wait.is_parent == side);
    let fate = |wait: &Wait| match wait.on_failed {
        _ if wait.is_over => None,
        OnFailed::Fail => Some("this one fails"),
        OnFailed::Run => Some("this one begins all the same"),
        OnFailed::Wait => Some("this one waits on"),
    };
    let shown = |wait: &Wait| {
        let fate = fate(wait).filter(|_| side);
        json!({"key": wait.key, "state": wait.state.map(ItemState::as_str), "over": wait.is_over, "fate": fate})
    };
    let over = of_side().filter(|wait| wait.is_over).count();
    json!({"title": title, "over": over, "items": of_side().map(shown).collect::<Vec<_>>()})
}

/// The attempts, the latest first, and why they are not all there.
fn attempts(queue: &Queue, item: &Item<'_>, key: &str) -> readpast::Result<(Vec<Json>, Option<String>)> {
    let mut unseen = None;
    let mut shown = match queue.spec().attempt_history.then(|| queue.attempts(key)).transpose() {
        Ok(attempts) => attempts.unwrap_or_default().iter().map(ended).collect::<Vec<_>>(),
        // The rest of the item is there to be seen.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            unseen = Some(format!("The login of this server may not see its attempts. ({error})"));
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    let is_running = item.state() == Some(ItemState::Processing);
    if item.attempt() > 0 && (is_running || shown.is_empty()) {
        shown.push(latest(queue.spec(), item, is_running));
    }
    shown.reverse();
    Ok((shown, unseen))
}

/// An attempt that has ended, as the queue remembers it.
fn ended(attempt: &Attempt) -> Json {
    let shown = |value: &Option<String>| text(value.as_deref().map(Value::Text), LONG);
    let took = attempt.started.as_deref().and_then(|started| Some(utc_ms(&attempt.ended)? - utc_ms(started)?));
    json!({
        "number": attempt.number, "worker": shown(&attempt.worker), "started": attempt.started, "ended": attempt.ended,
        "took_ms": took, "outcome": attempt.outcome.as_str(), "running": false, "step": shown(&attempt.step),
        "response": shown(&attempt.response), "error": shown(&attempt.error),
    })
}

/// The latest attempt, as the item itself remembers it.
fn latest(spec: &QueueSpec, item: &Item<'_>, is_running: bool) -> Json {
    let of = |role| roles::text(spec, item, role);
    let (started, ended) = (of("started"), of("changed").filter(|_| !is_running));
    let took = started.as_deref().zip(ended.as_deref());
    let took = took.and_then(|(started, ended)| Some((utc_ms(ended)? - utc_ms(started)?).max(0)));
    let shown = |role| of(role).filter(|_| !is_running).and_then(|outcome| text(Some(Value::Text(&outcome)), LONG));
    json!({
        "number": item.attempt(), "worker": of("owner").map(|owner| printable(&owner)), "started": started, "ended": ended,
        "took_ms": took, "outcome": item.state().map_or("", ItemState::as_str), "running": is_running, "step": null,
        "response": shown("response"), "error": shown("error"),
    })
}

/// The columns of an item, each with its value as a person reads it.
fn columns(app: &App, spec: &QueueSpec, item: &Item<'_>) -> Vec<Json> {
    let shown = |(index, column): (usize, &readpast::item::Column)| {
        let is_payload = is_payload(spec, &column.name);
        let value = if spec.is_secret(&column.name) {
            Some("(secret)".to_owned())
        } else if is_payload && app.hides_payload {
            Some("(hidden)".to_owned())
        } else {
            text(item.value(index), LONG).map(|value| pretty(value, column.kind))
        };
        let is_long =
            value.as_ref().is_some_and(|value| value.chars().count() > FOLDED.0 || value.lines().count() > FOLDED.1);
        let is_time = matches!(column.kind, ColumnType::Timestamp);
        json!({"name": column.name, "value": value, "payload": is_payload, "long": is_long, "time": is_time})
    };
    item.columns().iter().enumerate().map(shown).collect()
}

/// Whether a column is one of the queue's own, and not one of readpast's.
fn is_payload(spec: &QueueSpec, name: &str) -> bool {
    let is = |column: &str| name.eq_ignore_ascii_case(column);
    spec.columns.iter().any(|column| is(column.name.as_str()))
        || spec.subtypes.iter().any(|subtype| {
            subtype.columns.iter().any(|column| is(&format!("{}_{}", subtype.name.as_str(), column.name.as_str())))
        })
}

/// A JSON document with a line for each member.
fn pretty(value: String, kind: ColumnType) -> String {
    if !matches!(kind, ColumnType::Json) && !value.starts_with(['{', '[']) {
        return value;
    }
    let parsed = serde_json::from_str::<Json>(&value).ok();
    parsed.and_then(|document| serde_json::to_string_pretty(&document).ok()).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_a_line_for_each_member() {
        let of = |value: &str, kind| pretty(value.to_owned(), kind);
        assert_eq!(of(r#"{"a":1,"b":[]}"#, ColumnType::Json), "{\n  \"a\": 1,\n  \"b\": []\n}");
        assert_eq!(of("[1]", ColumnType::Text), "[\n  1\n]");
        for text in ["[1", "{no}", "plain", ""] {
            assert_eq!(of(text, ColumnType::Json), text);
        }
    }
}
