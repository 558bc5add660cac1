//! Compares a user's table with the description of its queue: whether every named column is there and can hold its values,
//! whether the key names one row, whether the claim finds its index. Changes nothing.

mod columns;
mod filled;
mod indexes;
mod owner;
mod rows;
mod settings;
mod subtypes;

pub(super) use columns::holds;

use super::{CatalogTable, find_table};
use crate::description::{QueueSpec, TableSpec};
use crate::error::{Error, ErrorKind, Result};
use crate::finding::{Finding, Severity};
use crate::ident::{Identifier, nearest};
use crate::render;
use crate::session::Session;

/// The description and the catalog's table.
struct Check<'a> {
    spec: &'a QueueSpec,
    table: &'a TableSpec,
    found: &'a CatalogTable,
    /// The indexes that install makes on it, where it has none like them.
    made: Vec<String>,
    findings: Vec<Finding>,
}

/// All findings about the table of `spec`. The rows are counted when `counts_rows`, which reads the whole table.
pub(crate) fn fit(
    session: &mut Session,
    schema: &Identifier,
    spec: &QueueSpec,
    table: &TableSpec,
    counts_rows: bool,
) -> Result<Vec<Finding>> {
    let dialect = session.dialect();
    let their_schema = dialect.schema_of(table.schema.as_ref());
    let Some(found) = find_table(session, &their_schema, &table.name)? else {
        return Ok(vec![missing_table(session, &their_schema, table)?]);
    };
    let made = render::indexes_on(dialect, schema, spec, table)?;
    let mut check = Check { spec, table, found: &found, made, findings: Vec::new() };
    columns::check(&mut check);
    // The next checks assume that all columns are there.
    let is_whole = check.findings.iter().all(|finding| finding.severity != Severity::Error);
    filled::check(&mut check);
    indexes::check(&mut check);
    let mut findings = check.findings;
    let place = (dialect.in_catalog(&their_schema), dialect.in_catalog(&table.name));
    owner::check(session, schema.as_str(), (&place.0, &place.1), &found.name, &mut findings)?;
    if let Some(named) = &table.settings {
        settings::check(session, named, &mut findings)?;
    }
    subtypes::check(session, schema, spec, table, &mut findings)?;
    if is_whole && counts_rows {
        rows::check(session, schema, spec, table, &found, &mut findings)?;
    }
    if findings.iter().all(|finding| finding.severity == Severity::Ok) {
        findings.insert(0, Finding::ok("table", &found.name, "fits the description"));
    }
    Ok(findings)
}

/// The first error among findings, and how many more there are, as an error.
///
/// # Errors
/// [`ErrorKind::SchemaMismatch`] when there is one.
pub(crate) fn refuse_unfit(findings: &[Finding]) -> Result<()> {
    let errors: Vec<_> = findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    let Some(first) = errors.first() else { return Ok(()) };
    let more = match errors.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more; `readpast adopt` lists them all)"),
    };
    let remedy = if first.remedy.is_empty() { String::new() } else { format!("; {}", first.remedy) };
    Err(Error::new(ErrorKind::SchemaMismatch, format!("{}: {}{remedy}{more}", first.object, first.what)))
}

fn missing_table(session: &mut Session, schema: &Identifier, table: &TableSpec) -> Result<Finding> {
    let dialect = session.dialect();
    let name = format!("{}.{}", schema.as_str(), table.name.as_str());
    if table.create {
        return Ok(Finding::ok("table", name, "is not there and will be made, as `create` says"));
    }
    let rows = session.execute(&dialect.query("ask/tables")?, &[])?;
    let names: Vec<_> = (0..rows.len()).map(|row| (super::text(&rows, row, 0), super::text(&rows, row, 1))).collect();
    let wanted = dialect.in_catalog(&table.name);
    let elsewhere = names.iter().find(|(_, name)| name.eq_ignore_ascii_case(&wanted));
    let near = nearest(&wanted, names.iter().map(|(_, name)| name.as_str()));
    let near = near.and_then(|near| names.iter().find(|(_, name)| name == near));
    let remedy = match elsewhere.or(near) {
        Some((schema, name)) => format!("there is {schema}.{name}: correct table.schema and table.name"),
        None => "correct table.schema and table.name, or let readpast make it with create = true; a login without any \
                 right on a table does not see it"
            .to_owned(),
    };
    Ok(Finding::error("table", name, "there is no such table", remedy))
}
