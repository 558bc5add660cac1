//! Finds other users with rights on SQL Server to change a schema's tables and procedures, or to prepare triggers. An object
//! belongs to its schema's owner there, so its maker stays unknown. (PostgreSQL records each function's owner, which an install
//! checks.)

use super::{Examined, Finding};
use crate::catalog::text;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::session::Param;

pub(super) fn check(examined: &mut Examined) -> Result<()> {
    let dialect = examined.session.dialect();
    if dialect != Dialect::SqlServer {
        return Ok(());
    }
    let schema = examined.schema.as_str().to_owned();
    let rows = examined.session.execute(&dialect.query("ask/holders")?, &[Param::Text(&schema)])?;
    let found = (0..rows.len()).map(|row| (text(&rows, row, 0), text(&rows, row, 1)));
    let (triggers, holders): (Vec<_>, Vec<_>) = found.partition(|(_, by)| by.is_empty());
    if !holders.is_empty() {
        let named: Vec<_> = holders.iter().map(|(name, by)| format!("{name} ({by})")).collect();
        let what = format!(
            "its procedures and triggers can be changed by {}: a login that installs or calls them runs the changed \
             code",
            named.join(", ")
        );
        let remedy = "revoke what they do not need; an install refuses rights on the schema and its objects, and accepts those on the \
                      database";
        examined.findings.push(Finding::warning("holders", &schema, what, remedy));
    }
    if !triggers.is_empty() {
        let names: Vec<_> = triggers.into_iter().map(|(name, _)| name).collect();
        let what = format!(
            "the database has the DDL triggers {}, which run in each install with its rights",
            names.join(", ")
        );
        examined.findings.push(Finding::ok("ddl-trigger", &schema, what));
    }
    Ok(())
}
