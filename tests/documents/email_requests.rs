//! The third document: EmailRequests, in its forms.

use crate::Body;
use crate::drain::{Drain, Drained, item, until_empty};
use crate::place::{Place, Server};
use readpast::description::QueueSpec;
use readpast::item::{Action, Answer, ItemRef, ItemState, NewItem, Settlement};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use support::api::Api;

pub const BODIES: &[(&str, Body)] = &[
    ("as_printed/killed_workers_lose_nothing", as_printed_killed_workers_lose_nothing),
    ("as_printed/the_oldest_goes_first", the_oldest_goes_first),
    ("as_printed/a_flag_that_is_reset_by_hand_counts", a_flag_that_is_reset_by_hand_counts),
    ("lifo/the_newest_goes_first", the_newest_goes_first),
    ("heap/killed_workers_lose_nothing", heap_killed_workers_lose_nothing),
    ("deleted/killed_workers_lose_nothing", deleted_killed_workers_lose_nothing),
    ("deleted/what_is_processed_is_gone", what_is_processed_is_gone),
    ("sent/killed_workers_lose_nothing", sent_killed_workers_lose_nothing),
    ("sent/dequeued_is_not_sent", dequeued_is_not_sent),
    ("sent/a_poisoned_request_is_found_and_redriven", a_poisoned_request_is_found_and_redriven),
    ("sent/what_old_code_took_is_left_to_it", what_old_code_took_is_left_to_it),
];

fn adopt(server: Server, tables: &[&str], spec: &str) -> (Place, QueueSpec) {
    let place = Place::with(server, tables);
    let spec = place.adopt(spec, |text| text);
    (place, spec)
}

fn open(place: &Place, spec: &QueueSpec) -> Box<dyn Api> {
    place.open(spec.queue.as_str(), &[])
}

/// The INSERT of the document, with its columns named.
fn insert(subject: &str, created: &str) -> String {
    format!(
        "INSERT INTO EmailRequests (EmailAddress, Subject, Body, IsProcessed, Created) \
         VALUES ('[email protected]', '{subject}', 'Spam spam spam', FALSE, {created})"
    )
}

fn columns(subject: &str) -> Value {
    json!({"EmailAddress": "[email protected]", "Subject": subject, "Body": "Spam spam spam"})
}

fn request(subject: &str) -> NewItem {
    item(columns(subject))
}

fn drain(place: &Place, spec: &QueueSpec, counts: bool, deletes: bool) -> Drained {
    let drain = Drain {
        place,
        spec,
        table: "EmailRequests",
        key: "Id",
        column: Some("Subject"),
        counts,
        insert: &|work| insert(&work.to_string(), "CURRENT_TIMESTAMP"),
        item: |work| columns(&work.to_string()),
        items: 160,
        kills: 4,
    };
    let drained = drain.run();
    let rows: usize = place.look("SELECT COUNT(*) FROM EmailRequests").parse().unwrap();
    assert_eq!(rows, drained.failed + if deletes { 0 } else { drained.completed });
    assert_eq!(place.look("SELECT COUNT(*) FROM EmailRequests WHERE IsProcessed = FALSE"), "0");
    drained
}

fn as_printed_killed_workers_lose_nothing(server: Server) {
    let (place, spec) = adopt(server, &["email_requests"], "email_requests");
    drain(&place, &spec, false, false);
}

fn heap_killed_workers_lose_nothing(server: Server) {
    let (place, spec) = adopt(server, &["email_requests", "email_requests_heap"], "email_requests_heap");
    drain(&place, &spec, false, false);
}

fn deleted_killed_workers_lose_nothing(server: Server) {
    let (place, spec) = adopt(server, &["email_requests"], "email_requests_delete");
    drain(&place, &spec, false, true);
}

fn sent_killed_workers_lose_nothing(server: Server) {
    let place = Place::with(server, &["email_requests", "email_requests_sent"]);
    // The pauses between attempts are as short as the test's patience.
    let spec = place.adopt("email_requests_sent", |text| text.replace("first_ms = 60000", "first_ms = 20"));
    let drained = drain(&place, &spec, true, false);
    let sent = place.look("SELECT COUNT(*) FROM EmailRequests WHERE IsProcessed = TRUE AND IsEmailSent = TRUE");
    assert_eq!(sent, drained.completed.to_string(), "in the table's own words");
}

/// Three requests, of which the one with the lowest key is the newest.
fn three(place: &Place) {
    place.run(&insert("new", "NOW"));
    place.run(&insert("old", "HOURS_AGO"));
    place.run(&insert("middle", "ELEVEN_MINUTES_AGO"));
}

fn the_oldest_goes_first(server: Server) {
    let (place, spec) = adopt(server, &["email_requests"], "email_requests");
    three(&place);
    assert_eq!(until_empty(open(&place, &spec).as_ref(), "Subject"), ["old", "middle", "new"]);
}

fn the_newest_goes_first(server: Server) {
    let (place, spec) = adopt(server, &["email_requests"], "email_requests_lifo");
    three(&place);
    let queue = open(&place, &spec);
    let first = queue.take();
    assert_eq!(first.column("Subject"), "new");
    // Items that arrive meanwhile go before those that have waited.
    queue.put_item(request("newest"));
    assert_eq!(until_empty(queue.as_ref(), "Subject"), ["newest", "middle", "old"]);
}

