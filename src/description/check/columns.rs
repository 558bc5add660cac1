//! The types of work and a producer's columns.

use super::{Checked, DescriptionPath, MAX_NAME_BYTES, MAX_NAME_CHARS, same_name};
use crate::description::{
    CheckSpec, ColumnKind, ColumnSpec, KeySource, QueueSpec, Storage, column_value, why_no_condition,
};
use crate::ident::Identifier;
use serde_json::Value;

/// The columns of the life cycle and of the answers, without underscores: no column of the queue's own may have such a name.
const RESERVED: [&str; 21] = [
    "enqueuedat",
    "type",
    "status",
    "step",
    "attemptnum",
    "response",
    "error",
    "startedat",
    "duration",
    "scheduledfor",
    "updatedat",
    "leaseowner",
    "leaseuntil",
    "claimnum",
    "answer",
    "answerordinal",
    "answerduems",
    "answerkey",
    "answertoken",
    "answerattempt",
    "answerstatus",
];

/// The same for a described table: the names of its life cycle in the worker view, and the parameters of Add.
const RESERVED_BESIDE_A_TABLE: [&str; 22] = [
    "itemstatus",
    "itemstep",
    "itemattempt",
    "itemresponse",
    "itemerror",
    "itemstartedat",
    "itemduration",
    "itemdueat",
    "itemtoken",
    "itemowner",
    "itemleaseuntil",
    "itemenqueuedat",
    "type",
    "step",
    "scheduledfor",
    "answer",
    "answerordinal",
    "answerduems",
    "answerkey",
    "answertoken",
    "answerattempt",
    "answerstatus",
];

/// Whether no column of the queue's own may be called `name`, whatever its case and underscores.
pub(super) fn is_reserved(storage: &Storage, name: &str) -> bool {
    let bare = name.replace('_', "").to_ascii_lowercase();
    match storage {
        Storage::Own => RESERVED.contains(&bare.as_str()),
        Storage::Table(_) => RESERVED_BESIDE_A_TABLE.contains(&bare.as_str()),
        Storage::Procedures(_) => false,
    }
}

