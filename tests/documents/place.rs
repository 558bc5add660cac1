//! A database of a test's own, with a document's table in it, on one of the servers at hand.

use readpast::{
    config::Config,
    description::QueueSpec,
    for_tests::Session,
    install::install,
    item::{Rows, Value},
};
use std::{
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use support::api::{Api, Layer};
use support::database;
use support::fixture::Settings;
use support::limit::PATIENT;

/// A server that the environment names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Postgres,
    SqlServer,
}

impl Server {
    /// PostgreSQL always; SQL Server when there is one.
    pub fn at_hand() -> Vec<Self> {
        let all = [Self::Postgres, Self::SqlServer];
        let named: Vec<_> = all.into_iter().filter(|server| env::var_os(server.variable()).is_some()).collect();
        assert!(!named.is_empty(), "set READPAST_TEST_POSTGRES (.ci/with_cluster.sh does) or READPAST_TEST_SQLSERVER");
        named
    }

    fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "READPAST_TEST_POSTGRES",
            Self::SqlServer => "READPAST_TEST_SQLSERVER",
        }
    }

    /// Its name in the names of tests and files.
    pub fn label(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::SqlServer => "sql_server",
        }
    }

    fn connection(self) -> String {
        env::var(self.variable()).unwrap()
    }
}

/// The database. It is dropped with this.
pub struct Place {
    pub server: Server,
    name: String,
    connection: String,
}

