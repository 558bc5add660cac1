//! Items that are of no use after some time, on both servers.

use readpast::item::{Action, Columns, Edit, ItemState, NewItem, Settlement};
use readpast::worker::Job;
use readpast::{ErrorKind, ItemRef, Queue, QueueSpec, Worker, install};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;
use support::both::Database;

const PAST: &str = "2026-01-01T00:00:00Z";
const FUTURE: &str = "2199-01-01T00:00:00Z";

/// Queues whose claims differ.
fn kinds() -> Vec<(&'static str, Value)> {
    let described = |columns: Value| {
        json!({"table": {"name": "Code", "create": true, "key": [{"name": "Id", "type": "integer", "source": "table"}],
            "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3, "Cancelled": 4}},
            "lifecycle": columns}})
    };
    vec![
        ("own", json!({})),
        ("lifo", json!({"order": {"direction": "lifo"}})),
        ("shards", json!({"shards": 3})),
        ("by type", json!({"types": ["A", "B"], "claim_by": ["type"]})),
        ("limited", json!({"limit": [{"by": "N", "at_once": 5}, {"at_once": 50}]})),
        ("groups", json!({"order": {"group": "N"}})),
        ("recorded", json!({"attempts": {"history": true}})),
        ("described", described(json!({"token": "Changed", "attempts": "Tries", "error": "Problem", "due": "DueAt"}))),
        ("beside", described(json!({}))),
    ]
}

fn open(database: &Database, name: &str, more: &Value) -> Queue {
    let mut spec = json!({"queue": "Code", "backoff": "none", "expires": "ValidUntil",
        "columns": [{"name": "N", "type": "integer"}, {"name": "ValidUntil", "type": "timestamp"}]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let spec = QueueSpec::from_json(&spec.to_string()).unwrap_or_else(|error| panic!("{name}: {error}"));
    install(&database.config(&[]), Some(&spec)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Queue::open(&database.config(&[]), "Code").unwrap()
}

fn put(queue: &Queue, n: i32, until: Option<&str>) -> String {
    let columns = Columns::from_iter([("N", json!(n)), ("ValidUntil", json!(until))]);
    queue.enqueue(&[NewItem { columns, ..NewItem::default() }], None).unwrap().remove(0).key
}

fn state(queue: &Queue, key: &str) -> (ItemState, i32, String) {
    let batch = queue.get(key).unwrap();
    let item = batch.get(0).unwrap();
    (item.state().unwrap(), item.attempt(), item.to_json())
}

#[test]
fn an_item_is_not_begun_after_its_time() {
    for (name, more) in kinds() {
        for database in Database::each() {
            let queue = open(&database, name, &more);
            let expired: Vec<_> = (0..12).map(|n| put(&queue, n, Some(PAST))).collect();
            let valid: Vec<_> = (12..15).map(|n| put(&queue, n, (n > 12).then_some(FUTURE))).collect();
            let begun = Mutex::new(BTreeSet::new());
            let worker = Worker::new(&queue).until_empty(true);
            let handle = |job: &Job<'_>| assert!(begun.lock().unwrap().insert(job.key().to_owned()), "begun twice");
            worker.run(handle).unwrap();
            assert_eq!(begun.into_inner().unwrap(), valid.iter().cloned().collect(), "{name}");
            for key in &expired {
                let (state, attempt, item) = state(&queue, key);
                assert_eq!((state, attempt), (ItemState::Cancelled, 0), "{name}: {item}");
                assert!(name == "beside" || item.contains("Not begun by 2026-01-01T00:00:00"), "{name}: {item}");
            }
            assert!(valid.iter().all(|key| state(&queue, key).0 == ItemState::Completed), "{name}");
        }
    }
}

/// An attempt that has failed is not repeated after the time either; until then its time can be moved.
#[test]
fn a_time_can_be_moved_and_holds_for_each_attempt() {
    for database in Database::each() {
        let queue = open(&database, "own", &json!({}));
        let key = put(&queue, 1, Some(FUTURE));
        let batch = queue.claim(1, Duration::ZERO).unwrap();
        let past = json!({"ValidUntil": PAST}).to_string();
        let retry = Settlement { set: Some(&past), ..Settlement::new(&batch.get(0).unwrap(), Action::Retry) };
        queue.settle(&[retry], None).unwrap();
        assert!(queue.claim(1, Duration::ZERO).unwrap().is_empty());
        assert_eq!((state(&queue, &key).0, state(&queue, &key).1), (ItemState::Cancelled, 1));
        // A redrive alone has it cancelled once more.
        queue.redrive(&[ItemRef { key: &key, token: None }], None).unwrap();
        assert!(queue.claim(1, Duration::ZERO).unwrap().is_empty());
        assert_eq!(state(&queue, &key).0, ItemState::Cancelled);
        queue.redrive(&[ItemRef { key: &key, token: None }], None).unwrap();
        let later = json!({"ValidUntil": FUTURE}).to_string();
        queue
            .edit(&[ItemRef { key: &key, token: None }], &Edit { set: Some(&later), ..Edit::default() }, None)
            .unwrap();
        assert_eq!(queue.claim(1, Duration::ZERO).unwrap().len(), 1, "it has another time");
    }
}

#[test]
fn a_column_that_cannot_expire_is_refused_with_its_place() {
    for (columns, expires, part) in [
        (json!([{"name": "T", "type": "timestamp"}]), "U", "expires: there is no column \"U\""),
        (json!([{"name": "T", "type": "date"}]), "T", "expires: the column \"T\" has to be a timestamp"),
    ] {
        let spec = json!({"queue": "Code", "columns": columns, "expires": expires}).to_string();
        let error = QueueSpec::from_json(&spec).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(part), "{error}");
    }
}
