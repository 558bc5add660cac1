//! Code that the benchmarks share: the servers, a scratch database on each, filling a queue fast, medians.

#![allow(dead_code, reason = "each benchmark uses its part of it")]

pub mod record;

use readpast::{
    config::Config,
    description::QueueSpec,
    for_tests::Session,
    ident::QueueName,
    install::install,
    item::{Rows, Value},
    queue::Queue,
};
use std::{
    env,
    path::{Path, PathBuf},
    process::{self, Command},
    time::Duration,
};

/// The content of an item: about as much as the parameters of a job.
const PAYLOAD: &str = r#"{"recipient": "someone@example.org", "template": "welcome", "parameters": {"name": "Someone", "language": "en"}}"#;

/// A server with a scratch database, which is dropped at the end.
pub struct Server {
    label: &'static str,
    connection: String,
    scratch: String,
    database: String,
}

impl Server {
    /// Runs a benchmark on every server that the environment names: `READPAST_TEST_POSTGRES`, `READPAST_TEST_SQLSERVER`.
    pub fn each(name: &str, benchmark: impl Fn(&Self)) {
        let named = [("PostgreSQL", "READPAST_TEST_POSTGRES"), ("SQL Server", "READPAST_TEST_SQLSERVER")];
        let found = named.iter().filter_map(|(label, variable)| Some((label, env::var(variable).ok()?)));
        let mut count = 0;
        for (label, connection) in found {
            let server = Self::prepare(label, connection, name);
            println!("\n{name}, {label}");
            let load = record::begin();
            benchmark(&server);
            record::end(&server, name, &load);
            count += 1;
        }
        assert!(count > 0, "set READPAST_TEST_POSTGRES (.ci/with_cluster.sh does) or READPAST_TEST_SQLSERVER");
    }

    fn prepare(label: &'static str, connection: String, name: &str) -> Self {
        let database = format!("readpast_bench_{}_{}", name.replace(' ', "_"), process::id());
        let others = connection.split(';').filter(|part| !part.to_ascii_lowercase().starts_with("database="));
        let others: Vec<_> = others.filter(|part| !part.is_empty()).collect();
        let scratch = format!("{};Database={database};", others.join(";"));
        let server = Self { label, connection, scratch, database };
        run(&mut server.admin(), &format!("CREATE DATABASE {}", server.database));
        server
    }

    /// One more scratch database on the same server.
    pub fn another_database(&self, name: &str) -> Self {
        Self::prepare(self.label, self.connection.clone(), name)
    }

    pub fn is_sql_server(&self) -> bool {
        self.label == "SQL Server"
    }

    /// `count`, or a part of it: a tenth where the server is not the one that the figures are made for, and another
    /// tenth when `READPAST_BENCH_SHORT` is set.
    pub fn scaled(&self, count: u32) -> u32 {
        let short = env::var_os("READPAST_BENCH_SHORT").is_some();
        count / if self.is_sql_server() { 10 } else { 1 } / if short { 10 } else { 1 }
    }

    /// How to connect to the scratch database.
    pub fn scratch(&self) -> &str {
        &self.scratch
    }

    pub fn config(&self, settings: &[(&str, &str)]) -> Config {
        let mut config = Config::new();
        config.set("connection", &self.scratch).unwrap();
        for (key, value) in settings {
            config.set(key, value).unwrap();
        }
        config
    }

    pub fn session(&self) -> Session {
        Session::open(&self.config(&[])).unwrap()
    }

    /// Installs a queue with a text column `Payload`.
    pub fn install(&self, queue: &str) {
        install(&self.config(&[]), Some(&spec(queue))).unwrap();
    }

    pub fn open(&self, queue: &str, settings: &[(&str, &str)]) -> Queue {
        Queue::open(&self.config(settings), queue).unwrap()
    }

    /// The same as if by so many processes: connection strings that differ are to the library what processes are.
    pub fn open_by_processes(&self, queue: &str, count: usize, settings: &[(&str, &str)]) -> Vec<Queue> {
        let open = |number| {
            // Both are of no effect: how many rows a cursor fetches, the name of the machine.
            let differs = if self.is_sql_server() { "WSID=bench" } else { "Fetch=10" };
            let connection = format!("{}{differs}{number};", self.scratch);
            self.open(queue, &[settings, &[("connection", &connection)]].concat())
        };
        (1..=count).map(open).collect()
    }

    pub fn table(&self, queue: &str) -> String {
        if self.is_sql_server() {
            format!("[readpast].[{queue}]")
        } else {
            format!("readpast.\"{}\"", QueueName::new(queue).unwrap().snake_case())
        }
    }

