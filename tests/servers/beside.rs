//! Values that a table has no column for are kept beside it, on both servers: also of an item that no worker has had yet.

use readpast::item::{Action, Answer, ItemRef, Settlement};
use readpast::{ItemState, NewItem, Queue, QueueSpec, Value, install};
use serde_json::json;
use std::time::Duration;
use support::both::Database;

/// A queue whose table has a key, a status, and the columns of these roles.
fn given(database: &Database, life: &serde_json::Value) -> Queue {
    let text = json!({"queue": "Job", "columns": [{"name": "What", "type": "text(20)"}], "backoff": "none",
        "attempts": {"history": true}, "table": {"schema": "readpast", "name": "Jobs", "create": true, "key": [{"name": "Id", "type": "text(40)", "source": "producer"}],
                  "lifecycle": life,
                  "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}});
    install(&database.config(&[]), Some(&QueueSpec::from_json(&text.to_string()).unwrap())).unwrap();
    Queue::open(&database.config(&[("worker", "w")]), "Job").unwrap()
}

fn put(queue: &Queue, id: &str, more: NewItem) {
    let columns = json!({"Id": id}).as_object().unwrap().clone().into();
    queue.enqueue(&[NewItem { columns, ..more }], None).unwrap();
}

#[test]
fn later_items_wait_beside_a_table_without_a_due_time() {
    for database in Database::each() {
        let queue = given(&database, &json!({}));
        let step = Some("half".to_owned());
        put(&queue, "later", NewItem { delay_ms: Some(3_600_000), step, ..NewItem::default() });
        put(&queue, "now", NewItem::default());
        let state = |key: &str| queue.get(key).unwrap().get(0).unwrap().state();
        assert_eq!((state("later"), state("now")), (Some(ItemState::Error), Some(ItemState::Pending)));
        let taken = queue.claim(10, Duration::ZERO).unwrap();
        assert_eq!(taken.iter().map(|item| item.key().to_owned()).collect::<Vec<_>>(), ["now"]);
        let shown = database.pick("[readpast].[Job_Lease]", "readpast.job_lease");
        database.run(&format!(
            "UPDATE {shown} SET {} = '2026-01-01T00:00:00' WHERE status = 'Error'",
            database.pick("DueAt", "due_at")
        ));
        let taken = queue.claim(10, Duration::ZERO).unwrap();
        let item = taken.get(0).expect("it is due");
        assert_eq!((item.key(), item.attempt()), ("later", 1));
        let step = ["ItemStep", "item_step"].iter().find_map(|name| item.value_of(name));
        assert_eq!(step, Some(readpast::Value::Text("half")));
    }
}

/// Somebody else deletes rows; what stood beside one says nothing of the next that is called so.
#[test]
fn a_key_that_comes_again_begins_anew() {
    for life in [json!({}), json!({"due": "Due", "step": "Step"})] {
        for database in Database::each() {
            let queue = given(&database, &life);
            for _ in 0..2 {
                put(&queue, "a", NewItem::default());
                assert!(queue.attempts("a").unwrap().is_empty());
                for attempt in 1..=2 {
                    let taken = queue.claim(10, Duration::ZERO).unwrap();
                    let item = taken.get(0).expect("it is due");
                    assert_eq!(item.attempt(), attempt);
                    queue.settle(&[Settlement::new(&item, Action::Retry)], None).unwrap();
                }
                assert_eq!(queue.attempts("a").unwrap().len(), 2);
                database.run(database.pick("DELETE FROM [readpast].[Jobs]", "DELETE FROM readpast.jobs"));
            }
        }
    }
}

/// No item of the same work that ended comes back while the work is in the queue again, and of several only one.
#[test]
fn work_that_came_again_is_not_redriven() {
    for life in [
        json!({}),
        json!({"due": "Due", "started": "Began", "finished": "Ended", "duration": "Ms", "attempts": "Tries",
        "owner": "Who", "lease_until": "Until", "step": "Step", "response": "Answer", "error": "Error", "token": "Changed"}),
    ] {
        for database in Database::each() {
            let text = json!({"queue": "Job", "columns": [{"name": "What", "type": "text(20)"}],
                "dedup": {"columns": ["What"], "among": "unfinished"},
                "table": {"schema": "readpast", "name": "Jobs", "create": true,
                    "key": [{"name": "Id", "type": "text(40)", "source": "producer"}], "lifecycle": life,
                    "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3,
                        "Error": 4, "Paused": 5, "Cancelled": 6, "Terminated": 7, "PartiallyCompleted": 8}}}});
            install(&database.config(&[]), Some(&QueueSpec::from_json(&text.to_string()).unwrap())).unwrap();
            let queue = Queue::open(&database.config(&[("worker", "w")]), "Job").unwrap();
            let put = |id: &str, what: Option<&str>| {
                let columns = json!({"Id": id, "What": what}).as_object().unwrap().clone().into();
                queue.enqueue(&[NewItem { columns, ..NewItem::default() }], None).unwrap();
            };
            for (id, what) in [("1", Some("a")), ("2", Some("a")), ("3", Some("b")), ("4", None), ("5", None)] {
                put(id, what);
                let taken = queue.claim(1, Duration::ZERO).unwrap();
                let item = taken.get(0).expect("it is due");
                let failed = Settlement::new(&item, Action::Fail);
                assert_eq!(queue.settle(&[failed], None).unwrap()[0].answer, Answer::Ok);
            }
            put("6", Some("a"));
            let keys = ["1", "2", "3", "4", "5"];
            let items: Vec<_> = keys.iter().map(|key| ItemRef { key, token: None }).collect();
            let redrive = |items: &[ItemRef<'_>]| {
                let outcomes = queue.redrive(items, None).unwrap();
                outcomes.iter().map(|outcome| outcome.answer).collect::<Vec<_>>()
            };
            let (ok, twice) = (Answer::Ok, Answer::Duplicate);
            assert_eq!(redrive(&items), [twice, twice, ok, ok, ok]);
            let taken = queue.claim(10, Duration::ZERO).unwrap();
            let item = taken.iter().find(|item| item.key() == "6").expect("it is due");
            queue.settle(&[Settlement::new(&item, Action::Complete)], None).unwrap();
            assert_eq!(redrive(&items[..2]), [ok, twice]);
        }
    }
}

/// Add returns the item as it stands, with a token that holds: also where the table has no due time,
/// no token, and nothing beside it yet. A repeated operation returns the same.
#[test]
fn the_answer_of_add_holds() {
    for life in [json!({}), json!({"due": "Due"}), json!({"token": "Changed"}), json!({"due": "Due", "step": "Step"})] {
        for database in Database::each() {
            let queue = given(&database, &life);
            let waits = if life.get("due").is_some() { "Pending" } else { "Error" };
            let items = r#"[{"columns": {"Id": "later"}, "delay_ms": 3600000}, {"columns": {"Id": "now"}},
                {"columns": {"Id": "step"}, "step": "half"}]"#;
            let add = || {
                let operation = "00000000-0000-0000-0000-00000000000a";
                let rows = database.rows(&if database.is_sql_server() {
                    format!("EXECUTE [readpast].[Add_Job_Set_trx] '{operation}', N'{items}'")
                } else {
                    format!("SELECT * FROM readpast.add_job_set_trx('{operation}', '{items}')")
                });
                let cell = |row, column| match rows.value(row, column) {
                    Value::Text(text) => text.to_owned(),
                    other => format!("{other:?}"),
                };
                (0..rows.len()).map(|row| [0, 3, 4, 6].map(|column| cell(row, column))).collect::<Vec<_>>()
            };
            let told = add();
            for (row, (key, state)) in told.iter().zip([("later", waits), ("now", "Pending"), ("step", "Pending")]) {
                let [answer, id, token, status] = row;
                assert_eq!((answer.as_str(), id.as_str(), status.as_str()), ("OK", key, state), "{life}");
                assert_eq!(queue.get(key).unwrap().get(0).unwrap().state().unwrap().as_str(), state, "{life}");
                assert_ne!(token, "Null", "{life}");
            }
            assert_eq!(add(), told, "{life}: asked again");

            let control = |key: &str, token: &str, action| {
                queue.settle(&[Settlement::control(key, Some(token), action)], None).unwrap()[0].answer
            };
            for [_, key, token, _] in &told {
                assert_eq!(control(key, token, Action::Pause), Answer::Ok, "{life}: {key}");
                assert_eq!(control(key, token, Action::Resume), Answer::Conflict, "{life}: {key} is another one now");
            }
        }
    }
}

