//! Keys of a table in a description, each a line: how its value is read and written, what it may be, and its row in SPEC.md.

use super::at::{At, KnownKeys};
use crate::description::check::{Checked, DescriptionPath};
use crate::error::Result;
use crate::ident::Identifier;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// A key of a table that becomes a `T`. A value that is left out stays as it was in the `T` that reading begins with.
pub(super) struct Key<T: 'static> {
    name: &'static str,
    kind: Kind<T>,
    is_needed: bool,
    /// Whether it is written only where it differs from its default.
    is_special: bool,
    /// Its default in words, where the value itself is none that a description has.
    default: Option<&'static str>,
    meaning: &'static str,
}

/// The place of a value.
pub(super) type Lens<T, V> = fn(&mut T) -> &mut V;

/// The form of a value.
pub(super) enum Kind<T: 'static> {
    Number(RangeInclusive<i32>, Lens<T, i32>),
    /// In hundredths of what the description has.
    Hundredths(RangeInclusive<i32>, Lens<T, i32>),
    Flag(Lens<T, bool>),
    /// Two words, and what the first means.
    Either([&'static str; 2], bool, Lens<T, bool>),
    /// One of several words, by its place.
    Choice(&'static [&'static str], fn(&T) -> usize, fn(&mut T, usize)),
    Text(&'static str, Lens<T, String>),
    /// At least one text.
    Texts(&'static str, Lens<T, Vec<String>>),
    Name(Lens<T, Identifier>),
    OptionalName(Lens<T, Option<Identifier>>),
    /// At least one name.
    Names(&'static str, Lens<T, Vec<Identifier>>),
    /// A value of its own form, described in words; `None` is not written.
    Own(&'static str, Reads<T>, fn(&T) -> Option<Value>),
}

/// Reads a value of its own form.
pub(super) type Reads<T> = fn(&At<'_>, &mut T) -> Result<()>;

/// A key whose value may be left out.
pub(super) const fn key<T>(name: &'static str, kind: Kind<T>, meaning: &'static str) -> Key<T> {
    Key { name, kind, is_needed: false, is_special: false, default: None, meaning }
}

/// The same, which must be there.
pub(super) const fn needed<T>(mut key: Key<T>) -> Key<T> {
    key.is_needed = true;
    key
}

/// The same, which is written only where it differs from its default.
pub(super) const fn special<T>(mut key: Key<T>) -> Key<T> {
    key.is_special = true;
    key
}

/// The same, with its default in words.
pub(super) const fn or<T>(default: &'static str, mut key: Key<T>) -> Key<T> {
    key.default = Some(default);
    key
}

impl<T> Key<T> {
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }
}

/// Reads the table at `at` into `value`.
pub(super) fn read<'a, T>(at: &At<'a>, keys: &[Key<T>], value: &mut T) -> Result<KnownKeys<'a>> {
    let names: Vec<_> = keys.iter().map(|key| key.name).collect();
    let table = at.table(&names)?;
    read_known(&table, keys, value)?;
    Ok(table)
}

/// Reads those keys of a table that are in `keys`.
pub(super) fn read_known<T>(table: &KnownKeys<'_>, keys: &[Key<T>], value: &mut T) -> Result<()> {
    for key in keys {
        match table.get(key.name) {
            Some(at) => key.kind.read(&at, value)?,
            None if key.is_needed => drop(table.need(key.name)?),
            None => {}
        }
    }
    Ok(())
}

/// Writes all keys of `value`; `start` is what reading begins with.
pub(super) fn write<T: Clone>(keys: &[Key<T>], value: &T, start: &T) -> Map<String, Value> {
    let (mut value, mut start) = (value.clone(), start.clone());
    let written = keys.iter().filter_map(|key| {
        let written = key.kind.write(&mut value)?;
        let is_default = key.is_special && key.kind.write(&mut start).as_ref() == Some(&written);
        (!is_default).then(|| (key.name.to_owned(), written))
    });
    written.collect()
}

/// Holds the numbers of `value` to their ranges.
pub(super) fn check<T: Clone>(place: &DescriptionPath, keys: &[Key<T>], value: &T) -> Checked {
    let mut value = value.clone();
    for key in keys {
        let place = place.key(key.name);
        match &key.kind {
            Kind::Number(range, at) => place.number(*at(&mut value), range)?,
            Kind::Hundredths(range, at) => place.hundredths(*at(&mut value), range)?,
            _ => {}
        }
    }
    Ok(())
}

impl<T> Kind<T> {
    fn read(&self, at: &At<'_>, value: &mut T) -> Result<()> {
        match self {
            Self::Number(range, place) => *place(value) = at.integer(range.clone())?,
            Self::Hundredths(range, place) => *place(value) = at.hundredths(range.clone())?,
            Self::Flag(place) => *place(value) = at.boolean()?,
            Self::Either(words, first, place) => *place(value) = (at.choice(words)? == 0) == *first,
            Self::Choice(words, _, set) => set(value, at.choice(words)?),
            Self::Text(_, place) => at.text()?.clone_into(place(value)),
            Self::Texts(_, place) => {
                *place(value) = at.list(1)?.iter().map(|at| at.text().map(str::to_owned)).collect::<Result<_>>()?;
            }
            Self::Name(place) => *place(value) = at.identifier()?,
            Self::OptionalName(place) => *place(value) = Some(at.identifier()?),
            Self::Names(_, place) => *place(value) = at.list(1)?.iter().map(At::identifier).collect::<Result<_>>()?,
            Self::Own(_, read, _) => read(at, value)?,
        }
        Ok(())
    }

    /// The value as JSON; `None` where there is nothing to write.
    fn write(&self, value: &mut T) -> Option<Value> {
        match self {
            Self::Number(_, place) => Some(json!(*place(value))),
            Self::Hundredths(_, place) => Some(json!(f64::from(*place(value)) / 100.0)),
            Self::Flag(place) => Some(json!(*place(value))),
            Self::Either(words, first, place) => Some(json!(words[usize::from(*place(value) != *first)])),
            Self::Choice(words, get, _) => Some(json!(words[get(value)])),
            Self::Text(_, place) => Some(json!(*place(value))),
            Self::Texts(_, place) => Some(json!(*place(value))).filter(|texts| *texts != json!([])),
            Self::Name(place) => Some(json!(place(value).as_written())),
            Self::OptionalName(place) => place(value).as_ref().map(|name| json!(name.as_written())),
            Self::Names(_, place) => {
                let names = place(value);
                (!names.is_empty()).then(|| names.iter().map(Identifier::as_written).collect())
            }
            Self::Own(_, _, write) => write(value),
        }
    }

    /// Its values in words.
    fn values(&self) -> String {
        let quoted = |words: &[&str]| words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ");
        match self {
            Self::Number(range, _) if *range.end() == i32::MAX => format!("{} or more", range.start()),
            Self::Number(range, _) => format!("{} to {}", range.start(), range.end()),
            Self::Hundredths(range, _) => {
                format!("{} to {}, two decimals", f64::from(*range.start()) / 100.0, f64::from(*range.end()) / 100.0)
            }
            Self::Flag(_) => "true or false".to_owned(),
            Self::Either(words, ..) => quoted(words),
            Self::Choice(words, ..) => quoted(words),
            Self::Name(_) | Self::OptionalName(_) => "name".to_owned(),
            Self::Text(values, _) | Self::Texts(values, _) | Self::Names(values, _) | Self::Own(values, ..) => {
                (*values).to_owned()
            }
        }
    }
}

/// The keys as a table in Markdown: each with its values, its default and its meaning.
pub(super) fn rows<T: Clone>(keys: &[Key<T>], start: &T) -> String {
    let mut start = start.clone();
    let mut out = String::from("| key | type | default | meaning |\n|---|---|---|---|\n");
    for key in keys {
        let default = match (key.default, key.is_needed) {
            (Some(words), _) => words.to_owned(),
            (None, true) => "(required)".to_owned(),
            (None, false) => match key.kind.write(&mut start) {
                None => "none".to_owned(),
                Some(value) => format!("`{}`", value.to_string().trim_end_matches(".0")),
            },
        };
        let _ = writeln!(out, "| `{}` | {} | {default} | {} |", key.name, key.kind.values(), key.meaning);
    }
    out
}

/// The keys as a table in Markdown where only their meanings differ; `title` names them.
pub(super) fn meanings<T>(title: &str, keys: &[Key<T>]) -> String {
    let rows = keys.iter().map(|key| format!("| `{}` | {} |\n", key.name, key.meaning));
    format!("| {title} | meaning |\n|---|---|\n{}", rows.collect::<String>())
}
