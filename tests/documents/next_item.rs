//! The fifth document's procedure, `GetNextItemInQueue`, called as its author wrote it, and nothing else of his: what becomes of
//! a request is written by readpast, under the fence that every other queue has.

use crate::Body;
use crate::audit::Audit;
use crate::crew::{Crew, Task};
use crate::drain::{Drain, item, until_empty};
use crate::place::{Place, Server};
use readpast::description::QueueSpec;
use readpast::item::{Action, Answer, ItemState, Settlement};
use serde_json::json;
use std::{collections::BTreeSet, time::Duration};
use support::api::{Api, Taken};

pub const BODIES: &[(&str, Body)] = &[
    ("killed_workers_lose_nothing", killed_workers_lose_nothing),
    ("the_procedure_claims_and_the_table_says_so", the_procedure_claims_and_the_table_says_so),
    ("who_lost_the_lock_cannot_settle", who_lost_the_lock_cannot_settle),
    ("an_old_lease_takes_nothing_from_a_new_lock", an_old_lease_takes_nothing_from_a_new_lock),
    ("a_lock_that_breaks_costs_an_attempt", a_lock_that_breaks_costs_an_attempt),
    ("attempts_are_limited", attempts_are_limited),
    ("a_retry_waits_for_its_time", a_retry_waits_for_its_time),
    ("a_retry_that_is_due_is_there_for_everybody", a_retry_that_is_due_is_there_for_everybody),
    ("what_is_paused_is_not_handed_out", what_is_paused_is_not_handed_out),
    ("a_settle_claims_the_next", a_settle_claims_the_next),
    ("what_the_claim_counts_is_counted", what_the_claim_counts_is_counted),
    ("a_name_that_is_cut_is_told", a_name_that_is_cut_is_told),
    ("the_services_that_are_there_go_on_beside", the_services_that_are_there_go_on_beside),
    ("the_doctor_looks_at_the_procedure", the_doctor_looks_at_the_procedure),
];

fn given(server: Server) -> (Place, QueueSpec) {
    with(server, |text| text)
}

fn with(server: Server, change: impl Fn(String) -> String) -> (Place, QueueSpec) {
    let place = Place::with(server, &["lock_table"]);
    place.run_file(&format!("get_next_item.{}.sql", server.label()));
    let spec = place.adopt("get_next_item", change);
    (place, spec)
}

fn open(place: &Place, spec: &QueueSpec, worker: &str) -> Box<dyn Api> {
    place.open(spec.queue.as_str(), &[("worker", worker)])
}

fn insert(request: &str) -> String {
    format!("INSERT INTO Queue (Request) VALUES ('{request}')")
}

/// The lock of a row becomes as old as one that the procedure breaks.
fn lock_grows_old(place: &Place, request: &str) {
    place.run(&format!("UPDATE Queue SET LockedTime = HALF_AN_HOUR_AGO WHERE Request = '{request}'"));
}

fn killed_workers_lose_nothing(server: Server) {
    let (place, spec) = given(server);
    if place.is_sql_server() && !place.heeds_lock_hints() {
        // The procedure relies on UPDLOCK: where that is not heeded, it gives an item to two.
        return;
    }
    // The procedure's half an hour is too long for a test: who is dead for ten seconds is taken for dead by readpast. Not
    // for less: who is kept so long between the procedure's commit and the lease that readpast writes has lost its item.
    place.set("nextitem.leaseMs", 10_000);
    let drain = Drain {
        place: &place,
        spec: &spec,
        table: "Queue",
        key: "RequestId",
        column: Some("Request"),
        counts: false,
        insert: &|work| insert(&work.to_string()),
        item: |work| json!({"Request": work.to_string()}),
        items: 120,
        kills: 4,
    };
    let drained = drain.run();
    let complete = "SELECT COUNT(*) FROM Queue WHERE Status = 2 AND CompletionTime >= LockedTime";
    assert_eq!(place.look(complete), drained.completed.to_string(), "in the table's own words");
    assert_eq!(place.look("SELECT COUNT(*) FROM Queue WHERE Status = 3"), drained.failed.to_string());
}

