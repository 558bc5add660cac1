//! A producer's columns, and those of subtypes.

use super::at::At;
use super::keys::Kind::{Flag, Name, Own};
use super::keys::{self, Key, key, needed, special};
use crate::description::{CheckSpec, ColumnKind, ColumnSpec, QueueSpec, ReferenceSpec, SqlName, SubtypeSpec};
use crate::error::Result;
use crate::ident::Identifier;
use crate::item::{MOST_STATE, PARENT};
use serde_json::{Value, json};

/// The length of the column that `trace = true` adds: for a `traceparent`, a blank and a `tracestate`.
#[expect(clippy::cast_possible_truncation, reason = "a few hundred")]
const TRACE_CHARS: u16 = (PARENT + 1 + MOST_STATE) as u16;

pub(super) static COLUMN: [Key<ColumnSpec>; 8] = [
    needed(key(
        "name",
        Name(|column| &mut column.name),
        "Its name, in the form of the queue's. It is a parameter of `Add_` as well.",
    )),
    needed(key(
        "type",
        Own(
            "see below",
            |at, column| kind(at).map(|kind| column.kind = kind),
            |column| Some(json!(column.kind.to_string())),
        ),
        "The type of its values.",
    )),
    key("nullable", Flag(|column| &mut column.nullable), "Whether an item may leave it out."),
    special(key(
        "secret",
        Flag(|column| &mut column.secret),
        "Whether only workers get it. A caller that looks for items (`Find_`, `show`, `serve`) gets NULL instead. Not for the column \
         of the group.",
    )),
    key(
        "sql_type",
        Own(
            "`\"schema.Type\"`",
            |at, column| sql_type(at).map(|name| column.sql_type = Some(name)),
            |column| column.sql_type.as_ref().map(|name| json!(name.to_string())),
        ),
        "A type of your own for the column in the table, based on that of `type`: see below.",
    ),
    key(
        "default",
        Own(
            "a value of its type, as an item gives it",
            |at, column| at.json().map(|value| column.default = Some(value)),
            |column| column.default.clone(),
        ),
        "The value for a new item that leaves the column out: see below.",
    ),
    key(
        "check",
        Own(
            "condition in SQL, or `{ sql_server, postgresql }`",
            |at, column| condition(at).map(|check| column.check = Some(check)),
            |column| column.check.as_ref().map(written_condition),
        ),
        "A condition that each item must meet: see below.",
    ),
    key(
        "references",
        Own(
            "`\"schema.Table(Column)\"`",
            |at, column| reference(at).map(|column_of| column.references = Some(column_of)),
            |column| column.references.as_ref().map(|column_of| json!(column_of.to_string())),
        ),
        "A column of a table of yours that must have its values: see below.",
    ),
];

pub(super) static SUBTYPE: [Key<SubtypeSpec>; 3] = [
    needed(key("name", Name(|subtype| &mut subtype.name), "Its name, in the form of the queue's.")),
    key(
        "exclusive",
        Flag(|subtype| &mut subtype.exclusive),
        "True: the items of the type of this name have a row there, and no others have. False: any item may have one.",
    ),
    needed(key(
        "columns",
        Own(
            "list of at least one column",
            |at, subtype| list(at, 1).map(|columns| subtype.columns = columns),
            |subtype| Some(written(&subtype.columns)),
        ),
        "Its columns, besides the key.",
    )),
];

/// A column without a name, as reading begins.
pub(super) fn no_column() -> ColumnSpec {
    ColumnSpec::new(Identifier::known("none"), ColumnKind::Text(None))
}

/// The same of a subtype.
pub(super) fn no_subtype() -> SubtypeSpec {
    SubtypeSpec { name: Identifier::known("none"), exclusive: false, columns: Vec::new() }
}

/// Reads a list of at least `least` columns.
pub(super) fn list(at: &At<'_>, least: usize) -> Result<Vec<ColumnSpec>> {
    let column = |at: &At<'_>| {
        let mut column = no_column();
        keys::read(at, &COLUMN, &mut column).map(|_| column)
    };
    at.list(least)?.iter().map(column).collect()
}

/// Writes it.
pub(super) fn written(columns: &[ColumnSpec]) -> Value {
    columns.iter().map(|column| keys::write(&COLUMN, column, &no_column())).collect()
}