/// The row beside keeps the time of an item that failed: without it the item waits for somebody's turn to recover.
#[test]
fn a_failed_item_without_a_backoff_is_due_at_once() {
    for database in Database::each() {
        let spec = json!({
            "queue": "Retried", "backoff": "none", "columns": [{"name": "N", "type": "integer"}],
            "table": {
                "name": "Retrieds", "create": true, "key": ["Id"], "lifecycle": {"due": "DueAt"},
                "status": {"column": "State", "values": {
                    "Pending": 1, "Processing": 2, "Completed": 3, "Failed": 4, "Error": 5}}
            }
        });
        install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
        let queue = Queue::open(&database.config(&[("recover.interval_ms", "3600000")]), "Retried").unwrap();
        assert!(queue.claim(1, Duration::ZERO).unwrap().is_empty(), "has looked after dead workers, for an hour");
        let item = |n: i32| NewItem { columns: [("N", n)].into_iter().collect(), ..NewItem::default() };
        queue.enqueue(&[item(1), item(2), item(3)], None).unwrap();
        let batch = queue.claim(10, Duration::ZERO).unwrap();
        let failed: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Retry)).collect();
        let (_, again) = queue.settle_and_claim(&failed, None, 10).unwrap();
        let found = if again.is_empty() { queue.claim(10, Duration::from_secs(60)).unwrap() } else { again };
        assert_eq!((batch.len(), found.len()), (3, 3));
    }
}
