//! Limits as the library lists, changes and explains them. On both servers.

use super::limited::{Table, everywhere};
use readpast::item::{Action, Columns, Limit, LimitChange, NewItem, Receipt, Settlement};
use readpast::{ErrorKind, Queue, QueueSpec, Why, install};
use serde_json::{Value, json};
use std::time::Duration;
use support::both::Database;
use support::scratch::look;

const GUID: &str = "D6513312-4dcc-4c44-b044-08b98257037c";

fn open(database: &Database, table: Table) -> Queue {
    let spec = table.described(json!({
        "queue": "Call",
        "columns": [
            {"name": "Customer", "type": "bigint"}, {"name": "Host", "type": "text(50)"}, {"name": "Job", "type": "guid"},
            {"name": "Urgent", "type": "boolean"}
        ],
        "limit": [
            {"by": "Job", "at_once": 1}, {"by": "Customer", "at_once": 2}, {"by": "Host", "rate": "2/1h"},
            {"by": "Urgent", "at_once": 3}
        ],
    }));
    install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
    Queue::open(&database.config(&[("operator", "ann")]), "Call").unwrap()
}

fn put(queue: &Queue, columns: &Value, count: usize) -> Vec<Receipt> {
    let item = NewItem { columns: Columns::from_json(&columns.to_string()).unwrap(), ..NewItem::default() };
    queue.enqueue(&vec![item; count], None).unwrap()
}

/// The row of a key; of all of them without one.
fn row(queue: &Queue, by: &str, key: Option<&str>) -> Option<Limit> {
    let is_it = |limit: &Limit| {
        let same = |key: &str| limit.key.as_deref().is_some_and(|other| other.eq_ignore_ascii_case(key));
        limit.by.as_deref() == Some(by) && key.map_or(limit.key.is_none(), same)
    };
    queue.limits().unwrap().into_iter().find(is_it)
}

fn why(queue: &Queue, of: &[Receipt]) -> Vec<String> {
    let whys = of.iter().map(|one| queue.why(&one.key).unwrap().unwrap());
    whys.filter(|why| matches!(why, Why::Limited { .. })).map(|why| why.to_string()).collect()
}

#[test]
fn each_kind_of_key_is_counted_and_explained() {
    for (database, table) in everywhere() {
        let queue = open(&database, table);
        let added = [
            (json!({"Customer": -42}), "2 of 2 of Customer -42 are in work ("),
            (json!({"Job": GUID}), "1 of 1 of Job "),
            (json!({"Urgent": true}), "3 of 3 of Urgent "),
            (json!({"Host": "it's \u{fc}"}), "waits for the rate 2/1h of Host it's \u{fc} until 20"),
        ]
        .map(|(columns, words)| (put(&queue, &columns, 4), words));
        let taken = queue.claim(100, Duration::ZERO).unwrap();
        assert_eq!(taken.len(), 8);
        for ((added, words), left) in added.iter().zip([2, 3, 1, 2]) {
            let texts = why(&queue, added);
            assert_eq!(texts.iter().filter(|text| text.contains(words)).count(), left, "{words}: {texts:?}");
        }
        for (by, key, room) in [
            ("Customer", "-42", 0),
            ("Job", GUID, 0),
            ("Urgent", database.pick("1", "true"), 0),
            ("Host", "it's \u{fc}", 0),
        ] {
            let of = row(&queue, by, Some(key)).unwrap_or_else(|| panic!("{by}: {:?}", queue.limits()));
            assert_eq!((of.room(), of.who.as_deref()), (Some(room), None), "{of:?}");
        }
        let host = row(&queue, "Host", Some("it's \u{fc}")).unwrap();
        assert_eq!((host.in_work, host.starts, host.burst, host.at_once), (2, Some(0), Some(2), None));
        assert!(host.free_at.is_some_and(|at| at.starts_with("20") && at.len() == 27));
        let every = row(&queue, "Host", None).unwrap();
        assert_eq!((every.in_work, every.starts, &every.free_at, every.room()), (8, Some(2), &None, None));

        let ends: Vec<_> = taken.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        queue.settle(&ends, None).unwrap();
        assert_eq!(row(&queue, "Customer", Some("-42")), None, "nothing of it is in work");
    }
}

#[test]
fn a_limit_is_changed_for_a_key_of_each_kind() {
    for (database, table) in everywhere() {
        let queue = open(&database, table);
        let pause = LimitChange { at_once: Some(0), reason: Some("it's off"), ..LimitChange::default() };
        for (by, given, columns) in [
            ("customer", " +7", json!({"Customer": 7})),
            ("Job", &GUID.to_lowercase(), json!({"Job": GUID})),
            ("Urgent", "FALSE", json!({"Urgent": false})),
            ("Host", "b a", json!({"Host": "b a"})),
        ] {
            let change = LimitChange { by: Some(by), key: Some(given), ..pause };
            let limit = queue.set_limit(&change).unwrap();
            assert_eq!(
                (limit.at_once, limit.who.as_deref(), limit.reason.as_deref(), limit.is_paused()),
                (Some(0), Some("ann"), Some("it's off"), true)
            );
            let added = put(&queue, &columns, 1);
            assert!(queue.claim(10, Duration::ZERO).unwrap().is_empty(), "{by}");
            let texts = why(&queue, &added);
            assert_eq!(texts.len(), 1, "{by}");
            assert!(texts[0].contains(" begins since 20") && texts[0].ends_with(" by ann: it's off"), "{texts:?}");
            let back =
                queue.set_limit(&LimitChange { by: Some(by), key: Some(given), ..LimitChange::default() }).unwrap();
            assert!(back.who.is_none() && back.at_once != Some(0), "{back:?}");
            assert_eq!(queue.claim(10, Duration::ZERO).unwrap().len(), 1, "{by}");
        }
        // A pause of all keys is one of each, unless the key has a number of its own.
        let all = LimitChange { by: Some("Customer"), ..pause };
        assert_eq!(queue.set_limit(&all).unwrap().key, None);
        queue.set_limit(&LimitChange { key: Some("9"), at_once: Some(1), ..all }).unwrap();
        let [held, free] = [8, 9].map(|customer| put(&queue, &json!({"Customer": customer}), 1));
        assert_eq!(queue.claim(10, Duration::ZERO).unwrap().len(), 1);
        assert!(why(&queue, &held)[0].contains("nothing of Customer 8 begins since 20"));
        assert!(why(&queue, &free).is_empty());
        let verbs: Vec<_> = queue.actions(false, None, 20).unwrap().into_iter().map(|of| (of.verb, of.who)).collect();
        assert_eq!(verbs, vec![("limit".to_owned(), "ann".to_owned()); 10]);
    }
}

