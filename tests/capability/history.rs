//! The history of the attempts at an item, read by the procedure, as a monitor reads it.

use crate::by_hand::cell;
use crate::kinds::{install, tables};
use readpast::for_tests::Session;
use readpast::item::{Action, Answer, NewItem, Settlement};
use serde_json::{Value, json};
use std::{thread, time::Duration};
use support::api::{Api, Taken};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("history::each_end_is_remembered", each_end_is_remembered),
    ("history::decisions_of_the_queue_are_remembered", decisions_of_the_queue_are_remembered),
    ("history::a_dead_workers_attempt_is_remembered", a_dead_workers_attempt_is_remembered),
    ("history::calls_that_end_no_attempt_are_not", calls_that_end_no_attempt_are_not),
    ("history::a_repeated_call_is_remembered_once", a_repeated_call_is_remembered_once),
    ("history::the_procedures_for_one_item_remember", the_procedures_for_one_item_remember),
    ("history::goes_with_its_item", goes_with_its_item),
    ("history::comes_with_a_description", comes_with_a_description),
];

const ON: &str = r#"{"attempts": {"limit": 3, "history": true}}"#;

/// The tables of the claims by kind, and one that has no column for the step.
fn on_each_table(given: &Given, more: &str, body: impl Fn(&Given, Box<dyn Api>)) {
    on_tables(given, 0, more, body);
}

/// The same with queues that are numbered from `first` on.
fn on_tables(given: &Given, first: usize, more: &str, body: impl Fn(&Given, Box<dyn Api>)) {
    let mut tables = tables();
    let mut bare = tables.last().unwrap().clone();
    bare["lifecycle"].as_object_mut().unwrap().remove("step");
    tables.push(bare);
    for (number, table) in tables.into_iter().enumerate() {
        let given = given.sibling(first + number);
        install(&given, table, &serde_json::from_str(more).unwrap());
        body(&given, given.open(&[]));
    }
}

fn put(queue: &dyn Api, payload: &str) {
    let columns = json!({"Payload": payload, "Rank": 0});
    let item = NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() };
    queue.enqueue(&[item], None).unwrap();
}

/// Number, worker, outcome, step, response and error of each attempt; its times are there, in their order.
fn attempts(given: &Given, key: &str) -> Vec<[String; 6]> {
    let procedure = given.procedure("Attempts_", "");
    let call = if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @Key = N'{key}'")
    } else {
        format!("SELECT * FROM {procedure}('{key}')")
    };
    let rows = given.session().execute(&call, &[]).unwrap();
    (0..rows.len())
        .map(|row| {
            let (started, ended) = (cell(&rows, row, 2), cell(&rows, row, 3));
            assert!(started.starts_with("20") && started <= ended, "{started} {ended}");
            [0, 1, 4, 5, 6, 7].map(|column| cell(&rows, row, column))
        })
        .collect()
}

fn end<'a>(taken: &'a Taken, action: Action, response: Option<&'a str>, error: Option<&'a str>) -> Settlement<'a> {
    Settlement { response, error, ..taken.settle(action) }
}

fn row(number: &str, worker: &str, outcome: &str, step: &str, response: &str, error: &str) -> [String; 6] {
    [number, worker, outcome, step, response, error].map(str::to_owned)
}

fn each_end_is_remembered(given: &Given) {
    on_each_table(given, ON, |given, queue| {
        let worker = queue.worker();
        put(&*queue, "one");
        let first = queue.take();
        let key = first.key.clone();
        assert_eq!(attempts(given, &key), Vec::<[String; 6]>::new());
        // One by itself.
        let ended = Settlement { step: Some("begun"), ..end(&first, Action::Retry, Some("r1"), Some("the first")) };
        assert_eq!(queue.end(ended).answer, Answer::Ok);
        // Among others, one of which is refused, and one of which is no attempt.
        put(&*queue, "two");
        let held = queue.claim(2, Duration::ZERO).unwrap();
        let again = held.iter().find(|item| item.key == key).unwrap();
        let other = held.iter().find(|item| item.key != key).unwrap();
        let lost = Settlement { attempt: 7, ..other.settle(Action::Fail) };
        let ends = [end(again, Action::Retry, None, Some("the second")), lost];
        let answers: Vec<_> = queue.settle(&ends, None).unwrap().iter().map(|outcome| outcome.answer).collect();
        assert_eq!(answers, [Answer::Ok, Answer::LeaseLost]);
        let last = queue.take();
        assert_eq!(queue.end(end(&last, Action::Complete, Some("done"), None)).answer, Answer::Ok);
        assert_eq!(
            attempts(given, &key),
            [
                row("1", &worker, "Error", "begun", "r1", "the first"),
                row("2", &worker, "Error", "begun", "NULL", "the second"),
                row("3", &worker, "Completed", "begun", "done", "NULL"),
            ]
        );
        assert_eq!(attempts(given, &other.key), Vec::<[String; 6]>::new());
    });
}

