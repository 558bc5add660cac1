//! Checks the owners of the table, and of the schema with the procedures on it: two owners break the chain by which a login that
//! may execute the procedures needs no right on the table.

use crate::catalog::text;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::finding::Finding;
use crate::session::{Param, Session};

pub(super) fn check(
    session: &mut Session,
    schema: &str,
    table: (&str, &str),
    name: &str,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    // PostgreSQL's functions run as their owner, whose rights an install checks.
    if session.dialect() != Dialect::SqlServer {
        return Ok(());
    }
    let query = session.dialect().query("ask/owner_chain")?;
    let rows = session.execute(&query, &[Param::Text(schema), Param::Text(table.0), Param::Text(table.1)])?;
    if !rows.is_empty() {
        let (of_schema, of_table) = (text(&rows, 0, 0), text(&rows, 0, 1));
        let what = format!(
            "belongs to {of_table}, and the schema {schema}, whose procedures work on it, to {of_schema}: logins that may do \
             nothing but call them get error 229"
        );
        let remedy = format!("ALTER AUTHORIZATION ON SCHEMA::[{schema}] TO [{of_table}]");
        findings.push(Finding::warning("owner", name, what, remedy));
    }
    Ok(())
}
