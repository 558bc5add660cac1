//! What a table has no column for is kept beside it, on both servers: also of an item that no worker has had in hands yet.

mod both;

use both::Database;
use readpast::item::{Action, Settlement};
use readpast::{ItemState, NewItem, Queue, QueueSpec, install};
use serde_json::json;
use std::time::Duration;

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
fn what_comes_later_waits_beside_a_table_without_a_due_time() {
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
