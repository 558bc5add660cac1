//! Columns of types that only PostgreSQL has: a status of an enum, a response and an error in JSON.

use super::tables::{Adopted, claim, settle};
use readpast::item::{Action, Answer, Filter, ItemRef, Settlement};
use readpast::{ItemState, Value};
use serde_json::json;

const TABLE: &str = "CREATE TYPE job_state AS ENUM ('todo', 'later', 'doing', 'succeeded', 'failed', 'aborted');
    CREATE TABLE jobs (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status job_state NOT NULL DEFAULT 'todo',
        payload text NOT NULL, due timestamptz, result jsonb NOT NULL DEFAULT '{}', trouble json
    )";

const SPEC: &str = r#"{"queue": "Jobs", "columns": [{"name": "payload", "type": "text", "nullable": false}], "backoff": "none",
    "table": {"name": "jobs", "key": ["id"], "lifecycle": {"due": "due", "response": "result", "error": "trouble"},
        "states": {"Pending": {"status": ["todo", "later"]}, "Processing": {"status": "doing"},
            "Completed": {"status": "succeeded"}, "Failed": {"status": "failed"}, "Cancelled": {"status": "aborted"}}}}"#;

fn given() -> Adopted {
    Adopted::of(TABLE, SPEC, |number| json!({"payload": number.to_string()}))
}

fn kept(adopted: &Adopted, key: &str) -> String {
    adopted.scratch.look(&format!("SELECT concat_ws(' ', status, result, trouble) FROM jobs WHERE id = {key}"))
}

#[test]
fn an_enum_holds_the_state_through_a_whole_life() {
    let adopted = given();
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(4), None).unwrap();
    adopted.scratch.run("UPDATE jobs SET status = 'later' WHERE id = 4");
    let taken = claim(&queue, 4);
    assert_eq!(adopted.scratch.look("SELECT string_agg(DISTINCT status::text, ' ') FROM jobs"), "doing");
    let ends = [Action::Complete, Action::Fail, Action::Retry, Action::Release];
    let settlements: Vec<_> = taken.iter().zip(ends).map(|(item, action)| Settlement::new(&item, action)).collect();
    assert!(queue.settle(&settlements, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
    let states = "SELECT string_agg(status::text, ' ' ORDER BY id) FROM jobs";
    assert_eq!(adopted.scratch.look(states), "succeeded failed todo todo");
    let failed = queue.find(&Filter::of_states([ItemState::Failed]), None, 10).unwrap();
    queue.redrive(&[ItemRef::from(failed.get(0).unwrap())], None).unwrap();
    assert_eq!(adopted.scratch.look(states), "succeeded todo todo todo");
    let again = claim(&queue, 4);
    assert_eq!(again.len(), 3);
    settle(&queue, &again, Action::Complete, "Completed");
    assert_eq!(queue.purge(&Filter::default(), 10).unwrap(), 4);
}

/// All states by their own names, which are written without a list of them.
#[test]
fn an_enum_of_the_states_names_is_written_by_name() {
    let names = ItemState::ALL.map(|state| format!("'{state}'")).join(", ");
    let values = ItemState::ALL.map(|state| (state.to_string(), json!(state.to_string())));
    let ddl = format!(
        "CREATE TYPE job_state AS ENUM ({names});
         CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status job_state NOT NULL, payload text)"
    );
    let spec = json!({"queue": "Jobs", "columns": [{"name": "payload", "type": "text"}], "backoff": "none",
        "table": {"name": "jobs", "key": ["id"],
            "status": {"column": "status", "values": serde_json::Map::from_iter(values)}}});
    let adopted = Adopted::of(&ddl, &spec.to_string(), |number| json!({"payload": number.to_string()}));
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(2), None).unwrap();
    settle(&queue, &claim(&queue, 1), Action::Complete, "Completed");
    assert_eq!(adopted.scratch.look("SELECT string_agg(status::text, ' ' ORDER BY id) FROM jobs"), "Completed Pending");
}

