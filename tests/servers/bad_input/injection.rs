//! SQL in every name and value that a caller may give. What is text stays text; what cannot be a name is refused, with its
//! place. (Names of queues and schemas are in `arguments` and `schema`; types, filters and items in `capability`.)

use super::assert_says;
use readpast::description::QueueSpec;
use readpast::error::ErrorKind;
use readpast::item::{Action, Filter, ItemRef, Lease, NewItem, Settlement};
use std::time::Duration;
use support::scratch::{Scratch, all, item};

/// Each ends something: a literal, a name, a comment, a statement, the body of a function.
const HOSTILE: [&str; 7] = [
    "'; DROP TABLE readpast.job; --",
    "\"; DROP TABLE readpast.job; --",
    "]; DROP TABLE readpast.job; --",
    "*/ DROP TABLE readpast.job; /*",
    "x\nGO\nDROP TABLE readpast.job",
    "$$; DROP TABLE readpast.job; $$",
    "\\'; DROP TABLE readpast.job; --",
];

#[test]
fn names_of_a_description_are_held_to_what_they_become() {
    for hostile in HOSTILE {
        let text = serde_json::json!(hostile);
        for (spec, place) in [
            (format!(r#"{{"queue": {text}}}"#), "queue"),
            (format!(r#"{{"queue": "Job", "columns": [{{"name": {text}, "type": "text"}}]}}"#), "columns"),
            (format!(r#"{{"queue": "Job", "columns": [{{"name": "A", "type": {text}}}]}}"#), "type"),
            (format!(r#"{{"queue": "Job", "settings": {text}}}"#), "settings"),
            (format!(r#"{{"queue": "Job", "subtypes": [{{"name": {text}, "columns": []}}]}}"#), "subtypes"),
            (format!(r#"{{"queue": "Job", "order": {{"group": {text}}}}}"#), "group"),
            (format!(r#"{{"queue": "Job", "dedup": {{"columns": [{text}]}}}}"#), "dedup"),
            (format!(r#"{{"queue": "Job", {text}: 1}}"#), "line 1"),
        ] {
            assert_says(QueueSpec::from_json(&spec), ErrorKind::InvalidArgument, &["line 1", place]);
        }
    }
    // These may be anything else, since they are quoted wherever they stand.
    for hostile in ["x\nGO\nDROP", "$$; DROP", "\u{1}"] {
        let text = serde_json::json!(hostile);
        for (spec, place) in [
            (format!(r#"{{"queue": "Job", "roles": {{"worker": {text}}}}}"#), "roles.worker"),
            (
                format!(
                    r#"{{"queue": "Job", "columns": [{{"name": "A", "type": "text"}}],
                    "table": {{"name": {text}, "key": ["id"]}}}}"#
                ),
                "table.name",
            ),
        ] {
            assert_says(QueueSpec::from_json(&spec), ErrorKind::InvalidArgument, &["line ", place]);
        }
    }
}

#[test]
fn values_are_stored_and_found_as_they_are() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[("worker", "w'; DROP TABLE readpast.job; --")]);
    for hostile in HOSTILE {
        let new = NewItem { step: Some(hostile.to_owned()), ..item(hostile) };
        queue.enqueue(&[new], None).unwrap();
        let batch = queue.claim(1, Duration::ZERO).unwrap();
        let taken = batch.get(0).unwrap();
        assert_eq!(taken.value_of("Payload"), Some(readpast::Value::Text(hostile)));
        assert_eq!(taken.value_of("lease_owner"), Some(readpast::Value::Text(queue.worker())));
        let fail =
            Settlement { error: Some(hostile), response: Some(hostile), ..Settlement::new(&taken, Action::Fail) };
        queue.settle(&[fail], None).unwrap();
        let filter = Filter { error: Some(hostile.to_owned()), ..Filter::default() };
        let found = queue.find(&filter, None, 10).unwrap();
        assert_eq!(found.len(), 1, "{hostile}");
        assert_eq!(found.get(0).unwrap().value_of("error"), Some(readpast::Value::Text(hostile)));
        let no_type = Filter { types: vec![hostile.to_owned()], ..Filter::default() };
        assert!(queue.find(&no_type, None, 10).unwrap().is_empty());
        assert_eq!(queue.purge(&no_type, 10).unwrap(), 0);
    }
    assert_eq!(queue.find(&Filter::default(), None, 100).unwrap().len(), HOSTILE.len());
}

#[test]
fn a_text_that_is_no_key_is_refused() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    queue.enqueue(&[item("a")], None).unwrap();
    let invalid = ErrorKind::InvalidItem;
    for hostile in HOSTILE {
        let word = &["drop table"];
        assert_says(queue.get(hostile), invalid, word);
        assert_says(queue.find(&Filter::default(), Some(hostile), 1), invalid, word);
        assert_says(queue.purge(&Filter::of_keys([hostile]), 1), invalid, word);
        assert_says(queue.redrive(&[ItemRef { key: hostile, token: None }], None), invalid, word);
        assert_says(queue.redrive(&[ItemRef { key: "2001-01-01", token: Some(hostile) }], None), invalid, word);
        assert_says(queue.settle(&[Settlement::control(hostile, None, Action::Cancel)], None), invalid, word);
        assert_says(queue.renew(&[Lease { key: hostile, attempt: 1 }]), invalid, word);
        assert_says(queue.enqueue(&[item("b")], Some(hostile)), ErrorKind::InvalidArgument, &["not a GUID"]);
        let typed = NewItem { kind: Some(hostile.to_owned()), ..item("b") };
        assert_says(queue.enqueue(&[typed], None), invalid, &["item 0", "type"]);
        let other = NewItem { columns: [(hostile, "b")].into_iter().collect(), ..item("b") };
        assert_says(queue.enqueue(&[other], None), invalid, &["item 0", "column"]);
    }
    let batch = queue.claim(10, Duration::ZERO).unwrap();
    assert_eq!(batch.len(), 1, "all is as it was");
    queue.settle(&all(&batch, Action::Complete), None).unwrap();
}

#[test]
fn filters_by_hand_are_checked_by_the_procedures() {
    let scratch = Scratch::new();
    let mut session = scratch.session();
    let mut refused = |filter: &str, part: &str| {
        for function in ["find_job", "purge_job_trx"] {
            let call = format!("SELECT * FROM readpast.{function}($f${filter}$f$)");
            let error = session.execute(&call, &[]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidItem, "{filter}: {error}");
            assert!(error.message().contains(part), "{filter}: {error}");
        }
    };
    refused(r#"{"stauts": ["Failed"]}"#, "keys, status, types");
    refused(r#"{"status": ["Finished"]}"#, "status names one");
    refused(r#"{"keys": ["x"]}"#, "\"x\"");
    refused(r#"{"before": "x"}"#, "\"x\"");
    refused("[]", "JSON object");
    refused("{", "json");
}
