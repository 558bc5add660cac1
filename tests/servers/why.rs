//! Why an item is not being worked on, on both servers, in a table of readpast's own and in an adopted one.

use readpast::item::{Action, Batch, Filter, NewItem, Settlement};
use readpast::{ItemState, Queue, QueueSpec, Why, install};
use serde_json::json;
use std::time::Duration;
use support::both::Database;

const OWN: &str = r#"{"queue": "Job", "columns": [{"name": "Customer", "type": "text(20)"}],
    "order": {"group": "Customer"}, "backoff": {"first_ms": 3600000, "jitter": 0}}"#;

const ADOPTED: &str = r#"{"queue": "Job", "columns": [{"name": "Customer", "type": "text(20)"}],
    "order": {"group": "Customer"}, "backoff": {"first_ms": 3600000, "jitter": 0},
    "table": {"name": "Tasks", "key": [{"name": "Id", "type": "bigint", "source": "table"}],
              "lifecycle": {"due": "DueAt"},
              "states": {"Pending": {"State": 0}, "Processing": {"State": 1}, "Completed": {"State": 2}}}}"#;

const TABLES: [&str; 2] = [
    "CREATE TABLE dbo.Tasks (
        Id bigint IDENTITY NOT NULL PRIMARY KEY, Customer nvarchar(20) NULL, State int NOT NULL, DueAt datetime2 NULL)",
    "CREATE TABLE tasks (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer varchar(20), state integer NOT NULL, dueat timestamptz)",
];

/// The queue on each server, in each kind of table.
fn each() -> Vec<(Database, Queue)> {
    let mut found = Vec::new();
    for text in [OWN, ADOPTED] {
        for database in Database::each() {
            if text == ADOPTED {
                database.run(database.pick(TABLES[0], TABLES[1]));
            }
            install(&database.config(&[]), Some(&QueueSpec::from_json(text).unwrap())).unwrap();
            let queue = Queue::open(&database.config(&[("worker", "w1"), ("lease.ms", "3600000")]), "Job").unwrap();
            found.push((database, queue));
        }
    }
    found
}

fn enqueue(queue: &Queue, customer: &str, delay_ms: Option<i64>) -> String {
    let columns = json!({"Customer": customer}).as_object().unwrap().clone();
    let item = NewItem { columns: columns.into(), delay_ms, ..NewItem::default() };
    queue.enqueue(&[item], None).unwrap().remove(0).key
}

fn settle(queue: &Queue, batch: &Batch, action: Action) {
    let settlements: Vec<_> = batch.iter().map(|item| Settlement::new(&item, action)).collect();
    queue.settle(&settlements, None).unwrap();
}

#[test]
fn each_reason_is_found() {
    for (_database, queue) in each() {
        let first = enqueue(&queue, "a", None);
        let second = enqueue(&queue, "a", None);
        let later = enqueue(&queue, "b", Some(600_000));
        let why = |key: &str| queue.why(key).unwrap().unwrap();

        let Why::Waiting { ms, queue: Some((2, 0)) } = why(&first) else { panic!("{:?}", why(&first)) };
        assert!(ms.is_none_or(|ms| (0..600_000).contains(&ms)), "{ms:?}");
        let Why::DueLater { ms, failed: 0 } = why(&later) else { panic!("{:?}", why(&later)) };
        assert!((1..=600_000).contains(&ms), "{ms}");

        let taken = queue.claim(1, Duration::ZERO).unwrap();
        assert_eq!(taken.get(0).unwrap().key(), first);
        let Why::Held { owner, ms: Some(ms) } = why(&first) else { panic!("{:?}", why(&first)) };
        assert!(owner.as_deref() == Some("w1") && (1..=3_600_000).contains(&ms), "{owner:?} {ms}");
        assert_eq!(why(&second), Why::Blocked { by: first.clone(), state: Some(ItemState::Processing) });

        settle(&queue, &taken, Action::Retry);
        let Why::DueLater { ms, failed: 1 } = why(&first) else { panic!("{:?}", why(&first)) };
        assert!(ms > 600_000, "{ms}");
        assert_eq!(why(&second), Why::Blocked { by: first.clone(), state: Some(ItemState::Error) });

        let found = queue.get(&first).unwrap();
        settle_control(&queue, &found, Action::Pause);
        assert!(matches!(why(&first), Why::Paused { .. }), "{:?}", why(&first));
        settle_control(&queue, &queue.get(&first).unwrap(), Action::Cancel);
        let Why::Finished { state: ItemState::Cancelled, .. } = why(&first) else { panic!("{:?}", why(&first)) };
        assert!(matches!(why(&second), Why::Waiting { .. }), "{:?}", why(&second));

        let nobody = if first.contains('T') { "2000-01-01T00:00:00" } else { "999" };
        assert_eq!(queue.why(nobody).unwrap(), None);
    }
}

fn settle_control(queue: &Queue, found: &Batch, action: Action) {
    let item = found.get(0).unwrap();
    let outcomes = queue.settle(&[Settlement::control(item.key(), Some(item.token()), action)], None).unwrap();
    assert_eq!(outcomes[0].answer, readpast::Answer::Ok, "{action:?}");
}

#[test]
fn a_lease_that_ran_out_is_reported() {
    for (database, _) in each() {
        let queue = Queue::open(&database.config(&[("worker", "w2"), ("lease.ms", "10")]), "Job").unwrap();
        let key = enqueue(&queue, "a", None);
        assert_eq!(queue.claim(1, Duration::ZERO).unwrap().len(), 1);
        let why = loop {
            match queue.why(&key).unwrap().unwrap() {
                Why::Held { .. } => std::thread::sleep(Duration::from_millis(5)),
                why => break why,
            }
        };
        assert!(matches!(&why, Why::LeaseRanOut { owner, .. } if owner.as_deref() == Some("w2")), "{why:?}");
    }
}

/// A text that is no key is refused before anything is sent, in the same words on both servers.
#[test]
fn a_text_that_is_no_key_is_refused_with_the_form_of_a_key() {
    for (_database, queue) in each() {
        for error in [
            queue.why("abc").unwrap_err(),
            queue.get("abc").unwrap_err(),
            queue.purge(&Filter::of_keys(["abc"]), 1).unwrap_err(),
        ] {
            assert_eq!(error.kind(), readpast::ErrorKind::InvalidItem);
            assert!(error.message().starts_with("\"abc\" is no key of queue Job: the key of an item is "), "{error}");
            assert_eq!(error.sqlstate(), None);
        }
    }
}
