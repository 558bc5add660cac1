//! The servers at hand, a scratch database on each, and what a test body is given.

use crate::api::{Api, Layer};
use crate::citus;
use crate::database;
use crate::limit::{PATIENT, patient};
use readpast::{
    config::Config,
    description::QueueSpec,
    for_tests::Session,
    install::install,
    item::{Rows, Value},
};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{
    env, process,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A test body.
pub type Body = fn(&Given);

/// A server with a scratch database on it.
pub struct Server {
    label: &'static str,
    connection: String,
    scratch: String,
    /// `None` on Citus, where nodes have no part of a new database: the one that is given has a sharded schema for the tests.
    database: Option<String>,
    /// Installs take turns by themselves; here, so that a body's time-outs do not include another's install.
    installing: Mutex<()>,
}

impl Server {
    /// The servers that the environment names, each with a scratch database.
    pub fn at_hand() -> Vec<Arc<Self>> {
        let named = [
            ("postgres", "READPAST_TEST_POSTGRES"),
            ("citus", "READPAST_TEST_CITUS"),
            ("sqlserver", "READPAST_TEST_SQLSERVER"),
        ];
        let servers: Vec<_> =
            named.iter().filter_map(|(label, variable)| Some(Self::prepare(label, env::var(variable).ok()?))).collect();
        assert!(
            !servers.is_empty(),
            "set READPAST_TEST_POSTGRES (.ci/with_cluster.sh does), READPAST_TEST_SQLSERVER or READPAST_TEST_CITUS"
        );
        servers
    }

    fn prepare(label: &'static str, connection: String) -> Arc<Self> {
        let (scratch, database) = if label == "citus" {
            citus::shard(&connection, "readpast");
            (connection.clone(), None)
        } else {
            let database = format!("readpast_test_{}", process::id());
            database::create(&connection, &database);
            (with_database(&connection, &database), Some(database))
        };
        Arc::new(Self { label, scratch, connection, database, installing: Mutex::default() })
    }

    /// Its name in the names of tests.
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// A description of the server, for the summary.
    pub fn describe(&self) -> String {
        let statement = if self.is_sql_server() { "SELECT @@VERSION" } else { "SELECT version()" };
        let rows = self.admin_session().execute(statement, &[]).unwrap();
        match rows.value(0, 0) {
            Value::Text(version) => version.lines().next().unwrap_or_default().to_owned(),
            _ => self.label.to_owned(),
        }
    }

    /// Whether it speaks T-SQL.
    pub fn is_sql_server(&self) -> bool {
        self.label == "sqlserver"
    }

    /// Whether Citus shards the schema of the queues.
    pub fn is_citus(&self) -> bool {
        self.label == "citus"
    }

    /// While this is held nobody installs, nor changes the rights on what queues share.
    pub fn alone(&self) -> MutexGuard<'_, ()> {
        self.installing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the scratch database.
    pub fn drop_scratch(&self) {
        match &self.database {
            Some(database) => database::drop(&self.connection, database),
            None => citus::drop(&self.connection, "readpast"),
        }
    }

    fn admin_session(&self) -> Session {
        Session::open(&patient(&self.connection)).unwrap()
    }
}

/// The connection string with another database in it.
fn with_database(connection: &str, database: &str) -> String {
    let others = connection.split(';').filter(|part| !part.to_ascii_lowercase().starts_with("database="));
    format!("{};Database={database};", others.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(";"))
}

/// Settings that either layer can be opened with.
pub struct Settings(Vec<(String, String)>);

impl From<Vec<(String, String)>> for Settings {
    fn from(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }
}

impl Settings {
    /// Keys and values.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// For the Rust layer, and for what only it does.
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        for (key, value) in &self.0 {
            config.set(key, value).unwrap();
        }
        config
    }
}

/// The surroundings of a body: a server, a layer, and a queue of its own.
pub struct Given {
    pub server: Arc<Server>,
    pub layer: Layer,
    /// A queue name that no other trial has.
    pub queue: String,
}

impl Given {
    pub fn new(server: Arc<Server>, layer: Layer, name: &str) -> Self {
        static QUEUES: AtomicUsize = AtomicUsize::new(0);

        let number = QUEUES.fetch_add(1, Ordering::Relaxed);
        // Short, since names of indexes are made of it and some servers cut those.
        let queue = format!("{layer}{number}_{}", name.replace("::", "_")).chars().take(12).collect();
        Self { server, layer, queue }
    }

    /// The same with another queue, for a body that needs several.
    pub fn sibling(&self, number: usize) -> Self {
        assert!(number < 16, "one character more: some servers cut longer names");
        let queue = format!("{}{number:x}", self.queue.chars().take(11).collect::<String>());
        Self { server: Arc::clone(&self.server), layer: self.layer, queue }
    }

    /// Settings for the scratch database.
    pub fn settings(&self, more: &[(&str, &str)]) -> Settings {
        let connection = [("connection", self.server.scratch.as_str())];
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Settings(connection.iter().chain(PATIENT).chain(more).map(owned).collect())
    }

