//! Items without a queue, to test a handler without a database.

use super::base64::from_base64;
use super::{Batch, Cell, Column, ColumnType, ItemState, Life, Rows, answer_column, normalize_utc};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::{did_you_mean, find_name};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// The names of the answer columns, which stand before the item's own.
const ANSWER: [&str; answer_column::COUNT] = ["Answer", "Ordinal", "DueMs", "Key", "Token", "AttemptNum", "Status"];

/// The members of an item.
const MEMBERS: [&str; 10] =
    ["key", "token", "attempt", "state", "type", "step", "due", "enqueued", "lease_until", "columns"];

/// The members that are columns of the life cycle.
const LIVED: [(&str, Life); 5] = [
    ("type", Life::Kind),
    ("step", Life::Step),
    ("due", Life::Due),
    ("enqueued", Life::Enqueued),
    ("lease_until", Life::LeaseUntil),
];

/// The shape of a queue's items.
pub(crate) struct Shape<'a> {
    /// The columns that each has, besides those that an item is given.
    pub(crate) known: Vec<Column>,
    /// The column with the trace context.
    pub(crate) trace: Option<&'a str>,
    /// Whether the columns of the life cycle have their names of an own table.
    pub(crate) own: bool,
    /// Whether a column of this name is that of the life cycle.
    pub(crate) shows: Shows<'a>,
}

type Shows<'a> = &'a dyn Fn(Life, &str) -> bool;

/// The most items of one claim, and so of one batch.
const MOST: usize = 1000;

type Object = BTreeMap<String, Box<RawValue>>;

impl Batch {
    /// Items for the test of a handler, without a queue or a server: an array like `[{"columns": {"Recipient":
    /// "a@example.org"}}]`. An item may also have `key`, `token`, `attempt` (1 when left out), `state` (Processing), and
    /// `type`, `step`, `due`, `enqueued` and `lease_until`, which become columns like `ScheduledFor`. The columns' types follow from
    /// their values; [`QueueSpec::batch_from_json`] knows them.
    ///
    /// [`QueueSpec::batch_from_json`]: crate::QueueSpec::batch_from_json
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] names the item that cannot be made.
    pub fn from_json(items: &str) -> Result<Self> {
        let shows = |life: Life, name: &str| life.is_called(name, true) || life.is_called(name, false);
        made(items, Shape { known: Vec::new(), trace: None, own: true, shows: &shows })
    }
}

/// The items of the array `items`, in this shape.
pub(crate) fn made(items: &str, shape: Shape<'_>) -> Result<Batch> {
    let Shape { known, trace, own, shows } = shape;
    let items: Vec<Object> = serde_json::from_str(items).map_err(|error| {
        let why = format!("the items are not a JSON array of objects like [{{\"columns\": {{}}}}]: {error}");
        Error::new(ErrorKind::InvalidItem, why)
    })?;
    if items.len() > MOST {
        let why = format!("there are {} items; {MOST} are the most of a batch", items.len());
        return Err(Error::new(ErrorKind::InvalidItem, why));
    }
    let heads = each(&items, |i, item| Head::read(i, item, own, shows))?;
    let columns = columns(known, &heads, &|name| LIVED.iter().any(|(_, life)| life.is_time() && shows(*life, name)))?;
    let mut rows = Rows::new(columns.clone().into());
    each(&heads, |_, head| head.put(&columns, &mut rows))?;
    if let Some(trace) = trace {
        rows.say_trace(trace);
    }
    rows.say_life(shows);
    Ok(if rows.is_empty() { Batch::default() } else { Batch::new(rows, 0) })
}

/// Runs `work` for each item; an error names the item.
fn each<T, R>(items: &[T], work: impl FnMut(usize, &T) -> Result<R, String>) -> Result<Vec<R>> {
    let mut work = work;
    let place = |(i, item)| work(i, item).map_err(|why| Error::new(ErrorKind::InvalidItem, format!("item {i}: {why}")));
    items.iter().enumerate().map(place).collect()
}

/// An item as it was given.
struct Head {
    key: String,
    token: String,
    attempt: i32,
    state: ItemState,
    columns: Object,
}

