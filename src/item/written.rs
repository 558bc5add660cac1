//! New items as JSON: those that follow a settlement, and those of schedules.

use super::{After, Columns, MAX_ITEMS, NewItem, OnFailed};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The most items that follow one settlement.
const MOST_FOLLOWERS: usize = MAX_ITEMS as usize;

/// The members of an item that every place takes.
pub(crate) const ITEM_MEMBERS: [&str; 3] = ["columns", "type", "step"];

/// The members of an item that follows a settlement.
const FOLLOWER_MEMBERS: [&str; 10] =
    ["queue", "columns", "type", "step", "due", "delay_ms", "after", "on_failed", "traceparent", "tracestate"];

/// An item that follows a settlement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Follower {
    /// `None`: the queue of the settled item.
    pub(crate) queue: Option<String>,
    pub(crate) item: NewItem,
}

type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Reads an item with no other members than these. Columns stay as they are written.
///
/// # Errors
/// The mistake in words.
pub(crate) fn read_new_item(text: &str, members: &[&str]) -> Result<NewItem, String> {
    let known: Members<'_> =
        serde_json::from_str(text).map_err(|_| format!("must be an object with {}", members.join(", ")))?;
    item_of(&known, members)
}

fn item_of(given: &Members<'_>, members: &[&str]) -> Result<NewItem, String> {
    if let Some(unknown) = given.keys().find(|name| !members.contains(&name.as_str())) {
        return Err(format!("there is no such key {unknown:?}; the keys here are {}", members.join(", ")));
    }
    let text = |name: &str| match given.get(name) {
        Some(raw) => serde_json::from_str::<Option<String>>(raw.get()).map_err(|_| format!("{name:?} must be text")),
        None => Ok(None),
    };
    let delay_ms = given.get("delay_ms").map_or(Ok(None), |raw| serde_json::from_str(raw.get()));
    let columns = given.get("columns").map_or(Ok(Columns::default()), |raw| Columns::from_json(raw.get()));
    let after = given.get("after").map_or(Ok(Vec::new()), |raw| After::read_list(raw.get()))?;
    let on_failed = text("on_failed")?.map_or(Ok(OnFailed::default()), |word| OnFailed::read(&word))?;
    Ok(NewItem {
        kind: text("type")?,
        step: text("step")?,
        delay_ms: delay_ms.map_err(|_| "\"delay_ms\" must be a whole number".to_owned())?,
        due: text("due")?,
        columns: columns.map_err(|_| "\"columns\" must be an object".to_owned())?,
        traceparent: text("traceparent")?,
        tracestate: text("tracestate")?,
        after,
        on_failed,
    })
}

/// Reads the array of a settlement.
///
/// # Errors
/// The mistake in words, with its place.
pub(crate) fn read_followers(text: &str) -> Result<Vec<Follower>, String> {
    let all: Vec<Members<'_>> =
        serde_json::from_str(text).map_err(|error| format!("\"then\" must be an array of items: {error}"))?;
    if all.len() > MOST_FOLLOWERS {
        return Err(format!("{} items follow; {MOST_FOLLOWERS} are the most", all.len()));
    }
    let read = |members: &Members<'_>| {
        let queue = members.get("queue").map_or(Ok(None), |raw| serde_json::from_str(raw.get()));
        let queue = queue.map_err(|_| "\"queue\" must be text".to_owned())?;
        Ok(Follower { queue, item: item_of(members, &FOLLOWER_MEMBERS)? })
    };
    all.iter().enumerate().map(|(i, item)| read(item).map_err(|why: String| format!("then[{i}]: {why}"))).collect()
}

/// Appends an item to such an array, or begins one.
pub(crate) fn put_follower(array: &mut String, queue: &str, item: &NewItem) {
    // The end of the array so far gives way.
    let before = if array.pop().is_some() { ',' } else { '[' };
    array.push(before);
    array.push_str(&format!("{{\"queue\":{}", json!(queue)));
    let texts = [
        ("type", &item.kind),
        ("step", &item.step),
        ("due", &item.due),
        ("traceparent", &item.traceparent),
        ("tracestate", &item.tracestate),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            array.push_str(&format!(",\"{name}\":{}", json!(text)));
        }
    }
    if let Some(delay_ms) = item.delay_ms {
        array.push_str(&format!(",\"delay_ms\":{delay_ms}"));
    }
    if !item.after.is_empty() {
        let (after, on_failed) = (After::list(&item.after), item.on_failed.as_str());
        array.push_str(&format!(",\"after\":{after},\"on_failed\":\"{on_failed}\""));
    }
    array.push_str(&format!(",\"columns\":{}}}]", item.columns.to_json()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_are_written_are_read_again() {
        let columns = Columns::from_json(r#"{"n": 12345678901234567890.10}"#).unwrap();
        let first = NewItem { kind: Some("A".to_owned()), delay_ms: Some(5), columns, ..NewItem::default() };
        let second = NewItem {
            step: Some("s \"x\"".to_owned()),
            due: Some("2026-11-21".to_owned()),
            traceparent: Some("p".to_owned()),
            tracestate: Some("t".to_owned()),
            after: vec![After::Key("2026-11-21".to_owned()), After::Item(0)],
            on_failed: OnFailed::Wait,
            ..NewItem::default()
        };
        let mut array = String::new();
        put_follower(&mut array, "Q", &first);
        put_follower(&mut array, "R", &second);
        put_follower(&mut array, "R", &first);
        let read = read_followers(&array).unwrap();
        assert_eq!(read.iter().map(|one| one.queue.as_deref().unwrap()).collect::<Vec<_>>(), ["Q", "R", "R"]);
        assert_eq!(read.into_iter().map(|one| one.item).collect::<Vec<_>>(), [first.clone(), second, first]);
        assert_eq!(read_followers("[]").unwrap(), []);
        assert_eq!(read_followers(r#"[{}]"#).unwrap()[0].queue, None);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let many = format!("[{}{{}}]", "{},".repeat(MOST_FOLLOWERS));
        for (text, part) in [
            ("{}", "must be an array"),
            (r#"[{}, 1]"#, "must be an array of items"),
            (r#"[{}, {"queues": "Q"}]"#, "then[1]: there is no such key \"queues\"; the keys here are queue, columns"),
            (r#"[{"queue": 1}]"#, "then[0]: \"queue\" must be text"),
            (r#"[{"delay_ms": "5"}]"#, "\"delay_ms\" must be a whole number"),
            (r#"[{"columns": []}]"#, "\"columns\" must be an object"),
            (many.as_str(), "1001 items follow; 1000 are the most"),
        ] {
            let error = read_followers(text).unwrap_err();
            assert!(error.contains(part), "{text:.60}: {error}");
        }
    }
}