/// Reads `subtypes`.
pub(super) fn subtypes(at: &At<'_>, spec: &mut QueueSpec) -> Result<()> {
    let subtype = |at: &At<'_>| {
        let mut subtype = no_subtype();
        keys::read(at, &SUBTYPE, &mut subtype).map(|_| subtype)
    };
    spec.subtypes = at.list(0)?.iter().map(subtype).collect::<Result<_>>()?;
    Ok(())
}

/// Writes it.
pub(super) fn written_subtypes(spec: &QueueSpec) -> Value {
    spec.subtypes.iter().map(|subtype| keys::write(&SUBTYPE, subtype, &no_subtype())).collect()
}

/// Reads `trace`: the name of one of the columns, or true for one that is added to them.
pub(super) fn trace(at: &At<'_>, spec: &mut QueueSpec) -> Result<()> {
    if at.is_text() {
        spec.trace = Some(at.identifier()?);
    } else if at.boolean().map_err(|_| at.wrong("true, or the name of a column"))? {
        let name = Identifier::known("TraceContext");
        if !spec.columns.iter().any(|column| column.name == name) {
            spec.columns.push(ColumnSpec::new(name.clone(), ColumnKind::Text(Some(TRACE_CHARS))));
        }
        spec.trace = Some(name);
    }
    Ok(())
}

/// A condition: a text for both servers, or one for each.
fn condition(at: &At<'_>) -> Result<CheckSpec> {
    if !at.is_table() {
        let text = at.text()?;
        return Ok(CheckSpec { sql_server: text.to_owned(), postgres: text.to_owned() });
    }
    let each = at.table(&["sql_server", "postgresql"])?;
    Ok(CheckSpec {
        sql_server: each.need("sql_server")?.text()?.to_owned(),
        postgres: each.need("postgresql")?.text()?.to_owned(),
    })
}

fn written_condition(check: &CheckSpec) -> Value {
    let CheckSpec { sql_server, postgres } = check;
    if sql_server == postgres { json!(sql_server) } else { json!({"sql_server": sql_server, "postgresql": postgres}) }
}

fn sql_type(at: &At<'_>) -> Result<SqlName> {
    let text = at.text()?;
    SqlName::parse(text).ok_or_else(|| {
        at.refuse(format!(
            "must be the name of a type of your own, like \"dbo.OtpCode\", not {text:?}; its base is \"type\""
        ))
    })
}

fn reference(at: &At<'_>) -> Result<ReferenceSpec> {
    let text = at.text()?;
    ReferenceSpec::parse(text)
        .ok_or_else(|| at.refuse(format!("must be a table and a column of it, like \"dbo.Users(ID)\", not {text:?}")))
}

/// The type of a column.
pub(super) fn kind(at: &At<'_>) -> Result<ColumnKind> {
    let text = at.text()?;
    column_kind(text).filter(|kind| kind.is_possible()).ok_or_else(|| {
        at.refuse(format!(
            "there is no column type {text:?}; there are text, text(1 to 4000), integer, bigint, boolean, float, \
             decimal(1 to 38, 0 to 38), timestamp, date, guid, json, binary and binary(1 to 8000)"
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
        ("text", Some(length)) => Some(ColumnKind::Text(Some(length.trim().parse().ok()?))),
        ("integer", None) => Some(ColumnKind::Integer),
        ("bigint", None) => Some(ColumnKind::BigInteger),
        ("boolean", None) => Some(ColumnKind::Boolean),
        ("float", None) => Some(ColumnKind::Float),
        ("decimal", Some(arguments)) => {
            let (precision, scale) = arguments.split_once(',')?;
            Some(ColumnKind::Decimal(precision.trim().parse().ok()?, scale.trim().parse().ok()?))
        }
        ("timestamp", None) => Some(ColumnKind::Timestamp),
        ("date", None) => Some(ColumnKind::Date),
        ("guid", None) => Some(ColumnKind::Guid),
        ("json", None) => Some(ColumnKind::Json),
        ("binary", None) => Some(ColumnKind::Binary(None)),
        ("binary", Some(length)) => Some(ColumnKind::Binary(Some(length.trim().parse().ok()?))),
        _ => None,
    }
}
