//! Pages of a queue over several databases, and what a look at all of them says.

use crate::places::{SPREAD, Three, of};
use readpast::item::PauseEnd;
use readpast::{Action, Answer, ErrorKind, Filter, ItemState, Queue, Settlement};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

const TYPES: &str = r#"{"queue": "Job", "backoff": "none", "types": ["A", "B"], "columns": [{"name": "Customer", "type": "integer"}, {"name": "No", "type": "integer"}],
    "spread_by": ["Customer"]}"#;

fn open(three: &Three, spec: &str) -> Queue {
    three.install(spec);
    let queue = Queue::open(&three.config(&[]), "Job").unwrap();
    let items = (0..30).map(|customer| readpast::NewItem { kind: None, ..of(customer, 0) });
    queue.enqueue(&items.collect::<Vec<_>>(), None).unwrap();
    queue
}

/// The keys of all items that a question returns, page after page.
fn asked(queue: &Queue, question: &str, given: &Value) -> Vec<String> {
    let (mut keys, mut after) = (Vec::new(), Value::Null);
    loop {
        let mut given = given.clone();
        given["after"] = after;
        let answer: Value = serde_json::from_str(&queue.ask(question, Some(&given.to_string())).unwrap()).unwrap();
        let items = answer.get("items").unwrap_or(&answer["outcomes"]).as_array().unwrap().clone();
        keys.extend(items.iter().map(|item| item["key"].as_str().unwrap().to_owned()));
        after = answer["after"].clone();
        if after.is_null() {
            return keys;
        }
    }
}

#[test]
fn pages_go_through_all_places() {
    for three in Three::each() {
        let queue = open(&three, SPREAD);
        for max in [1000, 7] {
            let (mut keys, mut after) = (Vec::new(), None);
            loop {
                let page = queue.find(&Filter::default(), after.as_deref(), max).unwrap();
                keys.extend(page.iter().map(|item| item.key().to_owned()));
                after = queue.next_page(&page, max);
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 30, "{max}: {keys:?}");
            assert_eq!(asked(&queue, "find", &json!({"max": max})), keys);
        }
        let cancelled = asked(&queue, "cancel", &json!({"filter": {}, "max": 1000}));
        assert_eq!((cancelled.len(), queue.stats().unwrap().count(ItemState::Cancelled)), (30, 30));
    }
}

#[test]
fn a_pause_of_a_type_is_that_of_all_places() {
    for three in Three::each() {
        let queue = open(&three, TYPES);
        queue.pause_queue(Some("A"), PauseEnd::Resumed, None).unwrap();
        let watched = queue.watch(1000).unwrap();
        let pauses: Vec<_> =
            watched.pauses.iter().map(|pause| (pause.kind.as_deref(), pause.place.as_deref())).collect();
        assert_eq!(pauses, [(Some("A"), None)]);
        assert_eq!(watched.startable().0, 0, "all of them are of it");
    }
}

#[test]
fn all_settlements_are_checked_before_one_place_settles() {
    for three in Three::each() {
        let queue = open(&three, SPREAD);
        let mut batches = Vec::new();
        while batches.iter().map(readpast::Batch::len).sum::<usize>() < 30 {
            batches.push(queue.claim(100, Duration::ZERO).unwrap());
        }
        let items = || batches.iter().flat_map(readpast::Batch::iter);
        let mut settlements: Vec<_> = items().map(|item| Settlement::new(&item, Action::Complete)).collect();
        let long = "x".repeat(100);
        settlements[29].step = Some(&long);
        let error = queue.settle(&settlements, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains("29"), "{error}");
        assert_eq!(queue.stats().unwrap().count(ItemState::Processing), 30);
        settlements[29].step = None;
        assert!(queue.settle(&settlements, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
    }
}
