//! Each description as a database in `target/tsql`, for the program that binds names (`.ci/tsql`): a folder, with the tables that
//! somebody else made as `.there`, and the scripts that are bound as `.sql`.

use crate::sql::{calls_of, calls_of_schema};
use crate::tree::{fenced, root};
use readpast::{
    Dialect, QueueSpec,
    description::{EXAMPLES, Storage},
    ident::Identifier,
    render,
};
use std::fs;

const SQL_SERVER: Dialect = Dialect::SqlServer;

/// The tables that the matrix of descriptions names and does not make.
const OTHERS: &str = "CREATE TYPE dbo.OtpCode FROM nvarchar(6) NULL;
GO
CREATE TABLE dbo.Users (ID bigint NOT NULL PRIMARY KEY);
";

/// The table of the queues that somebody else's procedure claims, with the settings of the team.
const CLAIMED: &str = "CREATE TABLE dbo.jobs (Id bigint IDENTITY NOT NULL, Region nvarchar(10), State int, Began datetime, \"By\" nvarchar(128),
    Tries int, Due datetime, Step nvarchar(60), Trouble nvarchar(max), Version datetime, Ended datetime);
GO
CREATE TABLE [team's].[Settings]]] ([Key] nvarchar(100), Number int);
GO
CREATE PROCEDURE dbo.Take @By nvarchar(128) AS SELECT 1;
";

/// The table of delayed_job, as its migration makes it on SQL Server.
const DELAYED_JOB: &str = "CREATE TABLE dbo.delayed_jobs (
    id bigint IDENTITY(1, 1) NOT NULL PRIMARY KEY, priority int NOT NULL DEFAULT 0, attempts int NOT NULL DEFAULT 0,
    handler nvarchar(max) NOT NULL, last_error nvarchar(max) NULL, run_at datetime2(6) NULL, locked_at datetime2(6) NULL,
    failed_at datetime2(6) NULL, locked_by nvarchar(4000) NULL, queue nvarchar(4000) NULL, created_at datetime2(6) NOT NULL,
    updated_at datetime2(6) NOT NULL
);";

const SIMPLE_QUEUE_POSTGRES: &str = "CREATE TABLE simple_queue (id uniqueidentifier NOT NULL PRIMARY KEY, created_at datetime2 NOT NULL,
    processing_started_at datetime2, errors nvarchar(max), payload nvarchar(max));
GO
CREATE INDEX ix_simple_queue_pop ON simple_queue (processing_started_at, created_at) INCLUDE (id) WHERE processing_started_at IS NULL;
";

/// The tables that a description expects.
pub fn there(name: &str) -> String {
    let documents: &[&str] = match name.trim_start_matches("example_") {
        "email_requests" | "email_requests_delete" | "email_requests_lifo" => &["email_requests"],
        "email_requests_heap" => &["email_requests", "email_requests_heap"],
        "email_requests_sent" => &["email_requests", "email_requests_sent"],
        "four_queue" => &["four_queue"],
        "four_queue_scheduler" => &["four_queue_scheduler"],
        "get_next_item" => &["lock_table", "lock_table_attempts", "get_next_item"],
        "queue_lock_table" => &["lock_table", "lock_table_attempts"],
        "hand_written" | "notification_described" => &["relational"],
        "simple_queue" => &["simple_queue"],
        "simple_queue_postgres" => return SIMPLE_QUEUE_POSTGRES.to_owned(),
        "delayed_job" => return DELAYED_JOB.to_owned(),
        name if name.starts_with("claimed_") => return CLAIMED.to_owned(),
        _ => return OTHERS.to_owned(),
    };
    let read = |name: &&str| fs::read_to_string(root(&format!("tests/documents/{name}.sql_server.sql"))).unwrap();
    documents.iter().map(read).collect::<Vec<_>>().join("\nGO\n")
}

/// Empties the folder of a database: scripts of an earlier run are none of it.
pub fn begin(name: &str) {
    let _ = fs::remove_dir_all(root("target/tsql").join(name));
}

/// A script of the database `name`: `1_install.sql`, `2_calls.sql`.
pub fn write(name: &str, file: &str, text: &str) {
    let folder = root("target/tsql").join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(file), text).unwrap();
}

/// With a variable for each mark that ODBC fills in.
pub fn filled_in(text: &str) -> String {
    let mut parts = text.split('?');
    let first = parts.next().unwrap().to_owned();
    parts.enumerate().fold(first, |text, (number, part)| format!("{text}@p{number}{part}"))
}

