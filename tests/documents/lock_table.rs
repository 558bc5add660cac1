//! The fifth document: the table whose rows are locked by LockedBy and LockedTime.

use crate::Body;
use crate::audit::Audit;
use crate::crew::{Crew, Task};
use crate::drain::{Drain, item, until_empty};
use crate::place::{Place, Server};
use readpast::description::QueueSpec;
use readpast::item::{Action, Answer, ItemState, Settlement};
use serde_json::json;
use std::{collections::BTreeSet, time::Duration};
use support::api::Api;

pub const BODIES: &[(&str, Body)] = &[
    ("killed_workers_lose_nothing", killed_workers_lose_nothing),
    ("killed_workers_lose_nothing_without_num_attempts", killed_workers_lose_nothing_without_num_attempts),
    ("the_oldest_request_goes_first", the_oldest_request_goes_first),
    ("the_row_says_who_and_since_when", the_row_says_who_and_since_when),
    ("a_lock_breaks_after_its_minutes", a_lock_breaks_after_its_minutes),
    ("a_lock_does_not_last_longer_by_renewal", a_lock_does_not_last_longer_by_renewal),
    ("a_request_goes_back_after_an_external_failure", a_request_goes_back_after_an_external_failure),
    ("attempts_are_limited", attempts_are_limited),
    ("the_documents_own_procedure_works_beside", the_documents_own_procedure_works_beside),
    ("a_service_polls_on_its_timer_until_nothing_is_left", a_service_polls_on_its_timer_until_nothing_is_left),
    ("stats_say_how_many_workers_are_needed", stats_say_how_many_workers_are_needed),
];

fn adopted(server: Server) -> (Place, QueueSpec) {
    let place = Place::with(server, &["lock_table", "lock_table_attempts"]);
    let spec = place.adopt("queue_lock_table", |text| text);
    (place, spec)
}

/// Without the column NumAttempts.
fn as_first_described(server: Server) -> (Place, QueueSpec) {
    let place = Place::with(server, &["lock_table"]);
    let spec = place.adopt("queue_lock_table", |text| text.replace("attempts = \"NumAttempts\"\n", ""));
    (place, spec)
}

fn open(place: &Place, spec: &QueueSpec, worker: &str) -> Box<dyn Api> {
    place.open(spec.queue.as_str(), &[("worker", worker)])
}

fn insert(request: &str) -> String {
    format!("INSERT INTO Queue (Request) VALUES ('{request}')")
}

fn drain(place: &Place, spec: &QueueSpec, counts: bool) {
    let drain = Drain {
        place,
        spec,
        table: "Queue",
        key: "RequestId",
        column: Some("Request"),
        counts,
        insert: &|work| insert(&work.to_string()),
        item: |work| json!({"Request": work.to_string()}),
        items: 160,
        kills: 4,
    };
    let drained = drain.run();
    let complete = "SELECT COUNT(*) FROM Queue WHERE Status = 2 AND CompletionTime >= LockedTime";
    assert_eq!(place.look(complete), drained.completed.to_string(), "in the table's own words");
    assert_eq!(place.look("SELECT COUNT(*) FROM Queue WHERE Status = 3"), drained.failed.to_string());
}

fn killed_workers_lose_nothing(server: Server) {
    let (place, spec) = adopted(server);
    drain(&place, &spec, true);
}

fn killed_workers_lose_nothing_without_num_attempts(server: Server) {
    let (place, spec) = as_first_described(server);
    drain(&place, &spec, false);
}

fn the_oldest_request_goes_first(server: Server) {
    let (place, spec) = adopted(server);
    place.run(
        "INSERT INTO Queue (Request, RequestedTime) VALUES ('new', NOW), ('old', HOURS_AGO), ('middle', ELEVEN_MINUTES_AGO)",
    );
    let queue = open(&place, &spec, "a");
    queue.put_item(item(json!({"Request": "newest"})));
    assert_eq!(until_empty(queue.as_ref(), "Request"), ["old", "middle", "new", "newest"]);
}

fn the_row_says_who_and_since_when(server: Server) {
    let (place, spec) = adopted(server);
    place.run(&insert("1"));
    let queue = open(&place, &spec, "Service A");
    let taken = queue.take();
    let held = "SELECT COUNT(*) FROM Queue WHERE Status = 1 AND LockedBy = 'Service A' AND NumAttempts = 1 AND \
                LockedTime <= NOW AND LockedTime > ELEVEN_MINUTES_AGO AND CompletionTime IS NULL";
    assert_eq!(place.look(held), "1", "locked, and still pending by its status");
    assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Ok);
    let done =
        "SELECT COUNT(*) FROM Queue WHERE Status = 2 AND CompletionTime >= LockedTime AND LockedBy = 'Service A'";
    assert_eq!(place.look(done), "1");
}

