//! New items against the queue's description: a mistake is named with its item and column before anything is sent.

use super::{ColumnKind, ColumnSpec, KeySource, QueueSpec, Storage};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::ident::did_you_mean;
use crate::item::{NewItem, normalize_utc};
use serde_json::{Map, Value, json};

/// The longest delay the servers' time arithmetic takes in one step: `i32::MAX` seconds.
pub(crate) const MAX_DELAY_MS: i64 = i32::MAX as i64 * 1000;

/// `items` as the array that the procedures read, each checked.
pub(crate) fn items_to_json(spec: &QueueSpec, items: &[NewItem]) -> Result<String> {
    let given = given(spec);
    let items: Vec<_> =
        items.iter().enumerate().map(|(i, item)| item_to_json(spec, &given, i, item)).collect::<Result<_>>()?;
    Ok(Value::Array(items).to_string())
}

impl QueueSpec {
    /// Checks an item as [`crate::Queue::enqueue`] does, for who reads items one by one and would rather name each mistake
    /// where it was read.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] says what does not fit the queue.
    pub fn check_item(&self, item: &NewItem) -> Result<()> {
        match item_to_json(self, &given(self), 0, item) {
            Ok(_) => Ok(()),
            // There is one item only: its number would say nothing.
            Err(error) => Err(Error::new(error.kind(), error.message().trim_start_matches("item 0: "))),
        }
    }
}

/// The columns that a producer may give: the queue's own and, of an adopted table, its key and its time of enqueueing.
fn given(spec: &QueueSpec) -> Vec<ColumnSpec> {
    let mut given = spec.columns.clone();
    if let Storage::Table(table) = &spec.storage {
        let keys = table.key.iter().filter(|column| column.source == KeySource::Producer);
        // A GUID that is left out is made.
        given.extend(keys.map(|key| ColumnSpec {
            name: key.name.clone(),
            kind: key.kind,
            nullable: key.kind == ColumnKind::Guid,
        }));
        let enqueued = table.lifecycle.enqueued.iter().cloned();
        given.extend(enqueued.map(|name| ColumnSpec { name, kind: ColumnKind::Timestamp, nullable: true }));
    }
    given
}

fn item_to_json(spec: &QueueSpec, given: &[ColumnSpec], index: usize, item: &NewItem) -> Result<Value> {
    let mut out = Map::new();
    if let Some(kind) = &item.kind {
        if !spec.types.contains(kind) {
            return Err(refuse(
                index,
                format!("queue {} has no type {}; it has {:?}", spec.queue, Excerpt(kind), spec.types),
            ));
        }
        out.insert("type".to_owned(), json!(kind));
    }
    if let Some(step) = &item.step {
        check_text(step, Some(60)).map_err(|why| refuse(index, format!("the step {why}")))?;
        out.insert("step".to_owned(), json!(step));
    }
    put_due(&mut out, item.delay_ms, item.due.as_deref()).map_err(|why| refuse(index, why))?;
    let columns = item_columns(spec, given, item).map_err(|why| refuse(index, why))?;
    out.insert("columns".to_owned(), Value::Object(columns));
    Ok(Value::Object(out))
}

/// Puts a delay or a due time into an element that travels to the server, or says what is wrong with it.
pub(crate) fn put_due(out: &mut Map<String, Value>, delay_ms: Option<i64>, due: Option<&str>) -> Result<(), String> {
    match (delay_ms, due) {
        (None, None) => {}
        (Some(_), Some(_)) => return Err("give a delay or a due time, not both".to_owned()),
        (Some(delay), None) if (0..=MAX_DELAY_MS).contains(&delay) => {
            out.insert("delay_ms".to_owned(), json!(delay));
        }
        (Some(delay), None) => return Err(format!("the delay of {delay} ms is not from 0 to {MAX_DELAY_MS}")),
        (None, Some(due)) => {
            let time = normalize_utc(due)
                .ok_or_else(|| format!("the due time {} is not a UTC time like 2026-11-21T08:30:00Z", Excerpt(due)))?;
            out.insert("due".to_owned(), json!(time));
        }
    }
    Ok(())
}

