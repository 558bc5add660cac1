//! A scratch database on each server at hand: PostgreSQL always, SQL Server when READPAST_TEST_SQLSERVER is set. Dropped at
//! the end of the test.

mod batches;

pub use batches::statements;

use crate::database;
use crate::limit::patient;
use readpast::Dialect;
use readpast::config::Config;
use readpast::for_tests::Session;
use readpast::item::{Rows, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, process};

/// A database of the test's own.
pub struct Database {
    pub dialect: Dialect,
    server: String,
    name: String,
}

impl Database {
    /// One on each server at hand.
    pub fn each() -> Vec<Self> {
        let postgres =
            env::var("READPAST_TEST_POSTGRES").expect("set READPAST_TEST_POSTGRES; .ci/with_cluster.sh does");
        let mut found = vec![Self::new(Dialect::Postgres, postgres)];
        if let Ok(server) = env::var("READPAST_TEST_SQLSERVER") {
            found.push(Self::new(Dialect::SqlServer, server));
        }
        found
    }

    fn new(dialect: Dialect, server: String) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("readpast_both_{}_{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        database::create(&server, &name);
        Self { dialect, server, name }
    }

    pub fn is_sql_server(&self) -> bool {
        self.dialect == Dialect::SqlServer
    }

    /// Whether it has row versions, and writes bytes as hexadecimal digits, as the stand-in for SQL Server cannot.
    pub fn shows_bytes(&self) -> bool {
        !self.is_stand_in()
    }

    /// Whether it only speaks as SQL Server does.
    pub fn is_stand_in(&self) -> bool {
        self.is_sql_server() && self.look("SELECT CAST(SERVERPROPERTY('Babelfish') AS int)") == "1"
    }

    /// One text or the other.
    pub fn pick<'a>(&self, sql_server: &'a str, postgres: &'a str) -> &'a str {
        if self.is_sql_server() { sql_server } else { postgres }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn connection(&self) -> String {
        let others = self.server.split(';').filter(|part| !part.to_ascii_lowercase().starts_with("database="));
        format!("{};Database={};", others.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(";"), self.name)
    }

    pub fn config(&self, settings: &[(&str, &str)]) -> Config {
        let mut config = patient(&self.connection());
        for (key, value) in settings {
            config.set(key, value).unwrap();
        }
        config
    }

    pub fn session(&self) -> Session {
        let mut session = Session::open(&self.config(&[])).unwrap();
        // Nobody has checked the items of calls by hand.
        let unchecked = "EXECUTE sys.sp_set_session_context N'readpast.checks_items', NULL";
        session.execute(self.pick(unchecked, "RESET readpast.checks_items"), &[]).unwrap();
        session
    }

    /// Runs a script whose statements are separated by lines that say GO.
    pub fn run(&self, script: &str) {
        let mut session = self.session();
        for statement in &statements(script) {
            // In a database of the test's own nothing is there to be altered, and not every server knows the words.
            let statement = if self.is_sql_server() { statement.replace("OR ALTER ", "") } else { statement.clone() };
            // There are servers on which no constraint of a table can call a function; nothing here relies on the one that does.
            let without = statement
                .replace("CHECK (dbo.Notification_IsType_fn(EnqueuedAt, 'ResetPassword') = 1)", "CHECK (1 = 1)");
            let result = session.execute(&statement, &[]);
            let result = if without == statement { result } else { result.or_else(|_| session.execute(&without, &[])) };
            result.unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }

    /// The rows of a query.
    pub fn rows(&self, query: &str) -> Rows {
        self.session().execute(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// One value, as text.
    pub fn look(&self, query: &str) -> String {
        match self.rows(query).value(0, 0) {
            Value::Text(text) => text.to_owned(),
            Value::Integer(number) => number.to_string(),
            other => format!("{other:?}"),
        }
    }

    /// Whether who claims passes over what another has locked: PostgreSQL, and SQL Server itself, but nothing that only speaks as it does.
    pub fn heeds_lock_hints(&self) -> bool {
        !self.is_sql_server() || heeds_lock_hints(&mut self.session(), &mut self.session())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        database::drop(&self.server, &self.name);
    }
}

/// Whether a row that is read WITH (UPDLOCK) is locked then, on a server that takes T-SQL.
pub fn heeds_lock_hints(one: &mut Session, other: &mut Session) -> bool {
    one.execute("CREATE TABLE Hinted (Id int)", &[]).unwrap();
    one.execute("INSERT INTO Hinted VALUES (1)", &[]).unwrap();
    let locked = one.transaction(|one| {
        one.execute("SELECT Id FROM Hinted WITH (UPDLOCK)", &[])?;
        Ok(other.execute("SELECT Id FROM Hinted WITH (UPDLOCK, READPAST)", &[])?.is_empty())
    });
    one.execute("DROP TABLE Hinted", &[]).unwrap();
    locked.unwrap()
}