fn a_lock_breaks_after_its_minutes(server: Server) {
    let (place, spec) = adopted(server);
    place.run(
        "INSERT INTO Queue (Request, LockedBy, LockedTime, NumAttempts, RequestedTime) VALUES \
         ('crashed', 'A', HALF_AN_HOUR_AGO, 1, HOURS_AGO), ('in work', 'A', ELEVEN_MINUTES_AGO, 1, HOURS_AGO)",
    );
    let queue = open(&place, &spec, "B");
    queue.recover(10).unwrap();
    let taken = queue.take();
    assert_eq!((taken.column("Request"), taken.attempt), (&json!("crashed"), 2));
    queue.expect_empty();
    assert_eq!(place.look("SELECT LockedBy FROM Queue WHERE Request = 'crashed'"), "B");
    assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Ok);
    // A lock of the library's own breaks in the same way.
    place.run("UPDATE Queue SET LockedTime = NULL, LockedBy = NULL WHERE Request = 'in work'");
    let quick = place.open(spec.queue.as_str(), &[("worker", "C"), ("lease.ms", "50")]);
    let held = quick.take();
    std::thread::sleep(Duration::from_millis(60));
    queue.recover(10).unwrap();
    assert_eq!(queue.take().key, held.key);
    assert_eq!(quick.end(held.settle(Action::Complete)).answer, Answer::LeaseLost);
}

fn a_lock_does_not_last_longer_by_renewal(server: Server) {
    let (place, spec) = adopted(server);
    place.run(&insert("1"));
    let queue = open(&place, &spec, "a");
    let taken = queue.take();
    let until = format!("SELECT {} FROM {}", place.column("ItemLeaseUntil"), place.view(&spec));
    let before = place.look(&until);
    assert_eq!(queue.renew(&[taken.lease()]).unwrap()[0].answer, Answer::Ok, "it is the worker's still");
    assert_eq!(place.look(&until), before);
}

fn a_request_goes_back_after_an_external_failure(server: Server) {
    let (place, spec) = adopted(server);
    place.run(&insert("1"));
    let queue = open(&place, &spec, "a");
    let taken = queue.take();
    let retry = Settlement { error: Some("the printer is off"), delay_ms: Some(0), ..taken.settle(Action::Retry) };
    assert_eq!(queue.end(retry).state, Some(ItemState::Error));
    let again = open(&place, &spec, "b").take();
    assert_eq!((&again.key, again.attempt), (&taken.key, 2));
    // Later, when the table has no column for it.
    let other = open(&place, &spec, "b");
    let later = Settlement { error: Some("still off"), delay_ms: Some(3_600_000), ..again.settle(Action::Retry) };
    assert_eq!(other.end(later).state, Some(ItemState::Error));
    other.expect_empty();
    assert_eq!(other.stats().unwrap().count(ItemState::Error), 1);
}

