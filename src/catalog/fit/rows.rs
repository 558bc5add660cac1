//! Counts the existing rows by state, and those in no state.

use crate::catalog::{CatalogTable, number, text};
use crate::description::{QueueSpec, TableSpec};
use crate::error::Result;
use crate::finding::Finding;
use crate::ident::Identifier;
use crate::render;
use crate::session::Session;

pub(super) fn check(
    session: &mut Session,
    schema: &Identifier,
    spec: &QueueSpec,
    table: &TableSpec,
    found: &CatalogTable,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let rows = session.execute(&render::states_query(session.dialect(), schema, spec, table)?, &[])?;
    let mut counts = Vec::new();
    let mut in_flight = 0;
    for row in 0..rows.len() {
        let (state, count) = (text(&rows, row, 0), number(&rows, row, 1).unwrap_or(0));
        match state.as_str() {
            "" => {
                let what = format!(
                    "{count} rows are in none of the states of table.states; readpast leaves them alone, like items in \
                     work"
                );
                let remedy = "look at them, and describe their state or correct them";
                findings.push(Finding::warning("rows", &found.name, what, remedy));
            }
            "Processing" => {
                in_flight = count;
                counts.push(format!("{count} Processing"));
            }
            state => counts.push(format!("{count} {state}")),
        }
    }
    let what = if counts.is_empty() { "no rows".to_owned() } else { counts.join(", ") };
    findings.push(Finding::ok("rows", &found.name, what));
    if in_flight > 0 {
        let what = format!("{in_flight} rows are in flight: another program has claimed them, or had");
        let remedy = match (&table.lifecycle.started, &table.lifecycle.lease_until, table.run_time) {
            (_, Some(_), _) => "they come back when the time in table.lifecycle.lease_until is over".to_owned(),
            (Some(started), None, false) => format!(
                "those whose {} lies longer back than a lease ({} ms) are recovered, and handed out again",
                started.as_str(),
                spec.lease.ms
            ),
            _ => {
                "the table does not record since when, so readpast never recovers them: if their workers are gone, set \
                 them back by hand"
                    .to_owned()
            }
        };
        findings.push(Finding::warning("rows", &found.name, what, remedy));
    }
    Ok(())
}
