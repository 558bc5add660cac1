//! `table.where`: a table of which only some rows are the queue's, on both servers. The others are none of its business.

use readpast::item::{Action, Answer, Filter, ItemRef, Settlement};
use readpast::{ItemState, NewItem, Queue, QueueSpec, install};
use serde_json::{Value, json};
use std::time::Duration;
use support::both::Database;
use support::limit::until;

const RULE: &str = r#"{"node": 0, "kind": ["mail", "sms"], "gone": {"is": "null"}, "prio": {">=": 3, "<": 9, "<>": 5},
    "payload": {"is": "set"}}"#;

/// A table shared with others: rows 1 and 2 are the queue's, and each of the others misses one condition.
fn table(database: &Database) {
    database.run(&format!(
        "CREATE TABLE {} ({}, state int NOT NULL DEFAULT 0, node int NOT NULL, kind varchar(10) NOT NULL, gone int NULL,
            prio int NOT NULL, payload varchar(20) NULL, began {} NULL);",
        place(database),
        database.pick("id bigint IDENTITY PRIMARY KEY", "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
        database.pick("datetime2", "timestamptz"),
    ));
    for row in [
        "0, 'mail', NULL, 3, 'a'",
        "0, 'sms', NULL, 8, 'b'",
        "1, 'mail', NULL, 3, 'node'",
        "0, 'fax', NULL, 3, 'kind'",
        "0, 'mail', 1, 3, 'gone'",
        "0, 'mail', NULL, 9, 'above'",
        "0, 'mail', NULL, 2, 'below'",
        "0, 'mail', NULL, 5, 'other'",
        "0, 'mail', NULL, 4, NULL",
    ] {
        database.run(&format!("INSERT INTO {} (node, kind, gone, prio, payload) VALUES ({row})", place(database)));
    }
}

fn place(database: &Database) -> &str {
    database.pick("[dbo].[shared]", "public.shared")
}

