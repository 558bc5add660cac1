//! Finds holders of the horizon, which keep the server from removing rows that workers have updated or deleted: transactions left
//! open, and on PostgreSQL also prepared ones, replication slots and standbys.

use super::{Examined, Finding};
use crate::catalog::{number, text};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::session::Param;

/// A shorter transaction is at work...
const SECONDS: i32 = 300;

/// ... unless so many others came after it: they leave more dead rows than a queue bears well.
const TRANSACTIONS: i32 = 100_000;

pub(super) fn check(examined: &mut Examined) -> Result<()> {
    match examined.session.dialect() {
        Dialect::SqlServer => sql_server(examined),
        Dialect::Postgres => postgres(examined),
    }
}

fn sql_server(examined: &mut Examined) -> Result<()> {
    let rows = examined.session.execute(&Dialect::SqlServer.query("ask/transactions")?, &[])?;
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

fn postgres(examined: &mut Examined) -> Result<()> {
    let query = Dialect::Postgres.query("ask/transactions")?;
    let rows = examined.session.execute(&query, &[Param::Integer(SECONDS), Param::Integer(TRANSACTIONS)])?;
    for row in 0..rows.len() {
        let (who, name, age) = (text(&rows, row, 1), text(&rows, row, 2), number(&rows, row, 4).unwrap_or(0));
        let since = number(&rows, row, 3).map_or_else(String::new, |seconds| format!("for {seconds} s, "));
        let what = format!(
            "{who} has kept the horizon {since}{age} transactions behind: what workers update and delete meanwhile cannot be cleared \
             away, tables and indexes grow, and claims get slower"
        );
        examined.findings.push(Finding::warning("transactions", "database", what, remedy(&text(&rows, row, 0), &name)));
    }
    Ok(())
}

fn remedy(kind: &str, name: &str) -> String {
    match kind {
        "session" => format!(
            "see that its program ends it; pg_terminate_backend({name}) ends the session, and \
             idle_in_transaction_session_timeout keeps it from coming again"
        ),
        "prepared" => format!("COMMIT PREPARED or ROLLBACK PREPARED '{name}', whichever its coordinator has decided"),
        "slot" => format!("let its consumer run again, or drop it: pg_drop_replication_slot('{name}')"),
        _ => "end the long query on the standby, or turn hot_standby_feedback off there".to_owned(),
    }
}