    /// Installs the body's queue, with one column `Payload` of text, and opens it.
    pub fn queue(&self, settings: &[(&str, &str)]) -> Box<dyn Api> {
        self.queue_with(&format!(r#"{{"queue": "{}"}}"#, self.queue), settings)
    }

    /// Installs a queue and opens it.
    pub fn queue_with(&self, spec: &str, settings: &[(&str, &str)]) -> Box<dyn Api> {
        self.install(spec);
        self.open(settings)
    }

    /// Installs the body's queue with `more` in its description, and opens it.
    pub fn described(&self, more: &str) -> Box<dyn Api> {
        self.queue_with(&format!(r#"{{"queue": "{}", {more}}}"#, self.queue), &[])
    }

    /// Installs a queue. What fails is due again at once, unless the description has a word about it.
    pub fn install(&self, text: &str) {
        let mut spec: serde_json::Value = serde_json::from_str(text).unwrap();
        if self.server.is_citus() && spec["table"].is_object() && spec["table"]["schema"].is_null() {
            spec["table"]["schema"] = self.theirs().into();
        }
        let mut spec = QueueSpec::from_json(&spec.to_string()).unwrap();
        if !text.contains("backoff") {
            spec.backoff = None;
        }
        let _turn = self.server.alone();
        install(&self.settings(&[]).config(), Some(&spec)).unwrap();
    }

    /// Opens the body's queue once more, as another worker.
    pub fn open(&self, settings: &[(&str, &str)]) -> Box<dyn Api> {
        self.layer.open(&self.settings(settings), &self.queue).unwrap()
    }

    /// A connection to the scratch database, for what the library does not do.
    pub fn session(&self) -> Session {
        Session::open(&self.settings(&[]).config()).unwrap()
    }

    /// Sets the queue's limit of attempts.
    pub fn set_max_attempts(&self, attempts: i32) {
        let param = format!("{}.maxAttempts", self.queue.to_ascii_lowercase());
        let statement = if self.server.is_sql_server() {
            format!("INSERT INTO [readpast].AppSettings (Param, ValInt) VALUES ('{param}', {attempts})")
        } else {
            format!("INSERT INTO readpast.app_settings (param, val_int) VALUES ('{param}', {attempts})")
        };
        self.session().execute(&statement, &[]).unwrap();
    }

    /// Changes the items of the queue behind the library's back. `assignments` and `condition` are in both servers' SQL
    /// but for the spelling of column names, which is adapted.
    pub fn meddle(&self, assignments: &str, condition: &str) {
        let statement = format!("UPDATE {} SET {assignments} WHERE {condition}", self.table());
        self.session().execute(&self.spell(&statement), &[]).unwrap();
    }

    /// One value read from the queue's table.
    pub fn look(&self, column: &str, condition: &str) -> String {
        match self.rows(column, condition).value(0, 0) {
            Value::Text(text) => text.to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Null => "NULL".to_owned(),
            other => format!("{other:?}"),
        }
    }

    /// Columns read from the queue's table.
    pub fn rows(&self, columns: &str, condition: &str) -> Rows {
        let statement = format!("SELECT {columns} FROM {} WHERE {condition}", self.table());
        self.session().execute(&self.spell(&statement), &[]).unwrap()
    }

    /// The queue's name as its schema's tables have it.
    pub fn stem(&self) -> String {
        let snake = || readpast::ident::QueueName::new(&self.queue).unwrap().snake_case();
        if self.server.is_sql_server() { self.queue.clone() } else { snake() }
    }

    /// The schema of tables that were there before; Citus joins none of another schema.
    pub fn theirs(&self) -> &'static str {
        match self.server.label {
            "sqlserver" => "dbo",
            "citus" => "readpast",
            _ => "public",
        }
    }

    /// The queue's table, qualified.
    pub fn table(&self) -> String {
        if self.server.is_sql_server() {
            format!("[readpast].[{}]", self.queue)
        } else {
            format!("readpast.\"{}\"", readpast::ident::QueueName::new(&self.queue).unwrap().snake_case())
        }
    }

    /// The queue's worker view, qualified.
    pub fn view(&self) -> String {
        self.procedure("Worker_", "_V")
    }

    /// The qualified name of an object that is called after the queue; without a suffix and a queue in its name if the prefix has no `_`.
    pub fn procedure(&self, prefix: &str, suffix: &str) -> String {
        if self.server.is_sql_server() {
            let queue = if prefix.ends_with('_') { &self.queue } else { "" };
            return format!("[readpast].[{prefix}{queue}{suffix}]");
        }
        let snake = |name: &str| readpast::ident::QueueName::new(name).unwrap().snake_case();
        let (stem, queue) = match prefix.strip_suffix('_') {
            Some(stem) => (stem.to_lowercase() + "_", snake(&self.queue)),
            None => (snake(prefix), String::new()),
        };
        format!("readpast.\"{stem}{queue}{}\"", suffix.to_lowercase())
    }

    /// A name, quoted.
    pub fn quoted(&self, name: &str) -> String {
        let (open, close) = if self.server.is_sql_server() { ('[', ']') } else { ('"', '"') };
        format!("{open}{name}{close}")
    }

    /// SQL Server's column names in PostgreSQL's spelling where that is the server.
    pub fn spell(&self, statement: &str) -> String {
        if self.server.is_sql_server() {
            return statement.to_owned();
        }
        let names = [
            ("EnqueuedAt", "enqueued_at"),
            ("AttemptNum", "attempt_num"),
            ("StartedAt", "started_at"),
            ("ScheduledFor", "scheduled_for"),
            ("UpdatedAt", "updated_at"),
            ("LeaseOwner", "lease_owner"),
            ("LeaseUntil", "lease_until"),
            ("ClaimNum", "claim_num"),
            ("RecoveredAt", "recovered_at"),
            ("Payload", "\"Payload\""),
            // Citus changes no row by a function that is volatile.
            ("SYSUTCDATETIME()", if self.server.is_citus() { "now()" } else { "clock_timestamp()" }),
        ];
        names.iter().fold(statement.to_owned(), |text, (from, to)| text.replace(from, to))
    }
}