    /// Puts `count` items of a status into a queue, past the library. `year` keeps their keys apart from others'.
    pub fn fill(&self, queue: &str, status: &str, year: u32, count: u32) {
        let mut session = self.session();
        let table = self.table(queue);
        for first in (0..count).step_by(100_000) {
            let last = count.min(first + 100_000) - 1;
            run(
                &mut session,
                &if self.is_sql_server() {
                    format!(
                        "WITH n AS (SELECT TOP ({last} - {first} + 1) {first} - 1 + ROW_NUMBER() OVER (ORDER BY (SELECT 1)) \
                     AS n FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b), \
                     t AS (SELECT DATEADD(MICROSECOND, n.n % 1000000, DATEADD(SECOND, n.n / 1000000, \
                     CONVERT(datetime2(7), '{year}-01-01'))) AS t FROM n) \
                     INSERT INTO {table} ([EnqueuedAt], [Type], [Status], [AttemptNum], [StartedAt], [Duration], \
                     [ScheduledFor], [UpdatedAt], [LeaseOwner], [LeaseUntil], [Payload]) \
                     SELECT t.t, N'Default', N'{status}', {attempt}, {started}, 1, t.t, t.t, {owner}, {lease}, \
                     N'{PAYLOAD}' FROM t",
                        attempt = i32::from(status != "Pending"),
                        started = if status == "Pending" { "NULL" } else { "t.t" },
                        owner = if status == "Pending" { "NULL" } else { "N'somebody'" },
                        lease = if status == "Processing" { "DATEADD(HOUR, 1, SYSUTCDATETIME())" } else { "NULL" },
                    )
                } else {
                    format!(
                        "INSERT INTO {table} (enqueued_at, type, status, attempt_num, started_at, duration, scheduled_for, \
                     updated_at, lease_owner, lease_until, \"Payload\") \
                     SELECT t.t, 'Default', '{status}', {attempt}, {started}, 1, t.t, t.t, {owner}, {lease}, '{PAYLOAD}' \
                     FROM (SELECT timestamptz '{year}-01-01 00:00:00Z' + n * interval '1 microsecond' AS t \
                     FROM generate_series({first}, {last}) AS n) AS t",
                        attempt = i32::from(status != "Pending"),
                        started = if status == "Pending" { "NULL" } else { "t.t" },
                        owner = if status == "Pending" { "NULL" } else { "'somebody'" },
                        lease = if status == "Processing" { "clock_timestamp() + interval '1 hour'" } else { "NULL" },
                    )
                },
            );
        }
    }

    /// Removes all items of a queue, past the library.
    pub fn empty(&self, queue: &str) {
        run(&mut self.session(), &format!("TRUNCATE TABLE {}", self.table(queue)));
    }

    /// Puts one item into a queue that is due now, past the library.
    pub fn put_one(&self, session: &mut Session, queue: &str) {
        let table = self.table(queue);
        run(
            session,
            &if self.is_sql_server() {
                format!(
                    "INSERT INTO {table} ([EnqueuedAt], [Type], [Status], [AttemptNum], [ScheduledFor], [UpdatedAt]) \
                 SELECT t.t, N'Default', N'Pending', 0, t.t, t.t FROM (SELECT SYSUTCDATETIME() AS t) AS t"
                )
            } else {
                format!(
                    "INSERT INTO {table} (enqueued_at, type, status, attempt_num, scheduled_for, updated_at) \
                 SELECT t, 'Default', 'Pending', 0, t, t FROM clock_timestamp() AS t"
                )
            },
        );
    }

    /// From now on, new sessions count the calls of functions. (SQL Server does so by itself.)
    pub fn count_calls(&self) {
        if !self.is_sql_server() {
            run(&mut self.admin(), &format!("ALTER DATABASE {} SET track_functions = 'pl'", self.database));
        }
    }

    /// How often claims were called. PostgreSQL counts what a session calls when the session ends.
    pub fn claims(&self, queue: &str) -> i64 {
        self.number(&if self.is_sql_server() {
            format!(
                "SELECT COALESCE(SUM(s.execution_count), 0) FROM sys.dm_exec_procedure_stats AS s \
                 WHERE s.[object_id] = OBJECT_ID(N'[readpast].[Next_{queue}_Set_trx]')"
            )
        } else {
            let stem = QueueName::new(queue).unwrap().snake_case();
            format!(
                "SELECT COALESCE(SUM(calls), 0)::bigint FROM pg_stat_user_functions WHERE funcname = 'next_{stem}_set_trx'"
            )
        })
    }

    /// The work that a server does by itself sooner or later, done now so that it is not measured: statistics, dead rows, and the
    /// log written back.
    pub fn settle_down(&self, queue: &str) {
        let mut session = self.session();
        let table = self.table(queue);
        if self.is_sql_server() {
            run(&mut session, &format!("UPDATE STATISTICS {table}"));
        } else {
            run(&mut session, &format!("VACUUM (ANALYZE) {table}"));
            run(&mut session, "CHECKPOINT");
        }
    }

    /// One number from a query.
    pub fn number(&self, query: &str) -> i64 {
        match run(&mut self.session(), query).value(0, 0) {
            Value::Integer(number) => number,
            other => panic!("{query}: {other:?}"),
        }
    }

    fn admin(&self) -> Session {
        Session::open(Config::new().set("connection", &self.connection).unwrap()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let how = if self.is_sql_server() { "" } else { " WITH (FORCE)" };
        run(&mut self.admin(), &format!("DROP DATABASE {}{how}", self.database));
    }
}

pub fn spec(queue: &str) -> QueueSpec {
    QueueSpec::from_json(&format!(r#"{{"queue": "{queue}"}}"#)).unwrap()
}

fn run(session: &mut Session, statement: &str) -> Rows {
    session.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"))
}

/// Compiles `benches/<name>.c` and gives the program's path. The library's header and shared object are at hand.
pub fn compile(name: &str, flags: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // target/release/deps, where cargo has put this program and the shared object.
    let folder = env::current_exe().unwrap().parent().unwrap().to_owned();
    let program = folder.join(name);
    let status = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(root.join("benches").join(name).with_extension("c"))
        .arg("-I")
        .arg(root.join("include"))
        .arg("-L")
        .arg(&folder)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .args(flags)
        .status()
        .unwrap();
    assert!(status.success(), "{name}.c does not compile");
    program
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A time in the unit that suits it.
pub fn show(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// A figure, what it is to be, and whether it is.
pub fn verdict(what: &str, figure: &str, target: &str, met: bool) {
    let row = serde_json::json!({"": what, "figure": figure, "target": target, "met": if met { "yes" } else { "no" }});
    record::row("targets", row);
    println!("  {what:<58} {figure:>12}   {target:<12} {}", if met { "met" } else { "MISSED" });
}
