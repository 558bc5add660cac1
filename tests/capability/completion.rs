//! Completed items: kept, deleted, or moved to a history.

use crate::by_hand;
use readpast::item::{Action, Answer, ItemState, Settlement};
use std::time::Duration;
use support::api::{Api, item};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("completion::deleted_items_are_gone", deleted_items_are_gone),
    ("completion::deleting_leaves_what_is_not_completed", deleting_leaves_what_is_not_completed),
    ("completion::items_move_to_the_history", items_move_to_the_history),
    ("completion::a_repeated_operation_answers_the_same", a_repeated_operation_answers_the_same),
    ("completion::settles_and_claims_in_one_commit", settles_and_claims_in_one_commit),
    ("completion::figures_know_what_left", figures_know_what_left),
    ("completion::somebody_elses_items_move_as_they_are", somebody_elses_items_move_as_they_are),
];

const DELETE: &str = r#""delete""#;

fn queue(given: &Given, completion: &str) -> Box<dyn Api> {
    given.queue_with(&format!(r#"{{"queue": "{}", "completion": {completion}}}"#, given.queue), &[])
}

fn history(given: &Given) -> String {
    format!(r#"{{"history": "{}_Done"}}"#, given.queue)
}

fn count(given: &Given, condition: &str) -> String {
    given.look("COUNT(*)", condition)
}

fn deleted_items_are_gone(given: &Given) {
    let queue = queue(given, DELETE);
    queue.put("x");
    let taken = queue.take();
    let outcome = queue.end(taken.settle(Action::Complete));
    assert_eq!((outcome.answer, outcome.state, outcome.attempt), (Answer::Ok, Some(ItemState::Completed), 1));
    assert_ne!(outcome.token, taken.token);
    assert_eq!(count(given, "1 = 1"), "0");
    assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::NotFound);
    assert_eq!(queue.renew(&[taken.lease()]).unwrap()[0].answer, Answer::NotFound);
}

fn deleting_leaves_what_is_not_completed(given: &Given) {
    let queue = queue(given, DELETE);
    let items: Vec<_> = (0..6).map(|i| item(&i.to_string())).collect();
    queue.enqueue(&items, None).unwrap();
    let taken = queue.claim(6, Duration::ZERO).unwrap();
    let actions =
        [Action::Complete, Action::Fail, Action::CompletePartially, Action::Retry, Action::Cancel, Action::Step];
    let settlements: Vec<_> = taken.iter().zip(actions).map(|(item, action)| item.settle(action)).collect();
    assert!(queue.settle(&settlements, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
    assert_eq!(count(given, "1 = 1"), "5");
    assert_eq!(count(given, "Payload = '0'"), "0");
    assert_eq!(given.look("Status", "Payload = '5'"), "Processing");
}

fn items_move_to_the_history(given: &Given) {
    let queue = queue(given, &history(given));
    queue.enqueue(&[item("done"), item("failed")], None).unwrap();
    let taken = queue.claim(2, Duration::ZERO).unwrap();
    let done = Settlement {
        step: Some("Last"),
        response: Some("thanks"),
        error: Some("none"),
        ..taken[0].settle(Action::Complete)
    };
    let outcomes = queue.settle(&[done, taken[1].settle(Action::Fail)], None).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok));
    assert_eq!(count(given, "1 = 1"), "1");
    assert_eq!(given.look("Status", "Payload = 'failed'"), "Failed");

    let table = if given.server.is_sql_server() { "[readpast].[Q_Done]" } else { "readpast.\"Q_Done\"" };
    let table = table.replace("Q", &given.queue);
    let columns = given.spell(
        "EnqueuedAt, Type, Status, Step, AttemptNum, Response, Error, LeaseOwner, Payload, UpdatedAt, \
         CASE WHEN Duration >= 0 AND StartedAt IS NOT NULL AND ScheduledFor = EnqueuedAt THEN 1 ELSE 0 END",
    );
    let rows = given.session().execute(&format!("SELECT {columns} FROM {table}"), &[]).unwrap();
    let shown: Vec<_> = (0..10).map(|column| by_hand::cell(&rows, 0, column)).collect();
    let worker = queue.worker();
    let expected = [
        taken[0].key.as_str(),
        "Default",
        "Completed",
        "Last",
        "1",
        "thanks",
        "none",
        &worker,
        "done",
        &outcomes[0].token,
    ];
    assert_eq!((rows.len(), shown), (1, expected.map(str::to_owned).to_vec()));
}

fn a_repeated_operation_answers_the_same(given: &Given) {
    for (number, completion) in [DELETE.to_owned(), history(given)].iter().enumerate() {
        let given = given.sibling(number);
        let queue = queue(&given, completion);
        let items: Vec<_> = (0..4).map(|i| item(&i.to_string())).collect();
        queue.enqueue(&items, None).unwrap();
        let taken = queue.claim(4, Duration::ZERO).unwrap();
        let lost = Settlement { attempt: 7, ..taken[3].settle(Action::Complete) };
        let settlements = [
            taken[0].settle(Action::Complete),
            taken[1].settle(Action::Fail),
            taken[0].settle(Action::Complete),
            lost,
            taken[2].settle(Action::Complete),
        ];
        let operation = format!("00000003-0000-4000-8000-{:012x}", fnv1a(&given.queue));
        let first = queue.settle(&settlements, Some(&operation)).unwrap();
        let answers: Vec<_> = first.iter().map(|outcome| outcome.answer).collect();
        assert_eq!(answers, [Answer::Ok, Answer::Ok, Answer::Conflict, Answer::LeaseLost, Answer::Ok]);
        let again = queue.settle(&settlements, Some(&operation)).unwrap();
        for place in [0, 1, 3, 4] {
            assert_eq!(again[place], first[place], "{completion}, {place}");
        }
        // Refused because the item stood in the call twice; the item as it is now is gone.
        assert_eq!((again[2].answer, again[2].state), (Answer::Conflict, None));
        assert_eq!(count(&given, "1 = 1"), "2");
    }
}

fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| ((hash ^ u64::from(byte)) * 0x0100_0193) & 0xffff_ffff)
}