/// As a statement, with a variable for each mark that ODBC fills in.
fn sent(call: &str) -> String {
    let call = call.strip_prefix("{CALL ").and_then(|call| call.strip_suffix('}')).map_or_else(
        || call.to_owned(),
        |call| format!("EXECUTE {}", call.replace("](?", "] ?").replace("] (?", "] ?").replace("?)", "?")),
    );
    filled_in(&call)
}

/// The install of a description, and the statements that the library sends.
pub fn write_queue(name: &str, schema: &Identifier, spec: &QueueSpec, install: &str) {
    begin(name);
    write(name, "0_theirs.there", &there(name));
    write(name, "1_install.sql", install);
    let mut calls = calls_of_schema(SQL_SERVER, schema);
    if !matches!(spec.storage, Storage::Procedures(_)) {
        calls.extend(calls_of(SQL_SERVER, schema, spec));
    }
    let calls: Vec<_> = calls.iter().map(|(call, text)| format!("/* {call} */ {}", sent(text))).collect();
    write(name, "2_calls.sql", &calls.join("\nGO\n"));
}

/// The way back, which also takes objects that an older description of the queue may have made.
pub fn write_drop(name: &str, schema: &Identifier, spec: &QueueSpec, (theirs, install): (&str, &str), script: &str) {
    let (schema, queue) = (schema.quoted(SQL_SERVER.quote_style()), &spec.queue);
    let older = format!(
        "CREATE TABLE {schema}.[{queue}_Attempt] ([Id] bigint);\nGO\nCREATE TABLE {schema}.[{queue}_Progress] ([Id] bigint);\nGO\n\
         CREATE SEQUENCE {schema}.[{queue}_ShardTurn] AS bigint;\n"
    );
    let name = format!("{name}_drop");
    begin(&name);
    write(&name, "0_theirs.there", theirs);
    write(&name, "1_install.there", install);
    write(&name, "2_older.there", &older);
    write(&name, "3_drop.sql", script);
}

/// From another description of the same queue, as far as there is a way.
pub fn write_upgrade(name: &str, schema: &Identifier, (old, install): (&QueueSpec, &str), new: &QueueSpec) -> bool {
    let Ok(upgrade) = render::upgrade_script(SQL_SERVER, schema, old, new) else { return false };
    let name = format!("{name}_upgrade");
    begin(&name);
    write(&name, "0_theirs.there", &there(&name));
    write(&name, "1_old.there", install);
    write(&name, "2_upgrade.sql", &upgrade);
    true
}

/// The T-SQL of a page, beside the queues that it describes, the examples, and the tables that its blocks speak of.
#[test]
fn pages_are_written_with_the_queues_they_describe() {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let mut blocks = 0;
    for (name, tables) in [
        (
            "docs/developer.md",
            "CREATE TABLE orders (id int NOT NULL);\nGO\nCREATE TABLE dbo.Account (Id int, Balance int);",
        ),
        ("docs/dba.md", ""),
        (
            "sql/ADOPT.md",
            "CREATE TABLE dbo.Users (Reputation int);\nGO\nCREATE TABLE dbo.reputation_count (reputation int, records bigint);",
        ),
    ] {
        let page = fs::read_to_string(root(name)).unwrap();
        let found = fenced(&page, "tsql");
        let described = fenced(&page, "toml").into_iter().chain(fenced(&page, "json"));
        let mut specs: Vec<_> = described.filter_map(|text| QueueSpec::from_text(&text).ok()).collect();
        specs.extend(EXAMPLES.iter().map(|(_, text)| QueueSpec::from_toml(text).unwrap()));
        let mut names = std::collections::BTreeSet::new();
        let database = name.replace(['/', '.'], "_");
        let mut theirs = tables.to_owned();
        for example in ["four_queue", "email_requests", "queue_lock_table", "simple_queue"] {
            theirs = format!("{theirs}\nGO\n{}", there(example));
        }
        begin(&database);
        write(&database, "0_theirs.there", &theirs);
        for spec in specs.iter().filter(|spec| names.insert(spec.queue.to_string())) {
            let script = render::script(SQL_SERVER, &schema, Some(spec)).unwrap();
            write(&database, &format!("1_{}.there", spec.queue), &script);
        }
        for (number, text) in found.iter().enumerate() {
            write(&database, &format!("2_block_{number}.sql"), text);
        }
        blocks += found.len();
    }
    assert!(blocks > 5, "{blocks}");
    let all = ["docs", "sql"].map(|folder| fs::read_dir(root(folder)).unwrap()).into_iter().flatten();
    let pages = all.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "md"));
    let total: usize = pages.map(|path| fenced(&fs::read_to_string(path).unwrap(), "tsql").len()).sum();
    assert_eq!(blocks, total, "a page with T-SQL is not in the list above");
}