#[test]
fn the_limit_that_is_meant_can_be_left_out_where_one_fits() {
    for (database, table) in everywhere() {
        let queue = open(&database, table);
        let rate = Some("5/1s".parse().unwrap());
        let limit = queue.set_limit(&LimitChange { rate, burst: Some(9), ..LimitChange::default() }).unwrap();
        assert_eq!(
            (limit.by.as_deref(), limit.rate, limit.burst, limit.starts),
            (Some("Host"), rate, Some(9), Some(9))
        );
        for (change, words) in [
            (
                LimitChange { at_once: Some(1), ..LimitChange::default() },
                "several limits; name the column of one: \"Job\"",
            ),
            (LimitChange { by: Some(""), at_once: Some(1), ..LimitChange::default() }, "no limit by \"\""),
            (
                LimitChange { by: Some("Job"), key: Some("x"), at_once: Some(1), ..LimitChange::default() },
                "no value that",
            ),
        ] {
            let error = queue.set_limit(&change).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains(words), "{error}");
        }
        let plain = QueueSpec::from_json(r#"{"queue": "Plain"}"#).unwrap();
        install(&database.config(&[]), Some(&plain)).unwrap();
        let plain = Queue::open(&database.config(&[]), "Plain").unwrap();
        assert!(plain.limits().unwrap().is_empty());
        assert_eq!(plain.set_limit(&LimitChange::default()).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn items_without_room_wait_for_no_worker() {
    for (database, table) in everywhere() {
        let queue = open(&database, table);
        let waits = || {
            let watched = queue.watch(100).unwrap();
            let (due, oldest) = watched.startable();
            assert_eq!(watched.startable_ms.unwrap().is_some(), due > 0);
            // A table without a time of either kind has no oldest.
            assert!(due > 0 || oldest.is_none());
            (watched.stats.due, due)
        };
        assert_eq!(waits(), (0, 0));
        // One of each has no room: by the column by which claims seek, and by another.
        put(&queue, &json!({"Job": GUID}), 2);
        put(&queue, &json!({"Customer": 1}), 3);
        assert_eq!(waits(), (5, 5));
        assert_eq!(queue.claim(100, Duration::ZERO).unwrap().len(), 3);
        assert_eq!(waits(), (2, 0), "they wait for room");
        put(&queue, &json!({"Customer": 2}), 1);
        assert_eq!(waits(), (3, 3), "where one has room, the number is that of all");
        assert_eq!(queue.claim(100, Duration::ZERO).unwrap().len(), 1);
        assert_eq!(waits(), (2, 0));
    }
}

/// Else the keys that a look has found would lose their turn to be claimed.
#[test]
fn a_look_takes_no_turn_of_a_key() {
    for (database, table) in everywhere() {
        let queue = open(&database, table);
        put(&queue, &json!({"Job": GUID}), 1);
        let mut session = database.session();
        let turn = database.pick(
            "SELECT COALESCE([Position], N'') FROM [readpast].QueueTurn WHERE [Queue] = 'Call'",
            "SELECT COALESCE(current_setting('readpast.limit_call', TRUE), '')",
        );
        let watch = database.pick("EXECUTE [readpast].Watch_Call", "SELECT * FROM readpast.watch_call()");
        let claim = database
            .pick("EXECUTE [readpast].Next_Call_Set_trx N'w', 1", "SELECT * FROM readpast.next_call_set_trx('w', 1)");
        session.execute(watch, &[]).unwrap();
        assert_eq!(look(&mut session, turn), "");
        session.execute(claim, &[]).unwrap();
        assert_ne!(look(&mut session, turn), "");
    }
}

#[test]
fn a_full_queue_waits_for_no_worker() {
    for (database, table) in everywhere() {
        let spec = table.described(json!({
            "queue": "Call", "columns": [{"name": "Customer", "type": "bigint"}], "limit": [{"at_once": 1}],
        }));
        install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
        let queue = Queue::open(&database.config(&[]), "Call").unwrap();
        put(&queue, &json!({"Customer": 1}), 2);
        let startable = || queue.watch(100).unwrap().startable().0;
        assert_eq!(startable(), 2);
        let batch = queue.claim(100, Duration::ZERO).unwrap();
        assert_eq!((batch.len(), startable()), (1, 0));
        queue.settle(&[Settlement::new(&batch.get(0).unwrap(), Action::Complete)], None).unwrap();
        assert_eq!(startable(), 1);
    }
}