impl Head {
    fn read(i: usize, item: &Object, own: bool, shows: Shows<'_>) -> Result<Self, String> {
        if let Some(name) = item.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            let near = did_you_mean(name, MEMBERS);
            return Err(format!("there is no member {name:?}{near}; there are {}", MEMBERS.join(", ")));
        }
        let text = |name: &str| match item.get(name) {
            None => Ok(format!("{name}-{i}")),
            Some(value) => match text_of(value.get()) {
                Some(text) if !text.is_empty() && !text.contains('\0') => Ok(text),
                _ => Err(format!("{name:?} must be text, and not empty: {}", value.get())),
            },
        };
        let attempt =
            item.get("attempt").map_or(Ok(1), |value| value.get().parse().ok().filter(|n| *n >= 0).ok_or(value));
        let state = item.get("state").map_or(Ok(ItemState::Processing), |value| {
            text_of(value.get()).and_then(|word| word.parse().ok()).ok_or(value)
        });
        let mut columns = item.get("columns").map_or(Ok(Object::new()), |value| {
            serde_json::from_str(value.get()).map_err(|error| format!("\"columns\" must be an object: {error}"))
        })?;
        for (member, life) in LIVED {
            let Some(value) = item.get(member) else { continue };
            let text = text_of(value.get()).filter(|text| !text.contains('\0'));
            let text = if life.is_time() { text.and_then(|text| normalize_utc(&text)) } else { text };
            let what = if life.is_time() { "a UTC time like 2026-11-21T08:30:00Z" } else { "text" };
            let text = text.ok_or_else(|| format!("{member:?} must be {what}: {}", value.get()))?;
            if columns.keys().any(|name| shows(life, name)) {
                return Err(format!("{member:?} is given twice, as a member and among the columns"));
            }
            columns.insert(life.name(own).to_owned(), to_raw_value(&text).unwrap_or_default());
        }
        Ok(Self {
            key: text("key")?,
            token: text("token")?,
            attempt: attempt.map_err(|value| format!("\"attempt\" must be a whole number from 0 on: {value}"))?,
            state: state.map_err(|value| format!("\"state\" must be a state like \"Processing\": {value}"))?,
            columns,
        })
    }

    /// The value of a column, whatever the case of its name.
    fn value(&self, column: &str) -> Option<&str> {
        let value = self.columns.get(column).or_else(|| {
            let place = find_name(column, self.columns.keys().map(String::as_str)).found()?;
            self.columns.values().nth(place)
        });
        value.map(|value| value.get())
    }

    fn put(&self, columns: &[Column], rows: &mut Rows) -> Result<(), String> {
        rows.push_text(|text| text.push_str("CLAIMED"));
        rows.push(Cell::Null);
        rows.push(Cell::Null);
        rows.push_text(|text| text.push_str(&self.key));
        rows.push_text(|text| text.push_str(&self.token));
        rows.push(Cell::Integer(self.attempt.into()));
        rows.push_text(|text| text.push_str(self.state.as_str()));
        for column in columns.iter().skip(ANSWER.len()) {
            let json = self.value(&column.name).unwrap_or("null");
            put_value(column.kind, json, rows)
                .ok_or_else(|| format!("column {:?} ({:?}) does not take {json}", column.name, column.kind))?;
        }
        Ok(())
    }
}

/// The columns of all items: the answer's, the known ones, and the items' other members, with types by their values; `is_time` holds
/// for the times of the life cycle, which JSON has as text.
fn columns(known: Vec<Column>, heads: &[Head], is_time: &dyn Fn(&str) -> bool) -> Result<Vec<Column>> {
    let kind_in = |name: &str, json: &str| match kind_of(json) {
        Some(ColumnType::Text) if is_time(name) && text_of(json).is_some_and(|text| normalize_utc(&text).is_some()) => {
            Some(ColumnType::Timestamp)
        }
        kind => kind,
    };
    let answer = ANSWER.map(|name| Column { name: name.to_owned(), kind: ColumnType::Text });
    let mut columns: Vec<Column> = answer.into_iter().chain(known).collect();
    let described = columns.len();
    each(heads, |_, head| {
        for (name, value) in &head.columns {
            let names = columns.iter().skip(ANSWER.len()).map(|column| column.name.as_str());
            let place = find_name(name, names).found().map(|place| place + ANSWER.len());
            let kind = kind_in(name, value.get());
            match (place, kind) {
                (None, kind) => columns.push(Column { name: name.clone(), kind: kind.unwrap_or(ColumnType::Text) }),
                (Some(place), _) if place < described => {}
                (Some(_), None) => {}
                (Some(place), Some(kind)) => {
                    let so_far = heads.iter().filter_map(|head| kind_in(name, head.value(&columns[place].name)?));
                    let all = so_far.into_iter().try_fold(kind, common);
                    columns[place].kind = all.ok_or_else(|| {
                        format!("column {name:?} has values of different types; a description would decide")
                    })?;
                }
            }
        }
        Ok(())
    })?;
    Ok(columns)
}

