//! How far items in tables of others are: reports stand beside the table, which stays as it is, on both servers.

use super::limited::Table;
use super::progress::{answer, attempts_begin_empty, claim, nobody_else_reports, open, report, seen, settle};
use readpast::install::{drop_queue, dropping, install};
use readpast::item::{Action, ItemState, NewItem};
use readpast::{Answer, Filter, ItemRef, OperatorVerb, Queue, QueueSpec};
use serde_json::{Value, json};
use std::time::Duration;
use support::both::Database;
use support::scratch::Scratch;

/// A table with two keys, and with next to nothing else.
fn two_keys() -> Value {
    json!({"table": {"name": "Jobs", "create": true,
        "key": [{"name": "Region", "type": "text(10)", "source": "producer"}, {"name": "Id", "type": "bigint", "source": "table"}],
        "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}})
}

/// Tables, each with how many reports are left of what is completed: the row beside an item goes then.
fn tables() -> Vec<(Value, usize)> {
    let of = |table: Table| table.described(json!({}));
    let mut local = of(Table::Whole);
    local["table"]["time"] = json!("local");
    vec![(two_keys(), 0), (of(Table::Locked), 0), (of(Table::Taken), 0), (of(Table::Whole), 1), (local, 1)]
}

fn put(queue: &Queue, more: &Value, count: usize) {
    let columns = if is_double(more) { json!({"Region": "it's \"x\""}) } else { json!({}) };
    let item = NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() };
    queue.enqueue(&vec![item; count], None).unwrap();
}

fn is_double(more: &Value) -> bool {
    more["table"]["key"].as_array().unwrap().len() == 2
}

/// The key of no item.
fn absent(more: &Value) -> &'static str {
    if is_double(more) { r#"["it's \"x\"","123456"]"# } else { "123456" }
}

fn kept(database: &Database) -> usize {
    let query =
        database.pick("SELECT COUNT(*) FROM [readpast].[Scan_Progress]", "SELECT COUNT(*) FROM readpast.scan_progress");
    database.look(query).parse().unwrap()
}

/// A statement about the user's table.
fn meddle(database: &Database, statement: &str) {
    database.run(&statement.replace("{jobs}", database.pick("dbo.Jobs", "jobs")));
}

#[test]
fn reports_stand_beside_a_table_and_go_with_their_items() {
    for (more, left) in tables() {
        for database in Database::each() {
            let queue = open(&database, &more, &[]);
            put(&queue, &more, 2);
            let batch = claim(&queue, 1);
            let first = batch.get(0).unwrap();
            assert_eq!(seen(&queue, first.key()), None, "{more}");
            let twice = [report(&first, Some(1), None), report(&first, Some(42), Some("page 42 of 100"))];
            let outcomes = queue.report_progress(&twice).unwrap();
            let expected = (Answer::Ok, Some(ItemState::Processing));
            assert!(outcomes.iter().all(|one| (one.answer, one.state) == expected), "{more}: {outcomes:?}");
            assert!(outcomes.iter().all(|one| one.token == first.token()), "{more}: {outcomes:?}");
            let there = Some((Some(42), Some("page 42 of 100".to_owned())));
            assert_eq!(seen(&queue, first.key()), there, "the last one of a call counts: {more}");
            let shown = queue.progress(&[first.key(), absent(&more)]).unwrap();
            assert!(shown.len() == 1 && shown[0].key == first.key(), "{more}: {shown:?}");
            for (what, arguments) in
                [("show", json!({"key": first.key()})), ("find", json!({"filter": {"status": ["Processing"]}}))]
            {
                let asked: Value =
                    serde_json::from_str(&queue.ask(what, Some(&arguments.to_string())).unwrap()).unwrap();
                let item = asked.get("items").map_or(&asked, |items| &items[0]);
                assert_eq!(
                    (&item["progress"]["percent"], &item["progress"]["text"]),
                    (&json!(42), &json!("page 42 of 100"))
                );
            }
            attempts_begin_empty(&queue, &first, Some("six"), &more);
            let six = (left > 0).then(|| (Some(6), Some("six".to_owned())));
            assert_eq!((seen(&queue, first.key()), kept(&database)), (six, left), "{more}");
            assert_eq!(queue.purge(&Filter::default(), 10).unwrap(), 1);
            assert_eq!(kept(&database), 0, "{more}");
        }
    }
}

#[test]
fn a_worker_that_has_lost_an_item_of_a_table_reports_nothing() {
    for (more, _) in tables() {
        for database in Database::each() {
            let queue = open(&database, &more, &[("worker", "one")]);
            let other = Queue::open(&database.config(&[("worker", "two")]), "Scan").unwrap();
            put(&queue, &more, 1);
            let batch = claim(&queue, 1);
            let item = batch.get(0).unwrap();
            nobody_else_reports(&queue, &other, &item, absent(&more), &more);
            // The lease runs out, and another worker has it.
            let aged = if more["table"]["lifecycle"]["lease_until"].is_null() {
                database.pick(
                    "[readpast].[Scan_Lease] SET LeaseUntil = StartedAt",
                    "readpast.scan_lease SET lease_until = started_at",
                )
            } else {
                database.pick("dbo.Jobs SET HeldUntil = Began", "jobs SET helduntil = began")
            };
            database.run(&format!("UPDATE {aged}"));
            assert_eq!(other.recover(10).unwrap(), 1, "{more}");
            assert_eq!(answer(&queue, report(&item, Some(60), None)), Answer::LeaseLost);
            assert_eq!(seen(&queue, item.key()), Some((Some(2), None)), "{more}");
            let batch = claim(&other, 1);
            let theirs = batch.get(0).unwrap();
            assert_eq!(answer(&queue, report(&item, Some(60), None)), Answer::LeaseLost);
            assert_eq!(seen(&other, item.key()), None, "{more}");
            // An operator cancels it.
            other.act(OperatorVerb::Cancel, &[ItemRef { key: theirs.key(), token: None }]).unwrap();
            assert_eq!(answer(&other, report(&theirs, Some(9), None)), Answer::LeaseLost, "{more}");
        }
    }
}

#[test]
fn reports_go_with_what_leaves_the_table() {
    for table in [Table::Locked, Table::Whole] {
        for completion in [json!("delete"), json!({"history": "Done"})] {
            for database in Database::each() {
                let more = table.described(json!({"completion": completion}));
                let queue = open(&database, &more, &[]);
                put(&queue, &more, 3);
                let batch = claim(&queue, 3);
                for item in batch.iter() {
                    assert_eq!(answer(&queue, report(&item, Some(1), None)), Answer::Ok);
                }
                settle(&queue, &batch.get(0).unwrap(), Action::Complete);
                assert_eq!((kept(&database), seen(&queue, batch.get(0).unwrap().key())), (2, None), "{more}");
                settle(&queue, &batch.get(1).unwrap(), Action::Fail);
                assert_eq!(seen(&queue, batch.get(1).unwrap().key()), Some((Some(1), None)), "{more}");
                // Another program deletes a row: its report is seen no more, and goes with the next purge after a while.
                let gone = batch.get(2).unwrap();
                meddle(&database, &format!("DELETE FROM {{jobs}} WHERE Id = {}", gone.key()));
                assert_eq!((kept(&database), seen(&queue, gone.key())), (2, None), "{more}");
                database.run(database.pick(
                    "UPDATE [readpast].[Scan_Progress] SET ReportedAt = DATEADD(HOUR, -1, ReportedAt)",
                    "UPDATE readpast.scan_progress SET reported_at = reported_at - interval '1 hour'",
                ));
                if table == Table::Locked && database.is_sql_server() {
                    database.run("UPDATE [readpast].[Scan_Lease] SET UpdatedAt = DATEADD(HOUR, -1, UpdatedAt)");
                }
                assert_eq!(queue.purge(&Filter::default(), 10).unwrap(), 0);
                assert_eq!(
                    (kept(&database), seen(&queue, batch.get(1).unwrap().key())),
                    (1, Some((Some(1), None))),
                    "{more}"
                );
            }
        }
    }
}

#[test]
fn a_row_beside_that_somebody_holds_waits_for_nobody() {
    for database in Database::each().into_iter().filter(Database::heeds_lock_hints) {
        let more = two_keys();
        let queue = open(&database, &more, &[]);
        put(&queue, &more, 2);
        let batch = claim(&queue, 2);
        let (held, free) = (batch.get(0).unwrap(), batch.get(1).unwrap());
        let mut holder = database.session();
        holder.execute(database.pick("BEGIN TRANSACTION", "BEGIN"), &[]).unwrap();
        let hold = database.pick(
            "UPDATE [readpast].[Scan_Lease] SET Step = NULL WHERE Id = (SELECT MIN(s.Id) FROM [readpast].[Scan_Lease] AS s)",
            "UPDATE readpast.scan_lease SET step = NULL WHERE key_2 = (SELECT MIN(s.key_2) FROM readpast.scan_lease AS s)",
        );
        holder.execute(hold, &[]).unwrap();
        let outcomes = queue.report_progress(&[report(&held, Some(1), None), report(&free, Some(1), None)]).unwrap();
        let answers: Vec<_> = outcomes.iter().map(|one| (one.answer, one.state)).collect();
        assert_eq!(answers, [(Answer::Ok, None), (Answer::Ok, Some(ItemState::Processing))]);
        holder.execute("ROLLBACK", &[]).unwrap();
        assert_eq!((seen(&queue, held.key()), seen(&queue, free.key())), (None, Some((Some(1), None))));
    }
}

/// A program of the user's holds rows of its table for as long as it likes: in PostgreSQL reports do not need them.
#[test]
fn reports_pass_by_rows_of_the_table_in_postgresql() {
    for database in Database::each().into_iter().filter(|database| !database.is_sql_server()) {
        let more = two_keys();
        let queue = open(&database, &more, &[]);
        put(&queue, &more, 1);
        let batch = claim(&queue, 1);
        let mut holder = database.session();
        holder.execute("BEGIN", &[]).unwrap();
        holder.execute("UPDATE jobs SET n = 7", &[]).unwrap();
        assert_eq!(answer(&queue, report(&batch.get(0).unwrap(), Some(1), None)), Answer::Ok);
        assert_eq!(seen(&queue, batch.get(0).unwrap().key()), Some((Some(1), None)));
        holder.execute("ROLLBACK", &[]).unwrap();
    }
}

#[test]
fn the_table_stays_as_it_is_and_the_reports_go_with_the_queue() {
    for (more, _) in tables().into_iter().chain([(json!({}), 0)]) {
        for database in Database::each() {
            let queue = open(&database, &more, &[]);
            let is_own = more.get("table").is_none();
            if !is_own {
                put(&queue, &more, 1);
                let batch = claim(&queue, 1);
                assert_eq!(answer(&queue, report(&batch.get(0).unwrap(), Some(1), None)), Answer::Ok);
                let of_theirs = database.pick(
                    "SELECT COUNT(*) FROM sys.objects WHERE parent_object_id = OBJECT_ID(N'dbo.Jobs') AND type IN ('F', 'TR')",
                    "SELECT COUNT(*) FROM pg_trigger WHERE tgrelid = 'jobs'::regclass",
                );
                assert_eq!(database.look(of_theirs), "0", "{more}");
                // Nothing refers to it, which would refuse a TRUNCATE.
                meddle(&database, "TRUNCATE TABLE {jobs}");
            }
            queue.close(Duration::from_secs(10)).unwrap();
            // The table of the reports stays when the description lacks them, and goes with the queue.
            let mut without = more.clone();
            without["progress"] = json!(false);
            let queue = open(&database, &without, &[]);
            assert_eq!(
                queue.progress(&[if is_own { "2020-01-01T00:00:00.0000010" } else { absent(&more) }]).unwrap(),
                []
            );
            assert_eq!(kept(&database), usize::from(!is_own));
            queue.close(Duration::from_secs(10)).unwrap();
            let plan = dropping(&database.config(&[]), "Scan").unwrap();
            assert_eq!(plan.stays.len(), usize::from(!is_own), "{:?}", plan.stays);
            drop_queue(&database.config(&[]), "Scan").unwrap();
            let left = database.pick(
                "SELECT COUNT(*) FROM sys.objects WHERE name LIKE N'%Scan%' AND schema_id = SCHEMA_ID(N'readpast')",
                "SELECT COUNT(*) FROM pg_class WHERE relname LIKE '%scan%' AND relnamespace = 'readpast'::regnamespace",
            );
            assert_eq!(database.look(left), "0", "{more}");
        }
    }
}

/// A table that gets its last column for all there is needs no row beside its items any more.
#[test]
fn reports_outlive_the_rows_beside() {
    for database in Database::each() {
        let whole = Table::Whole.described(json!({}));
        let mut beside = whole.clone();
        beside["table"]["lifecycle"].as_object_mut().unwrap().remove("response");
        let queue = open(&database, &beside, &[]);
        put(&queue, &beside, 1);
        queue.close(Duration::from_secs(10)).unwrap();
        meddle(
            &database,
            database
                .pick("ALTER TABLE {jobs} ADD [Response] nvarchar(max) NULL", "ALTER TABLE {jobs} ADD response text"),
        );
        for _ in 0..2 {
            let queue = open(&database, &whole, &[]);
            let batch = claim(&queue, 1);
            let item = batch.get(0).unwrap();
            assert_eq!(answer(&queue, report(&item, Some(3), None)), Answer::Ok);
            assert_eq!(seen(&queue, item.key()), Some((Some(3), None)));
            settle(&queue, &item, Action::Release);
            queue.close(Duration::from_secs(10)).unwrap();
        }
    }
}

#[test]
fn items_that_a_custom_procedure_claims_report_too() {
    let scratch = Scratch::empty();
    scratch.run(
        "CREATE TABLE jobs (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, state integer NOT NULL DEFAULT 0, began timestamptz, holder text)",
    );
    scratch.run(
        "CREATE FUNCTION take(holder_ text) RETURNS SETOF bigint LANGUAGE sql AS $$
            UPDATE jobs SET holder = holder_, began = clock_timestamp()
            WHERE id = (SELECT MIN(id) FROM jobs WHERE state = 0 AND began IS NULL) RETURNING id
        $$",
    );
    let spec = QueueSpec::from_json(
        r#"{"queue": "Scan", "columns": [], "progress": true, "procedures": {"next": "take"}, "lease": {"kind": "fixed"},
        "table": {"name": "jobs", "key": ["id"], "lifecycle": {"started": "began", "owner": "holder"}, "states": {
            "Pending": {"state": 0, "began": {"is": "null"}}, "Processing": {"state": 0, "began": {"is": "set"}},
            "Completed": {"state": 1}}}}"#,
    );
    install(&scratch.config(&[]), Some(&spec.unwrap())).unwrap();
    let queue = Queue::open(&scratch.config(&[]), "Scan").unwrap();
    scratch.run("INSERT INTO jobs (id) VALUES (1)");
    let batch = claim(&queue, 1);
    let item = batch.get(0).unwrap();
    assert_eq!(answer(&queue, report(&item, Some(42), None)), Answer::Ok);
    assert_eq!(seen(&queue, "1"), Some((Some(42), None)));
    // Another program's claim breaks this one, of which it says nothing to anybody.
    scratch.run("UPDATE jobs SET holder = 'other', began = clock_timestamp()");
    assert_eq!(answer(&queue, report(&item, Some(43), None)), Answer::LeaseLost);
    assert_eq!(seen(&queue, "1"), None);
}
