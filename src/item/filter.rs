//! Filters of items, for operators.

use super::{ItemState, KeyForm, normalize_utc};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The most keys of one filter.
const MOST_KEYS: usize = 1000;

/// The longest time in a filter: the limit of both servers, which is millions of years.
const LONGEST_MS: i64 = 999_999_999_999_999_999;

/// The most values of one filter.
const MOST_COLUMNS: usize = 20;

/// The longest text in a filter, in UTF-16 units: as much as SQL Server reads from JSON in one piece.
const LONGEST_TEXT: usize = 4000;

/// Conditions on items. Every condition narrows the choice; a filter without any means all items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Items with these keys, at most 1000. An empty list means no item; `None` leaves the key open.
    pub keys: Option<Vec<String>>,
    /// Items in one of these states; an empty list leaves the state open.
    pub states: Vec<ItemState>,
    /// Items of one of these types; an empty list leaves the type open.
    pub types: Vec<String>,
    /// Items whose last change was before this UTC time.
    pub before: Option<String>,
    /// Items whose last change was at this UTC time or later.
    pub after: Option<String>,
    /// Items whose error contains this text, in this case. Nothing in it is a wildcard.
    pub error: Option<String>,
    /// Items whose last attempt took longer than this, in milliseconds, 0 or more. For a Processing item it is the time since its
    /// claim; an item whose attempt ended without finishing it does not fit, since its time is unknown.
    pub longer_ms: Option<i64>,
    /// Items with these values in their own columns: names, each with a value as JSON (text, a number, true or false). `Payload.id`
    /// is a member of the JSON that the column `Payload` holds, compared as it is written; text that is no JSON does not fit.
    pub columns: Vec<(String, String)>,
}

/// An item, by its key, for a call of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemRef<'a> {
    /// Its key.
    pub key: &'a str,
    /// The token it had when the caller saw it: with another token the item is left alone. `None` means any token.
    pub token: Option<&'a str>,
}

impl<'a> From<super::Item<'a>> for ItemRef<'a> {
    /// The item as long as it is unchanged. An item of a described table may have no token yet.
    fn from(item: super::Item<'a>) -> Self {
        Self { key: item.key(), token: Some(item.token()).filter(|token| !token.is_empty()) }
    }
}

impl Filter {
    /// The items with these keys.
    pub fn of_keys<S: Into<String>>(keys: impl IntoIterator<Item = S>) -> Self {
        Self { keys: Some(keys.into_iter().map(Into::into).collect()), ..Self::default() }
    }

    /// The items in these states.
    pub fn of_states(states: impl IntoIterator<Item = ItemState>) -> Self {
        Self { states: states.into_iter().collect(), ..Self::default() }
    }