/// The type of a value without a description; `None` for null.
fn kind_of(json: &str) -> Option<ColumnType> {
    Some(match json.as_bytes().first()? {
        b'n' => return None,
        b't' | b'f' => ColumnType::Boolean,
        b'"' => ColumnType::Text,
        b'{' | b'[' => ColumnType::Json,
        _ if json.parse::<i64>().is_ok() => ColumnType::Integer,
        _ => ColumnType::Float,
    })
}

fn common(one: ColumnType, other: ColumnType) -> Option<ColumnType> {
    let number = |kind| matches!(kind, ColumnType::Integer | ColumnType::Float);
    match (one, other) {
        (one, other) if one == other => Some(one),
        (one, other) if number(one) && number(other) => Some(ColumnType::Float),
        (ColumnType::Text, ColumnType::Timestamp) | (ColumnType::Timestamp, ColumnType::Text) => Some(ColumnType::Text),
        _ => None,
    }
}

/// Adds a value in the form of the server; `None` when the column does not take it.
fn put_value(kind: ColumnType, json: &str, rows: &mut Rows) -> Option<()> {
    let text = || text_of(json).filter(|text| !text.contains('\0'));
    if json == "null" {
        rows.push(Cell::Null);
        return Some(());
    }
    let text = match kind {
        ColumnType::Boolean => {
            rows.push(Cell::Boolean(json.parse().ok()?));
            return Some(());
        }
        ColumnType::Integer => {
            rows.push(Cell::Integer(json.parse().ok()?));
            return Some(());
        }
        ColumnType::Float => {
            rows.push(Cell::Float(json.parse().ok()?));
            return Some(());
        }
        ColumnType::Binary => {
            rows.push_bytes(&from_base64(&text()?)?);
            return Some(());
        }
        ColumnType::Timestamp => normalize_utc(&text()?)?,
        ColumnType::Decimal if !json.starts_with(['"', '{', '[', 't', 'f']) => json.to_owned(),
        // Text in such a column is taken literally, whether it is JSON or not.
        ColumnType::Json if !json.starts_with('"') => json.to_owned(),
        ColumnType::Text | ColumnType::Decimal | ColumnType::Date | ColumnType::Guid | ColumnType::Json => text()?,
    };
    rows.push_text(|arena| arena.push_str(&text));
    Some(())
}