fn a_flag_that_is_reset_by_hand_counts(server: Server) {
    let (place, spec) = adopt(server, &["email_requests"], "email_requests");
    place.run(&insert("1", "NOW"));
    let queue = open(&place, &spec);
    let taken = queue.take();
    place.run("UPDATE EmailRequests SET IsProcessed = FALSE");
    assert_eq!(
        queue.end(taken.settle(Action::Complete)).answer,
        Answer::LeaseLost,
        "the table's owner has the last word"
    );
    let again = queue.take();
    assert_eq!(again.key, taken.key);
    assert_eq!(queue.end(again.settle(Action::Complete)).answer, Answer::Ok);
    // Done, and reset once more.
    place.run("UPDATE EmailRequests SET IsProcessed = FALSE");
    assert_eq!(until_empty(queue.as_ref(), "Subject"), ["1"]);
}

fn what_is_processed_is_gone(server: Server) {
    let (place, spec) = adopt(server, &["email_requests"], "email_requests_delete");
    place.run(&insert("1", "NOW"));
    let queue = open(&place, &spec);
    queue.put_item(request("2"));
    let taken = queue.claim(2, Duration::ZERO).unwrap();
    let operation = "0b9d4a0e-7f5c-4c66-9c6e-0f3f5d2a7c11";
    let done: Vec<_> = taken.iter().map(|item| item.settle(Action::Complete)).collect();
    let answers: Vec<_> = queue.settle(&done, Some(operation)).unwrap().iter().map(|o| o.answer).collect();
    assert_eq!(answers, [Answer::Ok; 2]);
    assert_eq!(place.look("SELECT COUNT(*) FROM EmailRequests"), "0");
    assert_eq!(place.look(&format!("SELECT COUNT(*) FROM {}", place.beside(&spec))), "0", "nothing is left beside it");
    // A caller that lost that answer asks again and gets the same, though the rows are gone.
    let answers: Vec<_> = queue.settle(&done, Some(operation)).unwrap().iter().map(|o| o.answer).collect();
    assert_eq!(answers, [Answer::Ok; 2]);
    let answers: Vec<_> = queue.settle(&done, None).unwrap().iter().map(|o| o.answer).collect();
    assert_eq!(answers, [Answer::NotFound; 2], "another call finds nothing");
}

fn dequeued_is_not_sent(server: Server) {
    let (place, spec) = adopt(server, &["email_requests", "email_requests_sent"], "email_requests_sent");
    place.run(&insert("1", "NOW"));
    let queue = open(&place, &spec);
    let flags = "SELECT COUNT(*) FROM EmailRequests WHERE RetryCount = 1 AND IsProcessed = TRUE AND IsEmailSent =";
    let taken = queue.take();
    assert_eq!(place.look(&format!("{flags} FALSE")), "1", "dequeued, not sent");
    assert_eq!(queue.stats().unwrap().count(ItemState::Processing), 1);
    assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Ok);
    assert_eq!(place.look(&format!("{flags} TRUE")), "1");
}

fn a_poisoned_request_is_found_and_redriven(server: Server) {
    let (place, spec) = adopt(server, &["email_requests", "email_requests_sent"], "email_requests_sent");
    place.run(&insert("bogus", "HOURS_AGO"));
    place.run(&insert("good", "NOW"));
    let queue = open(&place, &spec);
    for attempt in 1..=5 {
        let taken = queue.take();
        assert_eq!((taken.column("Subject"), taken.attempt), (&json!("bogus"), attempt));
        let retry = Settlement { error: Some("no such address"), delay_ms: Some(0), ..taken.settle(Action::Retry) };
        queue.end(retry);
    }
    // It does not poison the queue: the next one is not kept waiting.
    assert_eq!(until_empty(queue.as_ref(), "Subject"), ["good"]);
    assert_eq!(place.look("SELECT RetryCount FROM EmailRequests WHERE Subject = 'bogus'"), "5");
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 1);
    assert_eq!(queue.find(r#"{"status": ["Failed"], "error": "mailbox full"}"#, None, 10).unwrap(), []);
    let found = queue.find(r#"{"status": ["Failed"], "error": "no such address"}"#, None, 10).unwrap();
    assert_eq!(found.len(), 1, "it is where a person finds it");
    assert_eq!((found[0].column("Subject"), found[0].attempt), (&json!("bogus"), 5));

    // The address was put right.
    let bogus = ItemRef { key: &found[0].key, token: Some(&found[0].token) };
    assert_eq!(queue.redrive(&[bogus], None).unwrap()[0].state, Some(ItemState::Pending));
    assert_eq!(
        place.look("SELECT RetryCount FROM EmailRequests WHERE IsProcessed = FALSE"),
        "0",
        "all its attempts again"
    );
    assert_eq!(until_empty(queue.as_ref(), "Subject"), ["bogus"]);
    assert_eq!(place.look("SELECT COUNT(*) FROM EmailRequests WHERE IsEmailSent = TRUE"), "2");
}

/// A request that is processed and not sent, without a word beside it: the document's own code has it, or lost it. readpast
/// cannot tell, so it leaves it alone, and shows it.
fn what_old_code_took_is_left_to_it(server: Server) {
    let (place, spec) = adopt(server, &["email_requests", "email_requests_sent"], "email_requests_sent");
    place.run(&insert("1", "NOW"));
    place.run("UPDATE EmailRequests SET IsProcessed = TRUE");
    place.run(&insert("2", "NOW"));
    let queue = open(&place, &spec);
    queue.recover(10).unwrap();
    assert_eq!(until_empty(queue.as_ref(), "Subject"), ["2"]);
    assert_eq!(queue.stats().unwrap().count(ItemState::Processing), 1);
    let states: BTreeSet<_> = ["FALSE", "TRUE"]
        .map(|sent| place.look(&format!("SELECT Subject FROM EmailRequests WHERE IsEmailSent = {sent}")))
        .into();
    assert_eq!(states, BTreeSet::from(["1".to_owned(), "2".to_owned()]));
}
