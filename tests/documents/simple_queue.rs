//! The fourth document: SimpleQueue.

use crate::Body;
use crate::drain::{Drain, item, until_empty};
use crate::place::{Place, Server};
use readpast::description::QueueSpec;
use readpast::item::{Action, Answer, ItemRef, ItemState, Settlement};
use serde_json::{Value, json};
use std::time::Duration;
use support::api::Api;

pub const BODIES: &[(&str, Body)] = &[
    ("killed_workers_lose_nothing", killed_workers_lose_nothing),
    ("killed_workers_lose_nothing_with_a_lease_in_the_table", killed_workers_lose_nothing_with_a_lease_in_the_table),
    ("keys_and_times_are_the_producers", keys_and_times_are_the_producers),
    ("success_removes_and_failure_leaves_errors", success_removes_and_failure_leaves_errors),
    ("the_crash_gap_is_closed", the_crash_gap_is_closed),
    ("the_crash_gap_is_closed_with_a_lease_in_the_table", the_crash_gap_is_closed_with_a_lease_in_the_table),
    ("what_old_code_popped_is_left_to_it", what_old_code_popped_is_left_to_it),
    ("a_run_has_one_time", a_run_has_one_time),
    ("the_postgres_twin_is_drained", the_postgres_twin_is_drained),
];

fn adopted(server: Server) -> (Place, QueueSpec) {
    let place = Place::with(server, &["simple_queue"]);
    let spec = place.adopt("simple_queue", |text| text);
    (place, spec)
}

/// The owner's other choice: a column in the table.
fn with_column(server: Server) -> (Place, QueueSpec) {
    let place = Place::with(server, &["simple_queue"]);
    let kind = if place.is_sql_server() { "DATETIME2" } else { "timestamp" };
    place.run(&format!("ALTER TABLE SimpleQueue ADD LeaseUntil {kind} NULL"));
    let spec = place.adopt("simple_queue", |text| {
        text.replace("error = \"Errors\" }", "error = \"Errors\", lease_until = \"LeaseUntil\" }")
    });
    (place, spec)
}

fn open(place: &Place, spec: &QueueSpec) -> Box<dyn Api> {
    place.open(spec.queue.as_str(), &[])
}

fn guid(number: u64) -> String {
    format!("d6513312-4dcc-4c44-b044-{number:012}")
}

fn payload(number: u64) -> String {
    format!("I am an awesome payload {number}")
}

/// The push of the document.
fn insert(number: u64) -> String {
    format!(
        "INSERT INTO SimpleQueue (Id, CreatedAt, Payload) VALUES ('{}', '2021-09-16 17:55:38.403', '{}')",
        guid(number),
        payload(number)
    )
}

fn drain(place: &Place, spec: &QueueSpec) {
    let drain = Drain {
        place,
        spec,
        table: "SimpleQueue",
        key: "Id",
        column: Some("Payload"),
        counts: false,
        insert: &insert,
        // Half with keys of the producer's, half without.
        item: |work| match work % 2 {
            0 => json!({"Id": guid(work), "Payload": payload(work)}),
            _ => json!({"Payload": payload(work)}),
        },
        items: 200,
        kills: 5,
    };
    let drained = drain.run();
    let failed = "SELECT COUNT(*) FROM SimpleQueue WHERE ProcessingStartedAt IS NOT NULL AND Errors IS NOT NULL";
    assert_eq!(place.look(failed), drained.failed.to_string(), "in the table's own words");
    assert_eq!(place.look("SELECT COUNT(*) FROM SimpleQueue"), drained.failed.to_string(), "and nothing else");
}

fn killed_workers_lose_nothing(server: Server) {
    let (place, spec) = adopted(server);
    drain(&place, &spec);
}

fn killed_workers_lose_nothing_with_a_lease_in_the_table(server: Server) {
    let (place, spec) = with_column(server);
    drain(&place, &spec);
}

fn keys_and_times_are_the_producers(server: Server) {
    let (place, spec) = adopted(server);
    let queue = open(&place, &spec);
    let columns = |number, created| json!({"Id": guid(number), "CreatedAt": created, "Payload": payload(number)});
    let times = ["2021-09-16T17:55:38.403Z", "2021-09-15T10:00:00Z"];
    let items: Vec<_> = (0..).zip(times).map(|(i, time)| item(columns(i, time))).collect();
    let keys: Vec<_> = queue.enqueue(&items, None).unwrap().iter().map(|e| e.key.to_lowercase()).collect();
    assert_eq!(keys, [guid(0), guid(1)]);
    let created = place.look("SELECT CreatedAt FROM SimpleQueue WHERE Payload LIKE '% 1'");
    assert!(created.starts_with("2021-09-15"), "{created}");
    // Without a key one is made; without a time it is now.
    let made = queue.put_item(item(json!({"Payload": payload(2)}))).key;
    assert_eq!(made.len(), 36);
    let order = [payload(1), payload(0), payload(2)];
    assert_eq!(until_empty(queue.as_ref(), "Payload"), order, "by CreatedAt");
    // The same key twice is the producer's mistake.
    let twice = [item(columns(7, times[0])), item(columns(7, times[0]))];
    assert!(queue.enqueue(&twice, None).is_err());
    assert_eq!(place.look("SELECT COUNT(*) FROM SimpleQueue"), "0", "and nothing is half-done");
}