fn attempts_are_limited(server: Server) {
    let (place, spec) = adopted(server);
    place.run(&insert("1"));
    let queue = open(&place, &spec, "a");
    for attempt in 1..=3 {
        let taken = queue.take();
        assert_eq!(taken.attempt, attempt);
        assert_eq!(place.look("SELECT NumAttempts FROM Queue"), attempt.to_string());
        queue.end(Settlement { error: Some("no"), delay_ms: Some(0), ..taken.settle(Action::Retry) });
    }
    queue.expect_empty();
    assert_eq!(place.look("SELECT Status FROM Queue"), "3");
    // One whose lock breaks for the last time is given up too, by the first worker that notices.
    place.run("INSERT INTO Queue (Request, LockedBy, LockedTime, NumAttempts) VALUES ('2', 'gone', HOURS_AGO, 3)");
    queue.recover(10).unwrap();
    queue.expect_empty();
    assert_eq!(place.look("SELECT COUNT(*) FROM Queue WHERE Status = 3"), "2");
    let reasons = queue.find(r#"{"status": ["Failed"]}"#, None, 10).unwrap();
    assert_eq!(reasons.len(), 2);
    // Items that are done can be cleared away in the end; failed ones only when they are named.
    place.run(&insert("3"));
    assert_eq!(until_empty(queue.as_ref(), "Request"), ["3"]);
    assert_eq!(queue.purge("{}", 10).unwrap(), 1);
    assert_eq!(queue.purge(r#"{"status": ["Failed"]}"#, 10).unwrap(), 2);
    assert_eq!(place.look("SELECT COUNT(*) FROM Queue"), "0");
}

fn the_documents_own_procedure_works_beside(server: Server) {
    let (place, spec) = adopted(server);
    for work in 0..150 {
        place.run(&insert(&work.to_string()));
    }
    let keys: BTreeSet<_> = place.rows("SELECT RequestId FROM Queue").into_iter().flatten().collect();
    // The document's two steps, in its transaction.
    let printed = [
        "SELECT TOP 1 RequestId FROM Queue WITH (UPDLOCK) WHERE Status = 1 AND (LockedTime IS NULL OR \
         DATEDIFF(mi, LockedTime, GETDATE()) >= 30) ORDER BY RequestedTime ASC",
        "UPDATE Queue SET LockedBy = '{worker}', LockedTime = GETDATE(), NumAttempts = COALESCE(NumAttempts, 0) + 1 \
         WHERE RequestId = {key}",
    ];
    // For servers that take no notice of UPDLOCK: both in one.
    let plainer = ["UPDATE Queue SET LockedBy = '{worker}', LockedTime = GETDATE(), \
         NumAttempts = COALESCE(NumAttempts, 0) + 1 OUTPUT inserted.RequestId WHERE LockedTime IS NULL AND Status = 1 AND \
         RequestId = (SELECT TOP 1 RequestId FROM Queue WHERE Status = 1 AND LockedTime IS NULL ORDER BY RequestedTime)"];
    let translated = [
        "SELECT RequestId FROM Queue WHERE Status = 1 AND (LockedTime IS NULL OR \
         LockedTime <= LOCALTIMESTAMP - INTERVAL '30 minutes') ORDER BY RequestedTime ASC LIMIT 1 FOR UPDATE",
        "UPDATE Queue SET LockedBy = '{worker}', LockedTime = LOCALTIMESTAMP, NumAttempts = COALESCE(NumAttempts, 0) + 1 \
         WHERE RequestId = {key}",
    ];
    let take: &[&str] = match place.is_sql_server() {
        true if place.heeds_lock_hints() => &printed,
        true => &plainer,
        false => &translated,
    };
    let done = place.spell("UPDATE Queue SET Status = 2, CompletionTime = NOW WHERE RequestId = {key}");
    let mut crew = Crew::new(&place);
    for _ in 0..2 {
        let take = take.iter().map(|statement| (*statement).to_owned()).collect();
        crew.add(&Task::Consume { take, done: done.clone() });
        crew.add(&Task::Work { queue: spec.queue.to_string(), column: None, stumbles: false, lease_ms: 60_000 });
    }
    let stories = crew.dismiss();
    Audit::new(&stories).check_each_once(&keys);
    assert_eq!(place.look("SELECT COUNT(*) FROM Queue WHERE Status = 2 AND NumAttempts = 1"), "150");
}

/// Each service processes all there is, and waits for the next interval.
fn a_service_polls_on_its_timer_until_nothing_is_left(server: Server) {
    let (place, spec) = adopted(server);
    let service = open(&place, &spec, "Service A");
    assert_eq!(until_empty(service.as_ref(), "Request"), [""; 0]);
    (1..=3).for_each(|number| place.run(&insert(&number.to_string())));
    assert_eq!(until_empty(service.as_ref(), "Request"), ["1", "2", "3"]);
    // Or it lets the claim wait: what somebody else inserts meanwhile ends the wait at the next look.
    let waiting = place.open(spec.queue.as_str(), &[("poll.interval_ms", "20")]);
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| waiting.claim(1, Duration::from_secs(600)).unwrap());
        place.run(&insert("4"));
        assert_eq!(taken.join().unwrap()[0].column("Request"), "4");
    });
}

/// The last question of the document.
fn stats_say_how_many_workers_are_needed(server: Server) {
    let (place, spec) = adopted(server);
    let queue = open(&place, &spec, "a");
    assert_eq!(queue.stats().unwrap().workers_needed, Some(0), "no work, no workers");
    // 300 requests within the hour, each of which took 30 s after a wait of a minute.
    let (requested, locked, completed) = if place.is_sql_server() {
        let ago = |seconds| format!("DATEADD(SECOND, -{seconds}, GETDATE())");
        (ago(1090), ago(1030), ago(1000))
    } else {
        let ago = |seconds| format!("LOCALTIMESTAMP - INTERVAL '{seconds} seconds'");
        (ago(1090), ago(1030), ago(1000))
    };
    let row = format!("('x', 2, {requested}, {locked}, {completed}, 'A', 1)");
    let rows = vec![row; 300].join(", ");
    place.run(&format!(
        "INSERT INTO Queue (Request, Status, RequestedTime, LockedTime, CompletionTime, LockedBy, NumAttempts) VALUES {rows}"
    ));
    let stats = queue.stats().unwrap();
    assert_eq!(stats.arrivals_last_hour, Some(300));
    let near = |value: Option<i64>, expected: i64| (value.unwrap() - expected).abs() <= 10;
    assert!(near(stats.claimed_mean_ms, 30_000), "{:?}", stats.claimed_mean_ms);
    assert!(near(stats.wait_ms[0], 60_000), "RequestedTime to LockedTime: {:?}", stats.wait_ms);
    // 300 an hour of half a minute each is 2.5 at once; four fifths busy, that is 3.125.
    assert_eq!(stats.workers_needed, Some(4));
}