/// A document is kept as such, and other text as a string; both come back as they were given.
#[test]
fn responses_and_errors_are_kept_as_json() {
    let adopted = given();
    let queue = adopted.worker("w");
    let given = [
        (r#"{"a": [1, "x"]}"#, r#"{"a": [1, "x"]}"#),
        ("plain \"text\"", r#""plain \"text\"""#),
        ("{broken", r#""{broken""#),
        ("42", "42"),
        ("\"quoted\"", r#""\"quoted\"""#),
        ("null", r#""null""#),
    ];
    let keys = queue.enqueue(&adopted.items(6), None).unwrap();
    let taken = claim(&queue, 6);
    for ((item, (text, stored)), key) in taken.iter().zip(given).zip(&keys) {
        let fails = Settlement { response: Some(text), error: Some(text), ..Settlement::new(&item, Action::Fail) };
        assert_eq!(queue.settle(&[fails], None).unwrap()[0].answer, Answer::Ok, "{text}");
        assert_eq!(kept(&adopted, &key.key), format!("failed {stored} {stored}"), "{text}");
        let found = queue.get(&key.key).unwrap();
        let item = found.get(0).unwrap();
        assert_eq!(item.value_of("item_response"), Some(Value::Text(text)), "{text}");
        assert_eq!(item.value_of("item_error"), Some(Value::Text(text)), "{text}");
    }
    let filter = Filter { error: Some("plain \"te".to_owned()), ..Filter::default() };
    assert_eq!(queue.find(&filter, None, 10).unwrap().len(), 1);
}

/// Values that others wrote come back as they were when a claim, a retry and a completion give none.
#[test]
fn json_of_others_stays_as_it_is() {
    let adopted = given();
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(4), None).unwrap();
    let values = [("null", r#""12""#), (r#""true""#, r#""\u0000""#), (r#""{}""#, r#""null""#), ("{}", "null")];
    for (id, (result, trouble)) in (1..).zip(values) {
        adopted.scratch.run(&format!("UPDATE jobs SET result = '{result}', trouble = '{trouble}' WHERE id = {id}"));
    }
    settle(&queue, &claim(&queue, 4), Action::Retry, "Error");
    for (id, (result, trouble)) in (1..).zip(values) {
        assert_eq!(kept(&adopted, &id.to_string()), format!("todo {result} {trouble}"));
    }
    settle(&queue, &claim(&queue, 4), Action::Complete, "Completed");
    assert_eq!(
        adopted.scratch.look("SELECT string_agg(result::text, ' ' ORDER BY id) FROM jobs"),
        r#"null "true" "{}" {}"#
    );
}

/// A list has all errors: the new one comes last, and what others wrote stays.
#[test]
fn errors_are_added_to_a_list() {
    for (kind, given, stored) in [
        ("jsonb", r#"{"at": 1}"#, r#"{"{\"at\": 1}","\"no\""}"#),
        ("json", r#"{"at": 1}"#, r#"{"{\"at\": 1}","\"no\""}"#),
        ("text", r#"{"at": 1}"#, r#"{"{\"at\": 1}",no}"#),
        ("varchar(40)", r#"{"at": 1}"#, r#"{"{\"at\": 1}",no}"#),
    ] {
        let ddl = format!(
            "CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state integer NOT NULL DEFAULT 0,
                payload text, errors {kind}[], answers {kind}[] NOT NULL DEFAULT '{{}}')"
        );
        let spec = r#"{"queue": "Jobs", "columns": [{"name": "payload", "type": "text"}], "backoff": "none",
            "table": {"name": "jobs", "key": ["id"], "lifecycle": {"error": "errors", "response": "answers"},
                "states": {"Pending": {"state": 0}, "Processing": {"state": 1}, "Completed": {"state": 2}, "Failed": {"state": 3}}}}"#;
        let adopted = Adopted::of(&ddl, spec, |number| json!({"payload": number.to_string()}));
        let queue = adopted.worker("w");
        queue.enqueue(&adopted.items(1), None).unwrap();
        let list = |column: &str| adopted.scratch.look(&format!("SELECT {column}::text FROM jobs"));
        let taken = claim(&queue, 1);
        assert_eq!(list("answers"), "{}", "{kind}");
        let ends = |item: &readpast::item::Item<'_>, action, error, response| {
            let ends = Settlement { error: Some(error), response, ..Settlement::new(item, action) };
            assert_eq!(queue.settle(&[ends], None).unwrap()[0].answer, Answer::Ok, "{kind}");
        };
        ends(&taken.get(0).unwrap(), Action::Retry, given, None);
        ends(&claim(&queue, 1).get(0).unwrap(), Action::Fail, "no", Some("done"));
        assert_eq!(list("errors"), stored, "{kind}");
        let found = queue.get("1").unwrap();
        assert_eq!(found.get(0).unwrap().value_of("item_error"), Some(Value::Text("no")), "{kind}");
        assert_eq!(found.get(0).unwrap().value_of("item_response"), Some(Value::Text("done")), "{kind}");
        queue.redrive(&[ItemRef::from(found.get(0).unwrap())], None).unwrap();
        settle(&queue, &claim(&queue, 1), Action::Complete, "Completed");
        assert_eq!(list("errors"), stored, "{kind}");
    }
}

/// A column of no such type is a finding, and no error of each claim.
#[test]
fn a_column_that_holds_no_text_is_found() {
    let scratch = support::scratch::Scratch::empty();
    for kind in ["xml", "bytea", "integer[]", "point", "tsvector", "xml[]"] {
        scratch.run(&format!(
            "CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state integer NOT NULL, payload text, odd {kind})"
        ));
        for role in ["response", "error", "step", "owner"] {
            let text = json!({"queue": "Jobs", "columns": [{"name": "payload", "type": "text"}], "table": {"name": "jobs",
                "key": ["id"], "lifecycle": {role: "odd"},
                "states": {"Pending": {"state": 0}, "Processing": {"state": 1}, "Completed": {"state": 2}}}});
            let spec = readpast::QueueSpec::from_json(&text.to_string()).unwrap();
            let plan = readpast::adopt::plan(&scratch.config(&[]), &spec).unwrap();
            assert!(!plan.is_possible(), "{kind} as {role}: {:?}", plan.findings);
        }
        scratch.run("DROP TABLE jobs");
    }
    scratch.run("CREATE TABLE jobs (id bigint PRIMARY KEY, state integer NOT NULL, payload text, attempted_by text[])");
    let text = r#"{"queue": "Jobs", "columns": [{"name": "payload", "type": "text"}], "table": {"name": "jobs", "key": [{"name": "id",
        "source": "producer"}], "lifecycle": {"owner": "attempted_by"},
        "states": {"Pending": {"state": 0}, "Processing": {"state": 1}, "Completed": {"state": 2}}}}"#;
    let findings =
        readpast::adopt::plan(&scratch.config(&[]), &readpast::QueueSpec::from_json(text).unwrap()).unwrap().findings;
    assert!(findings.iter().any(|finding| finding.what.contains("text, one and no list")), "{findings:?}");
}