/// Checks that text can be stored: no U+0000, and not more UTF-16 units than `most`.
pub(crate) fn check_text(text: &str, most: Option<usize>) -> Result<(), String> {
    if text.contains('\0') {
        return Err("contains U+0000, which neither server stores in text".to_owned());
    }
    match most {
        Some(most) if text.encode_utf16().count() > most => {
            Err(format!("is {} characters long; {most} are the most", text.encode_utf16().count()))
        }
        _ => Ok(()),
    }
}

/// The columns of an item, with those of its subtypes in objects of their own.
fn item_columns(spec: &QueueSpec, given: &[ColumnSpec], item: &NewItem) -> Result<Map<String, Value>, String> {
    if spec.subtypes.is_empty() {
        return columns_to_json(spec, given, "", item.columns.iter());
    }
    let of_subtype = |name: &str| spec.subtypes.iter().find(|subtype| subtype.name.as_str() == name);
    let own = item.columns.iter().filter(|(name, _)| of_subtype(name).is_none());
    let mut out = columns_to_json(spec, given, "", own)?;
    let kind = item.kind.as_deref().or(spec.types.first().map(String::as_str)).unwrap_or_default();
    for subtype in &spec.subtypes {
        let name = subtype.name.as_str();
        let value = item.columns.get(name).filter(|value| !value.is_null());
        match value {
            None if subtype.exclusive && kind == name => {
                return Err(format!(
                    "column {name:?}: an item of the type {name:?} must have an object with its columns"
                ));
            }
            None => {}
            Some(_) if subtype.exclusive && kind != name => {
                return Err(format!(
                    "column {name:?}: only items of the type {name:?} have these columns, not {kind:?}"
                ));
            }
            Some(Value::Object(columns)) => {
                let columns = columns_to_json(spec, &subtype.columns, &format!("{name}."), columns.iter())?;
                out.insert(name.to_owned(), Value::Object(columns));
            }
            Some(value) => {
                return Err(format!(
                    "column {name:?} takes an object with the subtype's columns, not {}",
                    shown(value)
                ));
            }
        }
    }
    Ok(out)
}

/// What was given, checked against `columns`; `prefix` stands before their names in errors.
fn columns_to_json<'a>(
    spec: &QueueSpec,
    columns: &[ColumnSpec],
    prefix: &str,
    given: impl Iterator<Item = (&'a String, &'a Value)>,
) -> Result<Map<String, Value>, String> {
    let mut out = Map::new();
    for (name, value) in given {
        let Some(column) = columns.iter().find(|column| column.name.as_str() == name) else {
            let mut known: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
            if prefix.is_empty() {
                known.extend(spec.subtypes.iter().map(|subtype| subtype.name.as_str()));
            }
            let column = format!("{prefix}{name}");
            let near = did_you_mean(name, known.iter().copied());
            let column = Excerpt(&column);
            return Err(format!("queue {} has no column {column}{near}; it has {}", spec.queue, known.join(", ")));
        };
        let value = column_value(column, value)
            .map_err(|why| format!("column {:?} ({}) {why}", format!("{prefix}{name}"), column.kind))?;
        out.insert(name.clone(), value);
    }
    for column in columns {
        if !column.nullable && out.get(column.name.as_str()).is_none_or(Value::is_null) {
            return Err(format!("column {:?} must have a value", format!("{prefix}{}", column.name.as_str())));
        }
    }
    Ok(out)
}

