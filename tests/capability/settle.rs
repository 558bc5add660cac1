//! Ending claims.

use readpast::item::{Action, Answer, ItemState, Settlement};
use serde_json::json;
use std::time::Duration;
use support::api::item;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("settle::each_action_leads_to_its_state", each_action_leads_to_its_state),
    ("settle::records_response_error_and_duration", records_response_error_and_duration),
    ("settle::the_answers_are_distinct_per_item", the_answers_are_distinct_per_item),
    ("settle::a_repeated_operation_changes_nothing", a_repeated_operation_changes_nothing),
    ("settle::a_repeated_operation_keeps_its_refusals", a_repeated_operation_keeps_its_refusals),
    ("settle::spent_attempts_end_failed", spent_attempts_end_failed),
    ("settle::release_gives_the_attempt_back", release_gives_the_attempt_back),
    ("settle::retry_waits_for_its_time", retry_waits_for_its_time),
    ("settle::a_step_keeps_the_claim", a_step_keeps_the_claim),
    ("settle::and_claim_in_one_commit", and_claim_in_one_commit),
    ("settle::tokens_strictly_increase", tokens_strictly_increase),
    ("settle::operators_steer_by_key", operators_steer_by_key),
    ("settle::the_same_item_twice_counts_once", the_same_item_twice_counts_once),
    ("settle::completing_clears_what_went_wrong_before", completing_clears_what_went_wrong_before),
    ("settle::an_error_is_cut_to_what_its_column_takes", an_error_is_cut_to_what_its_column_takes),
];

fn each_action_leads_to_its_state(given: &Given) {
    let queue = given.queue(&[]);
    for (action, state) in [
        (Action::Complete, ItemState::Completed),
        (Action::CompletePartially, ItemState::PartiallyCompleted),
        (Action::Fail, ItemState::Failed),
        (Action::Cancel, ItemState::Cancelled),
        (Action::Pause, ItemState::Paused),
        (Action::Terminate, ItemState::Terminated),
        (Action::Step, ItemState::Processing),
        (Action::Release, ItemState::Pending),
    ] {
        let added = queue.put("x");
        let taken = queue.take();
        assert_eq!(taken.key, added.key, "{action:?}");
        let outcome = queue.end(taken.settle(action));
        assert_eq!((outcome.answer, outcome.state), (Answer::Ok, Some(state)), "{action:?}");
        assert!(outcome.token > taken.token, "{action:?}");
    }
    let taken = queue.take();
    let outcome = queue.end(taken.settle(Action::Retry));
    assert_eq!((outcome.answer, outcome.state), (Answer::Ok, Some(ItemState::Error)));
}

fn records_response_error_and_duration(given: &Given) {
    let queue = given.queue(&[]);
    queue.put("x");
    let taken = queue.take();
    assert_eq!(taken.column("Duration"), &serde_json::Value::Null);
    let settlement = Settlement {
        step: Some("Confirm"),
        response: Some("250 OK \u{1f600}"),
        error: Some(""),
        ..taken.settle(Action::Complete)
    };
    assert_eq!(queue.end(settlement).answer, Answer::Ok);
    let own = "Payload = 'x'";
    assert_eq!(given.look("Step", own), "Confirm");
    assert_eq!(given.look("Response", own), "250 OK \u{1f600}");
    assert_eq!(given.look("Error", own), "");
    assert!(given.look("Duration", own).parse::<i64>().unwrap() >= 0);
}