/// All columns that a description has, each once.
pub(super) fn all(spec: &QueueSpec) -> Vec<&Identifier> {
    let mut all: Vec<_> = spec.columns.iter().map(|column| &column.name).collect();
    if let Storage::Table(table) = &spec.storage {
        all.extend(table.columns_of_its_own());
    }
    let mut once: Vec<&Identifier> = Vec::new();
    for name in all {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// The columns that a producer gives.
pub(super) fn given(spec: &QueueSpec) -> Vec<&Identifier> {
    let mut given: Vec<_> = spec.columns.iter().map(|column| &column.name).collect();
    if let Storage::Table(table) = &spec.storage {
        let keys = table.key.iter().filter(|column| column.source == KeySource::Producer);
        given.extend(keys.map(|column| &column.name));
    }
    given
}

pub(super) fn check(spec: &QueueSpec) -> Checked {
    types(spec)?;
    steps(spec)?;
    let place = DescriptionPath::default().key("columns");
    list(&place, &spec.columns)?;
    for (i, column) in spec.columns.iter().enumerate() {
        let place = place.nth(i);
        taken(&place, spec, &column.name)?;
        let decided = matches!(spec.storage, Storage::Procedures(_)) && column.default.is_some();
        place.key("default").need(!decided, || "is decided by the hand-written procedures; leave it out".to_owned())?;
        let why = || "is no type for hand-written procedures, which take what they are given as text".to_owned();
        let taken = !matches!((&spec.storage, column.kind), (Storage::Procedures(_), ColumnKind::Binary(_)));
        place.key("type").need(taken, why)?;
        constraints(&place, spec, &spec.queue.snake_case(), column)?;
    }
    Ok(())
}

fn types(spec: &QueueSpec) -> Checked {
    let place = DescriptionPath::default().key("types");
    place.need(!spec.types.is_empty(), || "must be a list of at least one value, not an empty list".to_owned())?;
    for (i, name) in spec.types.iter().enumerate() {
        let place = place.nth(i);
        place.need(is_short(name), || "a type has 1 to 60 characters, none of them a control character".to_owned())?;
        let why = || "* stands for every type where types are given to logins; take another name".to_owned();
        place.need(name != "*", why)?;
        place.need(!spec.types[..i].contains(name), || format!("the type {name:?} is there already"))?;
    }
    Ok(())
}

fn steps(spec: &QueueSpec) -> Checked {
    let place = DescriptionPath::default().key("steps");
    if let Storage::Procedures(_) = spec.storage {
        return place
            .need(spec.steps.is_empty(), || "is decided by the hand-written procedures; leave it out".to_owned());
    }
    for (i, name) in spec.steps.iter().enumerate() {
        let place = place.nth(i);
        place.need(is_short(name), || "a step has 1 to 60 characters, none of them a control character".to_owned())?;
        // SQL Server may ignore their case, and ignores blanks at the end.
        place.need(name.trim_end_matches(' ') == name, || format!("the step {name:?} ends in a blank"))?;
        let again = spec.steps[..i].iter().any(|other| other.to_lowercase() == name.to_lowercase());
        place.need(!again, || format!("the step {name:?} is there already"))?;
    }
    Ok(())
}

/// Whether the servers' columns for types and steps take it.
fn is_short(name: &str) -> bool {
    (1..=60).contains(&name.encode_utf16().count()) && !name.contains(char::is_control)
}

/// Checks columns of the queue's own, or of a subtype, each with another name.
pub(super) fn list(place: &DescriptionPath, columns: &[ColumnSpec]) -> Checked {
    for (i, column) in columns.iter().enumerate() {
        let place = place.nth(i);
        place.key("name").word(&column.name)?;
        let kind = column.kind;
        place.key("type").need(kind.is_possible(), || format!("there is no column type {kind}"))?;
        let again = columns[..i].iter().any(|other| same_name(&other.name, &column.name));
        place.need(!again, || format!("there is another column {:?}", column.name.as_str()))?;
        if let Some(default) = &column.default {
            self::default(&place.key("default"), kind, default)?;
        }
    }
    Ok(())
}

/// Checks the SQL options of a column in the table whose name in PostgreSQL is `table`.
pub(super) fn constraints(place: &DescriptionPath, spec: &QueueSpec, table: &str, column: &ColumnSpec) -> Checked {
    let made = match &spec.storage {
        Storage::Own => true,
        Storage::Table(table) => table.create,
        Storage::Procedures(_) => false,
    };
    let name = column.name.as_str();
    // Only SQL Server names a default, and takes longer names; a type is no constraint.
    let default = format!("DF_{table}.{name}");
    let named = |ending: &str| Some((format!("{table}_{name}_{ending}"), MAX_NAME_BYTES));
    for (key, is_there, constraint) in [
        ("sql_type", column.sql_type.is_some(), None),
        ("check", column.check.is_some(), named("check")),
        ("type", made && matches!(column.kind, ColumnKind::Binary(Some(_))), named("length")),
        ("references", column.references.is_some(), named("fkey")),
        ("default", made && column.default.is_some(), Some((default, MAX_NAME_CHARS))),
    ] {
        if !is_there {
            continue;
        }
        let place = place.key(key);
        let why = || "is for tables that readpast makes; this one is yours, and keeps its own".to_owned();
        place.need(made, why)?;
        if let Some((named, most)) = constraint {
            let why = || format!("the constraint would be called {named}, which has more than {most} characters");
            place.need(named.len() <= most, why)?;
        }
    }
    if let Some(CheckSpec { sql_server, postgres }) = &column.check {
        let place = place.key("check");
        let both = sql_server == postgres;
        for (key, condition, brackets) in [("sql_server", sql_server, true), ("postgresql", postgres, false)] {
            let place = if both { place.clone() } else { place.key(key) };
            if let Some(why) = why_no_condition(condition, brackets) {
                return place.refuse(why);
            }
        }
    }
    let place = place.key("references");
    let kind = column.kind;
    let fits = !matches!(kind, ColumnKind::Json | ColumnKind::Text(None) | ColumnKind::Binary(None));
    place.need(column.references.is_none() || fits, || {
        format!("a column of type {kind} refers to none; give it a length")
    })
}

/// Checks a default: an item could give its value as well.
fn default(place: &DescriptionPath, kind: ColumnKind, value: &Value) -> Checked {
    place.need(!value.is_null(), || "is the default anyway; leave it out".to_owned())?;
    if let Err(why) = column_value(kind, &value.to_string()) {
        return place.refuse(format!("a column of type {kind} {why}"));
    }
    // It becomes a part of lines of SQL, which must not be broken.
    let has_control = |text: &str| text.contains(char::is_control);
    let why = || "has a control character, which no default may have".to_owned();
    place.need(!value.as_str().is_some_and(has_control), why)
}

/// Refuses names in use.
fn taken(place: &DescriptionPath, spec: &QueueSpec, column: &Identifier) -> Checked {
    let name = column.as_str();
    let why = || format!("{name:?} is a column that every queue has already; take another name");
    place.need(!is_reserved(&spec.storage, name), why)?;
    let Storage::Table(table) = &spec.storage else { return Ok(()) };
    if table.key.iter().any(|key| same_name(&key.name, column)) {
        return place
            .refuse(format!("{name:?} is a column of the key already, which says its type; leave it out here"));
    }
    if let Some((role, _)) = table.lifecycle.columns().into_iter().find(|(_, other)| same_name(other, column)) {
        return place.refuse(format!("{name:?} is table.lifecycle.{role} already; leave it out here"));
    }
    let mut in_states = table.states.iter().flat_map(|state| &state.conditions);
    if in_states.any(|condition| same_name(&condition.column, column)) {
        return place
            .refuse(format!("{name:?} shows the state of the item already, in table.states; leave it out here"));
    }
    Ok(())
}

/// Refuses a column that no index takes.
pub(super) fn indexed(place: &DescriptionPath, spec: &QueueSpec, name: &Identifier) -> Checked {
    let column = spec.columns.iter().find(|column| column.name == *name);
    match column.map(|column| column.kind) {
        Some(kind @ (ColumnKind::Json | ColumnKind::Text(None) | ColumnKind::Binary(None))) => {
            place.refuse(format!("a column of type {kind} cannot be in an index; give it a length"))
        }
        _ => Ok(()),
    }
}

impl ColumnKind {
    /// The most characters of a text; `None` for another type.
    pub(crate) fn most_chars(self) -> Option<usize> {
        match self {
            Self::Text(length) => Some(length.map_or(usize::MAX, usize::from)),
            _ => None,
        }
    }

    /// Whether the servers take its length or digits.
    pub(crate) fn is_possible(self) -> bool {
        match self {
            Self::Text(Some(length)) => (1..=4000).contains(&length),
            Self::Binary(Some(length)) => (1..=8000).contains(&length),
            Self::Decimal(precision, scale) => (1..=38).contains(&precision) && scale <= precision,
            _ => true,
        }
    }
}
