//! The first document's tables, adopted as they are declared there. (Its own kind of queue, which readpast makes, is what
//! the capability suite and the contention test are about; its hand-written procedures have a suite of their own.)

use crate::Body;
use crate::drain::{Drain, item};
use crate::place::{Place, Server};
use readpast::item::{Action, Answer, ItemState, Settlement};
use readpast::spec::QueueSpec;
use serde_json::json;
use support::api::Api;

pub const BODIES: &[(&str, Body)] = &[
    ("adopted/killed_workers_lose_nothing", killed_workers_lose_nothing),
    ("adopted/the_columns_tell_the_life_of_an_item", the_columns_tell_the_life_of_an_item),
    ("adopted/one_sync_queue_serves_several_types", one_sync_queue_serves_several_types),
];

/// A description of one of the two tables: every column of the life cycle is there.
pub fn spec_of(table: &str, types: &str) -> String {
    format!(
        r#"
        queue = "{table}"
        types = {types}
        columns = []
        [table]
        name = "{table}"
        key = [{{ name = "EnqueuedAt", type = "timestamp", source = "producer" }}]
        time = "local"
        [table.lifecycle]
        type = "Type"
        due = "ScheduledFor"
        started = "StartedAt"
        duration = "Duration"
        attempts = "AttemptNum"
        step = "Step"
        response = "Response"
        error = "Error"
        token = "UpdatedAt"
        [table.status]
        column = "Status"
        [table.status.values]
        Pending = "Pending"
        Processing = "Processing"
        Error = "Error"
        Failed = "Failed"
        Completed = "Completed"
        Cancelled = "Cancelled"
        Paused = "Paused"
        Terminated = "Terminated"
        PartiallyCompleted = "PartiallyCompleted"
        "#
    )
}

fn notification(server: Server) -> (Place, QueueSpec) {
    let place = Place::with(server, &["relational"]);
    let spec = place.adopt_text(&spec_of("Notification", r#"["Email", "ResetPassword", "Sms"]"#));
    (place, spec)
}

fn open(place: &Place, spec: &QueueSpec) -> Box<dyn Api> {
    place.open(spec.queue.as_str(), &[])
}

fn time(number: u64) -> String {
    format!("2026-01-01T00:00:00.{number:06}")
}

fn insert(table: &str, number: u64, kind: &str) -> String {
    format!(
        "INSERT INTO {table} (EnqueuedAt, Type, Status, AttemptNum, ScheduledFor, UpdatedAt) \
         VALUES ('{}', '{kind}', 'Pending', 0, HOURS_AGO, HOURS_AGO)",
        time(number)
    )
}

fn killed_workers_lose_nothing(server: Server) {
    let (place, spec) = notification(server);
    let drain = Drain {
        place: &place,
        spec: &spec,
        table: "Notification",
        key: "EnqueuedAt",
        column: None,
        counts: true,
        insert: &|work| insert("Notification", work, "Email"),
        item: |work| json!({"EnqueuedAt": time(work)}),
        items: 160,
        kills: 4,
    };
    let drained = drain.run();
    let done = "SELECT COUNT(*) FROM Notification WHERE Status = 'Completed' AND Duration >= 0";
    assert_eq!(place.look(done), drained.completed.to_string());
    assert_eq!(place.look("SELECT COUNT(*) FROM Notification WHERE Status = 'Failed'"), drained.failed.to_string());
}

fn the_columns_tell_the_life_of_an_item(server: Server) {
    let (place, spec) = notification(server);
    place.run(&insert("Notification", 1, "Sms"));
    let queue = open(&place, &spec);
    let taken = queue.take();
    assert_eq!(
        place.look("SELECT Status FROM Notification WHERE AttemptNum = 1 AND StartedAt IS NOT NULL"),
        "Processing"
    );
    let step = Settlement { step: Some("Send"), response: Some("rendered"), ..taken.settle(Action::Step) };
    let stepped = queue.end(step);
    assert_eq!(stepped.answer, Answer::Ok);
    assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Conflict, "the token has moved on");
    let retry = Settlement { token: Some(&stepped.token), error: Some("timed out"), ..taken.settle(Action::Retry) };
    assert_eq!(queue.end(Settlement { delay_ms: Some(0), ..retry }).state, Some(ItemState::Error));
    let row = place.rows("SELECT Status, Step, Response, Error FROM Notification");
    assert_eq!(row, [["Error", "Send", "rendered", "timed out"]], "the step is preserved");
    let again = queue.take();
    assert_eq!((again.attempt, again.column(&place.column("ItemStep"))), (2, &json!("Send")));
    // Somebody changes the row by hand, and the worker hears of it.
    place.run("UPDATE Notification SET UpdatedAt = NOW, Status = 'Cancelled'");
    assert_ne!(queue.end(again.settle(Action::Complete)).answer, Answer::Ok);
    assert_eq!(place.look("SELECT Status FROM Notification"), "Cancelled");
}

fn one_sync_queue_serves_several_types(server: Server) {
    let place = Place::with(server, &["relational"]);
    let spec = place.adopt_text(&spec_of("SyncQueue", r#"["Customers", "Orders", "Prices"]"#));
    place.run(&insert("SyncQueue", 1, "Orders"));
    let queue = open(&place, &spec);
    let prices = readpast::item::NewItem { kind: Some("Prices".to_owned()), ..item(json!({"EnqueuedAt": time(2)})) };
    queue.enqueue(&[prices, item(json!({"EnqueuedAt": time(3)}))], None).unwrap();
    let kinds = place.rows("SELECT Type FROM SyncQueue ORDER BY EnqueuedAt");
    assert_eq!(kinds, [["Orders"], ["Prices"], ["Customers"]]);
    for _ in 0..3 {
        let taken = queue.take();
        assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Ok);
    }
    assert_eq!(place.look("SELECT COUNT(*) FROM SyncQueue WHERE Status = 'Completed'"), "3");
    queue.expect_empty();
}