fn described(database: &Database, present: bool) -> QueueSpec {
    let mut text = json!({"queue": "Part", "backoff": "none", "columns": [{"name": "payload", "type": "text(20)"},
        {"name": "prio", "type": "integer", "nullable": false}],
        "table": {"schema": database.pick("dbo", "public"), "name": "shared", "key": ["id"],
            "where": serde_json::from_str::<Value>(RULE).unwrap()}});
    if present {
        text["completion"] = json!("delete");
    } else {
        text["table"]["states"] = json!({"Pending": {"state": 0}, "Processing": {"state": 1}, "Completed": {"state": 2},
            "Failed": {"state": 3}});
        text["table"]["lifecycle"] = json!({"started": "began"});
    }
    QueueSpec::from_json(&text.to_string()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn open(database: &Database, more: &[(&str, &str)]) -> Queue {
    let settings = [&[("worker", "w"), ("recover.interval_ms", "3600000")], more].concat();
    Queue::open(&database.config(&settings), "Part").unwrap()
}

fn keys(batch: &readpast::Batch) -> Vec<String> {
    batch.iter().map(|item| item.key().to_owned()).collect()
}

#[test]
fn only_the_queues_rows_are_items() {
    for database in Database::each() {
        for present in [false, true] {
            table(&database);
            let spec = described(&database, present);
            let plan = readpast::adopt::plan(&database.config(&[]), &spec).unwrap();
            assert!(plan.is_possible(), "{:?}", plan.findings);
            assert!(plan.findings.iter().any(|f| f.check == "rows" && f.what == "2 Pending"), "{:?}", plan.findings);
            plan.apply(&database.config(&[])).unwrap();
            let queue = open(&database, &[]);
            let all = |queue: &Queue| keys(&queue.find(&Filter::default(), None, 100).unwrap());
            assert_eq!(all(&queue), ["1", "2"]);
            assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 2);
            assert_eq!(queue.watch(100).unwrap().stats.due, 2);
            assert!(queue.get("3").unwrap().is_empty());
            let view = database.pick("[readpast].[Worker_Part_V]", "readpast.worker_part_v");
            assert_eq!(database.look(&format!("SELECT COUNT(*) FROM {view}")), "2");

            // A new item is one of them: it gets the first value of each list, and NULL.
            let columns = json!({"payload": "c", "prio": 3}).as_object().unwrap().clone().into();
            queue.enqueue(&[NewItem { columns, ..NewItem::default() }], None).unwrap();
            let taken = queue.claim(10, Duration::ZERO).unwrap();
            assert_eq!(keys(&taken), ["1", "2", "10"]);
            let ended = [
                Settlement::new(&taken.get(0).unwrap(), Action::Fail),
                Settlement::new(&taken.get(1).unwrap(), Action::Complete),
            ];
            queue.settle(&ended, None).unwrap();
            // Another program takes one away: it is this queue's no more.
            database.run(&format!("UPDATE {} SET node = 7 WHERE id = 10", place(&database)));
            let answers = queue.settle(&[Settlement::new(&taken.get(2).unwrap(), Action::Complete)], None).unwrap();
            assert_eq!(answers[0].answer, Answer::NotFound);
            assert_eq!(all(&queue), if present { vec!["1"] } else { vec!["1", "2"] });

            // Nor is it touched as one: not by a redrive, nor by a purge, nor by a recovery.
            let failed = queue.find(&Filter::of_states([ItemState::Failed]), None, 10).unwrap();
            queue.redrive(&[ItemRef::from(failed.get(0).unwrap())], None).unwrap();
            if !present {
                let done = format!("UPDATE {} SET state = 2 WHERE id > 2", place(&database));
                database.run(&done);
                assert_eq!(queue.purge(&Filter::of_states([ItemState::Completed]), 100).unwrap(), 1);
                let old =
                    format!("UPDATE {} SET state = 1, began = '2020-01-01T00:00:00' WHERE id > 2", place(&database));
                database.run(&old);
                assert_eq!(queue.stats().unwrap().count(ItemState::Processing), 0);
                assert_eq!(queue.recover(100).unwrap(), 0);
            }
            let dies = open(&database, &[("worker", "d"), ("lease.ms", "10")]);
            assert_eq!(keys(&dies.claim(10, Duration::ZERO).unwrap()), ["1"]);
            until("the item comes back", || queue.recover(100).unwrap() == 1);
            let others = format!("SELECT COUNT(*) FROM {} WHERE id > 2", place(&database));
            assert_eq!(database.look(&others), "8");
            readpast::install::drop_queue(&database.config(&[]), "Part").unwrap();
            database.run(&format!("DROP TABLE {}", place(&database)));
        }
    }
}

/// A condition is compared, never read as SQL.
#[test]
fn conditions_are_constants_and_columns() {
    let refused = |rows: Value| {
        let text = json!({"queue": "Part", "columns": [{"name": "a", "type": "text"}], "table": {"name": "t", "key": ["id"],
            "lifecycle": {"due": "due", "type": "kind"}, "where": rows,
            "states": {"Pending": {"s": 0}, "Processing": {"s": 1}, "Completed": {"s": 2}}}});
        QueueSpec::from_json(&text.to_string()).unwrap_err().to_string()
    };
    for (rows, why) in [
        (json!({"s": 0}), "shows the state"),
        (json!({"due": {"is": "set"}}), "readpast writes"),
        (json!({"a": []}), "at least one"),
        (json!({"a": {}}), "is empty"),
        (json!({"a": [1, "x"]}), "different types"),
        (json!({"a": [1, 1]}), "twice"),
        (json!({"a": {"like": "x%"}}), "there is no such key"),
        (json!({"a": {">": true}}), "needs no comparison"),
        (json!({"a": "x\u{0}"}), "control character"),
        (json!({"a": 1, "A": 2}), "in other letters"),
    ] {
        let error = refused(rows.clone());
        assert!(error.contains(why), "{rows}: {error}");
    }
    for database in Database::each() {
        table(&database);
        let mut spec: Value = serde_json::from_str(&described(&database, true).to_json()).unwrap();
        spec["table"]["where"] = json!({"payload": "';DROP TABLE t;--", "node": {"<": 1}});
        let spec = QueueSpec::from_json(&spec.to_string()).unwrap();
        install(&database.config(&[]), Some(&spec)).unwrap();
        assert_eq!(open(&database, &[]).stats().unwrap().count(ItemState::Pending), 0);
        // A value that its type cannot hold is a finding.
        let mut spec: Value = serde_json::from_str(&described(&database, true).to_json()).unwrap();
        spec["table"]["where"] = json!({"node": "zero", "absent": 1});
        let spec = QueueSpec::from_json(&spec.to_string()).unwrap();
        let findings = readpast::adopt::plan(&database.config(&[]), &spec).unwrap().findings;
        for object in ["shared.node", "shared.absent"] {
            assert!(findings.iter().any(|finding| finding.object.ends_with(object)), "{object}: {findings:?}");
        }
    }
}