impl Place {
    pub fn new(server: Server) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("readpast_documents_{}_{number}", process::id());
        let given = server.connection();
        database::create(&given, &name);
        let others = given.split(';').filter(|part| !part.to_ascii_lowercase().starts_with("database="));
        let others: Vec<_> = others.filter(|part| !part.is_empty()).collect();
        let connection = format!("{};Database={name};", others.join(";"));
        Self { server, name, connection }
    }

    /// A place with these tables of a document in it.
    pub fn with(server: Server, tables: &[&str]) -> Self {
        let place = Self::new(server);
        tables.iter().for_each(|table| place.run_file(&format!("{table}.{}.sql", server.label())));
        place
    }

    pub fn is_sql_server(&self) -> bool {
        self.server == Server::SqlServer
    }

    /// Settings for this database.
    pub fn settings(&self, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let connection = [("connection", self.connection.as_str())];
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        connection.iter().chain(PATIENT).chain(more).map(owned).collect()
    }

    /// Adopts the table by one of the descriptions in `sql/specs`, with a change to its text where a test needs one.
    pub fn adopt(&self, spec: &str, change: impl Fn(String) -> String) -> QueueSpec {
        let text = fs::read_to_string(root(&format!("sql/specs/{spec}.toml"))).unwrap();
        self.adopt_text(&change(text))
    }

    pub fn adopt_text(&self, text: &str) -> QueueSpec {
        let mut spec = QueueSpec::from_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        if !text.contains("backoff") {
            // An item that fails is taken up at once, as in the documents.
            spec.backoff = None;
        }
        // Installs take turns by themselves, on some servers in all databases together; here without a limit of patience.
        static INSTALLING: Mutex<()> = Mutex::new(());
        let _turn = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        install(&Settings::from(self.settings(&[])).config(), Some(&spec)).unwrap();
        spec
    }

    /// Opens a queue.
    pub fn open(&self, queue: &str, settings: &[(&str, &str)]) -> Box<dyn Api> {
        Layer::Rust.open(&Settings::from(self.settings(settings)), queue).unwrap()
    }

    /// The same as the library takes them.
    pub fn config(&self) -> Config {
        Settings::from(self.settings(&[])).config()
    }

    /// A setting in AppSettings.
    pub fn set(&self, param: &str, value: i32) {
        self.run(&if self.is_sql_server() {
            format!("INSERT INTO [readpast].AppSettings (Param, ValInt) VALUES ('{param}', {value})")
        } else {
            format!("INSERT INTO readpast.app_settings (param, val_int) VALUES ('{param}', {value})")
        });
    }

    pub fn session(&self) -> Session {
        Session::open(&Settings::from(self.settings(&[])).config()).unwrap()
    }

    /// Runs a statement in words that both servers have, but for those that [`Self::spell`] changes.
    pub fn run(&self, statement: &str) {
        self.query(statement);
    }

    pub fn query(&self, statement: &str) -> Rows {
        let statement = self.spell(statement);
        self.session().execute(&statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// Whether the server takes a statement. It should change nothing.
    pub fn takes(&self, statement: &str) -> bool {
        self.session().execute(statement, &[]).is_ok()
    }

    /// Whether a row that is read WITH (UPDLOCK) is locked then.
    pub fn heeds_lock_hints(&self) -> bool {
        support::both::heeds_lock_hints(&mut self.session(), &mut self.session())
    }

    /// One value, as text.
    pub fn look(&self, query: &str) -> String {
        let rows = self.query(query);
        assert_eq!(rows.len(), 1, "{query}");
        text(rows.value(0, 0))
    }

    /// All rows, as text.
    pub fn rows(&self, query: &str) -> Vec<Vec<String>> {
        let rows = self.query(query);
        let row = |row| (0..rows.columns().len()).map(|column| text(rows.value(row, column))).collect();
        (0..rows.len()).map(row).collect()
    }

    /// Two columns, as a map.
    pub fn map(&self, query: &str) -> BTreeMap<String, String> {
        let pair = |row: Vec<String>| <[String; 2]>::try_from(row).unwrap().into();
        self.rows(query).into_iter().map(pair).collect()
    }

    /// The words that differ: flags, times, and how to move a time. `NOW` is the server's local time.
    pub fn spell(&self, statement: &str) -> String {
        let words: &[(&str, &str)] = if self.is_sql_server() {
            &[
                ("FALSE", "0"),
                ("TRUE", "1"),
                ("NOW_UTC", "SYSUTCDATETIME()"),
                ("NOW", "SYSDATETIME()"),
                ("ELEVEN_MINUTES_AGO", "DATEADD(MINUTE, -11, SYSDATETIME())"),
                ("HOURS_AGO", "DATEADD(HOUR, -5, SYSDATETIME())"),
                ("HALF_AN_HOUR_AGO", "DATEADD(MINUTE, -30, SYSDATETIME())"),
                ("TOMORROW", "DATEADD(DAY, 1, SYSDATETIME())"),
            ]
        } else {
            &[
                ("NOW_UTC", "(clock_timestamp() AT TIME ZONE 'UTC')"),
                ("NOW", "LOCALTIMESTAMP"),
                ("ELEVEN_MINUTES_AGO", "(LOCALTIMESTAMP - INTERVAL '11 minutes')"),
                ("HOURS_AGO", "(LOCALTIMESTAMP - INTERVAL '5 hours')"),
                ("HALF_AN_HOUR_AGO", "(LOCALTIMESTAMP - INTERVAL '30 minutes')"),
                ("TOMORROW", "(LOCALTIMESTAMP + INTERVAL '1 day')"),
            ]
        };
        let mut out = String::new();
        // Whole words only.
        for piece in split_words(statement) {
            out.push_str(words.iter().find(|(word, _)| *word == piece).map_or(piece, |(_, with)| with));
        }
        out
    }

    /// Runs a file of this folder, statement by statement as its GO lines part it.
    pub fn run_file(&self, file: &str) {
        let script = fs::read_to_string(root(&format!("tests/documents/{file}"))).unwrap();
        let mut session = self.session();
        for statement in script.split("\nGO\n").filter(|statement| !is_comment(statement)) {
            let Err(error) = session.execute(statement, &[]) else { continue };
            let plainer = plainer(statement).filter(|_| self.is_sql_server());
            let Some(plainer) = plainer else { panic!("{file}: {statement}: {error}") };
            println!("{file}: not taken as printed: {error}");
            for statement in plainer {
                session.execute(&statement, &[]).unwrap_or_else(|error| panic!("{file}: {statement}: {error}"));
            }
        }
    }

    /// The name of the queue's worker view.
    pub fn view(&self, spec: &QueueSpec) -> String {
        if self.is_sql_server() {
            format!("[readpast].Worker_{}_V", spec.queue)
        } else {
            format!("readpast.worker_{}_v", spec.queue.snake_case())
        }
    }

    /// The name of the table that is kept beside the document's.
    pub fn beside(&self, spec: &QueueSpec) -> String {
        if self.is_sql_server() {
            format!("[readpast].{}_Lease", spec.queue)
        } else {
            format!("readpast.{}_lease", spec.queue.snake_case())
        }
    }

    /// A column of the document's table in the worker view, which has it as the description writes it.
    pub fn shown(&self, name: &str) -> String {
        if self.is_sql_server() { format!("[{name}]") } else { format!("\"{name}\"") }
    }

    /// The differences between the servers in the names of readpast's columns.
    pub fn column(&self, name: &str) -> String {
        if self.is_sql_server() { name.to_owned() } else { readpast::ident::QueueName::new(name).unwrap().snake_case() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        database::drop(&self.server.connection(), &self.name);
    }
}

pub fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub fn text(value: Value<'_>) -> String {
    match value {
        Value::Text(text) => text.to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Null => "NULL".to_owned(),
        other => format!("{other:?}"),
    }
}

fn is_comment(statement: &str) -> bool {
    statement.lines().all(|line| line.trim().is_empty() || line.starts_with("--"))
}

fn split_words(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (piece, tail) = rest.split_at(end);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// For servers that speak T-SQL and do not take all of it. An index inside CREATE TABLE, or one that ignores duplicates:
/// the same index as a statement behind, without that option. A function with its schema in a CHECK: without it. CREATE OR ALTER: CREATE.
fn plainer(statement: &str) -> Option<Vec<String>> {
    if statement.contains("CHECK (dbo.") {
        return Some(vec![statement.replace("CHECK (dbo.", "CHECK (")]);
    }
    if statement.contains("CREATE OR ALTER ") {
        return Some(vec![statement.replace("CREATE OR ALTER ", "CREATE ")]);
    }
    let (table, index) = statement.split_once(",\nINDEX ")?;
    let (name, rest) = index.split_once(" UNIQUE NONCLUSTERED ")?;
    let (columns, _) = rest.split_once('\n')?;
    Some(vec![format!("{table}\n);"), format!("CREATE UNIQUE NONCLUSTERED INDEX {name} ON dbo.four_queue {columns}")])
}