    /// Reads a filter like `{"status": ["Failed"], "before": "2026-11-21T08:30:00Z", "error": "timeout"}`; the other members are
    /// `keys`, `types`, `after`, `longer_ms` and `columns`, an object like `{"Customer": 42, "Payload.id": "7"}`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] names the wrong member.
    pub fn from_json(text: &str) -> Result<Self> {
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(text).map_err(|error| refuse(format!("is not a JSON object: {error}")))?;
        let mut filter = Self::default();
        for (name, raw) in members {
            let value: Value =
                serde_json::from_str(raw.get()).map_err(|error| refuse(format!("is no JSON: {error}")))?;
            if value.is_null() {
                continue;
            }
            match name.as_str() {
                // As they are written, so that numbers keep their digits.
                "columns" => {
                    let given = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw.get());
                    let given = given.map_err(|_| refuse("has \"columns\" that are no object".to_owned()))?;
                    filter.columns = given.into_iter().map(|(name, value)| (name, value.get().to_owned())).collect();
                }
                "keys" => filter.keys = Some(texts("keys", value)?),
                "types" => filter.types = texts("types", value)?,
                "status" => {
                    let words = texts("status", value)?;
                    if words.is_empty() {
                        return Err(refuse("has an empty \"status\"; name a state, or leave it out".to_owned()));
                    }
                    filter.states = words.iter().map(|word| state(word)).collect::<Result<_>>()?;
                }
                "before" => filter.before = Some(one_text("before", value)?),
                "after" => filter.after = Some(one_text("after", value)?),
                "error" => filter.error = Some(one_text("error", value)?),
                "longer_ms" => match value.as_i64() {
                    Some(ms) => filter.longer_ms = Some(ms),
                    None => return Err(refuse("has a \"longer_ms\" that is not a whole number".to_owned())),
                },
                _ => {
                    return Err(refuse(format!(
                        "has a member {}; there are keys, status, types, before, after, error, longer_ms and columns",
                        Excerpt(&name)
                    )));
                }
            }
        }
        filter.to_json(false)?;
        Ok(filter)
    }

    /// The same text as [`from_json`](Self::from_json) reads. Keys of several columns travel as the arrays that their texts hold: see
    /// `put_key`.
    pub(crate) fn to_json(&self, composite: bool) -> Result<String> {
        let values = self.columns.iter().map(|(name, value)| format!("{}:{value}", json!(name)));
        let values = values.collect::<Vec<_>>().join(",");
        let columns = if values.is_empty() { values } else { format!(",\"columns\":{{{values}}}") };
        self.with_columns(KeyForm { composite, prefix: None }, &columns)
    }

    /// The object with these members for the columns, each after a comma: those that the procedures read.
    pub(crate) fn with_columns(&self, form: KeyForm<'_>, columns: &str) -> Result<String> {
        let mut out = Map::new();
        if let Some(keys) = &self.keys {
            if keys.len() > MOST_KEYS {
                return Err(refuse(format!("has {} keys; {MOST_KEYS} are the most", keys.len())));
            }
            keys.iter().try_for_each(|key| check("a key", key))?;
            let keys = keys.iter().map(|key| form.here(key).map_err(refuse));
            let keys = keys.map(|key| key.and_then(|key| if form.composite { array(key) } else { Ok(json!(key)) }));
            out.insert("keys".to_owned(), Value::Array(keys.collect::<Result<_>>()?));
        }
        if !self.states.is_empty() {
            let words: Vec<_> = self.states.iter().map(|state| state.as_str()).collect();
            out.insert("status".to_owned(), json!(words));
        }
        if !self.types.is_empty() {
            self.types.iter().try_for_each(|kind| check("a type", kind))?;
            out.insert("types".to_owned(), json!(self.types));
        }
        for (name, time) in [("before", &self.before), ("after", &self.after)] {
            if let Some(given) = time {
                let time = normalize_utc(given).ok_or_else(|| {
                    refuse(format!(
                        "has {name:?} {}, which is not a UTC time like 2026-11-21T08:30:00Z",
                        Excerpt(given)
                    ))
                })?;
                out.insert(name.to_owned(), json!(time));
            }
        }
        if let Some(error) = &self.error {
            check("the error", error)?;
            out.insert("error".to_owned(), json!(error));
        }
        if let Some(ms) = self.longer_ms {
            if !(0..=LONGEST_MS).contains(&ms) {
                return Err(refuse(format!("has {ms} in \"longer_ms\", which goes from 0 to {LONGEST_MS}")));
            }
            out.insert("longer_ms".to_owned(), json!(ms));
        }
        if self.columns.len() > MOST_COLUMNS {
            return Err(refuse(format!("has {} columns; {MOST_COLUMNS} are the most", self.columns.len())));
        }
        self.columns.iter().try_for_each(|(name, value)| check_column(name, value))?;
        let mut text = Value::Object(out).to_string();
        text.pop();
        // The first member has no comma before it.
        text.push_str(if text.len() > 1 { columns } else { columns.strip_prefix(',').unwrap_or(columns) });
        text.push('}');
        Ok(text)
    }
}

/// Checks a value to look for in a column.
fn check_column(name: &str, json: &str) -> Result<()> {
    check("a column", name)?;
    match serde_json::from_str(json) {
        Ok(Value::String(text)) if text.is_empty() => Ok(()),
        Ok(Value::String(text)) => check("a value", &text),
        Ok(Value::Bool(_) | Value::Number(_)) => Ok(()),
        _ => Err(refuse(format!(
            "looks in {} for {}; text, a number, true and false can be found",
            Excerpt(name),
            Excerpt(json)
        ))),
    }
}

fn refuse(why: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("the filter {why}"))
}

/// Checks a text to search for. An empty one is probably a mistake, and would fit every item.
fn check(what: &str, text: &str) -> Result<()> {
    let units = text.encode_utf16().count();
    if text.is_empty() {
        return Err(refuse(format!("looks for {what} that is empty; leave it out")));
    }
    if text.contains('\0') {
        return Err(refuse(format!("looks for {what} with U+0000 in it, which neither server stores in text")));
    }
    if units > LONGEST_TEXT {
        return Err(refuse(format!("looks for {what} of {units} characters; {LONGEST_TEXT} are the most")));
    }
    Ok(())
}

fn array(key: &str) -> Result<Value> {
    let array = serde_json::from_str(key).ok().filter(Value::is_array);
    array.ok_or_else(|| refuse(format!("has the key {}, which is no JSON array of the key's columns", Excerpt(key))))
}