/// The value as it is sent, or what is wrong with it.
fn column_value(column: &ColumnSpec, value: &Value) -> Result<Value, String> {
    let wrong = || Err(format!("does not take {}", shown(value)));
    match (column.kind, value) {
        (_, Value::Null) => Ok(Value::Null),
        (ColumnKind::Text(length), Value::String(text)) => {
            check_text(text, length.map(usize::from)).map(|()| value.clone())
        }
        (ColumnKind::Integer, Value::Number(number)) => match number.as_i64() {
            Some(number) if i32::try_from(number).is_ok() => Ok(value.clone()),
            _ => wrong(),
        },
        (ColumnKind::BigInteger, Value::Number(number)) if number.as_i64().is_some() => Ok(value.clone()),
        (ColumnKind::Boolean, Value::Bool(_)) | (ColumnKind::Float, Value::Number(_)) => Ok(value.clone()),
        // Decimals may come as text, since a JSON number of many digits rarely survives its reader.
        (ColumnKind::Decimal(precision, scale), Value::String(_) | Value::Number(_)) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if is_decimal(&text, precision.into(), scale.into()) { Ok(Value::String(text)) } else { wrong() }
        }
        (ColumnKind::Timestamp, Value::String(text)) => normalize_utc(text).map_or_else(wrong, |time| Ok(json!(time))),
        (ColumnKind::Date, Value::String(text)) if !text.contains([':', 'T', ' ']) => match normalize_utc(text) {
            Some(time) => Ok(json!(time[..10])),
            None => wrong(),
        },
        (ColumnKind::Guid, Value::String(text)) if is_guid(text) => Ok(value.clone()),
        (ColumnKind::Json, Value::Object(_) | Value::Array(_)) => {
            if value.to_string().contains("\\u0000") {
                return Err("contains U+0000, which neither server stores in text".to_owned());
            }
            Ok(value.clone())
        }
        _ => wrong(),
    }
}

fn is_decimal(text: &str, precision: usize, scale: usize) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    !whole.is_empty()
        && all_digits(whole)
        && all_digits(fraction)
        && whole.trim_start_matches('0').len() + scale <= precision
        && fraction.len() <= scale
}