fn the_answers_are_distinct_per_item(given: &Given) {
    let queue = given.queue(&[]);
    for payload in ["ok", "lost", "changed", "illegal"] {
        queue.put(payload);
    }
    let taken = queue.claim(4, Duration::ZERO).unwrap();
    let find = |payload: &str| taken.iter().find(|item| item.column("Payload") == payload).unwrap();
    given.meddle("LeaseOwner = 'another'", "Payload = 'lost'");
    let stepped = queue.end(find("changed").settle(Action::Step));
    assert_eq!(stepped.answer, Answer::Ok);

    let missing = Settlement { key: "2020-01-01T00:00:00.0000000", ..find("ok").settle(Action::Complete) };
    // Resume asks for Pending, which a worker's own item may become; from Completed nothing is legal any more.
    let illegal = find("illegal");
    let done = queue.end(illegal.settle(Action::Complete));
    let too_late = Settlement { token: Some(&done.token), attempt: 0, ..illegal.settle(Action::Cancel) };
    let outcomes = queue
        .settle(
            &[
                find("lost").settle(Action::Complete),
                find("ok").settle(Action::Complete),
                find("changed").settle(Action::Complete),
                missing,
                too_late,
            ],
            None,
        )
        .unwrap();
    let answers: Vec<_> = outcomes.iter().map(|outcome| outcome.answer).collect();
    assert_eq!(answers, [Answer::LeaseLost, Answer::Ok, Answer::Conflict, Answer::NotFound, Answer::IllegalTransition]);
    let states: Vec<_> = outcomes.iter().map(|outcome| outcome.state).collect();
    let processing = Some(ItemState::Processing);
    let completed = Some(ItemState::Completed);
    assert_eq!(states, [processing, completed, processing, None, completed]);
    assert_eq!(given.look("Status", "Payload = 'lost'"), "Processing", "what is refused is untouched");
    assert_eq!(given.look("LeaseOwner", "Payload = 'lost'"), "another");
}

/// An identity that no other body uses.
fn operation(given: &Given, number: u32) -> String {
    let layer = if given.queue.starts_with('r') { 1 } else { 2 };
    format!("0000000{layer}-0000-4000-8000-{number:012}")
}

fn a_repeated_operation_changes_nothing(given: &Given) {
    let queue = given.queue(&[]);
    queue.put("x");
    let taken = queue.take();
    let operation = operation(given, 1);
    let first = queue.settle(&[taken.settle(Action::Retry)], Some(&operation)).unwrap();
    assert_eq!(first[0].answer, Answer::Ok);
    // Meanwhile another claim is under way: the repetition must not be taken for its settle.
    let second = queue.take();
    let again = queue.settle(&[taken.settle(Action::Retry)], Some(&operation)).unwrap();
    assert_eq!((again[0].answer, again[0].state), (Answer::Ok, Some(ItemState::Error)), "the first time's answer");
    assert_ne!(again[0].token, second.token, "nobody gets at another's claim");
    assert_eq!(given.look("Status", "Payload = 'x'"), "Processing");
    assert_eq!(queue.end(second.settle(Action::Complete)).answer, Answer::Ok);
}

fn a_repeated_operation_keeps_its_refusals(given: &Given) {
    let queue = given.queue(&[]);
    queue.enqueue(&[item("good"), item("lost")], None).unwrap();
    let taken = queue.claim(2, Duration::ZERO).unwrap();
    given.meddle("LeaseOwner = 'another'", "Payload = 'lost'");
    let settlements: Vec<_> = taken.iter().map(|item| item.settle(Action::Complete)).collect();
    let operation = operation(given, 2);
    for _ in 0..2 {
        let outcomes = queue.settle(&settlements, Some(&operation)).unwrap();
        let answers: Vec<_> = outcomes.iter().map(|outcome| outcome.answer).collect();
        assert_eq!(answers, [Answer::Ok, Answer::LeaseLost]);
    }
}

fn spent_attempts_end_failed(given: &Given) {
    let queue = given.queue(&[]);
    given.set_max_attempts(1);
    for action in [Action::Retry, Action::CompletePartially, Action::Pause, Action::Cancel, Action::Terminate] {
        queue.put(&format!("{action:?}"));
        let taken = queue.take();
        let outcome = queue.end(taken.settle(action));
        assert_eq!((outcome.answer, outcome.state), (Answer::Ok, Some(ItemState::Failed)), "{action:?}");
        let reason = given.look("Error", &format!("Payload = '{action:?}'"));
        assert!(reason.contains("1 of 1"), "{reason}");
    }
    queue.put("step");
    let taken = queue.take();
    let stepped = queue.end(taken.settle(Action::Step));
    assert_eq!(stepped.state, Some(ItemState::Processing), "the attempt is not over");
    let done = Settlement { token: Some(&stepped.token), ..taken.settle(Action::Complete) };
    assert_eq!(queue.end(done).state, Some(ItemState::Completed));

    queue.put("own words");
    let taken = queue.take();
    queue.end(Settlement { error: Some("no route"), ..taken.settle(Action::Retry) });
    assert_eq!(given.look("Error", "Payload = 'own words'"), "no route");
}

