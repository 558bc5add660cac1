//! Items: those that fit a filter, and one in full.

use super::App;
use super::answer::Answer;
use super::encoding::encode;
use super::format::plain;
use super::request::Request;
use super::sampler::Sampler;
use crate::duration;
use crate::filter::ago;
use crate::steer::Verb;
use readpast::{Attempt, ErrorKind, Filter, Item, ItemState, Queue, QueueSpec, Value, Why};
use serde_json::json;

/// Items on a page.
const PAGE: u32 = 50;
/// Columns of the description in a list, and the characters of a value there.
const COLUMNS: usize = 4;
const SHORT: usize = 80;
/// The characters of a value in full.
const LONG: usize = 100_000;

/// What a filter's fields are called in addresses and forms.
const FIELDS: [&str; 5] = ["status", "type", "key", "error", "older"];

/// The fields of the filter, as they were asked for.
pub fn fields(request: &Request) -> Vec<(String, String)> {
    let is_field = |pair: &&(String, String)| FIELDS.contains(&pair.0.as_str()) && !pair.1.is_empty();
    request.given().iter().filter(is_field).cloned().collect()
}

/// The same as an address has them.
pub fn query(fields: &[(String, String)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect::<Vec<_>>().join("&")
}

/// The filter; without states and keys `states` are meant.
pub fn filter(fields: &[(String, String)], states: &[ItemState]) -> Result<Filter, String> {
    let mut filter = Filter::default();
    for (name, value) in fields {
        match name.as_str() {
            "status" => filter.states.push(value.parse().map_err(|()| format!("{value} is not a state"))?),
            "type" => filter.types.push(value.clone()),
            "key" => filter.keys.get_or_insert_default().push(value.trim().to_owned()),
            "error" => filter.error = Some(value.clone()),
            "older" => {
                let age = duration::parse(value.trim()).map_err(|why| format!("not changed for: {why}"))?;
                filter.before = Some(ago(age).ok_or("not changed for: that is too long")?);
            }
            _ => {}
        }
    }
    if filter.states.is_empty() && filter.keys.is_none() {
        filter.states = states.to_vec();
    }
    Ok(filter)
}

/// The fields with whole keys where short numbers were given, so that a form does its work to the items that were shown.
pub fn named(queue: &Queue, mut fields: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    for (_, value) in fields.iter_mut().filter(|(name, _)| name == "key") {
        *value = queue.whole_key(value.trim()).map_err(|error| told(&error))?;
    }
    Ok(fields)
}

/// What went wrong with a call, for a page.
pub fn told(error: &readpast::Error) -> String {
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

/// The page of items.
pub fn list(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    let queue = &sampler.queue;
    let (fields, misnamed) = match named(queue, fields(request)) {
        Ok(fields) => (fields, None),
        Err(why) => (fields(request), Some(why)),
    };
    let found = misnamed
        .map_or_else(|| filter(&fields, &[]), Err)
        .and_then(|filter| queue.look(&filter, request.one("after"), PAGE, app.most).map_err(|error| told(&error)));
    let columns: Vec<_> = shown_columns(queue).take(COLUMNS).map(str::to_owned).collect();
    let (mut items, mut next, mut further, mut problem) = (Vec::new(), None, None, None);
    match &found {
        Ok((batch, to)) => {
            further.clone_from(to);
            items.extend(batch.iter().map(|item| line(queue.spec(), &item, &columns)));
            next = batch.iter().last().map(|item| item.key().to_owned()).filter(|_| items.len() == PAGE as usize);
        }
        Err(why) => problem = Some(why.clone()),
    }
    let asked = |name: &str, value: &str| fields.iter().any(|(known, given)| known == name && given == value);
    let states: Vec<_> = ItemState::ALL
        .iter()
        .map(|state| json!({"name": state.as_str(), "asked": asked("status", state.as_str())}))
        .collect();
    let types: Vec<_> =
        queue.spec().types.iter().map(|kind| json!({"name": kind, "asked": asked("type", kind)})).collect();
    let shown = json!({
        "queue": name(queue),
        "states": states,
        "types": types,
        "asked": {
            "error": request.one("error").unwrap_or_default(),
            "key": request.one("key").unwrap_or_default(),
            "older": request.one("older").unwrap_or_default(),
        },
        "columns": columns,
        "items": items,
        "next": next,
        "further": further,
        "problem": problem,
        "query": query(&fields),
        "verbs": verbs(&asked_states(&fields)),
        "said": said(request),
    });
    app.pages.answer(app, if problem.is_some() { 400 } else { 200 }, "items.html", shown)
}

/// The page of one item.
pub fn one(app: &App, sampler: &Sampler, request: &Request) -> Answer {
    let queue = &sampler.queue;
    let key = queue.whole_key(request.one("key").unwrap_or_default());
    let found = match key.and_then(|key| Ok((queue.get(&key)?, key))) {
        Ok(found) => found,
        Err(error) => return app.pages.problem(app, 400, "This item cannot be shown", &told(&error)),
    };
    let (found, key) = found;
    let key = key.as_str();
    let Some(item) = found.get(0) else {
        let text = crate::why::unseen(queue, key);
        return app.pages.problem(app, 404, "There is no such item", &text);
    };
    let why = queue.why(key);
    // The one to look at next.
    let blocker = if let Ok(Some(Why::Blocked { by, .. })) = &why { Some(by.clone()) } else { None };
    let why = match why {
        Ok(Some(why)) => why.to_string(),
        Ok(None) => "it was deleted just now".to_owned(),
        Err(error) => told(&error),
    };
    let columns: Vec<_> = item
        .columns()
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let secret = queue.spec().is_secret(&column.name);
            let value = if secret { "(secret)".to_owned() } else { text(item.value(index), LONG) };
            json!({"name": column.name, "value": value})
        })
        .collect();
    let mut unseen = None;
    let attempts: Vec<_> = match queue.spec().attempt_history.then(|| queue.attempts(key)).transpose() {
        Ok(attempts) => attempts.unwrap_or_default().iter().map(attempted).collect(),
        // The rest of the item is there to be seen.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            unseen = Some(format!("The login of this server may not see its attempts. ({error})"));
            Vec::new()
        }
        Err(error) => return app.pages.problem(app, 400, "The attempts at this item cannot be shown", &told(&error)),
    };
    let shown = json!({
        "queue": name(queue),
        "attempts": attempts,
        "unseen": unseen,
        "item": {"key": item.key(), "number": queue.spec().short_number(key), "state": state(&item), "attempt": item.attempt(), "columns": columns},
        "why": plain(&why),
        "blocker": blocker,
        "verbs": item.state().map(|state| verbs(&[state])),
        "said": said(request),
    });
    app.pages.answer(app, 200, "item.html", shown)
}

