//! The kinds of work and the columns that a producer gives.

use super::at::{At, Table};
use crate::error::Result;
use crate::ident::Identifier;
use crate::spec::{ColumnKind, ColumnSpec, Storage, TableSpec};

/// The columns of the life cycle and of the answers, without underscores: no column of the queue's own may be called so.
const RESERVED: [&str; 20] = [
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
    "answer",
    "answerordinal",
    "answerduems",
    "answerkey",
    "answertoken",
    "answerattempt",
    "answerstatus",
];

/// The same for an adopted table: how its life cycle is called in the worker view, and the parameters of Add.
const RESERVED_BESIDE_A_TABLE: [&str; 21] = [
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

/// Whether a queue's own column may not be called `name`, whatever its case and underscores.
pub(super) fn is_reserved(storage: &Storage, name: &str) -> bool {
    let bare = name.replace('_', "").to_ascii_lowercase();
    match storage {
        Storage::Own => RESERVED.contains(&bare.as_str()),
        Storage::Table(_) => RESERVED_BESIDE_A_TABLE.contains(&bare.as_str()),
        Storage::Procedures(_) => false,
    }
}

/// The columns that the rest of a description may name.
#[derive(Clone, Copy)]
pub(super) struct Declared<'a> {
    pub(super) columns: &'a [ColumnSpec],
    pub(super) storage: &'a Storage,
}

impl Declared<'_> {
    /// All columns that the description has, each once.
    fn all(&self) -> Vec<&Identifier> {
        let mut all: Vec<_> = self.columns.iter().map(|column| &column.name).collect();
        if let Storage::Table(table) = self.storage {
            all.extend(names(table));
        }
        let mut once: Vec<&Identifier> = Vec::new();
        for name in all {
            if !once.contains(&name) {
                once.push(name);
            }
        }
        once
    }

    /// The column that `at` names, which has to be one of the table's.
    pub(super) fn any(&self, at: &At<'_>) -> Result<Identifier> {
        self.any_called(at, at.identifier()?)
    }

    /// The column `name`, which `at` names, and which has to be one of the table's.
    pub(super) fn any_called(&self, at: &At<'_>, name: Identifier) -> Result<Identifier> {
        self.known(at, name, &self.all())
    }

    /// The column that `at` names, which has to be one that a producer gives.
    pub(super) fn given(&self, at: &At<'_>) -> Result<Identifier> {
        let mut given: Vec<_> = self.columns.iter().map(|column| &column.name).collect();
        if let Storage::Table(table) = self.storage {
            let keys = table.key.iter().filter(|column| column.source == crate::spec::KeySource::Producer);
            given.extend(keys.map(|column| &column.name));
        }
        let name = at.identifier()?;
        self.known(at, name, &given)
    }

    pub(super) fn known(&self, at: &At<'_>, name: Identifier, known: &[&Identifier]) -> Result<Identifier> {
        if known.contains(&&name) {
            return Ok(name);
        }
        let known: Vec<_> = known.iter().map(|name| name.as_str()).collect();
        Err(at.refuse(format!("there is no column {:?}; there are {}", name.as_str(), known.join(", "))))
    }
}

/// The columns that the description of an adopted table gives itself.
pub(super) fn names(table: &TableSpec) -> Vec<&Identifier> {
    let mut names: Vec<_> = table.key.iter().map(|column| &column.name).collect();
    names.extend(table.lifecycle.columns().into_iter().map(|(_, name)| name));
    names.extend(table.states.iter().flat_map(|state| &state.conditions).map(|condition| &condition.column));
    names
}

/// `types`: without it one, `Default`.
pub(super) fn types(spec: &Table<'_>) -> Result<Vec<String>> {
    let Some(at) = spec.get("types") else { return Ok(vec!["Default".to_owned()]) };
    let mut types: Vec<String> = Vec::new();
    for at in at.list(1)? {
        let name = at.text()?;
        let length = name.encode_utf16().count();
        if length == 0 || length > 60 || name.contains(char::is_control) {
            return Err(at.refuse("a type has 1 to 60 characters, none of them a control character"));
        }
        if name == "*" {
            return Err(at.refuse("* stands for every type where types are given to logins; take another name"));
        }
        if types.iter().any(|other| other == name) {
            return Err(at.refuse(format!("the type {name:?} is there already")));
        }
        types.push(name.to_owned());
    }
    Ok(types)
}