fn state(word: &str) -> Result<ItemState> {
    word.parse().map_err(|()| {
        let known: Vec<_> = ItemState::ALL.iter().map(|state| state.as_str()).collect();
        refuse(format!("has the status {}; there are {}", Excerpt(word), known.join(", ")))
    })
}

fn texts(name: &str, value: Value) -> Result<Vec<String>> {
    let wrong = || refuse(format!("has a {name:?} that is not an array of texts"));
    let Value::Array(values) = value else { return Err(wrong()) };
    values.into_iter().map(|value| if let Value::String(text) = value { Ok(text) } else { Err(wrong()) }).collect()
}

fn one_text(name: &str, value: Value) -> Result<String> {
    if let Value::String(text) = value { Ok(text) } else { Err(refuse(format!("has a {name:?} that is not text"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_sent_as_it_was_read() {
        let filter = Filter::from_json(
            r#"{"keys": ["a"], "status": ["Failed", "Error"], "types": ["T"], "before": "2026-11-21",
                "after": null, "error": "100%_[x]'\"", "longer_ms": 300000,
                "columns": {"N": 9007199254740993.10, "Payload.id": "x"}}"#,
        )
        .unwrap();
        let again = Filter::from_json(&filter.to_json(false).unwrap()).unwrap();
        assert_eq!(again.columns, filter.columns);
        assert_eq!(filter.columns[0], ("N".to_owned(), "9007199254740993.10".to_owned()));
        let filter = Filter { columns: Vec::new(), ..filter };
        assert_eq!(filter.states, [ItemState::Failed, ItemState::Error]);
        let sent: Value = serde_json::from_str(&filter.to_json(false).unwrap()).unwrap();
        assert_eq!(
            sent,
            json!({
                "keys": ["a"], "status": ["Failed", "Error"], "types": ["T"],
                "before": "2026-11-21T00:00:00.0000000", "error": "100%_[x]'\"",
                "longer_ms": 300_000
            })
        );
        assert_eq!(Filter::default().to_json(false).unwrap(), "{}");
        assert_eq!(Filter::of_keys([""; 0]).to_json(false).unwrap(), r#"{"keys":[]}"#, "no key is not every key");
    }

    #[test]
    fn keys_of_many_columns_travel_as_arrays() {
        let filter = Filter::of_keys([r#"["a\"", "1"]"#, r#"["b", 2]"#]);
        assert_eq!(filter.to_json(true).unwrap(), r#"{"keys":[["a\"","1"],["b",2]]}"#);
        for wrong in ["a", "{}", "[1"] {
            let error = Filter::of_keys([wrong]).to_json(true).unwrap_err();
            assert!(error.message().contains(&format!("{wrong:?}")), "{error}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("[]", "JSON object"),
            ("{", "JSON object"),
            (r#"{"state": ["Failed"]}"#, "\"state\""),
            (r#"{"status": "Failed"}"#, "\"status\""),
            (r#"{"status": []}"#, "empty"),
            (r#"{"status": ["failed"]}"#, "\"failed\""),
            (r#"{"keys": [1]}"#, "\"keys\""),
            (r#"{"keys": [""]}"#, "empty"),
            (r#"{"types": {}}"#, "\"types\""),
            (r#"{"before": "yesterday"}"#, "yesterday"),
            (r#"{"after": 5}"#, "\"after\""),
            (r#"{"error": ""}"#, "empty"),
            (r#"{"error": "a\u0000b"}"#, "U+0000"),
            (r#"{"longer_ms": "5m"}"#, "\"longer_ms\""),
            (r#"{"longer_ms": 1.5}"#, "whole"),
            (r#"{"longer_ms": -1}"#, "from 0"),
            (r#"{"columns": []}"#, "no object"),
            (r#"{"columns": {"A": null}}"#, "for \"null\""),
            (r#"{"columns": {"A": {}}}"#, "can be found"),
            (r#"{"columns": {"": 1}}"#, "empty"),
            (r#"{"columns": {"A": "\u0000"}}"#, "U+0000"),
        ] {
            let error = Filter::from_json(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().starts_with("the filter") && error.message().contains(part), "{error}");
        }
        let many = Filter::of_keys((0..1001).map(|i| i.to_string()));
        assert!(many.to_json(false).unwrap_err().message().contains("1001"));
        let long = Filter { error: Some("x".repeat(4001)), ..Filter::default() };
        assert!(long.to_json(false).unwrap_err().message().contains("4001"));
    }
}
