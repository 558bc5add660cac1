//! `table`: a table that was there before readpast.

use super::at::{At, Table};
use super::columns::{self, Declared, same_name};
use super::{options, states};
use crate::error::Result;
use crate::spec::{
    ColumnKind, IndexSpec, KeyColumn, KeySource, LifecycleSpec, Literal, SeekColumn, Storage, TableSpec,
};

/// The keys of `table`.
const KEYS: [&str; 11] =
    ["schema", "name", "create", "key", "seek", "time", "run_time", "lifecycle", "states", "status", "index"];

/// Reads `table`, as far as it can be understood by itself; [`check`] does the rest.
pub(super) fn table(at: &At<'_>) -> Result<TableSpec> {
    let table = at.table(&KEYS)?;
    let key = key(&table.need("key")?)?;
    let lifecycle = table.get("lifecycle").map_or_else(|| Ok(LifecycleSpec::default()), |at| lifecycle(&at, &key))?;
    let run_time = table.boolean("run_time", false)?;
    if let (true, None, Some(at)) = (run_time, &lifecycle.started, table.get("run_time")) {
        return Err(at.refuse("needs the column that gets the time of the run: name it in table.lifecycle.started"));
    }
    Ok(TableSpec {
        schema: table.identifier("schema")?,
        name: table.need("name")?.identifier()?,
        create: table.boolean("create", false)?,
        states: states::states(&table, &key, &lifecycle)?,
        seek: table.get("seek").map_or_else(|| Ok(Vec::new()), |at| seek(&at))?,
        local_time: table.get("time").map_or(Ok(0), |at| at.choice(&["utc", "local"]))? == 1,
        index: table.get("index").map_or_else(|| Ok(IndexSpec::default()), |at| index(&at))?,
        key,
        lifecycle,
        run_time,
    })
}

fn key(at: &At<'_>) -> Result<Vec<KeyColumn>> {
    let mut key: Vec<KeyColumn> = Vec::new();
    for at in at.list(1)? {
        let column = key_column(&at)?;
        if key.iter().any(|other| same_name(&other.name, &column.name)) {
            return Err(at.refuse(format!("the key has a column {:?} already", column.name.as_str())));
        }
        let from_table = |column: &KeyColumn| column.source == KeySource::Table;
        if from_table(&column) && key.iter().any(from_table) {
            return Err(at.refuse("one column of the key at most comes from the table; give \"source\" = \"producer\""));
        }
        key.push(column);
    }
    Ok(key)
}

fn key_column(at: &At<'_>) -> Result<KeyColumn> {
    if at.is_text() {
        return Ok(KeyColumn { name: at.identifier()?, kind: ColumnKind::BigInteger, source: KeySource::Table });
    }
    let column = at.table(&["name", "type", "source"])?;
    let kind = match column.get("type") {
        None => ColumnKind::BigInteger,
        Some(at) => match columns::kind(&at)? {
            ColumnKind::Text(None) => return Err(at.refuse("text in a key has a length, like text(40)")),
            kind @ (ColumnKind::Integer
            | ColumnKind::BigInteger
            | ColumnKind::Guid
            | ColumnKind::Text(_)
            | ColumnKind::Timestamp) => kind,
            kind => return Err(at.refuse(format!("a key is integer, bigint, guid, text(n) or timestamp, not {kind}"))),
        },
    };
    let counts = matches!(kind, ColumnKind::Integer | ColumnKind::BigInteger);
    let from_table = match column.get("source") {
        None => counts,
        Some(at) => {
            let from_table = at.choice(&["table", "producer"])? == 0;
            if from_table && !counts {
                return Err(at.refuse(format!(
                    "only an integer or bigint can come from the table, as its identity; a {kind} comes from the producer"
                )));
            }
            from_table
        }
    };
    let name = column.need("name")?;
    Ok(KeyColumn {
        // What a producer gives is a parameter's name and a path in JSON as well.
        name: if from_table { name.identifier()? } else { name.word()? },
        kind,
        source: if from_table { KeySource::Table } else { KeySource::Producer },
    })
}

fn lifecycle(at: &At<'_>, key: &[KeyColumn]) -> Result<LifecycleSpec> {
    let lifecycle = at.table(&[
        "type",
        "enqueued",
        "due",
        "started",
        "finished",
        "duration",
        "attempts",
        "owner",
        "lease_until",
        "step",
        "response",
        "error",
        "token",
    ])?;
    let members = at.members()?;
    for (i, (role, at)) in members.iter().enumerate() {
        // A producer may give the time of enqueueing.
        let name = if *role == "enqueued" { at.word()? } else { at.identifier()? };
        if key.iter().any(|column| same_name(&column.name, &name)) {
            return Err(at.refuse(format!("{:?} is a column of the key, which never changes", name.as_str())));
        }
        for (other, other_at) in &members[..i] {
            if same_name(&other_at.identifier()?, &name) {
                return Err(at.refuse(format!("the column {:?} is {other:?} already", name.as_str())));
            }
        }
    }
    let role = |role| lifecycle.identifier(role);
    Ok(LifecycleSpec {
        kind: role("type")?,
        enqueued: role("enqueued")?,
        due: role("due")?,
        started: role("started")?,
        finished: role("finished")?,
        duration: role("duration")?,
        attempts: role("attempts")?,
        owner: role("owner")?,
        lease_until: role("lease_until")?,
        step: role("step")?,
        response: role("response")?,
        error: role("error")?,
        token: role("token")?,
    })
}

fn seek(at: &At<'_>) -> Result<Vec<SeekColumn>> {
    let mut seek: Vec<SeekColumn> = Vec::new();
    for (name, at) in at.members()? {
        let mut values: Vec<Literal> = Vec::new();
        for at in at.list(1)? {
            let value = at.literal()?;
            if values.contains(&value) {
                return Err(at.refuse("the value stands in the list already"));
            }
            values.push(value);
        }
        seek.push(SeekColumn { name: at.name(name)?, values });
    }
    Ok(seek)
}

fn index(at: &At<'_>) -> Result<IndexSpec> {
    let index = at.table(&["name", "columns"])?;
    let name = index.need("name")?.identifier()?;
    let columns = options::distinct(&index.need("columns")?, |at| at.identifier())?;
    Ok(IndexSpec { name: Some(name), columns })
}

/// What depends on the rest of the description; `leaves`: whether completed items leave the table.
pub(super) fn check(spec: &Table<'_>, declared: &Declared<'_>, types: &[String], leaves: bool) -> Result<()> {
    let (Storage::Table(table), Some(at)) = (declared.storage, spec.get("table")) else { return Ok(()) };
    let here = at.table(&KEYS)?;
    if let (true, None, Some(at)) = (types.len() > 1, &table.lifecycle.kind, spec.get("types")) {
        return Err(at.refuse("the table has no column for the type; name it in table.lifecycle.type"));
    }
    states::check(&here, table, leaves)?;
    if let Some(at) = here.get("index") {
        for at in at.table(&["name", "columns"])?.need("columns")?.list(1)? {
            declared.any(&at)?;
        }
    }
    if let Some(at) = here.get("seek") {
        for ((_, at), column) in at.members()?.iter().zip(&table.seek) {
            declared.any_called(at, column.name.clone())?;
            states::check_seek(at, table, column)?;
        }
    }
    match here.get("create") {
        Some(at) if table.create => states::check_types(&at, table),
        _ => Ok(()),
    }
}
