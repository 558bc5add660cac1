//! The types of work and a producer's columns.

use super::at::{At, KnownKeys};
use crate::description::{CheckSpec, ColumnKind, ColumnSpec, ReferenceSpec, SqlName};
use crate::error::Result;
use crate::ident::Identifier;
use crate::item::{MOST_STATE, PARENT};

/// The length of the column that `trace = true` adds: for a `traceparent`, a blank and a `tracestate`.
#[expect(clippy::cast_possible_truncation, reason = "a few hundred")]
const TRACE_CHARS: u16 = (PARENT + 1 + MOST_STATE) as u16;

/// `types`: without it one, `Default`.
pub(super) fn types(spec: &KnownKeys<'_>) -> Result<Vec<String>> {
    let Some(at) = spec.get("types") else { return Ok(vec!["Default".to_owned()]) };
    at.list(1)?.iter().map(|at| at.text().map(str::to_owned)).collect()
}

/// `steps`: without it a step may be any text.
pub(super) fn steps(spec: &KnownKeys<'_>) -> Result<Vec<String>> {
    let Some(at) = spec.get("steps") else { return Ok(Vec::new()) };
    at.list(1)?.iter().map(|at| at.text().map(str::to_owned)).collect()
}

/// `columns`: readpast's own table has one column Payload without it, a described one needs it.
pub(super) fn columns(spec: &KnownKeys<'_>) -> Result<Vec<ColumnSpec>> {
    match spec.get("columns") {
        Some(at) => list(&at, 0),
        None if spec.get("procedures").is_some() => Ok(Vec::new()),
        None if spec.get("table").is_some() => {
            Err(spec.at().refuse("the key \"columns\" is missing: the columns that producers give and workers see"))
        }
        None => {
            let name = Identifier::known("Payload");
            Ok(vec![ColumnSpec::new(name, ColumnKind::Text(None))])
        }
    }
}

/// `trace`: the name of one of the columns, or true for one that is added to them.
pub(super) fn trace(spec: &KnownKeys<'_>, columns: &mut Vec<ColumnSpec>) -> Result<Option<Identifier>> {
    let Some(at) = spec.get("trace") else { return Ok(None) };
    if at.is_text() {
        return at.identifier().map(Some);
    }
    if !at.boolean().map_err(|_| at.wrong("true, or the name of a column"))? {
        return Ok(None);
    }
    let name = Identifier::known("TraceContext");
    if !columns.iter().any(|column| column.name == name) {
        let kind = ColumnKind::Text(Some(TRACE_CHARS));
        columns.push(ColumnSpec::new(name.clone(), kind));
    }
    Ok(Some(name))
}

/// A list of at least `least` columns.
pub(super) fn list(at: &At<'_>, least: usize) -> Result<Vec<ColumnSpec>> {
    at.list(least)?.iter().map(column).collect()
}

fn column(at: &At<'_>) -> Result<ColumnSpec> {
    let column = at.table(&["name", "type", "nullable", "secret", "sql_type", "default", "check", "references"])?;
    Ok(ColumnSpec {
        name: column.need("name")?.identifier()?,
        kind: kind(&column.need("type")?)?,
        nullable: column.boolean("nullable", true)?,
        secret: column.boolean("secret", false)?,
        sql_type: column.get("sql_type").map(|at| sql_type(&at)).transpose()?,
        default: column.get("default").map(|at| at.json()).transpose()?,
        check: column.get("check").map(|at| condition(&at)).transpose()?,
        references: column.get("references").map(|at| reference(&at)).transpose()?,
    })
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