fn text_of(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Value;

    #[test]
    fn an_item_has_its_members_and_is_a_first_attempt_by_default() {
        let batch = Batch::from_json(
            r#"[{"columns": {"Body": {"n": 1.10}, "To": "a"}},
                {"key": "k", "token": "t", "attempt": 3, "state": "Failed", "columns": {"to": null, "N": 5}}]"#,
        )
        .unwrap();
        let (first, second) = (batch.get(0).unwrap(), batch.get(1).unwrap());
        assert_eq!((first.key(), first.token(), first.attempt()), ("key-0", "token-0", 1));
        assert_eq!(first.state(), Some(ItemState::Processing));
        assert_eq!(first.to_json(), r#"{"Body":{"n": 1.10},"To":"a","N":null}"#);
        assert_eq!((second.key(), second.token(), second.attempt()), ("k", "t", 3));
        assert_eq!(second.state(), Some(ItemState::Failed));
        assert_eq!(second.value_of("n"), Some(Value::Integer(5)));
        assert!(Batch::from_json("[]").unwrap().is_empty());
    }

    #[test]
    fn an_item_has_a_life_cycle_by_any_name() {
        let batch = Batch::from_json(
            r#"[{"type": "Mail", "step": "sent", "due": "2026-11-21T09:30:00+01:00", "enqueued": "2026-11-20",
                 "lease_until": "2026-11-22"},
                {"columns": {"item_type": "Letter", "LEASEUNTIL": "2026-11-23", "EnqueuedAt": null}}]"#,
        )
        .unwrap();
        let (first, second) = (batch.get(0).unwrap(), batch.get(1).unwrap());
        assert_eq!((first.kind(), first.step()), (Some("Mail"), Some("sent")));
        assert_eq!(first.due(), Some("2026-11-21T08:30:00.0000000"));
        assert_eq!(first.enqueued(), Some("2026-11-20T00:00:00.0000000"));
        assert_eq!(first.lease_until(), Some("2026-11-22T00:00:00.0000000"));
        assert_eq!(first.value_of("scheduled_for"), first.value_of("ItemDueAt"));
        assert_eq!(first.value_of("item_due_at"), Some(Value::Text("2026-11-21T08:30:00.0000000")));
        assert_eq!(first.value_of("due"), None, "it is no column");
        assert_eq!(second.step(), None);
        assert_eq!((second.due(), second.enqueued()), (None, None));
        assert_eq!(second.lease_until(), Some("2026-11-23T00:00:00.0000000"));
        let types: Vec<_> = batch.columns().iter().filter(|column| column.kind == ColumnType::Timestamp).collect();
        assert_eq!(types.len(), 3);
    }

    #[test]
    fn a_column_of_the_items_own_is_not_hidden() {
        let batch =
            Batch::from_json(r#"[{"columns": {"scheduled_for": 5, "ItemDueAt": 6, "StartedAt": "soon"}}]"#).unwrap();
        let item = batch.get(0).unwrap();
        assert_eq!(
            (item.value_of("Scheduled_For"), item.value_of("ITEMDUEAT")),
            (Some(Value::Integer(5)), Some(Value::Integer(6)))
        );
        assert_eq!(item.value_of("started_at"), Some(Value::Text("soon")));
        assert_eq!(item.due(), None, "it is no time");
    }

    #[test]
    fn types_follow_from_all_values_of_a_column() {
        let batch = Batch::from_json(
            r#"[{"columns": {"F": 1, "B": null, "J": [1]}}, {"columns": {"F": 1.5, "B": true, "J": {}}}]"#,
        )
        .unwrap();
        let kinds: Vec<_> = batch.columns().iter().map(|column| (column.name.as_str(), column.kind)).collect();
        assert_eq!(kinds, [("B", ColumnType::Boolean), ("F", ColumnType::Float), ("J", ColumnType::Json)]);
        assert_eq!(batch.get(0).unwrap().value_of("F"), Some(Value::Float(1.0)));
    }

    #[test]
    fn mistakes_are_named_with_their_item() {
        for (items, part) in [
            ("", "array of objects"),
            ("{}", "array of objects"),
            ("[1]", "array of objects"),
            (r#"[{}, {"colums": {}}]"#, "item 1: there is no member \"colums\" (did you mean \"columns\"?)"),
            (r#"[{"key": ""}]"#, "item 0: \"key\" must be text"),
            (r#"[{"key": "a\u0000"}]"#, "item 0: \"key\" must be text"),
            (r#"[{"attempt": -1}]"#, "\"attempt\" must be"),
            (r#"[{"attempt": "1"}]"#, "\"attempt\" must be"),
            (r#"[{"state": "Done"}]"#, "\"state\" must be"),
            (r#"[{"type": 1}]"#, "\"type\" must be text: 1"),
            (r#"[{"step": "a\u0000"}]"#, "\"step\" must be text"),
            (r#"[{"due": "soon"}]"#, "\"due\" must be a UTC time like"),
            (r#"[{"due": "2026-11-21", "columns": {"item_due_at": null}}]"#, "\"due\" is given twice"),
            (r#"[{"columns": []}]"#, "\"columns\" must be"),
            (r#"[{"columns": {"A": 1}}, {"columns": {"A": "1"}}]"#, "column \"A\" has values of different types"),
            (r#"[{"columns": {"A": "a\u0000"}}]"#, "column \"A\""),
        ] {
            let error = Batch::from_json(items).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidItem);
            assert!(error.message().contains(part), "{error}");
        }
        let many = format!("[{}{{}}]", "{},".repeat(1000));
        assert!(Batch::from_json(&many).unwrap_err().message().contains("1001 items"));
    }
}
