//! Calls of operators: find, redrive, purge.

use readpast::item::{Action, Answer, ItemRef, ItemState, NewItem, Settlement};
use std::time::Duration;
use support::api::{Api, item};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("find::goes_through_the_items_page_by_page", goes_through_the_items_page_by_page),
    ("find::every_condition_narrows", every_condition_narrows),
    ("find::items_that_ran_long_are_found", items_that_ran_long_are_found),
    ("find::text_is_looked_for_as_it_stands", text_is_looked_for_as_it_stands),
    ("find::a_filter_that_cannot_be_meant_is_refused", a_filter_that_cannot_be_meant_is_refused),
    ("redrive::makes_ended_items_new", makes_ended_items_new),
    ("redrive::refuses_by_item", refuses_by_item),
    ("redrive::is_repeatable", is_repeatable),
    ("purge::takes_finished_items_in_batches", takes_finished_items_in_batches),
    ("purge::failed_items_only_by_name", failed_items_only_by_name),
];

fn payloads(queue: &dyn Api, filter: &str) -> Vec<String> {
    let found = queue.find(filter, None, 1000).unwrap();
    found.iter().map(|item| item.column("Payload").as_str().unwrap().to_owned()).collect()
}

fn goes_through_the_items_page_by_page(given: &Given) {
    let queue = given.queue(&[]);
    let items: Vec<_> = (0..7).map(|i| item(&i.to_string())).collect();
    let added = queue.enqueue(&items, None).unwrap();
    let mut seen = Vec::new();
    let mut sizes = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = queue.find("{}", after.as_deref(), 3).unwrap();
        sizes.push(page.len());
        let Some(last) = page.last() else { break };
        after = Some(last.key.clone());
        seen.extend(page.into_iter().map(|item| (item.key, item.token)));
    }
    assert_eq!(sizes, [3, 3, 1, 0]);
    let expected: Vec<_> = added.into_iter().map(|item| (item.key, item.token)).collect();
    assert_eq!(seen, expected, "each once, in the order of the keys");
    assert_eq!(queue.claim(10, Duration::ZERO).unwrap().len(), 7, "finding takes nothing");
}