fn decisions_of_the_queue_are_remembered(given: &Given) {
    on_each_table(given, r#"{"attempts": {"limit": 1, "history": true}}"#, |given, queue| {
        put(&*queue, "one");
        let taken = queue.take();
        queue.end(end(&taken, Action::Retry, None, None));
        let told = attempts(given, &taken.key);
        assert_eq!((told.len(), told[0][2].as_str()), (1, "Failed"));
        assert!(told[0][5].starts_with("Attempts are spent: 1 of 1; asked for Error"), "{}", told[0][5]);
        // As new, with the attempts that it had.
        assert_eq!(queue.redrive(&[readpast::item::ItemRef { key: &taken.key, token: None }], None).unwrap().len(), 1);
        let again = queue.take();
        // An operator's word ends it as well.
        queue.end(Settlement::control(&again.key, None, Action::Cancel));
        let told = attempts(given, &taken.key);
        let spent = "Attempts are spent: 1 of 1; asked for Cancelled.";
        assert_eq!(told[1], row("1", &queue.worker(), "Failed", "NULL", "NULL", spent));
    });
}

fn a_dead_workers_attempt_is_remembered(given: &Given) {
    on_each_table(given, ON, |given, queue| {
        let dead = given.open(&[("worker", "the dead"), ("lease.ms", "10")]);
        put(&*queue, "one");
        let alone = dead.take();
        thread::sleep(Duration::from_millis(30));
        assert_eq!(queue.recover(10).unwrap(), 1);
        put(&*queue, "two");
        // It goes alone, and its worker dies again; then a claim finds it.
        let again = dead.take();
        assert_eq!(again.key, alone.key);
        thread::sleep(Duration::from_millis(30));
        let finds = given.open(&[("recover.interval_ms", "10")]);
        let found = finds.claim(1, Duration::ZERO).unwrap();
        assert_eq!(found.len(), 1);
        let told = attempts(given, &alone.key);
        assert_eq!(told.len(), 2, "{told:?}");
        for (number, attempt) in told.iter().enumerate() {
            assert_eq!(attempt[..3], [(number + 1).to_string(), "the dead".to_owned(), "Error".to_owned()]);
            assert!(attempt[5].contains("The lease of worker the dead ran out on attempt"), "{}", attempt[5]);
        }
    });
}

fn calls_that_end_no_attempt_are_not(given: &Given) {
    on_each_table(given, ON, |given, queue| {
        put(&*queue, "one");
        let taken = queue.take();
        let step = queue.end(Settlement { step: Some("half"), ..taken.settle(Action::Step) });
        let release = Settlement { token: Some(&step.token), ..taken.settle(Action::Release) };
        assert_eq!(queue.end(release).answer, Answer::Ok);
        queue.end(Settlement::control(&taken.key, None, Action::Pause));
        queue.end(Settlement::control(&taken.key, None, Action::Resume));
        assert_eq!(attempts(given, &taken.key), Vec::<[String; 6]>::new());
    });
}

fn a_repeated_call_is_remembered_once(given: &Given) {
    on_each_table(given, ON, |given, queue| {
        put(&*queue, "one");
        let taken = queue.take();
        // Another for each queue.
        let number = given.queue.bytes().fold(0_u64, |number, byte| number.wrapping_mul(131) + u64::from(byte));
        let operation = format!("7f5c9f0e-4d7f-4c5b-9c0e-{:012x}", number & 0xffff_ffff_ffff);
        for _ in 0..2 {
            let outcomes = queue.settle(&[end(&taken, Action::Complete, None, None)], Some(&operation)).unwrap();
            assert_eq!(outcomes[0].answer, Answer::Ok);
        }
        assert_eq!(attempts(given, &taken.key).len(), 1);
    });
}

