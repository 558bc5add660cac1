//! Checks new items against the queue's description: a mistake names its item and column before anything is sent.

use super::value::{by_place, check_step, column_of, put_due, put_object, shown};
use super::{ColumnKind, ColumnSpec, KeySource, QueueSpec, Storage};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::item::{After, Columns, MAX_ITEMS, NewItem, Trace, is_utc};
use serde_json::{Map, Value, json};

/// An item that fits its queue, in the form to be sent.
pub(crate) struct CheckedItem {
    /// All but the columns.
    head: Map<String, Value>,
    /// The columns under the queue's names, each as JSON.
    pub(crate) columns: Vec<(String, String)>,
}

/// An item as it was given, and in the form to be sent.
pub(crate) type Sendable<'a> = (&'a NewItem, &'a CheckedItem);

/// Checks each of `items`.
pub(crate) fn check_items(spec: &QueueSpec, items: &[NewItem]) -> Result<Vec<CheckedItem>> {
    let given = given(spec);
    let check = |(i, item): (usize, &NewItem)| {
        let checked = after_earlier(i, item).and_then(|after| {
            let mut checked = check_item(spec, &given, item)?;
            checked.head.extend(after.map(|after| ("after".to_owned(), after)));
            Ok(checked)
        });
        checked.map_err(|why| refuse(&format!("item {i}: {why}")))
    };
    items.iter().enumerate().map(check).collect()
}

/// The items for which an item waits, by their places in its part of the call. They are earlier ones, so that none waits for itself, by
/// way of others neither.
fn after_earlier(place: usize, item: &NewItem) -> Result<Option<Value>, String> {
    if item.after.is_empty() {
        return Ok(None);
    }
    let first = place - place % MAX_ITEMS as usize;
    let in_part = |after: &After| match after {
        After::Item(other) if *other >= place => {
            Err(format!("it can wait for earlier items of the call only, not for item {other}"))
        }
        After::Item(other) if *other < first => Err(format!(
            "it cannot wait for item {other}, which is enqueued before, {MAX_ITEMS} items in a commit; give its key"
        )),
        After::Item(other) => Ok(After::Item(other - first)),
        After::Key(key) if is_utc(key) => Ok(after.clone()),
        After::Key(key) => Err(format!("{} is no key of an item to wait for", Excerpt(key))),
    };
    let after: Vec<_> = item.after.iter().map(in_part).collect::<Result<_, _>>()?;
    Ok(Some(After::list(&after)))
}

/// The array that the procedures read.
pub(crate) fn items_to_json<'a>(items: impl Iterator<Item = &'a CheckedItem>) -> String {
    let mut out = String::from("[");
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push('{');
        for (name, value) in &item.head {
            out.push_str(&format!("{}:{value},", json!(name)));
        }
        out.push_str("\"columns\":");
        put_object(&mut out, &item.columns);
        out.push('}');
    }
    out.push(']');
    out
}

impl QueueSpec {
    /// Checks an item as [`crate::Queue::enqueue`] does, for a program that reads items one by one and names each mistake in its
    /// place.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] says what does not fit the queue.
    pub fn check_item(&self, item: &NewItem) -> Result<()> {
        check_item(self, &given(self), item).map(drop).map_err(|why| refuse(&why))
    }
}

/// The columns that a producer may give: the queue's own and, of a described table, its key and its time of enqueueing.
fn given(spec: &QueueSpec) -> Vec<ColumnSpec> {
    let mut given = spec.columns.clone();
    if let Storage::Table(table) = &spec.storage {
        let keys = table.key.iter().filter(|column| column.source == KeySource::Producer);
        // A GUID that is left out is made.
        given.extend(keys.map(|key| {
            let nullable = key.kind == ColumnKind::Guid;
            ColumnSpec { nullable, ..ColumnSpec::new(key.name.clone(), key.kind) }
        }));
        let enqueued = table.lifecycle.enqueued.iter().cloned();
        given.extend(enqueued.map(|name| ColumnSpec::new(name, ColumnKind::Timestamp)));
    }
    given
}

fn check_item(spec: &QueueSpec, given: &[ColumnSpec], item: &NewItem) -> Result<CheckedItem, String> {
    let mut head = Map::new();
    if let Some(kind) = &item.kind {
        if !spec.types.contains(kind) {
            return Err(format!("queue {} has no type {}; it has {:?}", spec.queue, Excerpt(kind), spec.types));
        }
        head.insert("type".to_owned(), json!(kind));
    }
    if let Some(step) = &item.step {
        check_step(&spec.steps, step)?;
        head.insert("step".to_owned(), json!(step));
    }
    put_due(&mut head, item.delay_ms, item.due.as_deref())?;
    if !item.after.is_empty() {
        if !spec.after {
            return Err(format!(
                "the description of queue {} lacks \"after = true\": its items wait for none",
                spec.queue
            ));
        }
        head.insert("on_failed".to_owned(), json!(item.on_failed.as_str()));
    }
    let mut columns = item_columns(spec, given, item)?;
    columns.extend(trace_of(spec, item, &columns));
    Ok(CheckedItem { head, columns })
}

