//! A description as a tree of values, each with the line it stands on; the same tree from TOML and from JSON.

use super::refuse;
use crate::error::Result;
use jsonc_parser::ast;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A value, and the line where it begins.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: TreeValue,
}

/// The value.
#[derive(Debug)]
pub(super) enum TreeValue {
    Null,
    Boolean(bool),
    Integer(i64),
    /// Any other number; TOML's not-a-number and infinities, too.
    Float(f64),
    Text(String),
    /// TOML has literals for times; JSON does not, and no key takes one.
    Time,
    List(Vec<Node>),
    /// In the order in which they are written.
    Table(Vec<TreeEntry>),
}

/// A key with its value, and the line of the key.
#[derive(Debug)]
pub(super) struct TreeEntry {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) node: Node,
}

impl Node {
    /// The value as JSON; `None` for a time, and for a number that JSON lacks.
    pub(super) fn json(&self) -> Option<serde_json::Value> {
        use serde_json::Value as Json;
        match &self.value {
            TreeValue::Null => Some(Json::Null),
            TreeValue::Boolean(value) => Some(Json::Bool(*value)),
            TreeValue::Integer(number) => Some(Json::from(*number)),
            TreeValue::Float(number) => serde_json::Number::from_f64(*number).map(Json::Number),
            TreeValue::Text(text) => Some(Json::String(text.clone())),
            TreeValue::Time => None,
            TreeValue::List(list) => list.iter().map(Self::json).collect::<Option<Vec<_>>>().map(Json::Array),
            TreeValue::Table(entries) => {
                let members = entries.iter().map(|entry| Some((entry.key.clone(), entry.node.json()?)));
                members.collect::<Option<serde_json::Map<_, _>>>().map(Json::Object)
            }
        }
    }
}

/// The line of each byte of a text, by the places of its line ends.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(place, _)| place).collect())
    }

    fn at(&self, place: usize) -> usize {
        self.0.partition_point(|end| *end < place) + 1
    }
}

/// Reads TOML.
pub(super) fn from_toml(text: &str) -> Result<Node> {
    let lines = Lines::of(text);
    let root = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or_else(String::new, |span| format!("line {}: ", lines.at(span.start)));
        // The parser reports where a key stands twice, but not which.
        let what = error.span().and_then(|span| text.get(span)).filter(|_| error.message() == "duplicate key");
        let what = what.map_or_else(String::new, |key| format!(" {key}"));
        refuse(format!("{line}the queue's description is not TOML: {}{what}", error.message()))
    })?;
    let line = lines.at(root.span().start);
    toml_table(&lines, line, root.get_ref())
}

fn toml_table(lines: &Lines, line: usize, table: &DeTable<'_>) -> Result<Node> {
    // The parser sorts its map by name; the order of the keys is the order of the columns.
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries: Vec<_> = entries
        .into_iter()
        .map(|(key, value)| {
            let line = lines.at(key.span().start);
            let node = toml_value(lines, value.span(), value.get_ref())?;
            Ok(TreeEntry { key: key.get_ref().to_string(), line, node })
        })
        .collect::<Result<_>>()?;
    Ok(Node { line, value: TreeValue::Table(entries) })
}

fn toml_value(lines: &Lines, span: Range<usize>, value: &DeValue<'_>) -> Result<Node> {
    let line = lines.at(span.start);
    let value = match value {
        DeValue::String(text) => TreeValue::Text(text.to_string()),
        DeValue::Boolean(value) => TreeValue::Boolean(*value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => TreeValue::Integer(number),
            Err(_) => return Err(too_large(line)),
        },
        DeValue::Float(number) => TreeValue::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Datetime(_) => TreeValue::Time,
        DeValue::Array(list) => TreeValue::List(
            list.iter().map(|value| toml_value(lines, value.span(), value.get_ref())).collect::<Result<_>>()?,
        ),
        DeValue::Table(table) => return toml_table(lines, line, table),
    };
    Ok(Node { line, value })
}

/// Reads JSON; strictly, without comments or trailing commas.
pub(super) fn from_json(text: &str) -> Result<Node> {
    // This parser knows the standard best, explains the mistake, and stops where nesting would exhaust the stack.
    serde_json::from_str::<serde_json::Value>(text).map_err(|error| {
        refuse(format!("line {}: the queue's description is not JSON: {error}", error.line().max(1)))
    })?;
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &Default::default())
        .map_err(|error| refuse(format!("the queue's description is not JSON: {error}")))?;
    match parsed.value {
        Some(value) => json_value(&Lines::of(text), &value),
        None => Err(refuse("the queue's description is empty".to_owned())),
    }
}

fn json_value(lines: &Lines, value: &ast::Value<'_>) -> Result<Node> {
    use jsonc_parser::common::Ranged;
    let line = lines.at(value.range().start);
    let value = match value {
        ast::Value::NullKeyword(_) => TreeValue::Null,
        ast::Value::BooleanLit(literal) => TreeValue::Boolean(literal.value),
        ast::Value::StringLit(literal) => TreeValue::Text(literal.value.to_string()),
        ast::Value::NumberLit(literal) => match literal.value.parse() {
            Ok(number) => TreeValue::Integer(number),
            Err(_) if literal.value.contains(['.', 'e', 'E']) => {
                TreeValue::Float(literal.value.parse().unwrap_or(f64::NAN))
            }
            Err(_) => return Err(too_large(line)),
        },
        ast::Value::Array(list) => {
            TreeValue::List(list.elements.iter().map(|value| json_value(lines, value)).collect::<Result<_>>()?)
        }
        ast::Value::Object(object) => {
            let mut entries: Vec<TreeEntry> = Vec::new();
            for property in &object.properties {
                let key = property.name.as_str();
                let line = lines.at(property.range.start);
                if entries.iter().any(|entry| entry.key == key) {
                    return Err(refuse(format!("line {line}: the key {key:?} stands twice in one object")));
                }
                entries.push(TreeEntry { key: key.to_owned(), line, node: json_value(lines, &property.value)? });
            }
            TreeValue::Table(entries)
        }
    };
    Ok(Node { line, value })
}

fn too_large(line: usize) -> crate::error::Error {
    refuse(format!("line {line}: the number does not fit into 64 bits"))
}
