//! Tables that are queues are found, with their traps and descriptions that `adopt` takes, on both servers.

use readpast::discover::{Candidate, discover};
use readpast::item::{Action, Settlement};
use readpast::{Queue, QueueSpec};
use std::time::{Duration, Instant};
use support::both::Database;
use support::scratch::Scratch;

/// Tables of many shapes. The last ones are no queues.
const POSTGRES: &str = "CREATE TYPE job_state AS ENUM ('todo', 'doing', 'succeeded', 'failed', 'odd');
GO
CREATE TABLE \"print jobs\" (\"Id\" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state job_state NOT NULL DEFAULT 'todo', payload jsonb,
    attempts int NOT NULL DEFAULT 0, run_at timestamptz);
GO
CREATE TABLE mail_queue (id bigserial PRIMARY KEY, status int NOT NULL DEFAULT 3, body text, locked_at timestamptz);
GO
CREATE TABLE outbox_messages (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), payload text NOT NULL, is_processed boolean NOT NULL DEFAULT FALSE,
    created_at timestamptz NOT NULL DEFAULT now(), retry_count int NOT NULL DEFAULT 0, worker text);
GO
CREATE TABLE lock_table (request_id numeric(12, 0), region char(4), hash bytea, request text, locked_by text, locked_at timestamptz,
    finished_at timestamptz, attempts int, PRIMARY KEY (request_id, region, hash));
GO
CREATE TABLE ready_tasks (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text, run_at timestamptz, attempts int NOT NULL DEFAULT 0);
GO
CREATE TABLE orders (id bigint PRIMARY KEY, status text, customer text, created_at timestamptz);
GO
CREATE TABLE addresses (id bigint PRIMARY KEY, city text);
GO
CREATE FUNCTION take_mail() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
    RETURN (SELECT id FROM mail_queue WHERE status = 3 LIMIT 1 FOR UPDATE); END; $$";

const SQL_SERVER: &str = "CREATE TABLE [print jobs] (Id bigint IDENTITY PRIMARY KEY, state varchar(20) NOT NULL DEFAULT 'todo', payload nvarchar(max),
    attempts int NOT NULL DEFAULT 0, run_at datetime2);
GO
CREATE TABLE mail_queue (id bigint IDENTITY PRIMARY KEY, status int NOT NULL DEFAULT 3, body nvarchar(max), locked_at datetime2);
GO
CREATE TABLE outbox_messages (id uniqueidentifier PRIMARY KEY DEFAULT NEWID(), payload nvarchar(max) NOT NULL, is_processed bit NOT NULL DEFAULT 0,
    created_at datetime2 NOT NULL DEFAULT SYSUTCDATETIME(), retry_count int NOT NULL DEFAULT 0, worker nvarchar(100));
GO
CREATE TABLE lock_table (request_id decimal(12, 0), region char(4), request nvarchar(max), locked_by nvarchar(100), locked_at datetime2,
    finished_at datetime2, attempts int, PRIMARY KEY (request_id, region));
GO
CREATE TABLE ready_tasks (id bigint IDENTITY PRIMARY KEY, body nvarchar(max), run_at datetime2, attempts int NOT NULL DEFAULT 0);
GO
CREATE TABLE orders (id bigint PRIMARY KEY, status varchar(20), customer nvarchar(100), created_at datetime2);
GO
CREATE TABLE addresses (id bigint PRIMARY KEY, city nvarchar(100));
GO
CREATE PROCEDURE take_mail AS SELECT TOP (1) id FROM mail_queue WITH (READPAST) WHERE status = 3 ORDER BY id";

fn found<'a>(tables: &'a [Candidate], name: &str) -> &'a Candidate {
    tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("{name} is not among {tables:#?}"))
}

fn traps(table: &Candidate) -> Vec<&str> {
    table.traps.iter().map(|trap| trap.check).collect()
}

