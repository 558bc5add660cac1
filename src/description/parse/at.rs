//! A place in a description: the value there, and the line and key that an error names.

use super::refuse;
use super::tree::{Node, TreeEntry, TreeValue};
use crate::description::Literal;
use crate::description::check::Step;
use crate::error::{Error, Result};
use crate::ident::{Identifier, did_you_mean};
use std::ops::RangeInclusive;

/// A value with its place.
#[derive(Debug, Clone)]
pub(super) struct At<'a> {
    node: &'a Node,
    path: String,
}

/// A table whose keys are all known.
#[derive(Debug, Clone)]
pub(super) struct KnownKeys<'a> {
    entries: &'a [TreeEntry],
    at: At<'a>,
}

impl<'a> At<'a> {
    pub(super) fn root(node: &'a Node) -> Self {
        Self { node, path: String::new() }
    }

    /// The error that `why` is wrong here.
    pub(super) fn refuse(&self, why: impl std::fmt::Display) -> Error {
        self.refuse_at(self.node.line, why)
    }

    /// The value at `place`, or as near to it as the description goes. `states` may stand there as `status`.
    pub(super) fn follow(&self, place: &[Step]) -> Self {
        let Some((step, rest)) = place.split_first() else { return self.clone() };
        let next = match (step, &self.node.value) {
            (Step::Key(key), TreeValue::Table(entries)) => {
                let named = |key: &str| entries.iter().find(|entry| entry.key == key);
                let entry = named(key).or_else(|| if key == "states" { named("status") } else { None });
                entry.map(|entry| self.key(entry))
            }
            (Step::Nth(number), TreeValue::List(list)) => {
                list.get(*number).map(|node| Self { node, path: format!("{}[{number}]", self.path) })
            }
            _ => None,
        };
        next.map_or_else(|| self.clone(), |next| next.follow(rest))
    }

    fn refuse_at(&self, line: usize, why: impl std::fmt::Display) -> Error {
        let path = if self.path.is_empty() { "the description" } else { &self.path };
        refuse(format!("line {line}: {path}: {why}"))
    }

    fn key(&self, entry: &'a TreeEntry) -> Self {
        let plain = !entry.key.is_empty() && entry.key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let key = if plain { entry.key.clone() } else { format!("{:?}", entry.key) };
        let path = if self.path.is_empty() { key } else { format!("{}.{key}", self.path) };
        Self { node: &entry.node, path }
    }

