//! A scratch database on the PostgreSQL at hand, dropped at the end of the test that made it.

mod proxy;

pub use proxy::{Proxy, Silence};

use crate::database;
use crate::limit::patient;
use readpast::config::Config;
use readpast::for_tests::Session;
use readpast::item::{Action, Batch, NewItem, Rows, Settlement, Value};
use readpast::queue::Queue;
use readpast::{description::QueueSpec, install::install};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, process, thread};

/// A database of the test's own, and on request roles that go with it.
pub struct Scratch {
    pub name: String,
    roles: Vec<String>,
}

impl Scratch {
    /// An empty database.
    pub fn empty() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let scratch = Self { name: format!("readpast_scratch_{}_{number}", process::id()), roles: Vec::new() };
        database::create(&server(), &scratch.name);
        scratch
    }

    /// An empty database whose encoding is SQL_ASCII.
    pub fn without_encoding() -> Self {
        let scratch = Self::empty();
        database::drop(&server(), &scratch.name);
        database::create_without_encoding(&server(), &scratch.name);
        scratch
    }

    /// A database with the queue `Job` in it, with its one column `Payload`.
    pub fn new() -> Self {
        let scratch = Self::empty();
        install(&scratch.config(&[]), Some(&QueueSpec::from_json(r#"{"queue": "Job", "backoff": "none"}"#).unwrap()))
            .unwrap();
        scratch
    }

    /// A role that may log in with the password `p`, and may do nothing yet.
    pub fn role(&mut self) -> String {
        let role = format!("{}_role_{}", self.name, self.roles.len());
        administer(&format!("CREATE ROLE {role} LOGIN PASSWORD 'p'"));
        self.roles.push(role.clone());
        role
    }

    /// Has a role that the test made dropped with the database.
    pub fn drops(&mut self, role: &str) {
        self.roles.push(role.to_owned());
    }

    /// The connection string.
    pub fn connection(&self) -> String {
        changed(&server(), &[("Database", &self.name)])
    }

    /// A configuration for this database.
    pub fn config(&self, settings: &[(&str, &str)]) -> Config {
        config(&self.connection(), settings)
    }

    /// Opens the queue.
    pub fn open(&self, settings: &[(&str, &str)]) -> Queue {
        Queue::open(&self.config(settings), "Job").unwrap()
    }

    /// A connection as the owner, for what the library does not do.
    pub fn session(&self) -> Session {
        let mut session = Session::open(&self.config(&[("application", "scratch")])).unwrap();
        // Nobody has checked the items of calls by hand.
        session.execute("RESET readpast.checks_items", &[]).unwrap();
        session
    }

    /// Runs a statement as the owner.
    pub fn run(&self, statement: &str) {
        self.session().execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    /// One value, as text.
    pub fn look(&self, query: &str) -> String {
        look(&mut self.session(), query)
    }

    /// Waits until a query has this value.
    pub fn wait_for(&self, query: &str, value: &str) {
        let mut session = self.session();
        let deadline = Instant::now() + Duration::from_secs(600);
        while look(&mut session, query) != value {
            assert!(Instant::now() < deadline, "never {value}: {query}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a connection of the library waits for a lock. Others may, too.
    pub fn wait_for_blocked(&self) {
        self.wait_for(
            "SELECT LEAST(COUNT(*), 1) FROM pg_stat_activity WHERE datname = current_database() \
             AND backend_type = 'client backend' AND wait_event_type = 'Lock'",
            "1",
        );
    }

    /// Ends the library's connections on the server's side; says how many there were.
    pub fn terminate_connections(&self) -> String {
        self.look(
            "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE datname = current_database() AND application_name = 'readpast'",
        )
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        database::drop(&server(), &self.name);
        for role in &self.roles {
            // After a failure there may be no server any more.
            let _ = Session::open(&config(&server(), &[]))
                .and_then(|mut session| session.execute(&format!("DROP ROLE {role}"), &[]).map(drop));
        }
    }
}

/// The connection string of the server at hand.
pub fn server() -> String {
    env::var("READPAST_TEST_POSTGRES").expect("set READPAST_TEST_POSTGRES; .ci/with_cluster.sh does")
}

/// A connection string with other values for some keys.
pub fn changed(connection: &str, changes: &[(&str, &str)]) -> String {
    let is_kept = |part: &&str| {
        let key = part.split('=').next().unwrap_or_default();
        !part.is_empty() && !changes.iter().any(|(changed, _)| key.eq_ignore_ascii_case(changed))
    };
    let kept = connection.split(';').filter(is_kept).map(|part| format!("{part};"));
    let added = changes.iter().map(|(key, value)| format!("{key}={value};"));
    kept.chain(added).collect()
}

/// A configuration for a connection string, with short pauses between tries.
pub fn config(connection: &str, settings: &[(&str, &str)]) -> Config {
    let mut config = patient(connection);
    config.set("retry.longest_ms", "50").unwrap();
    for (key, value) in settings {
        config.set(key, value).unwrap();
    }
    config
}

/// Runs a statement on the server, outside any scratch database.
pub fn administer(statement: &str) {
    let mut session = Session::open(&config(&server(), &[])).unwrap();
    session.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// One value, as text.
pub fn look(session: &mut Session, query: &str) -> String {
    text(&session.execute(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}")))
}

/// The first value of the rows, as text.
pub fn text(rows: &Rows) -> String {
    match rows.value(0, 0) {
        Value::Text(text) => text.to_owned(),
        Value::Integer(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

/// An item with a payload.
pub fn item(payload: &str) -> NewItem {
    let columns = serde_json::json!({"Payload": payload});
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

/// `action` for every item of a batch.
pub fn all(batch: &Batch, action: Action) -> Vec<Settlement<'_>> {
    batch.iter().map(|item| Settlement::new(&item, action)).collect()
}