fn release_gives_the_attempt_back(given: &Given) {
    let queue = given.queue(&[]);
    given.set_max_attempts(1);
    queue.put("x");
    for _ in 0..3 {
        let taken = queue.take();
        assert_eq!(taken.attempt, 1);
        let outcome = queue.end(taken.settle(Action::Release));
        assert_eq!((outcome.answer, outcome.state, outcome.attempt), (Answer::Ok, Some(ItemState::Pending), 0));
        assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::LeaseLost, "it is not held any more");
    }
}

fn retry_waits_for_its_time(given: &Given) {
    let queue = given.queue(&[]);
    queue.put("x");
    let taken = queue.take();
    queue.end(Settlement { delay_ms: Some(3_600_000), ..taken.settle(Action::Retry) });
    queue.expect_empty();
    given.meddle("ScheduledFor = SYSUTCDATETIME()", "Payload = 'x'");
    let taken = queue.take();
    queue.end(Settlement { due: Some("2999-01-01T00:00:00Z"), ..taken.settle(Action::Retry) });
    queue.expect_empty();
    assert!(given.look("ScheduledFor", "Payload = 'x'").starts_with("2999-01-01T00:00:00"));
}

fn a_step_keeps_the_claim(given: &Given) {
    let queue = given.queue(&[]);
    queue.put("x");
    let taken = queue.take();
    let step = Settlement { step: Some("Send"), ..taken.settle(Action::Step) };
    let stepped = queue.end(step.clone());
    assert_eq!((stepped.answer, stepped.attempt), (Answer::Ok, 1));
    queue.expect_empty();
    assert_eq!(queue.end(step).answer, Answer::Conflict, "the token has moved on");
    let retry = Settlement { token: Some(&stepped.token), ..taken.settle(Action::Retry) };
    assert_eq!(queue.end(retry).answer, Answer::Ok);
    let again = queue.take();
    assert_eq!((again.column("Step").as_str(), again.attempt), (Some("Send"), 2), "a retry resumes at its step");
}

fn and_claim_in_one_commit(given: &Given) {
    let queue = given.queue(&[]);
    queue.enqueue(&[item("a"), item("b"), item("c")], None).unwrap();
    let first = queue.take();
    let (outcomes, next) = queue.settle_and_claim(&[first.settle(Action::Complete)], 5).unwrap();
    assert_eq!(outcomes[0].state, Some(ItemState::Completed));
    let payloads: Vec<_> = next.iter().map(|item| item.column("Payload").clone()).collect();
    assert_eq!(payloads, ["b", "c"]);
    assert!(next.iter().all(|item| item.attempt == 1));

    let settlements: Vec<_> = next.iter().map(|item| item.settle(Action::Complete)).collect();
    let (outcomes, none) = queue.settle_and_claim(&settlements, 5).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok));
    assert_eq!(none, []);
    assert_eq!(queue.settle_and_claim(&settlements, 0).unwrap_err().kind, "InvalidArgument");
}

fn tokens_strictly_increase(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.put("x");
    // A token ahead of the clock, as a clock that was set back leaves it.
    let ahead = if given.server.is_sql_server() {
        "UpdatedAt = DATEADD(HOUR, 1, SYSUTCDATETIME())"
    } else {
        "UpdatedAt = SYSUTCDATETIME() + interval '1 hour'"
    };
    given.meddle(ahead, "Payload = 'x'");
    let taken = queue.take();
    assert!(taken.token > added.token);
    let mut token = taken.token.clone();
    for _ in 0..5 {
        let stepped = queue.end(Settlement { token: Some(&token), ..taken.settle(Action::Step) });
        assert_eq!(stepped.answer, Answer::Ok);
        assert!(stepped.token > token, "{} after {token}", stepped.token);
        token = stepped.token;
    }
}

fn operators_steer_by_key(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.put("x");
    let paused = queue.end(Settlement::control(&added.key, None, Action::Pause));
    assert_eq!((paused.answer, paused.state), (Answer::Ok, Some(ItemState::Paused)));
    queue.expect_empty();
    let with_old_token = Settlement::control(&added.key, Some(&added.token), Action::Resume);
    assert_eq!(queue.end(with_old_token).answer, Answer::Conflict);
    let resumed = queue.end(Settlement::control(&added.key, Some(&paused.token), Action::Resume));
    assert_eq!(resumed.state, Some(ItemState::Pending));

    let taken = queue.take();
    let terminated = queue.end(Settlement::control(&added.key, None, Action::Terminate));
    assert_eq!(terminated.state, Some(ItemState::Terminated));
    assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::LeaseLost, "the worker learns of it");
    let again = queue.end(Settlement::control(&added.key, None, Action::Resume));
    assert_eq!(again.answer, Answer::IllegalTransition);
}