/// The column with the item's trace context, as much of it as fits. It has no effect on the item: a malformed one is left out,
/// and so is one without a column.
fn trace_of(spec: &QueueSpec, item: &NewItem, given: &[(String, String)]) -> Option<(String, String)> {
    let name = spec.trace.as_ref()?.as_str();
    let most = spec.columns.iter().find(|column| column.name.as_str() == name)?.kind.most_chars()?;
    let trace = Trace::new(item.traceparent.as_deref()?, item.tracestate.as_deref())?;
    let is_given = given.iter().any(|(given, value)| given == name && value != "null");
    (!is_given).then(|| (name.to_owned(), json!(trace.text(most)).to_string()))
}

/// The columns of an item, with those of its subtypes in objects of their own.
fn item_columns(spec: &QueueSpec, given: &[ColumnSpec], item: &NewItem) -> Result<Vec<(String, String)>, String> {
    let subtypes = spec.subtypes.iter().map(|subtype| subtype.name.as_str());
    let names: Vec<_> = given.iter().map(|column| column.name.as_str()).chain(subtypes).collect();
    let mut out = Vec::new();
    let mut of_subtypes: Vec<Option<&str>> = vec![None; spec.subtypes.len()];
    for (place, value) in by_place(spec, &names, names.len(), "", &item.columns)? {
        match given.get(place) {
            Some(column) => out.push(column_of(column, "", value)?),
            None => of_subtypes[place - given.len()] = Some(value).filter(|value| *value != "null"),
        }
    }
    must_have_values(given, "", &out)?;
    let kind = item.kind.as_deref().or(spec.types.first().map(String::as_str)).unwrap_or_default();
    for (subtype, value) in spec.subtypes.iter().zip(of_subtypes) {
        let name = subtype.name.as_str();
        let Some(value) = value else {
            if subtype.exclusive && kind == name {
                return Err(format!(
                    "column {name:?}: an item of the type {name:?} must have an object with its columns"
                ));
            }
            continue;
        };
        if subtype.exclusive && kind != name {
            return Err(format!("column {name:?}: only items of the type {name:?} have these columns, not {kind:?}"));
        }
        let columns = Columns::from_json(value)
            .map_err(|_| format!("column {name:?} takes an object with the subtype's columns, not {}", shown(value)))?;
        let prefix = format!("{name}.");
        let names: Vec<_> = subtype.columns.iter().map(|column| column.name.as_str()).collect();
        let columns = by_place(spec, &names, names.len(), &prefix, &columns)?
            .into_iter()
            .map(|(place, value)| column_of(&subtype.columns[place], &prefix, value))
            .collect::<Result<Vec<_>, String>>()?;
        must_have_values(&subtype.columns, &prefix, &columns)?;
        let mut object = String::new();
        put_object(&mut object, &columns);
        out.push((name.to_owned(), object));
    }
    Ok(out)
}

fn must_have_values(columns: &[ColumnSpec], prefix: &str, given: &[(String, String)]) -> Result<(), String> {
    let lacks = |column: &&ColumnSpec| {
        let value = given.iter().find(|(given, _)| given == column.name.as_str());
        !column.nullable && value.map_or(column.default.is_none(), |(_, value)| value == "null")
    };
    match columns.iter().find(lacks) {
        Some(column) => Err(format!("column {:?} must have a value", format!("{prefix}{}", column.name.as_str()))),
        None => Ok(()),
    }
}

fn refuse(why: &str) -> Error {
    Error::new(ErrorKind::InvalidItem, why)
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
        NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
    }

    fn items_to_json(spec: &QueueSpec, items: &[NewItem]) -> Result<String> {
        check_items(spec, items).map(|items| super::items_to_json(items.iter()))
    }

    #[test]
    fn numbers_keep_all_their_digits() {
        let columns = r#"{"I": 1, "D": 12.50, "J": {"b": 123456789012345678901234567890, "a": [1.10, "\\u0000"]}}"#;
        let item = NewItem { columns: Columns::from_json(columns).unwrap(), ..NewItem::default() };
        let text = items_to_json(&spec(), &[item]).unwrap();
        assert!(text.contains(r#"{"b": 123456789012345678901234567890, "a": [1.10, "\\u0000"]}"#), "{text}");
        assert!(text.contains(r#""D":"12.50""#), "{text}");
    }

    #[test]
    fn the_case_of_letters_matters_only_where_names_differ_in_nothing_else() {
        let text = items_to_json(&spec(), &[item(json!({"i": 1, "DAY": "2026-11-21"}))]).unwrap();
        assert_eq!(text, r#"[{"columns":{"Day":"2026-11-21","I":1}}]"#, "under the queue's names");
        let twice = items_to_json(&spec(), &[item(json!({"i": 1, "I": 2}))]).unwrap_err();
        assert_eq!(twice.message(), r#"item 0: column "I" is given twice, as "I" and "i""#);
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
            of("Reset", json!({"RESET": {"code": 1}})),
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
