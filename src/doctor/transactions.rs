//! Transactions that somebody has left open on SQL Server. (PostgreSQL tells of its oldest among the server's facts.)

use super::{Examined, Finding};
use crate::catalog::{number, text};
use crate::dialect::Dialect;
use crate::error::Result;

pub(super) fn check(examined: &mut Examined) -> Result<()> {
    let dialect = examined.session.dialect();
    if dialect != Dialect::SqlServer {
        return Ok(());
    }
    let rows = examined.session.execute(&dialect.query("ask/transactions")?, &[])?;
    for row in 0..rows.len() {
        let (session, seconds) = (number(&rows, row, 0).unwrap_or(0), number(&rows, row, 1).unwrap_or(0));
        let what = format!(
            "session {session} ({}) has had a transaction open for {seconds} s: its locks stay, and what workers delete and \
             change meanwhile cannot be cleared away, so claims get slower and slower",
            text(&rows, row, 2)
        );
        let remedy = "see that its program ends it; KILL ends the session";
        examined.findings.push(Finding::warning("transactions", "server", what, remedy));
    }
    Ok(())
}
