//! Finds features of a queue's table on SQL Server that make workers wait, or a settle slow.

use super::{Examined, Finding};
use crate::catalog::text;
use crate::error::Result;
use crate::session::Param;

pub(super) fn check(examined: &mut Examined, schema: &str, table: &str) -> Result<()> {
    let object = format!("{schema}.{table}");
    for index in names(examined, "ask/row_locks", schema, table)? {
        let what =
            format!("{index} allows no row locks: READPAST then passes over nothing, and claims wait for one another");
        let remedy = "ALTER INDEX ... SET (ALLOW_ROW_LOCKS = ON)";
        examined.findings.push(Finding::error("row-locks", &object, what, remedy));
    }
    for view in names(examined, "ask/indexed_views", schema, table)? {
        let what = format!(
            "{view} is an indexed view over it: workers on different items then wait for one another in the view's index"
        );
        let remedy = "take the index off the view, or have it no column that a worker changes";
        examined.findings.push(Finding::warning("indexed-view", &object, what, remedy));
    }
    for key in names(examined, "ask/foreign_keys", schema, table)? {
        let what = format!("the foreign key {key} points at it, and no index begins with its column");
        let remedy =
            "add one: else each item that is deleted or purged reads all of that table, and waits for its writers";
        examined.findings.push(Finding::warning("foreign-key", &object, what, remedy));
    }
    Ok(())
}

fn names(examined: &mut Examined, query: &str, schema: &str, table: &str) -> Result<Vec<String>> {
    let query = examined.session.dialect().query(query)?;
    let rows = examined.session.execute(&query, &[Param::Text(schema), Param::Text(table)])?;
    Ok((0..rows.len()).map(|row| text(&rows, row, 0)).collect())
}