/// `Modify_Q_trx`, and `Modify_Q_utx` in a transaction that is rolled back, and in one that commits.
fn the_procedures_for_one_item_remember(given: &Given) {
    on_each_table(given, ON, |given, queue| {
        put(&*queue, "one");
        let call = |session: &mut Session, suffix: &str, taken: &Taken, error: &str| {
            let procedure = given.procedure("Modify_", suffix);
            let (key, token, attempt, worker) = (&taken.key, &taken.token, taken.attempt, queue.worker());
            let own = given.session().execute(&format!("SELECT COUNT(*) FROM {}", given.view()), &[]).is_ok()
                && taken.columns.iter().any(|(name, _)| name.replace('_', "").eq_ignore_ascii_case("EnqueuedAt"));
            let text = if given.server.is_sql_server() {
                let names = if own { ["@EnqueuedAt", "@UpdatedAt"] } else { ["@Key", "@Token"] };
                format!(
                    "EXECUTE {procedure} {} = N'{key}', {} = N'{token}', @Status = 'Error', @Error = N'{error}',
                    @Worker = N'{worker}', @AttemptNum = {attempt}",
                    names[0], names[1]
                )
            } else {
                format!(
                    "SELECT 1 FROM {procedure}('{key}', '{token}', 'Error', error_ => '{error}',
                    worker_ => '{worker}', attempt_num_ => {attempt})"
                )
            };
            session.execute(&text, &[]).unwrap();
        };
        let mut session = given.session();
        let taken = queue.take();
        session.execute("BEGIN TRANSACTION", &[]).unwrap();
        call(&mut session, "_utx", &taken, "undone");
        session.execute("ROLLBACK", &[]).unwrap();
        assert_eq!(attempts(given, &taken.key), Vec::<[String; 6]>::new());
        session.execute("BEGIN TRANSACTION", &[]).unwrap();
        call(&mut session, "_utx", &taken, "kept");
        session.execute("COMMIT", &[]).unwrap();
        let again = queue.take();
        call(&mut session, "_trx", &again, "by itself");
        let told = attempts(given, &taken.key);
        let worker = queue.worker();
        assert_eq!(
            told,
            [
                row("1", &worker, "Error", "NULL", "NULL", "kept"),
                row("2", &worker, "Error", "NULL", "NULL", "by itself")
            ]
        );
    });
}

fn goes_with_its_item(given: &Given) {
    let count = |given: &Given| {
        let table = given.procedure("Z_", "_Attempt").replace("Z_", "").replace("z_", "");
        cell(&given.session().execute(&format!("SELECT COUNT(*) FROM {table}"), &[]).unwrap(), 0, 0)
    };
    on_each_table(given, ON, |given, queue| {
        for payload in ["done", "waits"] {
            put(&*queue, payload);
            let taken = queue.take();
            let action = if payload == "done" { Action::Complete } else { Action::Retry };
            queue.end(end(&taken, action, None, Some("e")));
        }
        assert_eq!(count(given), "2");
        assert_eq!(queue.purge("{}", 10).unwrap(), 1);
        assert_eq!(count(given), "1");
    });
    let deletes = r#"{"attempts": {"history": true}, "completion": "delete"}"#;
    on_tables(given, 8, deletes, |given, queue| {
        put(&*queue, "one");
        for action in [Action::Retry, Action::Complete] {
            let taken = queue.take();
            assert_eq!(count(given), if action == Action::Retry { "0" } else { "1" });
            assert_eq!(queue.end(end(&taken, action, None, None)).answer, Answer::Ok);
        }
        assert_eq!(count(given), "0");
    });
    let moves = format!(r#"{{"attempts": {{"history": true}}, "completion": {{"history": "{}_Done"}}}}"#, given.queue);
    let moved = given.sibling(15);
    install(&moved, Value::Null, &serde_json::from_str(&moves).unwrap());
    let queue = moved.open(&[]);
    put(&*queue, "one");
    let taken = queue.take();
    queue.end(end(&taken, Action::Complete, Some("done"), None));
    assert_eq!(attempts(&moved, &taken.key).len(), 1, "they stay with what has moved");
}

fn comes_with_a_description(given: &Given) {
    install(given, Value::Null, &json!({"attempts": {"limit": 3}}));
    let queue = given.open(&[]);
    put(&*queue, "one");
    let taken = queue.take();
    queue.end(end(&taken, Action::Retry, None, Some("before")));
    install(given, Value::Null, &serde_json::from_str(ON).unwrap());
    let taken = queue.take();
    queue.end(end(&taken, Action::Retry, None, Some("after")));
    let told = attempts(given, &taken.key);
    assert_eq!(told, [row("2", &queue.worker(), "Error", "NULL", "NULL", "after")]);
}