/// `columns`: readpast's own table has one column Payload without it, an adopted one needs it.
pub(super) fn columns(spec: &Table<'_>) -> Result<Vec<ColumnSpec>> {
    match spec.get("columns") {
        Some(at) => list(&at, 0),
        None if spec.get("procedures").is_some() => Ok(Vec::new()),
        None if spec.get("table").is_some() => {
            Err(spec.at().refuse("the key \"columns\" is missing: what producers give and workers see"))
        }
        None => {
            let name = Identifier::known("Payload");
            Ok(vec![ColumnSpec { name, kind: ColumnKind::Text(None), nullable: true, secret: false }])
        }
    }
}

/// A list of at least `least` columns, each with another name.
pub(super) fn list(at: &At<'_>, least: usize) -> Result<Vec<ColumnSpec>> {
    let mut columns: Vec<ColumnSpec> = Vec::new();
    for at in at.list(least)? {
        let column = column(&at)?;
        if columns.iter().any(|other| same_name(&other.name, &column.name)) {
            return Err(at.refuse(format!("there is another column {:?}", column.name.as_str())));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// Whether the servers might take two names for one.
pub(super) fn same_name(one: &Identifier, other: &Identifier) -> bool {
    one.as_str().to_lowercase() == other.as_str().to_lowercase()
}

fn column(at: &At<'_>) -> Result<ColumnSpec> {
    let column = at.table(&["name", "type", "nullable", "secret"])?;
    Ok(ColumnSpec {
        name: column.need("name")?.word()?,
        kind: kind(&column.need("type")?)?,
        nullable: column.boolean("nullable", true)?,
        secret: column.boolean("secret", false)?,
    })
}

/// Names that are taken already.
pub(super) fn check(spec: &Table<'_>, declared: &Declared<'_>) -> Result<()> {
    let Some(at) = spec.get("columns") else { return Ok(()) };
    for (at, column) in at.list(0)?.iter().zip(declared.columns) {
        let name = column.name.as_str();
        if is_reserved(declared.storage, name) {
            return Err(at.refuse(format!("{name:?} is a column that every queue has already; take another name")));
        }
        let Storage::Table(table) = declared.storage else { continue };
        if table.key.iter().any(|key| same_name(&key.name, &column.name)) {
            return Err(
                at.refuse(format!("{name:?} is a column of the key already, which says its type; leave it out here"))
            );
        }
        if let Some((role, _)) = table.lifecycle.columns().into_iter().find(|(_, other)| same_name(other, &column.name))
        {
            return Err(at.refuse(format!("{name:?} is table.lifecycle.{role} already; leave it out here")));
        }
        let in_states = table.states.iter().flat_map(|state| &state.conditions);
        if in_states.into_iter().any(|condition| same_name(&condition.column, &column.name)) {
            return Err(
                at.refuse(format!("{name:?} says the state of the item already, in table.states; leave it out here"))
            );
        }
    }
    Ok(())
}

/// The type of a column.
pub(super) fn kind(at: &At<'_>) -> Result<ColumnKind> {
    let text = at.text()?;
    column_kind(text).ok_or_else(|| {
        at.refuse(format!(
            "there is no column type {text:?}; there are text, text(1 to 4000), integer, bigint, boolean, float, \
             decimal(1 to 38, 0 to 38), timestamp, date, guid and json"
        ))
    })
}

fn column_kind(text: &str) -> Option<ColumnKind> {
    let (name, arguments) = match text.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest.trim_end().strip_suffix(')')?)),
        None => (text.trim(), None),
    };
    match (name, arguments) {
        ("text", None) => Some(ColumnKind::Text(None)),
        ("text", Some(length)) => {
            let length = length.trim().parse().ok().filter(|length| (1..=4000).contains(length))?;
            Some(ColumnKind::Text(Some(length)))
        }
        ("integer", None) => Some(ColumnKind::Integer),
        ("bigint", None) => Some(ColumnKind::BigInteger),
        ("boolean", None) => Some(ColumnKind::Boolean),
        ("float", None) => Some(ColumnKind::Float),
        ("decimal", Some(arguments)) => {
            let (precision, scale) = arguments.split_once(',')?;
            let precision = precision.trim().parse().ok().filter(|precision| (1..=38).contains(precision))?;
            let scale = scale.trim().parse().ok().filter(|scale| *scale <= precision)?;
            Some(ColumnKind::Decimal(precision, scale))
        }
        ("timestamp", None) => Some(ColumnKind::Timestamp),
        ("date", None) => Some(ColumnKind::Date),
        ("guid", None) => Some(ColumnKind::Guid),
        ("json", None) => Some(ColumnKind::Json),
        _ => None,
    }
}