fn the_procedure_claims_and_the_table_says_so(server: Server) {
    let (place, spec) = given(server);
    place.run("INSERT INTO Queue (Request, RequestedTime) VALUES ('new', NOW), ('old', HOURS_AGO)");
    let queue = open(&place, &spec, "Service A");
    let taken = queue.claim(5, Duration::ZERO).unwrap();
    assert_eq!(taken.len(), 1, "the procedure takes one a call");
    assert_eq!((taken[0].column("Request"), taken[0].attempt), (&json!("old"), 1));
    let held = "SELECT COUNT(*) FROM Queue WHERE Status = 1 AND Request = 'old' AND LockedBy = 'Service A' AND \
                LockedTime <= NOW AND LockedTime > ELEVEN_MINUTES_AGO AND CompletionTime IS NULL";
    assert_eq!(place.look(held), "1");
    let lease = place.beside(&spec);
    let kept = format!(
        "SELECT COUNT(*) FROM {lease} WHERE {status} = 'Processing' AND {owner} = 'Service A' AND {attempt} = 1",
        status = place.column("Status"),
        owner = place.column("LeaseOwner"),
        attempt = place.column("AttemptNum"),
    );
    assert_eq!(place.look(&kept), "1");
    assert_eq!(queue.renew(&[taken[0].lease()]).unwrap()[0].answer, Answer::Ok, "it is the worker's");
    let done = Settlement { response: Some("sent"), ..taken[0].settle(Action::Complete) };
    assert_eq!(queue.end(done).answer, Answer::Ok);
    let done = "SELECT COUNT(*) FROM Queue WHERE Status = 2 AND Request = 'old' AND CompletionTime >= LockedTime";
    assert_eq!(place.look(done), "1");
    assert_eq!(queue.end(taken[0].settle(Action::Complete)).answer, Answer::LeaseLost, "once");
    assert_eq!(until_empty(queue.as_ref(), "Request"), ["new"]);
    queue.put_item(item(json!({"Request": "by the library"})));
    assert_eq!(until_empty(queue.as_ref(), "Request"), ["by the library"]);
    assert_eq!(queue.stats().unwrap().count(ItemState::Completed), 3);
}

fn who_lost_the_lock_cannot_settle(server: Server) {
    let (place, spec) = given(server);
    place.run(&insert("1"));
    let (slow, quick) = (open(&place, &spec, "slow"), open(&place, &spec, "quick"));
    let lost = slow.take();
    lock_grows_old(&place, "1");
    let taken = quick.take();
    assert_eq!((&taken.key, taken.attempt), (&lost.key, 2));
    for action in [Action::Complete, Action::Retry] {
        assert_eq!(slow.end(lost.settle(action)).answer, Answer::LeaseLost);
    }
    assert_eq!(slow.renew(&[lost.lease()]).unwrap()[0].answer, Answer::LeaseLost);
    assert_eq!(quick.end(taken.settle(Action::Complete)).answer, Answer::Ok);
    // The worker's own name does not help it: the attempt is another.
    place.run(&insert("2"));
    let lost = slow.take();
    lock_grows_old(&place, "2");
    let again = slow.take();
    assert_eq!(slow.end(lost.settle(Action::Complete)).answer, Answer::LeaseLost);
    assert_eq!(slow.end(again.settle(Action::Complete)).answer, Answer::Ok);
}

/// A service that uses the procedure without readpast has taken what a dead worker left; the row beside still names the dead one.
fn an_old_lease_takes_nothing_from_a_new_lock(server: Server) {
    let (place, spec) = given(server);
    place.run(&insert("1"));
    open(&place, &spec, "dead").take();
    let (lease, until) = (place.beside(&spec), place.column("LeaseUntil"));
    place.run(&format!("UPDATE {lease} SET {until} = HOURS_AGO"));
    place.run("UPDATE Queue SET LockedBy = 'svc', LockedTime = NOW");
    assert_eq!(open(&place, &spec, "other").recover(10).unwrap(), 0);
    assert_eq!(place.look("SELECT COUNT(*) FROM Queue WHERE Status = 1 AND LockedBy = 'svc'"), "1");
}