fn is_guid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// A value for a message, cut short.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn refuse(index: usize, why: String) -> Error {
    Error::new(ErrorKind::InvalidItem, format!("item {index}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> QueueSpec {
        QueueSpec::from_json(
            r#"{"queue": "Q", "types": ["A"], "columns": [
                {"name": "T", "type": "text(3)"}, {"name": "I", "type": "integer", "nullable": false},
                {"name": "D", "type": "decimal(4, 2)"}, {"name": "W", "type": "timestamp"},
                {"name": "G", "type": "guid"}, {"name": "J", "type": "json"}, {"name": "Day", "type": "date"}]}"#,
        )
        .unwrap()
    }

    fn item(columns: Value) -> NewItem {
        NewItem { columns: columns.as_object().unwrap().clone(), ..NewItem::default() }
    }

    #[test]
    fn good_items_pass() {
        let columns = json!({
            "I": 1, "T": "\u{1f600}", "D": "12.5", "W": "2026-11-21", "Day": "2026-11-21", "J": {"a": [1]},
            "G": "d6513312-4dcc-4c44-b044-08b98257037c"
        });
        let text = items_to_json(&spec(), &[item(columns), item(json!({"I": -5, "T": null, "D": 99.99}))]).unwrap();
        assert!(text.contains("2026-11-21T00:00:00.0000000") && text.contains("\"2026-11-21\""), "{text}");
    }

    #[test]
    fn bad_items_are_named_with_their_place() {
        for (columns, part) in [
            (json!({}), "\"I\" must have a value"),
            (json!({"I": null}), "\"I\" must have a value"),
            (json!({"I": 1, "X": 1}), "no column \"X\""),
            (json!({"I": "1"}), "does not take \"1\""),
            (json!({"I": 2147483648_i64}), "does not take 2147483648"),
            (json!({"I": 1.5}), "does not take 1.5"),
            (json!({"I": 1, "T": "four"}), "4 characters"),
            (json!({"I": 1, "T": "\u{1f600}\u{1f600}"}), "4 characters"),
            (json!({"I": 1, "T": "a\u{0}b"}), "U+0000"),
            (json!({"I": 1, "J": {"x": "a\u{0}b"}}), "U+0000"),
            (json!({"I": 1, "J": "text"}), "does not take"),
            (json!({"I": 1, "D": "123.4"}), "does not take"),
            (json!({"I": 1, "D": "1e2"}), "does not take"),
            (json!({"I": 1, "D": "1.234"}), "does not take"),
            (json!({"I": 1, "W": "tomorrow"}), "does not take"),
            (json!({"I": 1, "Day": "2026-11-21T00:00"}), "does not take"),
            (json!({"I": 1, "G": "x"}), "does not take"),
        ] {
            let error = items_to_json(&spec(), &[item(json!({"I": 0})), item(columns)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidItem);
            assert!(error.message().starts_with("item 1:") && error.message().contains(part), "{error}");
        }
        let wrong_type = NewItem { kind: Some("B".into()), ..item(json!({"I": 1})) };
        assert!(items_to_json(&spec(), &[wrong_type]).unwrap_err().message().contains("no type \"B\""));
        let late = NewItem { delay_ms: Some(-1), ..item(json!({"I": 1})) };
        assert!(items_to_json(&spec(), &[late]).unwrap_err().message().contains("-1"));
    }

    #[test]
    fn a_producer_gives_its_keys_and_the_time_of_enqueueing() {
        let spec = QueueSpec::from_json(
            r#"{"queue": "Q", "table": {"name": "t", "key": [{"name": "Id", "type": "guid"}, {"name": "No", "type": "text(4)"}],
                "lifecycle": {"enqueued": "CreatedAt"},
                "status": {"column": "S", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}},
                "columns": [{"name": "Body", "type": "text"}]}"#,
        )
        .unwrap();
        let text = items_to_json(&spec, &[item(json!({"No": "a", "CreatedAt": "2026-11-21T08:30:00Z"}))]).unwrap();
        assert!(text.contains("2026-11-21T08:30:00.0000000"), "{text}");
        for (columns, part) in [
            (json!({}), "\"No\" must have a value"),
            (json!({"No": "abcde"}), "5 characters"),
            (json!({"No": "a", "Id": "x"}), "\"Id\" (guid) does not take"),
            (json!({"No": "a", "S": 1}), "no column \"S\""),
        ] {
            let error = items_to_json(&spec, &[item(columns)]).unwrap_err();
            assert!(error.message().starts_with("item 0:") && error.message().contains(part), "{error}");
        }
    }

    #[test]
    fn an_exclusive_subtype_goes_with_its_type_and_with_no_other() {
        let spec = QueueSpec::from_json(
            r#"{"queue": "Q", "types": ["Reset", "Email"], "columns": [{"name": "To", "type": "text"}], "subtypes": [
                {"name": "Reset", "exclusive": true, "columns": [{"name": "Code", "type": "integer", "nullable": false}]},
                {"name": "Mail", "columns": [{"name": "Subject", "type": "text(5)"}]}]}"#,
        )
        .unwrap();
        let of = |kind: &str, columns| NewItem { kind: Some(kind.to_owned()), ..item(columns) };
        let good = [
            item(json!({"Reset": {"Code": 1}})),
            of("Email", json!({"To": "a", "Mail": {"Subject": "hi"}, "Reset": null})),
            of("Email", json!({})),
        ];
        let text = items_to_json(&spec, &good).unwrap();
        assert!(text.contains(r#""Reset":{"Code":1}"#) && text.contains(r#""Mail":{"Subject":"hi"}"#), "{text}");
        for (bad, part) in [
            (item(json!({})), "\"Reset\": an item of the type"),
            (of("Email", json!({"Reset": {"Code": 1}})), "only items of the type \"Reset\""),
            (of("Reset", json!({"Reset": {}})), "\"Reset.Code\" must have a value"),
            (of("Reset", json!({"Reset": {"Code": "x"}})), "\"Reset.Code\" (integer) does not take"),
            (of("Email", json!({"Mail": {"Subject": "longer"}})), "\"Mail.Subject\" (text(5)) is 6 characters"),
            (of("Email", json!({"Mail": {"X": 1}})), "no column \"Mail.X\""),
            (of("Email", json!({"Mail": "x"})), "takes an object"),
        ] {
            let error = items_to_json(&spec, &[bad]).unwrap_err();
            assert!(error.message().contains(part), "{error}");
        }
    }
}
