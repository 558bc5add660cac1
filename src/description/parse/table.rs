//! `table`: a table that was there before readpast.

use super::at::At;
use super::{columns, options, rows, states};
use crate::description::{
    ColumnKind, IndexSpec, KeyColumn, KeySource, LifecycleSpec, SeekColumn, SettingsTableSpec, TableSpec,
};
use crate::error::Result;
use crate::ident::Identifier;

/// The keys of `table`.
const KEYS: [&str; 13] = [
    "schema",
    "name",
    "create",
    "key",
    "seek",
    "time",
    "run_time",
    "lifecycle",
    "where",
    "states",
    "status",
    "index",
    "settings",
];

/// Reads `table`.
pub(super) fn table(at: &At<'_>) -> Result<TableSpec> {
    let table = at.table(&KEYS)?;
    Ok(TableSpec {
        schema: table.identifier("schema")?,
        name: table.need("name")?.identifier()?,
        create: table.boolean("create", false)?,
        key: table.need("key")?.list(1)?.iter().map(key_column).collect::<Result<_>>()?,
        rows: table.get("where").map_or_else(|| Ok(Vec::new()), |at| rows::rows(&at))?,
        states: states::states(&table)?,
        seek: table.get("seek").map_or_else(|| Ok(Vec::new()), |at| seek(&at))?,
        local_time: table.get("time").map_or(Ok(0), |at| at.choice(&["utc", "local"]))? == 1,
        index: table.get("index").map_or_else(|| Ok(IndexSpec::default()), |at| index(&at))?,
        lifecycle: table.get("lifecycle").map_or_else(|| Ok(LifecycleSpec::default()), |at| lifecycle(&at))?,
        run_time: table.boolean("run_time", false)?,
        // Another key of the description has it.
        claimed_by: None,
        settings: table.get("settings").map(|at| settings(&at)).transpose()?,
    })
}

fn key_column(at: &At<'_>) -> Result<KeyColumn> {
    if at.is_text() {
        return Ok(KeyColumn { name: at.identifier()?, kind: ColumnKind::BigInteger, source: KeySource::Table });
    }
    let column = at.table(&["name", "type", "source"])?;
    let kind = column.get("type").map_or(Ok(ColumnKind::BigInteger), |at| columns::kind(&at))?;
    let from_table = match column.get("source") {
        None => matches!(kind, ColumnKind::Integer | ColumnKind::BigInteger),
        Some(at) => at.choice(&["table", "producer"])? == 0,
    };
    Ok(KeyColumn {
        name: column.need("name")?.identifier()?,
        kind,
        source: if from_table { KeySource::Table } else { KeySource::Producer },
    })
}

fn lifecycle(at: &At<'_>) -> Result<LifecycleSpec> {
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
    let values = |at: &At<'_>| at.list(1)?.iter().map(At::literal).collect::<Result<_>>();
    let members = at.members()?;
    members.iter().map(|(name, at)| Ok(SeekColumn { name: at.name(name)?, values: values(at)? })).collect()
}

/// Its name, when its columns are named as in readpast's own.
fn settings(at: &At<'_>) -> Result<SettingsTableSpec> {
    let (param, value) = (Identifier::known("Param"), Identifier::known("ValInt"));
    if at.is_text() {
        return Ok(SettingsTableSpec { schema: None, name: at.identifier()?, param, value });
    }
    let settings = at.table(&["schema", "name", "param", "value"])?;
    Ok(SettingsTableSpec {
        schema: settings.identifier("schema")?,
        name: settings.need("name")?.identifier()?,
        param: settings.identifier("param")?.unwrap_or(param),
        value: settings.identifier("value")?.unwrap_or(value),
    })
}

fn index(at: &At<'_>) -> Result<IndexSpec> {
    let index = at.table(&["name", "columns"])?;
    let name = index.need("name")?.identifier()?;
    Ok(IndexSpec { name: Some(name), columns: options::names(&index.need("columns")?)? })
}
