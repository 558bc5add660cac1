//! Checks the tables of a described table's subtypes: each is there, with the queue's key, which names one row, and the described
//! columns.

use super::{Check, columns, filled, owner};
use crate::catalog::find_table;
use crate::description::{QueueSpec, SubtypeSpec, TableSpec};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::finding::Finding;
use crate::ident::Identifier;
use crate::session::Session;

pub(super) fn check(
    session: &mut Session,
    schema: &Identifier,
    spec: &QueueSpec,
    table: &TableSpec,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let dialect = session.dialect();
    let theirs = dialect.schema_of(table.schema.as_ref());
    for (number, subtype) in spec.subtypes.iter().enumerate() {
        let name = table.of_subtype(&subtype.name);
        let Some(found) = find_table(session, &theirs, &name)? else {
            findings.extend(missing(dialect, &theirs, &name, table, number));
            continue;
        };
        let mut check = Check { spec, table, found: &found, made: Vec::new(), findings: Vec::new() };
        columns::of_subtype(&mut check, number, subtype);
        filled::of_subtype(&mut check, number, subtype);
        key(&mut check, subtype);
        findings.append(&mut check.findings);
        let place = (dialect.in_catalog(&theirs), dialect.in_catalog(&name));
        owner::check(session, schema.as_str(), (&place.0, &place.1), &found.name, findings)?;
    }
    Ok(())
}

fn missing(
    dialect: Dialect,
    schema: &Identifier,
    name: &Identifier,
    table: &TableSpec,
    number: usize,
) -> Option<Finding> {
    let called = format!("{}.{}", dialect.in_catalog(schema), dialect.in_catalog(name));
    let what = format!("is not there, and subtypes[{number}] says that items have rows in it");
    let remedy = "make it, with the key of the queue's table; or take the subtype out of the description";
    // It is made with the queue's table.
    (!table.create).then(|| Finding::error("table", called, what, remedy))
}

/// An item has at most one row in it: its columns are shown beside the item's.
fn key(check: &mut Check<'_>, subtype: &SubtypeSpec) {
    let key: Vec<_> = check.table.key.iter().map(|key| key.name.clone()).collect();
    if check.found.unique_index(&key).is_none() {
        let names: Vec<_> = key.iter().map(Identifier::as_str).collect();
        let what = format!(
            "no unique index keeps the key ({}) from standing in two rows, and an item would have {} twice",
            names.join(", "),
            subtype.name.as_str()
        );
        let remedy = "add a primary key or a unique constraint on it";
        check.findings.push(Finding::error("key", &check.found.name, what, remedy));
    }
}