fn the_same_item_twice_counts_once(given: &Given) {
    let queue = given.queue(&[]);
    queue.put("x");
    let taken = queue.take();
    let both = [taken.settle(Action::Complete), taken.settle(Action::Fail)];
    let outcomes = queue.settle(&both, None).unwrap();
    assert_eq!((outcomes[0].answer, outcomes[1].answer), (Answer::Ok, Answer::Conflict));
    assert_eq!(given.look("Status", "Payload = 'x'"), "Completed");
}

/// In each kind of table: readpast's own, one without and one with a column for it.
fn completing_clears_what_went_wrong_before(given: &Given) {
    for number in 0..3 {
        let given = given.sibling(number);
        let mut spec = json!({"queue": given.queue, "columns": [{"name": "Payload", "type": "text"}]});
        if number > 0 {
            spec["table"] = json!({
                "schema": "readpast", "name": format!("{}_Items", given.queue), "create": true, "key": ["Id"],
                "lifecycle": if number == 2 { json!({"error": "Wrong"}) } else { json!({}) },
                "status": {"column": "State", "values": {"Pending": 1, "Processing": 2, "Completed": 3}}
            });
        }
        let queue = given.queue_with(&spec.to_string(), &[]);
        let found = |error: &str| queue.find(&json!({"error": error}).to_string(), None, 10).unwrap().len();
        for last in [None, Some("almost")] {
            queue.put("x");
            let taken = queue.take();
            let wrong = Settlement { error: Some("no route"), delay_ms: Some(0), ..taken.settle(Action::Retry) };
            assert_eq!(queue.end(wrong).answer, Answer::Ok);
            assert_eq!(found("no route"), 1, "{spec}");
            let done = queue.take();
            assert_eq!(queue.end(Settlement { error: last, ..done.settle(Action::Complete) }).answer, Answer::Ok);
            assert_eq!(found("no route"), 0, "{spec}");
        }
        assert_eq!(found("almost"), 1, "what the completing call says itself stays: {spec}");
    }
}

/// At once, and by the server: no call is refused for it.
fn an_error_is_cut_to_what_its_column_takes(given: &Given) {
    let table = format!("{}_errors", given.queue.to_ascii_lowercase());
    let schema = given.theirs();
    let kinds = if given.server.is_sql_server() {
        ["nvarchar(60)", "varchar(60)", "nvarchar(max)"]
    } else {
        ["varchar(60)", "character varying(60)", "text"]
    };
    for (number, kind) in kinds.into_iter().enumerate() {
        let given = given.sibling(number);
        let table = format!("{table}{number}");
        let statement = format!(
            "CREATE TABLE {schema}.{table} (id integer NOT NULL PRIMARY KEY, state integer NOT NULL, wrong {kind} NULL)"
        );
        given.session().execute(&statement, &[]).unwrap();
        let spec = json!({
            "queue": given.queue, "columns": [], "backoff": "none",
            "table": {
                "schema": schema, "name": table, "key": [{"name": "id", "type": "integer", "source": "producer"}],
                "lifecycle": {"error": "wrong"},
                "status": {"column": "state", "values": {"Pending": 1, "Processing": 2, "Completed": 3, "Failed": 4}}
            }
        });
        let queue = given.queue_with(&spec.to_string(), &[]);
        given.session().execute(&format!("INSERT INTO {schema}.{table} (id, state) VALUES (1, 1)"), &[]).unwrap();
        let taken = queue.take();
        let error = "0123456789".repeat(20);
        let failed = Settlement { error: Some(&error), ..taken.settle(Action::Fail) };
        assert_eq!(queue.end(failed).answer, Answer::Ok, "{kind}");
        let rows = given.session().execute(&format!("SELECT wrong FROM {schema}.{table}"), &[]).unwrap();
        let kept = if number < 2 { &error[..60] } else { &error };
        assert_eq!(crate::by_hand::cell(&rows, 0, 0), kept, "{kind}");
    }
}
