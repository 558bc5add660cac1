//! Makes and drops the databases that tests have for themselves.

use crate::limit::patient;
use readpast::Dialect;
use readpast::error::Result;
use readpast::for_tests::Session;
use std::sync::{Mutex, PoisonError};

/// Makes an empty database on the server of a connection string.
pub fn create(server: &str, name: &str) {
    // One after the other: there are servers that make one database at a time, and fail the others.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut session = Session::open(&patient(server)).unwrap();
    // The copy of template0, to which nobody can connect: while the vacuum is in template1, that cannot be copied.
    let of = if session.dialect() == Dialect::Postgres { " TEMPLATE template0" } else { "" };
    run(&mut session, &format!("CREATE DATABASE {name}{of}"));
}

/// Makes one as PostgreSQL does where no language is set.
pub fn create_without_encoding(server: &str, name: &str) {
    let mut session = Session::open(&patient(server)).unwrap();
    run(&mut session, &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"));
}

fn run(session: &mut Session, statement: &str) {
    session.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// Drops it. What keeps it from that fails no test: after a failure there may be no server any more, and PostgreSQL gives
/// those who are in the database five seconds to leave it, which a busy machine may not.
pub fn drop(server: &str, name: &str) {
    if let Err(error) = try_drop(server, name) {
        eprintln!("the database {name} is left: {error}");
    }
}

fn try_drop(server: &str, name: &str) -> Result<()> {
    let mut session = Session::open(&patient(server))?;
    let how = if session.dialect() == Dialect::Postgres { " WITH (FORCE)" } else { "" };
    session.execute(&format!("DROP DATABASE {name}{how}"), &[])?;
    Ok(())
}

/// The statement that lets a function of PostgreSQL run as on a standby: its transaction is read-only from its first line on. An
/// attribute of the function would do the same, and is refused since the minor releases of 2026.
pub fn as_on_a_standby(function: &str) -> String {
    format!(
        r"DO $do$ BEGIN
            EXECUTE regexp_replace(pg_get_functiondef('{function}'::regproc), E'\nBEGIN\n',
                E'\nBEGIN\n    PERFORM set_config(''transaction_read_only'', ''on'', TRUE);\n');
        END $do$"
    )
}