    /// The table here, with no other keys than `keys`.
    pub(super) fn table(&self, keys: &[&str]) -> Result<KnownKeys<'a>> {
        let entries = self.entries()?;
        match entries.iter().find(|entry| !keys.contains(&entry.key.as_str())) {
            None => Ok(KnownKeys { entries, at: self.clone() }),
            Some(entry) => {
                let near = did_you_mean(&entry.key, keys.iter().copied());
                let why = format!("there is no such key{near}; the keys here are {}", keys.join(", "));
                Err(self.key(entry).refuse_at(entry.line, why))
            }
        }
    }

    fn entries(&self) -> Result<&'a [TreeEntry]> {
        match &self.node.value {
            TreeValue::Table(entries) => Ok(entries),
            _ => Err(self.wrong("a table (an object) of keys and values")),
        }
    }

    /// The table here, whose keys are names that the description chooses.
    pub(super) fn members(&self) -> Result<Vec<(&'a str, Self)>> {
        Ok(self.entries()?.iter().map(|entry| (entry.key.as_str(), self.key(entry))).collect())
    }

    /// The list here, of at least `least` values.
    pub(super) fn list(&self, least: usize) -> Result<Vec<Self>> {
        match &self.node.value {
            TreeValue::List(list) if list.len() >= least => Ok(list
                .iter()
                .enumerate()
                .map(|(i, node)| Self { node, path: format!("{}[{i}]", self.path) })
                .collect()),
            _ if least == 0 => Err(self.wrong("a list")),
            _ => Err(self.wrong("a list of at least one value")),
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.node.value, TreeValue::Text(_))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.node.value, TreeValue::List(_))
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.node.value, TreeValue::Table(_))
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        match &self.node.value {
            TreeValue::Text(text) => Ok(text),
            _ => Err(self.wrong("text")),
        }
    }

    pub(super) fn boolean(&self) -> Result<bool> {
        match self.node.value {
            TreeValue::Boolean(value) => Ok(value),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// A whole number in `range`.
    pub(super) fn integer(&self, range: RangeInclusive<i32>) -> Result<i32> {
        match self.node.value {
            TreeValue::Integer(number) => i32::try_from(number).ok().filter(|number| range.contains(number)),
            _ => None,
        }
        .ok_or_else(|| self.wrong(&format!("a whole number from {} to {}", range.start(), range.end())))
    }

    /// A number in `range`, in hundredths, of which it may have no fraction.
    pub(super) fn hundredths(&self, range: RangeInclusive<i32>) -> Result<i32> {
        let number = match self.node.value {
            TreeValue::Integer(number) => number as f64,
            TreeValue::Float(number) => number,
            _ => f64::NAN,
        };
        let hundredths = (number * 100.0).round();
        let fits = (f64::from(*range.start())..=f64::from(*range.end())).contains(&hundredths);
        if fits && (number * 100.0 - hundredths).abs() < 1e-6 {
            return Ok(hundredths as i32);
        }
        let shown = |bound: i32| f64::from(bound) / 100.0;
        Err(self.wrong(&format!(
            "a number from {} to {}, of at most two decimals",
            shown(*range.start()),
            shown(*range.end())
        )))
    }

    /// The place of one of `words`.
    pub(super) fn choice(&self, words: &[&str]) -> Result<usize> {
        let place = self.text().ok().and_then(|text| words.iter().position(|word| *word == text));
        let quoted: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
        place.ok_or_else(|| self.wrong(&quoted.join(" or ")))
    }

    /// A name of a database object.
    pub(super) fn identifier(&self) -> Result<Identifier> {
        self.name(self.text()?)
    }

    /// `name` as the name of a database object.
    pub(super) fn name(&self, name: &str) -> Result<Identifier> {
        Identifier::written("the name", name).map_err(|error| self.refuse(error.message()))
    }

    /// A constant.
    pub(super) fn literal(&self) -> Result<Literal> {
        match &self.node.value {
            TreeValue::Boolean(value) => Ok(Literal::Boolean(*value)),
            TreeValue::Integer(number) => Ok(Literal::Integer(*number)),
            TreeValue::Text(text) => Ok(Literal::Text(text.clone())),
            _ => Err(self.wrong("a whole number, true, false or text")),
        }
    }

    /// A value of any column, as JSON.
    pub(super) fn json(&self) -> Result<serde_json::Value> {
        self.node.json().ok_or_else(|| self.wrong("a value as JSON has it, a time as text"))
    }

    /// The error that another value should stand here.
    pub(super) fn wrong(&self, wanted: &str) -> Error {
        let found = match &self.node.value {
            TreeValue::Null => "null".to_owned(),
            TreeValue::Boolean(value) => value.to_string(),
            TreeValue::Integer(number) => number.to_string(),
            TreeValue::Float(number) => number.to_string(),
            TreeValue::Text(text) if text.chars().count() > 60 => "a long text".to_owned(),
            TreeValue::Text(text) => format!("{text:?}"),
            TreeValue::Time => "a time".to_owned(),
            TreeValue::List(list) if list.is_empty() => "an empty list".to_owned(),
            TreeValue::List(_) => "a list".to_owned(),
            TreeValue::Table(_) => "a table".to_owned(),
        };
        self.refuse(format!("must be {wanted}, not {found}"))
    }
}

impl<'a> KnownKeys<'a> {
    pub(super) fn at(&self) -> &At<'a> {
        &self.at
    }

    /// The value of `key`, when it is there.
    pub(super) fn get(&self, key: &str) -> Option<At<'a>> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| self.at.key(entry))
    }

    /// The value of `key`, which must be there.
    pub(super) fn need(&self, key: &str) -> Result<At<'a>> {
        self.get(key).ok_or_else(|| self.at.refuse(format!("the key {key:?} is missing")))
    }
}
