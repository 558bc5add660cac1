//! The JSON members that a procedure takes: an object like a description's columns, with its types. The database checks its
//! arguments by it, in one place (`QueueTake`, `queue_taken_fn`).

use crate::description::{ColumnKind, ColumnSpec, KeyColumn, KeySource, MAX_DELAY_MS, QueueSpec, TableSpec};
use crate::dialect::Dialect;
use crate::ident::Identifier;
use crate::item::OnFailed;
use minijinja::{Value, context};
use serde_json::json;

/// The longest line, as far as the members allow.
const WIDTH: usize = 110;

/// The members of each procedure: all of it as a literal, the names of the outermost members as a list, and those of `set`.
pub(super) fn context(dialect: Dialect, spec: &QueueSpec, table: &TableSpec) -> Value {
    let literal = |members: &[(&str, String)]| {
        let names: Vec<_> = members.iter().map(|(name, _)| dialect.text_literal(name)).collect();
        let columns: Vec<_> = names_of_columns(spec, table).map(|name| dialect.text_literal(name)).collect();
        context! {
            all => dialect.text_literal(&object(members, 4)),
            names => names.join(", "),
            columns => columns.join(", "),
            sets => Vec::<Value>::new(),
        }
    };
    let step = if spec.steps.is_empty() { quoted("text(60)") } else { json!(spec.steps).to_string() };
    let when =
        [("due", quoted("timestamp")), ("delay_ms", quoted(&format!("milliseconds (from 0 to {MAX_DELAY_MS})")))];
    let add = [("type", json!(spec.types).to_string()), ("step", step), ("columns", columns(spec, table))];
    let after = [("after", quoted("json")), ("on_failed", json!(OnFailed::WORDS).to_string())];
    let after = if spec.after { &after[..] } else { &[] };
    // Bytes stand in a key as hexadecimal digits.
    let asked = |column: &KeyColumn| match column.kind {
        ColumnKind::Binary(_) => quoted("text"),
        kind => quoted(&kind.to_string()),
    };
    let the_key = match table.key.as_slice() {
        [one] => asked(one),
        // An array, in which the place is the name.
        several => {
            let places: Vec<_> = (0..several.len()).map(|place| place.to_string()).collect();
            let kinds = several.iter().map(asked);
            object(&places.iter().map(String::as_str).zip(kinds).collect::<Vec<_>>(), 8)
        }
    };
    let key = [("key", the_key.clone()), ("token", quoted("timestamp"))];
    let modify = [
        ("attempt", quoted("integer")),
        ("status", quoted("text(20)")),
        ("step", quoted("text(60)")),
        ("response", quoted("text")),
        ("error", quoted("text")),
        ("release", quoted("boolean")),
        ("set", settable(spec)),
    ];
    let all = |parts: &[&[(&'static str, String)]]| parts.concat();
    context! { takes => context! {
        add => context! {
            number => spec.items_number(), ..literal(&all(&[&add[..2], &when, after, &add[2..]]))
        },
        modify => context! { sets => sets(dialect, spec), ..literal(&all(&[&key, &modify, &when])) },
        redrive => literal(&key),
        renew => literal(&[("key", the_key), ("attempt", quoted("integer"))]),
        progress => literal(&all(&[&key, &[
            ("attempt", quoted("integer")), ("percent", quoted("integer")), ("text", quoted("text")),
        ]])),
    } }
}

/// The names that an item's columns may have, and those of its subtypes.
fn names_of_columns<'a>(spec: &'a QueueSpec, table: &'a TableSpec) -> impl Iterator<Item = &'a str> {
    let keys = table.key.iter().filter(|key| key.source == KeySource::Producer).map(|key| key.name.as_str());
    let came = table.lifecycle.enqueued.iter().map(|name| name.as_str());
    let of_table = keys.chain(came).filter(|_| !spec.is_own());
    let columns = spec.columns.iter().map(|column| column.name.as_str());
    columns.chain(of_table).chain(spec.subtypes.iter().map(|subtype| subtype.name.as_str()))
}

/// The columns that a new item may give, those of its subtypes in objects of their own.
fn columns(spec: &QueueSpec, table: &TableSpec) -> String {
    let mut listed: Vec<_> = spec.columns.iter().map(member).collect();
    if !spec.is_own() {
        let is_listed = |name: &str| spec.columns.iter().any(|column| column.name.as_str() == name);
        let keys = table.key.iter().filter(|key| key.source == KeySource::Producer);
        // A key that is left out is generated, or the table refuses it.
        let keys = keys.map(|key| (key.name.as_str(), quoted(&key.kind.to_string())));
        let came = table.lifecycle.enqueued.iter().map(|name| (name.as_str(), quoted("timestamp")));
        let more: Vec<_> = keys.chain(came).filter(|(name, _)| !is_listed(name)).collect();
        listed.extend(more);
    }
    with_subtypes(listed, spec)
}

/// The columns that a settlement may set, which may all be left out.
fn settable(spec: &QueueSpec) -> String {
    with_subtypes(spec.settable().map(member).collect(), spec)
}

/// The places where a settlement sets values, each with the names that are known there.
fn sets(dialect: Dialect, spec: &QueueSpec) -> Vec<Value> {
    let place = |path: String, names: Vec<&str>| {
        let names: Vec<_> = names.into_iter().map(|name| dialect.text_literal(name)).collect();
        context! { path => path.replace('\'', "''"), list => if names.is_empty() { "N''".to_owned() } else { names.join(", ") } }
    };
    let outermost = spec.settable().map(|column| &column.name).chain(spec.subtypes.iter().map(|subtype| &subtype.name));
    let mut places = vec![place("$.set".to_owned(), outermost.map(Identifier::as_str).collect())];
    let within = |name: &str| super::columns::path(name).replacen("$.columns", "$.set", 1);
    places.extend(spec.subtypes.iter().map(|subtype| {
        let names = subtype.columns.iter().map(|column| column.name.as_str()).collect();
        place(within(subtype.name.as_str()), names)
    }));
    places
}

/// The columns, and those of the subtypes in objects of their own.
fn with_subtypes<'a>(mut listed: Vec<(&'a str, String)>, spec: &'a QueueSpec) -> String {
    for subtype in &spec.subtypes {
        let own: Vec<_> = subtype.columns.iter().map(member).collect();
        listed.push((subtype.name.as_str(), object(&own, 12)));
    }
    object(&listed, 8)
}

fn member(column: &ColumnSpec) -> (&str, String) {
    let must = if column.nullable || column.default.is_some() { "" } else { " not null" };
    (column.name.as_str(), quoted(&format!("{}{must}", column.kind)))
}

fn quoted(text: &str) -> String {
    json!(text).to_string()
}

/// The members as JSON in lines that begin with so many blanks.
fn object(members: &[(&str, String)], blanks: usize) -> String {
    let mut out = String::from("{");
    let mut length = WIDTH;
    for (place, (name, value)) in members.iter().enumerate() {
        let member = format!("{}: {value}{}", json!(name), if place + 1 < members.len() { "," } else { "" });
        let of_one_line = !value.contains('\n');
        if length + member.len() + 1 > WIDTH || !of_one_line {
            out.push('\n');
            out.push_str(&" ".repeat(blanks + 4));
            length = blanks + 4;
        } else {
            out.push(' ');
            length += 1;
        }
        out.push_str(&member);
        length = if of_one_line { length + member.len() } else { WIDTH };
    }
    if !members.is_empty() {
        out.push('\n');
        out.push_str(&" ".repeat(blanks));
    }
    out.push('}');
    out
}
