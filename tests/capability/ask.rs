//! Questions: each answer has the members that docs/ask.md says, and no others.

use readpast::ask::{Field, Kind, QUESTIONS, Question};
use readpast::item::{Action, After, NewItem, OnFailed};
use readpast::{Answer, ProgressReport, Queue};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use support::api::{Api, Taken, item};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("ask::answers_have_the_members_of_the_page", answers_have_the_members_of_the_page),
    ("ask::items_are_changed_by_key_or_by_filter", items_are_changed_by_key_or_by_filter),
    ("ask::actions_are_recorded_under_their_own_words", actions_are_recorded_under_their_own_words),
    ("ask::queues_are_listed_as_on_the_page", queues_are_listed_as_on_the_page),
    ("ask::columns_are_edited", columns_are_edited),
    ("ask::unknown_questions_and_arguments_are_refused", unknown_questions_and_arguments_are_refused),
];

/// Members that only a table of others, or a queue over several databases, can have.
const ELSEWHERE: [&str; 2] = ["refused[]", "away[]"];

fn asked(queue: &dyn Api, what: &str, arguments: &Value) -> Value {
    queue.ask(what, &arguments.to_string()).unwrap_or_else(|problem| panic!("{what} {arguments}: {problem:?}"))
}

fn answers_have_the_members_of_the_page(given: &Given) {
    let queue = given.described(
        r#""types": ["A", "B"], "steps": ["one", "two"], "attempts": {"history": true}, "schedule": [],
        "after": true, "progress": true, "limit": [{"at_once": 1000, "rate": "1000/1s"}], "columns": [{"name": "Payload", "type": "text(100)"}]"#,
    );
    let of_b = NewItem { kind: Some("B".to_owned()), ..item("held") };
    queue.enqueue(&[item("fails"), of_b, item("waits"), item("paused"), item("ends")], None).unwrap();
    let taken = queue.claim(2, Duration::ZERO).unwrap();
    let reporter = Queue::open(&given.settings(&[("worker", &queue.worker())]).config(), &given.queue).unwrap();
    let report = |taken: &Taken| {
        let (percent, text) = (Some(42), Some("page 42 of 100"));
        let report = ProgressReport { key: &taken.key, token: &taken.token, attempt: taken.attempt, percent, text };
        assert_eq!(reporter.report_progress(&[report]).unwrap()[0].answer, Answer::Ok);
    };
    taken.iter().for_each(report);
    let end = taken.iter().find(|taken| taken.column("Payload") == "fails").unwrap();
    queue.end(readpast::Settlement { error: Some("no route"), ..end.settle(Action::Fail) });
    let after = NewItem { after: vec![After::Key(end.key.clone())], on_failed: OnFailed::Run, ..item("after") };
    let after = queue.enqueue(&[after], None).unwrap().remove(0).key;
    let found = asked(&*queue, "find", &json!({"filter": {"status": ["Pending"]}, "max": 2}));
    let keys: Vec<_> = found["items"].as_array().unwrap().iter().map(|item| item["key"].clone()).collect();
    assert_eq!((keys.len(), &found["after"]), (2, &keys[1]), "there is more");

    let other = given.sibling(1);
    other.described(r#""types": ["A", "B"], "columns": [{"name": "Payload", "type": "text(100)"}]"#);
    let by_filter = json!({"filter": {"keys": [keys[0]]}});
    let mut seen = Vec::new();
    for (what, arguments) in [
        ("pause_queue", json!({"type": "A", "for_ms": 3_600_000, "reason": "a test"})),
        ("pauses", json!({})),
        ("set_limit", json!({"at_once": 900, "rate": "900/1s", "burst": 90, "reason": "a test"})),
        ("limits", json!({})),
        ("stats", json!({"types": true, "trend_ms": 1, "longer_ms": 0})),
        ("stats", json!({})),
        ("trend", json!({"apart_ms": 1})),
        ("watch", json!({"most": 100})),
        ("types", json!({})),
        ("errors", json!({})),
        ("workers", json!({})),
        ("find", json!({"filter": {"columns": {}}, "max": 5, "after": null})),
        ("show", json!({"key": end.key})),
        ("show", json!({"key": after})),
        ("why", json!({"key": keys[0]})),
        ("edit", json!({"key": keys[0], "set": {"Payload": "other"}, "due": "2026-11-21T08:30:00Z"})),
        ("move", json!({"key": keys[1], "to": other.queue})),
        ("pause", by_filter.clone()),
        ("resume", by_filter.clone()),
        ("cancel", by_filter.clone()),
        ("redrive", by_filter.clone()),
        ("retry", by_filter),
        ("recover", json!({"max": 10})),
        ("purge", json!({"filter": {"status": ["Failed"]}, "max": 10})),
        ("settings", json!({})),
        ("set", json!({"name": "leaseMs", "value": 30_000})),
        ("doctor", json!({})),
        (
            "schedule",
            json!({"name": "nightly", "cron": "@daily", "zone": "UTC", "item": {"type": "A", "columns": {"Payload": "n"}}}),
        ),
        ("run_schedule", json!({"name": "nightly"})),
        ("schedules", json!({})),
        ("unschedule", json!({"name": "nightly"})),
        ("resume_queue", json!({"type": "B"})),
    ] {
        if what == "retry" {
            given.meddle("Status = 'Error'", "Status = 'Pending'");
        }
        let question = QUESTIONS.into_iter().find(|question| question.name == what).unwrap();
        let mut paths = BTreeSet::new();
        let answer = asked(&*queue, what, &arguments);
        fits(question, "", &answer, &mut paths);
        seen.push((question.name, paths));
    }
    // A queue in one database has no places: tests/servers/rebalance.rs has those.
    for question in QUESTIONS.into_iter().filter(|question| question.name != "rebalance") {
        for field in fields(question).filter(|field| !ELSEWHERE.iter().any(|of| field.path.starts_with(of))) {
            let is_seen = seen.iter().any(|(name, paths)| *name == question.name && paths.contains(field.path));
            assert!(is_seen, "{}: no answer had {}", question.name, field.path);
        }
    }
    for missing in ["show", "why"] {
        assert_eq!(asked(&*queue, missing, &json!({"key": "2001-01-01T00:00:00.0000000"})), Value::Null, "{missing}");
    }
}

fn fields(question: &Question) -> impl Iterator<Item = &Field> {
    question.answer.iter().copied().flatten()
}

/// Checks a value at `path`, and everything in it, against the fields, and notes those that it has.
fn fits(question: &Question, path: &str, value: &Value, seen: &mut BTreeSet<&'static str>) {
    let any = path.rsplit_once('.').map(|(parent, _)| format!("{parent}.*"));
    let field = fields(question).find(|field| field.path == path || any.as_deref() == Some(field.path));
    let at = format!("{} answered {value} at {path:?}", question.name);
    if let Some(field) = field {
        seen.insert(field.path);
        let is_right = match value {
            Value::Null => !field.is_needed,
            Value::Bool(_) => field.kind == Kind::Boolean,
            Value::Number(number) => field.kind == Kind::Number && number.is_i64(),
            Value::String(_) => field.kind == Kind::Text,
            Value::Array(_) => field.kind == Kind::List,
            Value::Object(_) => field.kind == Kind::Object,
        };
        assert!(is_right, "{at}: the page says {field:?}");
        return;
    }
    let is_parent = |end: &str| fields(question).any(|field| field.path.starts_with(&format!("{path}{end}")));
    match value {
        Value::Object(members) => {
            assert!(path.is_empty() || is_parent("."), "{at}: the page has no such member");
            let of = if path.is_empty() { String::new() } else { format!("{path}.") };
            for needed in fields(question).filter(|field| field.is_needed) {
                let name = needed.path.strip_prefix(&of).filter(|name| !name.contains(['.', '[', '*']));
                assert!(name.is_none_or(|name| members.contains_key(name)), "{at}: {} is missing", needed.path);
            }
            members.iter().for_each(|(name, value)| fits(question, &format!("{of}{name}"), value, seen));
        }
        Value::Array(elements) => {
            assert!(is_parent("[]"), "{at}: the page has no such member");
            elements.iter().for_each(|element| fits(question, &format!("{path}[]"), element, seen));
        }
        _ => panic!("{at}: the page has no such member"),
    }
}

fn items_are_changed_by_key_or_by_filter(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.enqueue(&[item("a"), item("b"), item("c")], None).unwrap();
    let stale = "2001-01-01T00:00:00.0000000";
    let one = json!({"items": [{"key": added[0].key, "token": added[0].token}, {"key": added[1].key, "token": stale}]});
    let answer = asked(&*queue, "pause", &one);
    assert_eq!(
        (&answer["paused"], &answer["refused"], &answer["states"]),
        (&json!(1), &json!(1), &json!({"Paused": 1}))
    );
    assert_eq!((&answer["outcomes"][0]["answer"], &answer["outcomes"][0]["state"]), (&json!("OK"), &json!("Paused")));
    assert_eq!(
        (&answer["outcomes"][1]["answer"], &answer["outcomes"][1]["state"]),
        (&json!("CONFLICT"), &json!("Pending"))
    );

    // A page of one item at a time, of the states that it takes by default.
    let (mut after, mut cancelled) = (Value::Null, Vec::new());
    loop {
        let page = asked(&*queue, "cancel", &json!({"filter": {}, "max": 1, "after": after}));
        cancelled.extend(page["outcomes"].as_array().unwrap().iter().map(|outcome| outcome["key"].clone()));
        after = page["after"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(cancelled, added.iter().map(|added| json!(added.key)).collect::<Vec<_>>());
    assert_eq!(asked(&*queue, "redrive", &json!({"filter": {}}))["redriven"], 0, "none is Failed");
    let keys: Vec<_> = added.iter().map(|added| json!({"key": added.key})).collect();
    let layer = given.layer.to_string().len();
    let identity = json!({"items": keys, "operation": format!("0000000{layer}-0000-4000-8000-0000000000ab")});
    let first = asked(&*queue, "redrive", &identity);
    assert_eq!((&first["redriven"], &first["after"]), (&json!(3), &Value::Null));
    assert_eq!(asked(&*queue, "redrive", &identity), first, "a repetition has the same answer");
}

fn actions_are_recorded_under_their_own_words(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.put("a");
    let key = json!({"items": [{"key": added.key}]});
    let words = ["pause", "resume", "cancel", "redrive", "retry"];
    assert_eq!(asked(&*queue, "edit", &json!({"key": added.key, "set": {"Payload": "b"}}))["edited"], 1);
    for what in words {
        if what == "retry" {
            given.meddle("Status = 'Error'", "Status = 'Pending'");
        }
        let answer = asked(&*queue, what, &key);
        assert_eq!(answer["refused"], 0, "{what}: {answer}");
    }
    let records = readpast::Queue::open(&given.settings(&[]).config(), &given.queue).unwrap();
    let mut found: Vec<_> =
        records.actions(false, None, 10).unwrap().into_iter().map(|of| (of.verb, of.done)).collect();
    found.reverse();
    let all: Vec<_> = ["edit"].into_iter().chain(words).map(|word| (word.to_owned(), 1)).collect();
    assert_eq!(found, all);
}

fn queues_are_listed_as_on_the_page(given: &Given) {
    given.install(&format!(r#"{{"queue": "{}"}}"#, given.queue));
    let listed: Vec<Value> =
        serde_json::from_str(&readpast::ask::list(&given.settings(&[]).config()).unwrap()).unwrap();
    let found = listed.iter().find(|one| one["queue"] == given.queue).unwrap();
    let members: Vec<_> = found.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, readpast::ask::LISTED.iter().map(|field| field.path).collect::<Vec<_>>());
    assert_eq!((&found["own"], found["table"].is_string()), (&json!(true), true));
    assert!(found["description"].as_str().unwrap().contains(&given.queue));
}

/// An operator changes a column of an item that waits, in one step or while it is paused; a repetition changes nothing more.
fn columns_are_edited(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.put("wrong");
    let paused = json!({"items": [{"key": added.key, "token": added.token}], "set": {"Payload": "better"}});
    assert_eq!(asked(&*queue, "pause", &paused)["paused"], 1);
    assert_eq!(given.look("Payload", "1 = 1"), "better");
    assert_eq!(asked(&*queue, "resume", &json!({"filter": {}}))["resumed"], 1);
    let stale = json!({"key": added.key, "token": added.token, "set": {"Payload": "late"}});
    let refused = asked(&*queue, "edit", &stale);
    assert_eq!((&refused["edited"], &refused["outcomes"][0]["answer"]), (&json!(0), &json!("CONFLICT")));
    let operation = format!("0000000{}-0000-4000-8000-0000000000ed", given.layer.to_string().len());
    let edit = json!({"key": added.key, "set": {"Payload": "right"}, "delay_ms": 0, "operation": operation});
    let edited = asked(&*queue, "edit", &edit);
    assert_eq!((&edited["edited"], &edited["states"]), (&json!(1), &json!({"Pending": 1})));
    assert_eq!(asked(&*queue, "edit", &edit), edited);
    let taken = queue.take();
    assert_eq!((taken.column("Payload"), taken.attempt), (&json!("right"), 1));
    let held = asked(&*queue, "edit", &json!({"key": added.key, "set": {"Payload": "late"}}));
    assert_eq!(held["outcomes"][0]["answer"], "ILLEGAL_TRANSITION", "a worker has it");
    assert_eq!(given.look("Payload", "1 = 1"), "right");
}

fn unknown_questions_and_arguments_are_refused(given: &Given) {
    let queue = given.queue(&[]);
    for (what, arguments, says) in [
        ("stat", "{}", &["asked \"stat\"", "\"stats\"?", "redrive, cancel"][..]),
        ("", "{}", &["the questions are stats, trend"]),
        (
            "stats",
            "{\"longer\": 5}",
            &["stats: ", "\"longer\"", "\"longer_ms\"?", "it takes types, trend_ms, longer_ms"],
        ),
        ("settings", "{\"a\": 1}", &["it takes none"]),
        ("stats", "[]", &["no JSON object"]),
        ("stats", "{", &["no JSON object"]),
        ("show", "{}", &["show: ", "\"key\" is missing"]),
        ("show", "{\"key\": 5}", &["\"key\"", "must be text"]),
        ("watch", "{\"most\": 0}", &["\"most\"", "from 1 to 1000000"]),
        ("trend", "{\"apart_ms\": 600001}", &["from 1 to 600000"]),
        ("find", "{\"filter\": []}", &["JSON object"]),
        ("find", "{\"filter\": {\"state\": []}}", &["\"state\"", "keys, status, types"]),
        ("retry", "{}", &["one of two ways"]),
        ("retry", "{\"items\": [], \"filter\": {}}", &["one of two ways"]),
        ("redrive", "{\"items\": [{\"keys\": \"a\"}]}", &["\"items\"", "a \"key\""]),
        ("redrive", "{\"items\": [], \"set\": {}}", &["\"set\"", "it takes items, operation, filter"]),
        ("purge", "{\"filter\": {\"status\": [\"Pending\"]}}", &["only finished items"]),
        ("edit", "{\"set\": {}}", &["\"key\" is missing"]),
        ("edit", "{\"key\": \"2026-11-21T08:30:00\"}", &["needs a value to set or a due time"]),
        ("set", "{\"name\": \"leaseMs\", \"value\": 1}", &["leaseMs"]),
        ("set_limit", "{}", &["give \"at_once\", \"rate\", or both"]),
        ("set_limit", "{\"at_once\": 1, \"reset\": true}", &["or \"reset\": true"]),
        ("set_limit", "{\"rate\": \"5\"}", &["is no rate; it must be starts/period"]),
    ] {
        let problem = queue.ask(what, arguments).expect_err(what);
        assert_eq!(problem.kind, "InvalidArgument", "{what} {arguments}: {problem:?}");
        for words in says {
            assert!(problem.message.contains(words), "{what} {arguments}: {words} is not in {:?}", problem.message);
        }
    }
    assert_eq!(asked(&*queue, "redrive", &json!({"items": []}))["redriven"], 0, "nothing is sent");
}