fn every_condition_narrows(given: &Given) {
    let spec = format!(r#"{{"queue": "{}", "types": ["A", "B"]}}"#, given.queue);
    let queue = given.queue_with(&spec, &[]);
    let of_b = NewItem { kind: Some("B".to_owned()), ..item("b") };
    let added = queue.enqueue(&[item("a"), of_b, item("failed")], None).unwrap();
    given.meddle("Status = 'Failed', Error = 'no route'", "Payload = 'failed'");
    given.meddle("UpdatedAt = '2020-02-02T00:00:00'", "Payload = 'b'");

    assert_eq!(payloads(&*queue, "{}"), ["a", "b", "failed"]);
    assert_eq!(payloads(&*queue, r#"{"types": ["B"]}"#), ["b"]);
    assert_eq!(payloads(&*queue, r#"{"status": ["Failed", "Completed"]}"#), ["failed"]);
    assert_eq!(payloads(&*queue, r#"{"status": ["Pending"], "types": ["A"]}"#), ["a"]);
    assert_eq!(payloads(&*queue, r#"{"error": "route"}"#), ["failed"]);
    assert_eq!(payloads(&*queue, r#"{"error": "Route"}"#), [""; 0]);
    assert_eq!(payloads(&*queue, r#"{"before": "2020-02-02T00:00:00.1Z"}"#), ["b"]);
    assert_eq!(payloads(&*queue, r#"{"before": "2020-02-02"}"#), [""; 0], "before it, not at it");
    assert_eq!(payloads(&*queue, r#"{"after": "2020-02-02"}"#), ["a", "b", "failed"]);
    assert_eq!(payloads(&*queue, r#"{"after": "2020-02-02T00:00:01"}"#), ["a", "failed"]);

    let keys = serde_json::json!({"keys": [added[2].key, added[0].key, "2001-01-01T00:00:00", added[2].key]});
    assert_eq!(payloads(&*queue, &keys.to_string()), ["a", "failed"]);
    let both = serde_json::json!({"keys": [added[2].key, added[0].key], "status": ["Failed"]});
    assert_eq!(payloads(&*queue, &both.to_string()), ["failed"]);
    assert_eq!(payloads(&*queue, r#"{"keys": []}"#), [""; 0], "no key is not every key");

    let taken = queue.find(r#"{"error": "no route"}"#, None, 1).unwrap().remove(0);
    assert_eq!((taken.key.as_str(), taken.attempt), (added[2].key.as_str(), 0));
    assert_eq!(taken.column("Status"), "Failed");
    assert_eq!(taken.column("Type"), "A");
}

/// Ended items go by their duration, items in flight by the time since they were taken; items that wait have neither.
fn items_that_ran_long_are_found(given: &Given) {
    let queue = given.queue(&[]);
    let names = ["done", "quick", "failed", "busy", "young", "waits"];
    queue.enqueue(&names.map(item), None).unwrap();
    let taken = queue.claim(5, Duration::ZERO).unwrap();
    let ends = [Action::Complete, Action::Complete, Action::Fail];
    let ends: Vec<_> = taken.iter().zip(ends).map(|(taken, action)| taken.settle(action)).collect();
    queue.settle(&ends, None).unwrap();
    given.meddle("Duration = 300001", "Payload = 'done'");
    given.meddle("Duration = 300000", "Payload = 'quick'");
    given.meddle("Duration = 86400000", "Payload = 'failed'");
    given.meddle("StartedAt = '2020-02-02T00:00:00'", "Payload = 'busy'");
    assert_eq!(
        payloads(&*queue, r#"{"longer_ms": 300000}"#),
        ["done", "failed", "busy"],
        "longer than it, not as long"
    );
    assert_eq!(payloads(&*queue, r#"{"longer_ms": 300000, "status": ["Failed"]}"#), ["failed"]);
    assert_eq!(payloads(&*queue, r#"{"longer_ms": 86400000, "error": null}"#), ["busy"]);
    assert_eq!(payloads(&*queue, r#"{"longer_ms": 999999999999999999}"#), [""; 0]);
    assert_eq!(queue.purge(r#"{"longer_ms": 300000}"#, 10).unwrap(), 1, "what is not finished, or failed, stays");
    assert_eq!(payloads(&*queue, "{}"), ["quick", "failed", "busy", "young", "waits"]);
}

fn text_is_looked_for_as_it_stands(given: &Given) {
    let queue = given.queue(&[]);
    let errors = ["100% of [a-z]_x", "it's \"quoted\" \\ -- /*", "plain", "\u{e4}\u{1f600}"];
    let numbers: Vec<_> = (0..errors.len()).map(|i| item(&i.to_string())).collect();
    queue.enqueue(&numbers, None).unwrap();
    let taken = queue.claim(10, Duration::ZERO).unwrap();
    let ends = taken.iter().zip(errors).map(|(t, e)| Settlement { error: Some(e), ..t.settle(Action::Fail) });
    queue.settle(&ends.collect::<Vec<_>>(), None).unwrap();
    for (part, expected) in [
        ("100% of [a-z]_x", Some("0")),
        ("%", Some("0")),
        ("[a-z]", Some("0")),
        ("_", Some("0")),
        ("pl_in", None),
        ("p%n", None),
        ("[p]lain", None),
        ("'s \"", Some("1")),
        ("\\ -- /*", Some("1")),
        ("'; DROP TABLE x; --", None),
        ("\u{1f600}", Some("3")),
    ] {
        let found = payloads(&*queue, &serde_json::json!({"error": part}).to_string());
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), Vec::from_iter(expected), "{part}");
    }
}

fn a_filter_that_cannot_be_meant_is_refused(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.put("x");
    for (filter, part) in [
        (r#"{"state": ["Failed"]}"#, "\"state\""),
        (r#"{"status": ["failed"]}"#, "\"failed\""),
        (r#"{"before": "yesterday"}"#, "yesterday"),
        ("[]", "JSON object"),
    ] {
        for problem in [queue.find(filter, None, 1).unwrap_err(), queue.purge(filter, 1).unwrap_err()] {
            assert_eq!(problem.kind, "InvalidArgument");
            assert!(problem.message.contains(part), "{problem:?}");
        }
    }
    for max in [0, 1001] {
        assert_eq!(queue.find("{}", None, max).unwrap_err().kind, "InvalidArgument");
        assert_eq!(queue.purge("{}", max).unwrap_err().kind, "InvalidArgument");
    }
    for key in ["nix", "'; DROP TABLE x; --"] {
        let filter = serde_json::json!({"keys": [added.key, key]}).to_string();
        assert_eq!(queue.find(&filter, None, 1).unwrap_err().kind, "InvalidItem");
        assert_eq!(queue.find("{}", Some(key), 1).unwrap_err().kind, "InvalidItem");
        assert_eq!(queue.purge(&filter, 1).unwrap_err().kind, "InvalidItem");
        assert_eq!(queue.redrive(&[ItemRef { key, token: None }], None).unwrap_err().kind, "InvalidItem");
    }
    assert_eq!(queue.purge(r#"{"status": ["Pending"]}"#, 1).unwrap_err().kind, "InvalidArgument");

    // By hand, past the library's own checks.
    let mut session = given.session();
    for (filter, part) in [
        (r#"{"stauts": ["Failed"]}"#, "status"),
        (r#"{"status": ["Failed", "Nix"]}"#, "status names"),
        // Passed over, each of these would let more be deleted than was meant.
        ("[]", "ilter"),
        (r#"{"status": "Completed"}"#, "arrays"),
        (r#"{"keys": "x"}"#, "arrays"),
        (r#"{"types": {"a": 1}}"#, "arrays"),
        (r#"{"error": ["x"]}"#, "arrays"),
        (r#"{"before": 5}"#, "arrays"),
        (r#"{"longer_ms": "5"}"#, "arrays"),
        (r#"{"longer_ms": 1.5}"#, "whole"),
        (r#"{"longer_ms": -1}"#, "whole"),
        (r#"{"status": ["Completed"], "status": ["Cancelled"]}"#, "once"),
        (r#"{"status": ["Completed", "Pending"]}"#, "finished"),
    ] {
        let statement = if given.server.is_sql_server() {
            format!("EXECUTE [readpast].[Purge_{}_trx] N'{filter}', 10", given.queue)
        } else {
            let stem = readpast::ident::QueueName::new(&given.queue).unwrap().snake_case();
            format!("SELECT * FROM readpast.purge_{stem}_trx('{filter}', 10)")
        };
        let error = session.execute(&statement, &[]).unwrap_err();
        assert!(error.message().contains(part), "{error}");
    }
    assert_eq!(payloads(&*queue, "{}"), ["x"]);
}

fn makes_ended_items_new(given: &Given) {
    let queue = given.queue(&[]);
    given.set_max_attempts(1);
    let from = [
        ItemState::Failed,
        ItemState::Cancelled,
        ItemState::Terminated,
        ItemState::PartiallyCompleted,
        ItemState::Error,
        ItemState::Paused,
    ];
    for state in from {
        let added = queue.put(state.as_str());
        let here = format!("Payload = '{state}'");
        given.meddle(
            &format!(
                "Status = '{state}', AttemptNum = 1, Error = 'why', Step = 'two', Duration = 5, LeaseOwner = 'w', \
                 StartedAt = EnqueuedAt, ScheduledFor = '2999-01-01T00:00:00'"
            ),
            &here,
        );
        let outcome = queue.redrive(&[ItemRef { key: &added.key, token: Some(&added.token) }], None).unwrap().remove(0);
        assert_eq!((outcome.answer, outcome.state, outcome.attempt), (Answer::Ok, Some(ItemState::Pending), 0));
        assert!(outcome.token > added.token, "{} after {}", outcome.token, added.token);
        for (column, value) in
            [("StartedAt", "NULL"), ("Duration", "NULL"), ("LeaseOwner", "NULL"), ("LeaseUntil", "NULL")]
        {
            assert_eq!(given.look(column, &here), value, "{column}");
        }
        let taken = queue.take();
        assert_eq!((taken.key.as_str(), taken.attempt), (added.key.as_str(), 1), "due at once, with all its attempts");
        assert_eq!((taken.column("Error"), taken.column("Step")), (&"why".into(), &"two".into()));
        assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Ok);
    }
}

fn refuses_by_item(given: &Given) {
    let queue = given.queue(&[]);
    let states =
        [ItemState::Pending, ItemState::Processing, ItemState::Completed, ItemState::Failed, ItemState::Failed];
    let items: Vec<_> = (0..states.len()).map(|i| item(&i.to_string())).collect();
    let added = queue.enqueue(&items, None).unwrap();
    for (i, state) in states.iter().enumerate() {
        given.meddle(&format!("Status = '{state}', AttemptNum = 2"), &format!("Payload = '{i}'"));
    }
    let of = |i: usize| ItemRef { key: &added[i].key, token: None };
    let changed = ItemRef { token: Some("2001-01-01T00:00:00"), ..of(4) };
    let missing = ItemRef { key: "2001-01-01T00:00:00", token: None };
    let outcomes = queue.redrive(&[changed, missing, of(3), of(3), of(2), of(1), of(0)], None).unwrap();
    let answers: Vec<_> = outcomes.iter().map(|outcome| outcome.answer).collect();
    let illegal = Answer::IllegalTransition;
    assert_eq!(answers, [Answer::Conflict, Answer::NotFound, Answer::Ok, Answer::Conflict, illegal, illegal, illegal]);
    let found: Vec<_> = outcomes.iter().map(|outcome| outcome.state).collect();
    let failed = Some(ItemState::Failed);
    assert_eq!((found[0], found[1], found[2]), (failed, None, Some(ItemState::Pending)));
    assert_eq!((found[4], found[5]), (Some(ItemState::Completed), Some(ItemState::Processing)));
    assert_eq!(given.look("AttemptNum", "Payload = '4'"), "2", "what is refused is untouched");
    assert_eq!(given.look("AttemptNum", "Payload = '1'"), "2");
    assert_eq!(given.look("AttemptNum", "Payload = '3'"), "0");
}

fn is_repeatable(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.enqueue(&[item("good"), item("done")], None).unwrap();
    given.meddle("Status = 'Failed', AttemptNum = 3", "Payload = 'good'");
    given.meddle("Status = 'Completed'", "Payload = 'done'");
    let items: Vec<_> = added.iter().map(|item| ItemRef { key: &item.key, token: None }).collect();
    let layer = given.layer.to_string().len();
    let operation = format!("0000000{layer}-0000-4000-8000-0000000000aa");
    let answers = |outcomes: &[readpast::item::Outcome]| outcomes.iter().map(|o| o.answer).collect::<Vec<_>>();

    let first = queue.redrive(&items, Some(&operation)).unwrap();
    assert_eq!(answers(&first), [Answer::Ok, Answer::IllegalTransition]);
    // Meanwhile it failed again: the repetition must not bring it back.
    let taken = queue.take();
    queue.end(taken.settle(Action::Fail));
    let again = queue.redrive(&items, Some(&operation)).unwrap();
    assert_eq!(answers(&again), answers(&first));
    assert_eq!(again[0].state, Some(ItemState::Failed), "as it is now");
    assert_eq!(given.look("Status", "Payload = 'good'"), "Failed");
}

fn takes_finished_items_in_batches(given: &Given) {
    let queue = given.queue(&[]);
    let states = ["Pending", "Processing", "Error", "Paused", "Failed"];
    let ended = ["Completed", "PartiallyCompleted", "Cancelled", "Terminated"];
    for state in states.iter().chain(&ended) {
        queue.put(state);
        given.meddle(&format!("Status = '{state}'"), &format!("Payload = '{state}'"));
    }
    let old = r#"{"before": "2001-01-01"}"#;
    assert_eq!(queue.purge(old, 1000).unwrap(), 0);
    assert_eq!(queue.purge(r#"{"status": ["Cancelled"]}"#, 1000).unwrap(), 1);
    assert_eq!(payloads(&*queue, r#"{"status": ["Cancelled"]}"#), [""; 0]);
    assert_eq!(queue.purge("{}", 2).unwrap(), 2);
    assert_eq!(payloads(&*queue, r#"{"status": ["Completed", "PartiallyCompleted", "Terminated"]}"#), ["Terminated"]);
    assert_eq!(queue.purge("{}", 2).unwrap(), 1);
    assert_eq!(queue.purge("{}", 2).unwrap(), 0);
    assert_eq!(payloads(&*queue, "{}"), states);
}

fn failed_items_only_by_name(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.enqueue(&[item("a"), item("b")], None).unwrap();
    given.meddle("Status = 'Failed'", "Status = 'Pending'");
    assert_eq!(queue.purge("{}", 10).unwrap(), 0);
    let by_key = serde_json::json!({"keys": [added[1].key]});
    assert_eq!(queue.purge(&by_key.to_string(), 10).unwrap(), 0, "a key does not name the state");
    let by_both = serde_json::json!({"keys": [added[1].key], "status": ["Failed"]});
    assert_eq!(queue.purge(&by_both.to_string(), 10).unwrap(), 1);
    assert_eq!(payloads(&*queue, "{}"), ["a"]);
}