fn a_lock_that_breaks_costs_an_attempt(server: Server) {
    let (place, spec) = with(server, |text| text.replace("limit = 3", "limit = 2\nhistory = true"));
    place.run(&insert("1"));
    for attempt in 1..=2 {
        let taken = open(&place, &spec, &format!("worker {attempt}")).take();
        assert_eq!(taken.attempt, attempt);
        lock_grows_old(&place, "1");
    }
    // Two workers have died of it: the third does not get it.
    let third = open(&place, &spec, "worker 3");
    third.expect_empty();
    assert_eq!(place.look("SELECT Status FROM Queue"), "3");
    assert_eq!(third.find(r#"{"status": ["Failed"]}"#, None, 10).unwrap().len(), 1);
    let attempts = if place.is_sql_server() { "[readpast].NextItem_Attempt" } else { "readpast.next_item_attempt" };
    let (number, outcome) = (place.column("AttemptNum"), place.column("Outcome"));
    let ended = place.rows(&format!("SELECT {number}, Worker, {outcome} FROM {attempts} ORDER BY Number"));
    assert_eq!(ended, [["1", "worker 1", "Error"], ["2", "worker 2", "Failed"]]);
}

fn attempts_are_limited(server: Server) {
    let (place, spec) = given(server);
    place.run(&insert("1"));
    let queue = open(&place, &spec, "a");
    for attempt in 1..=3 {
        let taken = queue.take();
        assert_eq!(taken.attempt, attempt);
        queue.end(Settlement { error: Some("no"), delay_ms: Some(0), ..taken.settle(Action::Retry) });
    }
    queue.expect_empty();
    assert_eq!(place.look("SELECT Status FROM Queue"), "3");
}

fn a_retry_waits_for_its_time(server: Server) {
    let (place, spec) = given(server);
    place.run(&insert("1"));
    let queue = open(&place, &spec, "a");
    let taken = queue.take();
    let retry = Settlement { error: Some("off"), delay_ms: Some(3_600_000), ..taken.settle(Action::Retry) };
    assert_eq!(queue.end(retry).state, Some(ItemState::Error));
    queue.expect_empty();
    // The next claim that finds nothing else takes notice of a delay that is over.
    let (due, lease) = (place.column("DueAt"), place.beside(&spec));
    place.run(&format!("UPDATE {lease} SET {due} = NOW_UTC"));
    assert_eq!(queue.take().attempt, 2);
    // A delay beyond the lock's time is cut short: the procedure knows nothing of it.
    place.run(&insert("2"));
    let taken = queue.take();
    let retry = Settlement { delay_ms: Some(3_600_000), ..taken.settle(Action::Retry) };
    queue.end(retry);
    lock_grows_old(&place, "2");
    assert_eq!((queue.take().key, taken.attempt), (taken.key, 1));
}

/// Also where somebody else has just had the turn to recover.
fn a_retry_that_is_due_is_there_for_everybody(server: Server) {
    let (place, spec) = given(server);
    place.run(&insert("1"));
    let queue = open(&place, &spec, "a");
    let retry = |taken: &Taken| queue.end(Settlement { delay_ms: Some(0), ..taken.settle(Action::Retry) });
    retry(&queue.take());
    // Like another process, which asks for the turn at its first claim: handles with one connection string ask once.
    let connection = format!("{}APP=b;", place.settings(&[])[0].1);
    let other = place.open(spec.queue.as_str(), &[("worker", "b"), ("connection", &connection)]);
    assert_eq!(other.take().attempt, 2);
}

fn what_is_paused_is_not_handed_out(server: Server) {
    let (place, spec) = given(server);
    (1..=2).for_each(|number| place.run(&insert(&number.to_string())));
    let queue = open(&place, &spec, "a");
    let taken = queue.take();
    let pause = Settlement::control(&taken.key, None, Action::Pause);
    assert_eq!(queue.end(Settlement { delay_ms: Some(0), ..taken.settle(Action::Retry) }).answer, Answer::Ok);
    assert_eq!(queue.end(pause).answer, Answer::Ok);
    let request = taken.column("Request").as_str().unwrap().to_owned();
    lock_grows_old(&place, &request);
    // The procedure takes it first; the claim goes on to the next.
    assert_ne!(queue.take().key, taken.key);
    queue.expect_empty();
    let resume = Settlement::control(&taken.key, None, Action::Resume);
    assert_eq!(queue.end(resume).answer, Answer::Ok);
    assert_eq!((queue.take().key, taken.attempt), (taken.key, 1));
}

fn a_settle_claims_the_next(server: Server) {
    let (place, spec) = given(server);
    (1..=2).for_each(|number| place.run(&insert(&number.to_string())));
    let queue = open(&place, &spec, "a");
    let first = queue.take();
    let (outcomes, next) = queue.settle_and_claim(&[first.settle(Action::Complete)], 3).unwrap();
    assert_eq!(outcomes[0].answer, Answer::Ok);
    assert_eq!((next.len(), next[0].attempt), (1, 1));
    assert_ne!(next[0].key, first.key);
}

/// With `NumAttempts`, as the document's author answers the one who asks for a limited number of attempts.
fn what_the_claim_counts_is_counted(server: Server) {
    let names_it =
        |text: String| text.replace("owner = \"LockedBy\"", "owner = \"LockedBy\"\nattempts = \"NumAttempts\"");
    let place = Place::with(server, &["lock_table", "lock_table_attempts"]);
    place.run_file(&format!("get_next_item.{}.sql", server.label()));
    let spec = place.adopt("get_next_item", names_it);
    place.run(&insert("1"));
    let queue = open(&place, &spec, "a");
    let problem = queue.claim(1, Duration::ZERO).expect_err("the printed procedure does not count");
    assert!(problem.message.contains("has not counted the attempt"), "{}", problem.message);
    // His extension of the UPDATE.
    let file =
        std::fs::read_to_string(crate::place::root(&format!("tests/documents/get_next_item.{}.sql", server.label())));
    let counting = file
        .unwrap()
        .replace(
            "LockedTime = GetDate()\nwhere",
            "LockedTime = GetDate(),\n    NumAttempts = Coalesce(NumAttempts,0) + 1\nwhere",
        )
        .replace("LockedTime = LocalNow_\n", "LockedTime = LocalNow_, NumAttempts = COALESCE(NumAttempts, 0) + 1\n")
        .replace("create procedure", "alter procedure")
        .replace("CREATE FUNCTION ", "CREATE OR REPLACE FUNCTION public.");
    assert!(counting.contains("+ 1"));
    let words: String =
        counting.lines().filter(|line| !line.starts_with("--")).map(|line| format!("{line}\n")).collect();
    place.session().execute(&words, &[]).unwrap();
    place.run("UPDATE Queue SET LockedTime = NULL, LockedBy = NULL");
    for attempt in 1..=3 {
        let taken = queue.take();
        assert_eq!((taken.attempt, place.look("SELECT NumAttempts FROM Queue")), (attempt, attempt.to_string()));
        queue.end(Settlement { error: Some("no"), delay_ms: Some(0), ..taken.settle(Action::Retry) });
    }
    queue.expect_empty();
    assert_eq!(place.look("SELECT Status FROM Queue"), "3");
}

/// `@LockedBy varchar(75)` cuts without a word; two workers would be one.
fn a_name_that_is_cut_is_told(server: Server) {
    let (place, spec) = given(server);
    place.run(&insert("1"));
    let queue = open(&place, &spec, &"n".repeat(80));
    let problem = queue.claim(1, Duration::ZERO).expect_err("the table has another name than the worker");
    let told = problem.message.contains("too long for it") || problem.message.contains("too long for type");
    assert!(told, "{}", problem.message);
}

fn the_services_that_are_there_go_on_beside(server: Server) {
    let (place, spec) = given(server);
    if place.is_sql_server() && !place.heeds_lock_hints() {
        return;
    }
    for work in 0..120 {
        place.run(&insert(&work.to_string()));
    }
    let keys: BTreeSet<_> = place.rows("SELECT RequestId FROM Queue").into_iter().flatten().collect();
    let take = if place.is_sql_server() {
        "EXECUTE GetNextItemInQueue @LockedBy = '{worker}'"
    } else {
        "SELECT RequestId FROM GetNextItemInQueue('{worker}')"
    };
    let done = place.spell("UPDATE Queue SET Status = 2, CompletionTime = NOW WHERE RequestId = {key}");
    let mut crew = Crew::new(&place);
    for _ in 0..2 {
        crew.add(&Task::Consume { take: vec![take.to_owned()], done: done.clone() });
        crew.add(&Task::Work { queue: spec.queue.to_string(), column: None, stumbles: false, lease_ms: 60_000 });
    }
    let stories = crew.dismiss();
    Audit::new(&stories).check_each_once(&keys);
    assert_eq!(place.look("SELECT COUNT(*) FROM Queue WHERE Status = 2"), "120");
}

fn the_doctor_looks_at_the_procedure(server: Server) {
    let (place, spec) = given(server);
    let config = support::fixture::Settings::from(place.settings(&[])).config();
    let said = || -> Vec<String> {
        let findings = readpast::doctor::check(&config, Some(spec.queue.as_str())).unwrap();
        findings.iter().map(ToString::to_string).collect()
    };
    for words in ["the procedure that claims is there", "commits before it answers", "lease.ms must be its time"] {
        assert!(said().iter().any(|finding| finding.contains(words)), "{words} in {:#?}", said());
    }
    place.run(if place.is_sql_server() {
        "DROP PROCEDURE GetNextItemInQueue"
    } else {
        "DROP FUNCTION GetNextItemInQueue(varchar)"
    });
    assert!(said().iter().any(|finding| finding.contains("there is no procedure")), "{:#?}", said());
}