/// An attempt that has ended, for the page of its item.
fn attempted(attempt: &Attempt) -> serde_json::Value {
    let shown = |value: &Option<String>| text(value.as_deref().map(Value::Text), LONG);
    // To the second: what the span says, the item's own columns say exactly.
    let moment = |time: &str| plain(time.get(..19).unwrap_or(time)).replace('T', " ");
    json!({
        "number": attempt.number,
        "worker": shown(&attempt.worker),
        "started": attempt.started.as_deref().map_or_else(|| "–".to_owned(), moment),
        "ended": moment(&attempt.ended),
        "outcome": attempt.outcome.as_str(),
        "step": shown(&attempt.step),
        "response": shown(&attempt.response),
        "error": shown(&attempt.error),
    })
}

/// An item of a list.
pub fn line(spec: &QueueSpec, item: &Item<'_>, columns: &[String]) -> serde_json::Value {
    let values: Vec<_> = columns.iter().map(|name| text(item.value_of(name), SHORT)).collect();
    let error = ["Error", "ItemError", "item_error"].iter().find_map(|name| item.value_of(name));
    let error = text(error, SHORT * 2);
    json!({
        "key": item.key(),
        "number": spec.short_number(item.key()),
        "state": state(item),
        "attempt": item.attempt(),
        "values": values,
        "error": error.lines().next().unwrap_or_default(),
    })
}