#[test]
fn queues_are_found_and_described_as_adopt_takes_them() {
    for database in Database::each() {
        database.run(if database.is_sql_server() { SQL_SERVER } else { POSTGRES });
        let report = discover(&database.config(&[])).unwrap();
        let mut names: Vec<_> = report.tables.iter().map(|table| table.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["lock_table", "mail_queue", "outbox_messages", "print jobs", "ready_tasks"], "{report:#?}");

        let mail = found(&report.tables, "mail_queue");
        assert!(mail.evidence.iter().any(|what| what.contains("take_mail")), "{mail:#?}");
        assert!(traps(mail).contains(&"attempts") && traps(mail).contains(&"index"), "{mail:#?}");
        assert!(traps(mail).contains(&database.pick("rowlock", "waits")), "{mail:#?}");
        assert!(mail.traps.iter().all(|trap| !trap.remedy.is_empty()), "{mail:#?}");
        let text = mail.description.as_ref().unwrap();
        assert!(text.contains("Pending = { status = 3 }") && text.contains("DECIDE"), "{text}");
        let outbox = found(&report.tables, "outbox_messages").description.as_ref().unwrap();
        assert!(outbox.contains("is_processed = true"), "{outbox}");
        let ready = found(&report.tables, "ready_tasks").description.as_ref().unwrap();
        assert!(ready.contains("completion = \"delete\"") && !ready.contains("states"), "{ready}");
        if !database.is_sql_server() {
            let print = found(&report.tables, "print jobs").description.as_ref().unwrap();
            assert!(
                print.contains("Failed = { state = \"failed\" }") && print.contains("left alone: \"odd\""),
                "{print}"
            );
            assert!(traps(found(&report.tables, "print jobs")).contains(&"lease"));
        }

        // Each is adopted as it is written, and drained.
        for table in &report.tables {
            let text = table.description.as_ref().unwrap_or_else(|why| panic!("{}: {why}", table.name));
            let spec = QueueSpec::from_text(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let plan = readpast::adopt::plan(&database.config(&[]), &spec).unwrap();
            assert!(plan.is_possible(), "{:?}: {text}", plan.findings);
            plan.apply(&database.config(&[])).unwrap();
            let insert = match table.name.as_str() {
                "lock_table" => database.pick(
                    "INSERT INTO lock_table (request_id, region, request) VALUES (1, 'eu', 'x')",
                    "INSERT INTO lock_table (request_id, region, hash, request) VALUES (1, 'eu', '\\xff', 'x')",
                ),
                "outbox_messages" => "INSERT INTO outbox_messages (payload) VALUES ('x')",
                "mail_queue" => "INSERT INTO mail_queue (body) VALUES ('x')",
                "ready_tasks" => "INSERT INTO ready_tasks (body) VALUES ('x')",
                _ => database.pick(
                    "INSERT INTO [print jobs] (payload) VALUES ('{}')",
                    "INSERT INTO \"print jobs\" (payload) VALUES ('{}')",
                ),
            };
            database.run(insert);
            let queue = Queue::open(&database.config(&[("worker", "w")]), spec.queue.as_str()).unwrap();
            let batch = queue.claim(10, Duration::ZERO).unwrap();
            assert_eq!(batch.len(), 1, "{text}");
            queue.settle(&[Settlement::new(&batch.get(0).unwrap(), Action::Complete)], None).unwrap();
            assert!(queue.claim(10, Duration::ZERO).unwrap().is_empty(), "{text}");
        }
        // Its own tables are none of somebody's queues.
        let again = discover(&database.config(&[])).unwrap();
        assert_eq!(again.tables.len(), report.tables.len(), "{again:#?}");
    }
}

/// Known software is named, and its description comes with readpast. A login that sees little sees what there is.
#[test]
fn known_software_is_named_to_a_login_that_sees_little() {
    let mut scratch = Scratch::empty();
    crate::others::make(&scratch, crate::others::DELAYED_JOB.tables);
    scratch.run("CREATE SCHEMA boss");
    scratch.run("ALTER TABLE delayed_jobs SET SCHEMA boss");
    let role = scratch.role();
    let connection = support::scratch::changed(&scratch.connection(), &[("Uid", &role), ("Pwd", "p")]);
    let report = discover(&support::scratch::config(&connection, &[])).unwrap();
    let jobs = found(&report.tables, "delayed_jobs");
    assert_eq!((jobs.system, jobs.score >= 6), (Some("delayed_job"), true), "{jobs:#?}");
    assert!(jobs.verdict.is_some_and(|verdict| verdict.starts_with("drain beside")), "{jobs:#?}");
    let text = jobs.description.as_ref().unwrap();
    let spec = QueueSpec::from_text(text).unwrap();
    let plan = readpast::adopt::plan(&scratch.config(&[]), &spec).unwrap();
    assert!(plan.is_possible(), "{:?}: {text}", plan.findings);
}

/// The values of a status come from the statistics, a churn from the server's figures; thousands of other tables hide neither.
#[test]
fn statistics_say_what_a_status_means_among_many_tables() {
    let mut scratch = Scratch::empty();
    // A transaction locks each of them.
    for thousand in 0..5 {
        scratch.run(&format!(
            "DO $$ BEGIN FOR n IN 1..1000 LOOP EXECUTE format(
                'CREATE TABLE other_{thousand}_%s (id bigint PRIMARY KEY, status text, city text)', n); END LOOP; END $$"
        ));
    }
    scratch
        .run("CREATE TABLE sms_work (id bigserial PRIMARY KEY, state text, body text, tries int NOT NULL DEFAULT 0)");
    scratch.run(
        "INSERT INTO sms_work (state) SELECT CASE WHEN n < 200 THEN 'sent' WHEN n < 290 THEN 'new' ELSE 'in progress' END
         FROM generate_series(1, 300) AS n",
    );
    scratch.run("ANALYZE sms_work");
    scratch.run("CREATE TABLE comes_and_goes (id bigserial PRIMARY KEY, body text, attempts int NOT NULL DEFAULT 0)");
    scratch.run("INSERT INTO comes_and_goes (body) SELECT 'x' FROM generate_series(1, 5000)");
    scratch.run("DELETE FROM comes_and_goes");
    scratch.wait_for("SELECT n_tup_del FROM pg_stat_user_tables WHERE relname = 'comes_and_goes'", "5000");
    let started = Instant::now();
    let report = discover(&scratch.config(&[])).unwrap();
    println!("5000 other tables: {:?}", started.elapsed());
    let names: Vec<_> = report.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["comes_and_goes", "sms_work"], "{report:#?}");
    // A login without a right sees the catalog and the figures, but no statistics of columns.
    let role = scratch.role();
    let connection = support::scratch::changed(&scratch.connection(), &[("Uid", &role), ("Pwd", "p")]);
    let sees_little = discover(&support::scratch::config(&connection, &[])).unwrap();
    let names: Vec<_> = sees_little.tables.iter().map(|table| table.name.as_str()).collect();
    assert!(names.contains(&"comes_and_goes"), "{sees_little:#?}");
    let sms = &report.tables[1];
    let text = sms.description.as_ref().unwrap();
    for line in [
        "Pending = { state = \"new\" }",
        "Processing = { state = \"in progress\" }",
        "Completed = { state = \"sent\" }",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("a guess"), "{text}");
    assert!(report.tables[0].evidence.iter().any(|what| what.contains("5000 were inserted")), "{report:#?}");
}