fn success_removes_and_failure_leaves_errors(server: Server) {
    let (place, spec) = adopted(server);
    (0..2).for_each(|number| place.run(&insert(number)));
    let queue = open(&place, &spec);
    let taken = queue.claim(2, Duration::ZERO).unwrap();
    assert_eq!(queue.end(taken[0].settle(Action::Complete)).answer, Answer::Ok);
    let failed = Settlement { error: Some("Something went wrong"), ..taken[1].settle(Action::Fail) };
    assert_eq!(queue.end(failed).answer, Answer::Ok);
    let left = place.rows("SELECT Payload, Errors FROM SimpleQueue WHERE ProcessingStartedAt IS NOT NULL");
    assert_eq!(left, [[taken[1].column("Payload").as_str().unwrap(), "Something went wrong"]]);
    queue.recover(10).unwrap();
    queue.expect_empty();
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 1);
    // An item that was put right is pushed back: the table shows it as if it were new.
    let found = queue.find(r#"{"status": ["Failed"]}"#, None, 10).unwrap();
    let failed = ItemRef { key: &found[0].key, token: None };
    assert_eq!(queue.redrive(&[failed], None).unwrap()[0].state, Some(ItemState::Pending));
    assert_eq!(
        place.look("SELECT COUNT(*) FROM SimpleQueue WHERE ProcessingStartedAt IS NULL AND Errors IS NULL"),
        "1"
    );
    assert_eq!(until_empty(queue.as_ref(), "Payload").len(), 1);
    // Without a word about why, Errors says something all the same: it is what the table calls failed.
    place.run(&insert(5));
    queue.end(queue.take().settle(Action::Fail));
    assert_eq!(place.look("SELECT COUNT(*) FROM SimpleQueue WHERE Errors IS NULL"), "0");
}

fn crash(place: &Place, spec: &QueueSpec) -> Value {
    place.run(&insert(1));
    let dead = place.open(spec.queue.as_str(), &[("lease.ms", "50")]);
    let taken = dead.take();
    drop(dead);
    assert_eq!(place.look("SELECT COUNT(*) FROM SimpleQueue WHERE ProcessingStartedAt IS NOT NULL"), "1");
    std::thread::sleep(Duration::from_millis(60));
    let queue = open(place, spec);
    assert_eq!(queue.recover(10).unwrap(), 1);
    let again = queue.take();
    assert_eq!(place.look("SELECT COUNT(*) FROM SimpleQueue WHERE Errors IS NOT NULL"), "0", "it has not failed");
    assert_eq!((&again.key, again.attempt), (&taken.key, 2));
    assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::LeaseLost);
    assert_eq!(queue.end(again.settle(Action::Complete)).answer, Answer::Ok);
    assert_eq!(place.look("SELECT COUNT(*) FROM SimpleQueue"), "0");
    again.json
}

fn the_crash_gap_is_closed(server: Server) {
    let (place, spec) = adopted(server);
    crash(&place, &spec);
}

fn the_crash_gap_is_closed_with_a_lease_in_the_table(server: Server) {
    let (place, spec) = with_column(server);
    crash(&place, &spec);
}

/// Popped by the document's own statement, with no lease anywhere: the time says which run it was, not how long ago.
fn what_old_code_popped_is_left_to_it(server: Server) {
    let (place, spec) = adopted(server);
    (0..2).for_each(|number| place.run(&insert(number)));
    place.run(&format!(
        "UPDATE SimpleQueue SET ProcessingStartedAt = '2021-09-16 18:42:38.403' WHERE Id = '{}'",
        guid(0)
    ));
    let queue = open(&place, &spec);
    queue.recover(10).unwrap();
    assert_eq!(until_empty(queue.as_ref(), "Payload"), [payload(1)]);
    let left = place.look("SELECT Payload FROM SimpleQueue WHERE ProcessingStartedAt IS NOT NULL");
    assert_eq!(left, payload(0));
}

/// One value for a whole run: a correlation id.
fn a_run_has_one_time(server: Server) {
    let (place, spec) = adopted(server);
    (0..4).for_each(|number| place.run(&insert(number)));
    for (run, run_time) in ["2021-09-16T18:42:38.403Z", "2021-09-16T19:00:00.5Z"].into_iter().enumerate() {
        let queue = place.open(spec.queue.as_str(), &[("worker.run_at", run_time)]);
        for _ in 0..2 {
            let failed = queue.take();
            queue.end(Settlement { error: Some("no"), ..failed.settle(Action::Fail) });
        }
        let distinct = place.look("SELECT COUNT(DISTINCT ProcessingStartedAt) FROM SimpleQueue");
        assert_eq!(distinct, (run + 1).to_string());
    }
    let query = "SELECT COUNT(*) FROM SimpleQueue WHERE ProcessingStartedAt = '2021-09-16 18:42:38.403'";
    assert_eq!(place.look(query), "2");
}

fn the_postgres_twin_is_drained(server: Server) {
    if server != Server::Postgres {
        return;
    }
    let place = Place::with(server, &["simple_queue_postgres"]);
    let spec = place.adopt("simple_queue_postgres", |text| text);
    let drain = Drain {
        place: &place,
        spec: &spec,
        table: "simple_queue",
        key: "id",
        column: Some("payload"),
        counts: false,
        insert: &|number| {
            let (id, payload) = (guid(number), payload(number));
            format!("INSERT INTO simple_queue (id, created_at, payload) VALUES ('{id}', now(), '{payload}')")
        },
        item: |work| json!({"payload": payload(work)}),
        items: 160,
        kills: 4,
    };
    let drained = drain.run();
    let failed = "SELECT COUNT(*) FROM simple_queue WHERE processing_started_at IS NOT NULL AND errors IS NOT NULL";
    assert_eq!(place.look(failed), drained.failed.to_string());
}