/// The name of a queue, and how it stands in an address.
pub fn name(queue: &Queue) -> serde_json::Value {
    json!({"name": queue.name(), "address": encode(queue.name())})
}

fn shown_columns(queue: &Queue) -> impl Iterator<Item = &str> {
    queue.spec().columns.iter().filter(|column| !column.secret).map(|column| column.name.as_str())
}

/// What can be done to items of these states, or of any where none is given, with what it does.
fn verbs(states: &[ItemState]) -> serde_json::Value {
    let is_possible = |verb: &&Verb| states.is_empty() || states.iter().any(|state| verb.takes(*state));
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
    }
}

/// The states that were asked for; what is none is told elsewhere.
fn asked_states(fields: &[(String, String)]) -> Vec<ItemState> {
    fields.iter().filter(|(name, _)| name == "status").filter_map(|(_, value)| value.parse().ok()).collect()
}

fn state(item: &Item<'_>) -> &'static str {
    item.state().map_or("", ItemState::as_str)
}

/// What was just done, by the numbers in the address: nothing else of it is shown.
fn said(request: &Request) -> Option<String> {
    let number = |name: &str| request.one(name)?.parse::<u64>().ok();
    let verb = Verb::ALL.into_iter().find(|verb| Some(verb.word()) == request.one("did"))?;
    let refused = number("refused").filter(|refused| *refused > 0);
    let refused = refused.map_or_else(String::new, |refused| {
        format!(", left unchanged: {refused}, which changed meanwhile or are in another state")
    });
    Some(format!("{}: {}{refused}", verb.done(), number("done")?))
}

/// A value as text, cut where it is long.
fn text(value: Option<Value<'_>>, most: usize) -> String {
    let whole = match value {
        None | Some(Value::Null) => "–".to_owned(),
        Some(Value::Boolean(value)) => value.to_string(),
        Some(Value::Integer(value)) => value.to_string(),
        Some(Value::Float(value)) => value.to_string(),
        Some(Value::Text(text)) => text.to_owned(),
        Some(Value::Binary(bytes)) => bytes.iter().take(most).map(|byte| format!("{byte:02x}")).collect(),
    };
    let mut shown: String = plain(&whole.chars().take(most).collect::<String>());
    if whole.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_filter_is_read_from_its_fields() {
        let fields = given(&[("status", "Failed"), ("status", "Error"), ("error", "a&b"), ("type", "x")]);
        let found = filter(&fields, &[ItemState::Pending]).unwrap();
        assert_eq!(found.states, [ItemState::Failed, ItemState::Error]);
        assert_eq!(
            (found.error.as_deref(), found.types.as_slice(), found.keys.as_ref()),
            (Some("a&b"), &["x".to_owned()][..], None)
        );
        assert_eq!(query(&fields), "status=Failed&status=Error&error=a%26b&type=x");
        assert_eq!(filter(&given(&[("key", "k")]), &[ItemState::Pending]).unwrap().states, []);
        assert_eq!(filter(&[], &[ItemState::Pending]).unwrap().states, [ItemState::Pending]);
        for wrong in [&[("status", "Nope")], &[("older", "soon")]] {
            assert!(filter(&given(wrong), &[]).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn text_is_cut_and_nothing_in_it_is_hidden() {
        assert_eq!(text(Some(Value::Text("abc")), 2), "ab…");
        assert_eq!(text(Some(Value::Text("ab")), 2), "ab");
        assert_eq!(text(Some(Value::Text("a\u{202e}b\u{1b}c")), 9), "a\u{fffd}b\u{fffd}c");
        assert_eq!(text(Some(Value::Text("a\r\nb\rc")), 9), "a\nb\u{fffd}c", "as Windows ends lines");
        assert_eq!(text(Some(Value::Null), 9), "–");
    }
}
