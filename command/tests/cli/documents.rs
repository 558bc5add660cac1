//! Tables that others made, from `adopt` to `purge`: what a person does who has such a table.

use crate::shell::Shell;
use std::collections::BTreeSet;
use std::fs;

struct Table {
    queue: &'static str,
    ddl: &'static str,
    spec: &'static str,
    /// One item with a number, as a line of JSON.
    line: fn(usize) -> String,
    /// The variable in which the command finds the number.
    variable: &'static str,
}

const TABLES: [Table; 4] = [
    Table {
        queue: "FourQueue",
        ddl: "CREATE TABLE four_queue (
            id bigint GENERATED ALWAYS AS IDENTITY, in_process boolean NOT NULL DEFAULT FALSE, reputation integer NOT NULL,
            start_date timestamp NULL DEFAULT localtimestamp,
            end_date timestamp NULL DEFAULT localtimestamp + interval '864 milliseconds',
            duration_milliseconds bigint GENERATED ALWAYS AS (EXTRACT(EPOCH FROM end_date - start_date) * 1000) STORED,
            CONSTRAINT big_idea PRIMARY KEY (in_process, id), CONSTRAINT fq_uq_r UNIQUE (reputation))",
        spec: include_str!("../../../sql/specs/four_queue.toml"),
        line: |n| format!("{{\"reputation\": {n}}}\n"),
        variable: "READPAST_COL_REPUTATION",
    },
    Table {
        queue: "EmailRequests",
        ddl: "CREATE TABLE EmailRequests (
            Id integer GENERATED ALWAYS AS IDENTITY, EmailAddress varchar(250) NOT NULL, Subject varchar(50) NOT NULL,
            Body varchar(500) NOT NULL, IsProcessed boolean NOT NULL, Created timestamp NOT NULL, PRIMARY KEY (Id))",
        spec: include_str!("../../../sql/specs/email_requests.toml"),
        line: |n| format!("{{\"EmailAddress\": \"{n}\", \"Subject\": \"s\", \"Body\": \"b\"}}\n"),
        variable: "READPAST_COL_EMAILADDRESS",
    },
    Table {
        queue: "SimpleQueuePg",
        ddl: "CREATE TABLE simple_queue (
            id uuid NOT NULL PRIMARY KEY, created_at timestamptz NOT NULL, processing_started_at timestamptz, errors text,
            payload text);
        CREATE INDEX ix_simple_queue_pop ON simple_queue (processing_started_at, created_at ASC) INCLUDE (id)
        WHERE processing_started_at IS NULL",
        spec: include_str!("../../../sql/specs/simple_queue_postgres.toml"),
        line: |n| format!("{{\"payload\": \"{n}\"}}\n"),
        variable: "READPAST_COL_PAYLOAD",
    },
    Table {
        queue: "LockTable",
        ddl: "CREATE TABLE Queue (
            RequestId integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, Request text NULL, Status integer NOT NULL DEFAULT 1,
            LockedBy varchar(75) NULL, LockedTime timestamp NULL, RequestedTime timestamp NOT NULL DEFAULT localtimestamp,
            CompletionTime timestamp NULL, NumAttempts integer NULL)",
        spec: include_str!("../../../sql/specs/queue_lock_table.toml"),
        line: |n| format!("{{\"Request\": \"{n}\"}}\n"),
        variable: "READPAST_COL_REQUEST",
    },
];

#[test]
fn a_table_that_is_there_is_adopted_and_worked_on() {
    for table in &TABLES {
        let queue = table.queue;
        let shell = Shell::empty();
        table.ddl.split(';').for_each(|statement| shell.db.run(statement));
        shell.write("spec.toml", table.spec);
        assert!(shell.ok(&["adopt", "spec.toml", "--sql"]).contains("CREATE"), "{queue}");
        assert!(shell.ok(&["adopt", "spec.toml", "--apply"]).ends_with(&format!("adopted {queue}\n")));
        let doctor = shell.run(&["doctor", queue]);
        assert!(doctor.out.contains("errors: 0"), "{queue}: {}", doctor.out);

        let lines: String = (1..=30).map(table.line).collect();
        assert_eq!(shell.feed(&["enqueue", queue], &lines).out, "items enqueued: 30\n", "{queue}");
        let script = format!("echo ${0} >> taken; [ ${0} -ne 7 ] || {{ echo boom >&2; exit 65; }}", table.variable);
        let work = ["work", queue, "--until-empty", "--jobs", "2", "--batch", "3", "--", "sh", "-c", &script];
        let worker = shell.start(&work);
        let done = shell.run(&work);
        assert_eq!((done.status, worker.end().status), (Some(0), Some(0)), "{queue}: {done:?}");
        let taken = fs::read_to_string(shell.folder.join("taken")).unwrap();
        let numbers: BTreeSet<_> = taken.lines().collect();
        assert_eq!((taken.lines().count(), numbers.len()), (30, 30), "{queue}: each once");

        let failed = shell.run(&["show", queue, "--status", "Failed", "--json"]).json();
        assert_eq!(failed.len(), 1, "{queue}");
        let key = failed[0]["key"].as_str().unwrap();
        let full = shell.ok(&["show", queue, key]);
        assert!(full.contains("boom"), "{queue}: {full}");
        assert_eq!(shell.ok(&["redrive", queue, "--key", key]), "redriven: 1\n", "{queue}");
        assert_eq!(shell.ok(&["pause", queue, "--key", key]), "paused: 1\n", "{queue}");
        assert_eq!(shell.run(&["work", queue, "--until-empty", "--", "false"]).status, Some(0));
        assert_eq!(shell.ok(&["resume", queue, "--all"]), "resumed: 1\n", "{queue}");
        shell.ok(&["work", queue, "--until-empty", "--", "true"]);
        assert_eq!(shell.ok(&["show", queue, "--status", "Failed"]), "", "{queue}");

        let stats = shell.run(&["stats", queue, "--json"]);
        assert_eq!(stats.status, Some(0), "{queue}: {stats:?}");
        let stats = &stats.json()[0];
        let completed = stats["counts"]["Completed"].as_u64().unwrap();
        assert!(completed == 30 || queue == "SimpleQueuePg" && completed == 0, "{queue}: {stats}");
        let knows_arrivals = ["EmailRequests", "LockTable"].contains(&queue);
        assert_eq!(stats["workers_needed"].is_null(), !knows_arrivals, "{queue}: {stats}");
        assert!(shell.ok(&["stats", queue]).contains("claimed 0 items"), "{queue}");
        assert_eq!(shell.ok(&["purge", queue, "--all"]), format!("purged: {completed}\n"), "{queue}");
    }
}
