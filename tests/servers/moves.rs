//! An item goes to another queue in one transaction, on both servers.

use readpast::item::{Action, Columns, NewItem, Settlement};
use readpast::{Answer, ErrorKind, Filter, ItemRef, ItemState, Queue, QueueSpec, install};
use serde_json::json;
use std::time::Duration;
use support::both::Database;

const FAST: &str = r#"{"queue": "Fast", "types": ["Email", "Sms"], "columns": [{"name": "Rank", "type": "integer", "nullable": false},
    {"name": "Body", "type": "text"}, {"name": "Only", "type": "integer"}], "order": {"priority": {"column": "Rank"}}}"#;
const SLOW: &str = r#"{"queue": "Slow", "types": ["Email"], "columns": [{"name": "body", "type": "text(20)"},
    {"name": "Rank", "type": "integer", "nullable": false}, {"name": "Added", "type": "integer", "nullable": false, "default": 7}],
    "dedup": {"columns": ["body"]}}"#;
const STRICT: &str = r#"{"queue": "Strict", "types": ["Email"], "columns": [{"name": "Body", "type": "text(3)"},
    {"name": "Must", "type": "integer", "nullable": false}]}"#;

fn given(database: &Database) -> (Queue, Queue) {
    for spec in [FAST, SLOW, STRICT] {
        install(&database.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
    }
    let open = |name| Queue::open(&database.config(&[("operator", "ann")]), name).unwrap();
    (open("Fast"), open("Slow"))
}

fn put(queue: &Queue, kind: &str, columns: serde_json::Value, due: Option<&str>) -> String {
    let columns: Columns = columns.as_object().unwrap().clone().into();
    let item = NewItem { kind: Some(kind.to_owned()), due: due.map(str::to_owned), columns, ..NewItem::default() };
    queue.enqueue(&[item], None).unwrap().remove(0).key
}

fn state(queue: &Queue, key: &str) -> (ItemState, serde_json::Value) {
    let batch = queue.get(key).unwrap();
    let item = batch.get(0).unwrap();
    (item.state().unwrap(), serde_json::from_str(&item.to_json()).unwrap())
}

fn count(queue: &Queue) -> usize {
    queue.find(&Filter::default(), None, 100).unwrap().len()
}

#[test]
fn an_item_is_there_and_cancelled_here() {
    for database in Database::each() {
        let (fast, slow) = given(&database);
        let due = "2099-01-01T00:00:00.0000000";
        let waits = put(&fast, "Email", json!({"Rank": 3, "Body": "later", "Only": 1}), Some(due));
        let paused = put(&fast, "Email", json!({"Rank": 4, "Body": "paused"}), None);
        let failed = put(&fast, "Email", json!({"Rank": 5, "Body": "failed"}), None);
        let pause = Settlement::control(&paused, None, Action::Pause);
        fast.settle(&[pause], None).unwrap();
        let taken = fast.claim(1, Duration::ZERO).unwrap();
        let fail = Settlement { error: Some("no route"), ..Settlement::new(&taken.get(0).unwrap(), Action::Fail) };
        fast.settle(&[fail], None).unwrap();
        for (key, rank, body) in [(&waits, 3, "later"), (&paused, 4, "paused"), (&failed, 5, "failed")] {
            let moved = fast.move_item(&ItemRef { key, token: None }, "Slow", None).unwrap();
            assert_eq!((moved.outcome.answer, moved.outcome.state), (Answer::Ok, Some(ItemState::Cancelled)), "{body}");
            let (there, item) = state(&slow, &moved.key);
            let text = item.to_string();
            assert_eq!(there, ItemState::Pending, "{body}");
            assert_eq!(
                (item["body"].as_str().or(item["Body"].as_str()), &item["Rank"], &item["Added"]),
                (Some(body), &json!(rank), &json!(7))
            );
            assert_eq!(text.contains("2099-01-01T00:00:00"), body == "later", "{text}");
            let (here, item) = state(&fast, key);
            assert_eq!(here, ItemState::Cancelled);
            let text = item.to_string();
            assert!(text.contains(&format!("moved to Slow: {}", moved.key)), "{text}");
            assert_eq!(text.contains("no route"), body == "failed", "the error stays: {text}");
            // Once more it has ended.
            let again = fast.move_item(&ItemRef { key, token: None }, "Slow", None).unwrap();
            assert_eq!((again.key.as_str(), again.outcome.state), ("", Some(ItemState::Cancelled)), "{again:?}");
        }
        assert_eq!(count(&slow), 3, "nothing was enqueued for a refusal");
        let recorded = fast.actions(false, None, 10).unwrap();
        assert_eq!((recorded[0].verb.as_str(), recorded[0].who.as_str(), recorded[0].done), ("move", "ann", 1));
        assert!(recorded[0].filter.as_ref().unwrap().contains("\"to\":\"Slow\""), "{:?}", recorded[0]);
    }
}

#[test]
fn refusals_leave_both_queues_as_they_are() {
    for database in Database::each() {
        let (fast, slow) = given(&database);
        let key = put(&fast, "Email", json!({"Rank": 1, "Body": "long"}), None);
        let sms = put(&fast, "Sms", json!({"Rank": 1, "Body": "sms"}), None);
        let item = ItemRef { key: &key, token: None };
        for (item, to, kind, says) in [
            (item, "Strict", ErrorKind::InvalidItem, "queue Strict does not take it: it has no value for Must"),
            (ItemRef { key: &sms, token: None }, "Slow", ErrorKind::InvalidItem, "has no type \"Sms\""),
            (item, "Fast", ErrorKind::InvalidItem, "the item is there"),
            (item, "Nowhere", ErrorKind::UnknownQueue, "Nowhere"),
        ] {
            let error = fast.move_item(&item, to, None).unwrap_err();
            assert!(error.kind() == kind && error.message().contains(says), "{to}: {error}");
        }
        let stale = ItemRef { token: Some("2001-01-01T00:00:00.0000000"), ..item };
        assert_eq!(fast.move_item(&stale, "Slow", None).unwrap().outcome.answer, Answer::Conflict);
        put(&slow, "Email", json!({"Rank": 1, "body": "long"}), None);
        let twice = fast.move_item(&item, "Slow", None).unwrap();
        assert_eq!(
            (twice.outcome.answer, twice.outcome.state),
            (Answer::Duplicate, Some(ItemState::Pending)),
            "{twice:?}"
        );
        assert_eq!((state(&fast, &key).0, count(&slow)), (ItemState::Pending, 1));
        fast.claim(2, Duration::ZERO).unwrap();
        assert_eq!(slow.purge(&Filter::default(), 10).unwrap(), 0);
        let first = slow.find(&Filter::default(), None, 1).unwrap();
        let theirs = Settlement::control(first.get(0).unwrap().key(), None, Action::Cancel);
        slow.settle(&[theirs], None).unwrap();
        assert_eq!(slow.purge(&Filter::default(), 10).unwrap(), 1);
        let held = fast.move_item(&item, "Slow", None).unwrap().outcome;
        assert_eq!((held.answer, held.state), (Answer::IllegalTransition, Some(ItemState::Processing)));
        assert_eq!(count(&slow), 0);
    }
}

#[test]
fn a_repetition_moves_nothing_more() {
    for database in Database::each() {
        let (fast, slow) = given(&database);
        let key = put(&fast, "Email", json!({"Rank": 1, "Body": "once"}), None);
        let item = ItemRef { key: &key, token: None };
        let operation = Some("00000000-0000-4000-8000-0000000000aa");
        let first = fast.move_item(&item, "Slow", operation).unwrap();
        let second = fast.move_item(&item, "Slow", operation).unwrap();
        assert_eq!((first.key.as_str(), second.outcome.answer), (second.key.as_str(), Answer::Ok), "{second:?}");
        assert_eq!((count(&slow), state(&fast, &key).0), (1, ItemState::Cancelled));
    }
}