fn settles_and_claims_in_one_commit(given: &Given) {
    let queue = queue(given, DELETE);
    let items: Vec<_> = (0..10).map(|i| item(&i.to_string())).collect();
    queue.enqueue(&items, None).unwrap();
    let mut taken = queue.claim(5, Duration::ZERO).unwrap();
    let settlements: Vec<_> = taken.iter().map(|item| item.settle(Action::Complete)).collect();
    let (outcomes, next) = queue.settle_and_claim(&settlements, 10).unwrap();
    assert_eq!((outcomes.len(), next.len()), (5, 5));
    taken = next;
    let settlements: Vec<_> = taken.iter().map(|item| item.settle(Action::Complete)).collect();
    let (_, next) = queue.settle_and_claim(&settlements, 10).unwrap();
    assert_eq!((next.len(), count(given, "1 = 1").as_str()), (0, "0"));
}

fn figures_know_what_left(given: &Given) {
    let moved = given.sibling(0);
    for (given, completion, known) in [(given, DELETE.to_owned(), None), (&moved, history(&moved), Some(3))] {
        let queue = queue(given, &completion);
        queue.enqueue(&[item("a"), item("b"), item("c")], None).unwrap();
        let taken = queue.claim(2, Duration::ZERO).unwrap();
        queue.end(taken[0].settle(Action::Complete));
        queue.end(taken[1].settle(Action::Fail));
        let stats = queue.stats().unwrap();
        assert_eq!((stats.count(ItemState::Completed), stats.count(ItemState::Failed)), (0, 1));
        assert_eq!(stats.arrivals_last_hour, known);
        assert_eq!(stats.workers_needed.is_some(), known.is_some());
        assert_eq!(stats.sample, if known.is_some() { 2 } else { 1 });
    }
}

/// The history gets what the row has, also what the server computes in the table and lets nobody write.
fn somebody_elses_items_move_as_they_are(given: &Given) {
    let table = format!("{}_theirs", given.queue).to_ascii_lowercase();
    // With its schema, since one of the login's own name would come before it.
    let schema = given.theirs();
    let theirs = format!("{schema}.{table}");
    let mut session = given.session();
    let columns = if given.server.is_sql_server() {
        "Id bigint IDENTITY PRIMARY KEY, State int NOT NULL, Payload nvarchar(20) NULL, Twice AS (Id * 2), Last int NULL"
    } else {
        "Id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, State int NOT NULL, Payload varchar(20) NULL, \
         Twice bigint GENERATED ALWAYS AS (Id * 2) STORED, Last int NULL"
    };
    session.execute(&format!("CREATE TABLE {theirs} ({columns})"), &[]).unwrap();
    let queue = given.described(&format!(
        r#""completion": {{"history": "{table}_done"}}, "columns": [{{"name": "Payload", "type": "text(20)"}}],
           "table": {{"name": "{table}", "key": ["Id"], "status": {{"column": "State",
           "values": {{"Pending": 0, "Processing": 1, "Completed": 2}}}}}}"#
    ));
    queue.enqueue(&[item("a"), item("b")], None).unwrap();
    session.execute(&format!("UPDATE {theirs} SET Last = 7 WHERE Payload = 'a'"), &[]).unwrap();
    let taken = queue.claim(2, Duration::ZERO).unwrap();
    assert_eq!(queue.end(taken[0].settle(Action::Complete)).answer, Answer::Ok);
    let cell = |statement: &str| by_hand::cell(&given.session().execute(statement, &[]).unwrap(), 0, 0);
    assert_eq!(cell(&format!("SELECT Payload FROM {theirs}")), "b");
    let moved =
        format!("SELECT COUNT(*) FROM {schema}.{table}_done WHERE Id = 1 AND State = 2 AND Payload = 'a' AND Last = 7");
    assert_eq!(cell(&moved), "1");
}
