//! The second document: four_queue, the plain table and the one that is a scheduler.

use crate::Body;
use crate::audit::Audit;
use crate::crew::{Crew, Task};
use crate::drain::{Drain, item, put, until_empty};
use crate::place::{Place, Server};
use readpast::description::QueueSpec;
use readpast::item::{Action, Answer, ItemRef, ItemState, Settlement};
use serde_json::json;
use std::{collections::BTreeSet, time::Duration};
use support::api::Api;

pub const BODIES: &[(&str, Body)] = &[
    ("plain/killed_workers_lose_nothing", plain_killed_workers_lose_nothing),
    ("plain/a_worker_loops_until_no_work_is_left", a_worker_loops_until_no_work_is_left),
    ("plain/the_defaults_do_not_confuse", the_defaults_do_not_confuse),
    ("plain/the_documents_own_procedure_works_beside", the_documents_own_procedure_works_beside),
    ("plain/what_ran_long_is_found", what_ran_long_is_found),
    ("scheduler/killed_workers_lose_nothing", scheduler_killed_workers_lose_nothing),
    ("scheduler/a_duplicate_is_reported_and_is_no_error", a_duplicate_is_reported_and_is_no_error),
    ("scheduler/a_duplicate_can_be_answered_with_what_is_there", a_duplicate_can_be_answered_with_what_is_there),
    ("scheduler/a_server_takes_up_its_own_work_after_a_restart", a_server_takes_up_its_own_work_after_a_restart),
    ("scheduler/what_old_code_left_is_taken_up_too", what_old_code_left_is_taken_up_too),
    ("scheduler/ten_minutes_is_the_lease", ten_minutes_is_the_lease),
    ("scheduler/ten_minutes_can_be_another_time", ten_minutes_can_be_another_time),
    ("scheduler/there_is_no_fourth_try", there_is_no_fourth_try),
    ("scheduler/a_worker_that_dies_three_times_is_not_tried_again", three_deaths),
    ("scheduler/the_duration_is_the_tables", the_duration_is_the_tables),
    ("scheduler/work_waits_for_its_time", work_waits_for_its_time),
];

fn plain(server: Server) -> (Place, QueueSpec) {
    let place = Place::with(server, &["four_queue"]);
    let spec = place.adopt("four_queue", |text| text);
    (place, spec)
}

fn scheduler(server: Server) -> (Place, QueueSpec) {
    scheduler_with(server, |text| text)
}

fn scheduler_with(server: Server, change: impl Fn(String) -> String) -> (Place, QueueSpec) {
    let place = Place::with(server, &["four_queue_scheduler"]);
    let spec = place.adopt("four_queue_scheduler", change);
    (place, spec)
}

fn open(place: &Place, spec: &QueueSpec, worker: &str) -> Box<dyn Api> {
    place.open(spec.queue.as_str(), &[("worker", worker)])
}

fn drain(place: &Place, spec: &QueueSpec, counts: bool) {
    let drain = Drain {
        place,
        spec,
        table: "four_queue",
        key: "id",
        column: Some("reputation"),
        counts,
        insert: &|work| format!("INSERT INTO four_queue (reputation) VALUES ({work})"),
        item: |work| json!({"reputation": work}),
        items: 240,
        kills: 5,
    };
    let drained = drain.run();
    let done = "SELECT COUNT(*) FROM four_queue WHERE in_process = TRUE AND end_date >= start_date";
    assert_eq!(place.look(done), drained.completed.to_string(), "in the table's own words");
    let given_up = "SELECT COUNT(*) FROM four_queue WHERE in_process = TRUE AND end_date IS NULL";
    assert_eq!(place.look(given_up), drained.failed.to_string(), "taken, and never ended");
}

fn plain_killed_workers_lose_nothing(server: Server) {
    let (place, spec) = plain(server);
    drain(&place, &spec, false);
}

fn scheduler_killed_workers_lose_nothing(server: Server) {
    let (place, spec) = scheduler(server);
    drain(&place, &spec, true);
}

fn a_worker_loops_until_no_work_is_left(server: Server) {
    let (place, spec) = plain(server);
    place.run("INSERT INTO four_queue (reputation) VALUES (30), (10), (20)");
    let queue = open(&place, &spec, "loop");
    put(queue.as_ref(), "reputation", [5, 40]);
    assert_eq!(until_empty(queue.as_ref(), "reputation"), ["30", "10", "20", "5", "40"], "in the order of id");
    assert_eq!(place.look("SELECT COUNT(*) FROM four_queue WHERE in_process = FALSE"), "0");
}

/// Both dates of a row that waits are set, by the table's defaults: as if it were done.
fn the_defaults_do_not_confuse(server: Server) {
    let (place, spec) = plain(server);
    place.run("INSERT INTO four_queue (reputation) VALUES (1)");
    assert_eq!(place.look("SELECT COUNT(*) FROM four_queue WHERE end_date > start_date"), "1");
    let queue = open(&place, &spec, "a");
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 1);
    let taken = queue.take();
    assert_eq!(place.look("SELECT COUNT(*) FROM four_queue WHERE in_process = TRUE AND end_date IS NULL"), "1");
    assert_eq!(queue.stats().unwrap().count(ItemState::Processing), 1);
    queue.end(taken.settle(Action::Release));
    assert_eq!(place.look("SELECT COUNT(*) FROM four_queue WHERE in_process = FALSE"), "1");
    let taken = queue.take();
    assert_eq!(taken.attempt, 1, "what was released does not count");
    queue.end(taken.settle(Action::Complete));
    assert_eq!(place.look("SELECT COUNT(*) FROM four_queue WHERE in_process = TRUE AND end_date >= start_date"), "1");
    assert_eq!(queue.stats().unwrap().count(ItemState::Completed), 1);
}

fn the_documents_own_procedure_works_beside(server: Server) {
    let (place, spec) = plain(server);
    for work in 0..150 {
        place.run(&format!("INSERT INTO four_queue (reputation) VALUES ({work})"));
    }
    let keys: BTreeSet<_> = place.rows("SELECT id FROM four_queue").into_iter().flatten().collect();
    let printed = "WITH q4 AS (SELECT TOP (1) fq.* FROM dbo.four_queue AS fq WITH(READPAST, ROWLOCK, UPDLOCK) \
         WHERE fq.in_process = 0 ORDER BY fq.id) \
         UPDATE q4 SET q4.in_process = 1, q4.start_date = SYSDATETIME() OUTPUT inserted.id";
    // For servers that take no UPDATE with OUTPUT through a common table expression.
    let plainer = "UPDATE dbo.four_queue SET in_process = 1, start_date = SYSDATETIME() OUTPUT inserted.id WHERE \
         in_process = 0 AND id = (SELECT TOP (1) id FROM dbo.four_queue WITH (READPAST, ROWLOCK, UPDLOCK) \
         WHERE in_process = 0 ORDER BY id)";
    let translated = "WITH q4 AS (UPDATE four_queue SET in_process = TRUE, start_date = LOCALTIMESTAMP WHERE \
         in_process = FALSE AND id = (SELECT id FROM four_queue WHERE in_process = FALSE ORDER BY id LIMIT 1 \
         FOR UPDATE SKIP LOCKED) RETURNING id) SELECT id FROM q4";
    let take = match place.is_sql_server() {
        true if place.takes(&format!("{printed} WHERE 1 = 0")) => printed,
        true => plainer,
        false => translated,
    };
    let done = place.spell("UPDATE four_queue SET end_date = NOW WHERE id = {key} AND in_process = TRUE");
    let mut crew = Crew::new(&place);
    for _ in 0..2 {
        crew.add(&Task::Consume { take: vec![take.to_owned()], done: done.clone() });
        crew.add(&Task::Work { queue: spec.queue.to_string(), column: None, stumbles: false, lease_ms: 60_000 });
    }
    let stories = crew.dismiss();
    Audit::new(&stories).check_each_once(&keys);
    assert_eq!(place.look("SELECT COUNT(*) FROM four_queue WHERE in_process = TRUE AND end_date IS NOT NULL"), "150");
}

/// "So we can find any processes that took a long time": those that ended, and those that somebody is at.
fn what_ran_long_is_found(server: Server) {
    let (place, spec) = plain(server);
    let queue = open(&place, &spec, "a");
    put(queue.as_ref(), "reputation", [1, 2, 3, 4]);
    for _ in 0..2 {
        queue.end(queue.take().settle(Action::Complete));
    }
    place.run("UPDATE four_queue SET start_date = ELEVEN_MINUTES_AGO WHERE reputation = 2");
    // The document's own code has taken this one.
    place.run("UPDATE four_queue SET in_process = TRUE, start_date = ELEVEN_MINUTES_AGO, end_date = NULL WHERE reputation = 3");
    let found = queue.find(r#"{"longer_ms": 600000}"#, None, 10).unwrap();
    assert_eq!(found.iter().map(|item| item.column("reputation")).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(queue.find(r#"{"longer_ms": 900000}"#, None, 10).unwrap().len(), 0);
}

fn a_duplicate_is_reported_and_is_no_error(server: Server) {
    let (place, spec) = scheduler(server);
    place.run("INSERT INTO four_queue (reputation) VALUES (7)");
    let queue = open(&place, &spec, "a");
    let works = [7, 8, 8, 9].map(|work| item(json!({"reputation": work})));
    let answers = queue.enqueue(&works, None).unwrap();
    assert_eq!(answers.iter().map(|a| a.duplicate).collect::<Vec<_>>(), [true, false, true, false]);
    assert!(answers.iter().all(|answer| answer.duplicate == answer.key.is_empty()));
    assert_eq!(place.look("SELECT COUNT(*) FROM four_queue"), "3");
    assert_eq!(until_empty(queue.as_ref(), "reputation"), ["7", "8", "9"]);
    // Done work is there as well: the index is over all rows.
    assert!(queue.put_item(item(json!({"reputation": 8}))).duplicate);
    assert_eq!(until_empty(queue.as_ref(), "reputation"), [""; 0]);
}

fn a_duplicate_can_be_answered_with_what_is_there(server: Server) {
    let (place, spec) = scheduler_with(server, |text| text.replace("[dedup]", "[dedup]\nanswer = \"existing\""));
    place.run("INSERT INTO four_queue (reputation) VALUES (7)");
    let queue = open(&place, &spec, "a");
    let answer = queue.put_item(item(json!({"reputation": 7})));
    assert!(answer.duplicate);
    assert_eq!(answer.key, place.look("SELECT id FROM four_queue"));
}

fn a_server_takes_up_its_own_work_after_a_restart(server: Server) {
    let (place, spec) = scheduler(server);
    let queue = open(&place, &spec, "app1");
    put(queue.as_ref(), "reputation", [1, 2, 3]);
    let before = queue.claim(2, Duration::ZERO).unwrap();
    assert_eq!(before.len(), 2);
    drop(queue);

    let other = open(&place, &spec, "app2");
    let third = other.take();
    assert_eq!(third.column("reputation"), 3, "what app1 holds is not app2's");
    other.expect_empty();

    let again = open(&place, &spec, "app1");
    // One by one: either may be what it died of, and nobody knows which was begun.
    let mut after = again.claim(10, Duration::ZERO).unwrap();
    after.extend(again.claim(10, Duration::ZERO).unwrap());
    let keys = |taken: &[support::api::Taken]| taken.iter().map(|t| t.key.clone()).collect::<BTreeSet<_>>();
    assert_eq!(keys(&after), keys(&before), "and not what app2 holds");
    assert!(after.iter().all(|item| item.attempt == 1), "the attempt does not count");
    // The same name and attempt as the new one's; the token distinguishes them.
    assert_eq!(again.end(before[0].settle(Action::Complete)).answer, Answer::Conflict, "the old process is too late");
    for item in &after {
        assert_eq!(again.end(item.settle(Action::Complete)).answer, Answer::Ok);
    }
}

/// The three rows of the document's fetch: its own, a silent server's, and one that is still at work.
fn what_old_code_left_is_taken_up_too(server: Server) {
    let (place, spec) = scheduler(server);
    place.run(
        "INSERT INTO four_queue (reputation, in_process, start_date, end_date, app_server, attempts) VALUES \
         (1, TRUE, NOW, NULL, 'app1', 1), (2, TRUE, ELEVEN_MINUTES_AGO, NULL, 'gone', 2), (3, TRUE, NOW, NULL, 'busy', 1)",
    );
    let queue = open(&place, &spec, "app1");
    let mut taken = queue.claim(10, Duration::ZERO).unwrap();
    taken.extend(queue.claim(10, Duration::ZERO).unwrap());
    taken.sort_by_key(|item| item.column("reputation").as_i64());
    let seen: Vec<_> = taken.iter().map(|item| (item.column("reputation").as_i64().unwrap(), item.attempt)).collect();
    assert_eq!(seen, [(1, 2), (2, 3)], "attempts go on where the table has them");
    for item in &taken {
        assert_eq!(queue.end(item.settle(Action::Complete)).answer, Answer::Ok);
    }
    queue.recover(10).unwrap();
    queue.expect_empty();
}

fn ten_minutes_is_the_lease(server: Server) {
    let (place, spec) = scheduler(server);
    let queue = open(&place, &spec, "app1");
    put(queue.as_ref(), "reputation", [1, 2]);
    let first = queue.take();
    let (until, beside) = (place.column("LeaseUntil"), place.beside(&spec));
    let left = if place.is_sql_server() {
        format!("SELECT DATEDIFF(SECOND, SYSUTCDATETIME(), {until}) FROM {beside}")
    } else {
        format!("SELECT CAST(EXTRACT(EPOCH FROM {until} - clock_timestamp()) AS integer) FROM {beside}")
    };
    let left: i32 = place.look(&left).parse().unwrap();
    assert!((1..=600).contains(&left), "{left} s of the lease are left");

    let ended = if place.is_sql_server() { "DATEADD(SECOND, -1, SYSUTCDATETIME())" } else { "clock_timestamp()" };
    place.run(&format!("UPDATE {beside} SET {until} = {ended}"));
    let other = open(&place, &spec, "app2");
    other.recover(10).unwrap();
    let taken = other.take();
    assert_eq!((taken.key.as_str(), taken.attempt), (first.key.as_str(), 2), "anybody's now, and before later work");
    assert_eq!(queue.end(first.settle(Action::Complete)).answer, Answer::LeaseLost);
    assert_eq!(other.end(taken.settle(Action::Complete)).answer, Answer::Ok);
}

fn ten_minutes_can_be_another_time(server: Server) {
    let (place, spec) = scheduler_with(server, |text| text.replace("ms = 600000", "ms = 7200000"));
    place.run(
        "INSERT INTO four_queue (reputation, in_process, start_date, end_date, app_server, attempts) VALUES \
         (1, TRUE, ELEVEN_MINUTES_AGO, NULL, 'gone', 1), (2, TRUE, HOURS_AGO, NULL, 'gone', 1)",
    );
    let queue = open(&place, &spec, "app1");
    queue.recover(10).unwrap();
    assert_eq!(until_empty(queue.as_ref(), "reputation"), ["2"]);
}

fn there_is_no_fourth_try(server: Server) {
    let (place, spec) = scheduler(server);
    let queue = open(&place, &spec, "app1");
    put(queue.as_ref(), "reputation", [1]);
    for attempt in 1..=3 {
        let taken = queue.take();
        assert_eq!(taken.attempt, attempt);
        assert_eq!(place.look("SELECT attempts FROM four_queue"), attempt.to_string());
        let retry = Settlement { error: Some("no"), delay_ms: Some(0), ..taken.settle(Action::Retry) };
        let expected = if attempt < 3 { ItemState::Error } else { ItemState::Failed };
        assert_eq!(queue.end(retry).state, Some(expected));
    }
    queue.recover(10).unwrap();
    queue.expect_empty();
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 1);
    // Nor does the document's own fetch take it.
    let fetched = "SELECT COUNT(*) FROM four_queue WHERE in_process = FALSE OR end_date IS NULL AND attempts < 3";
    assert_eq!(place.look(fetched), "0");
    // An operator can give it three more.
    let found = queue.find(r#"{"status": ["Failed"]}"#, None, 10).unwrap();
    queue.redrive(&[ItemRef { key: &found[0].key, token: None }], None).unwrap();
    assert_eq!(queue.take().attempt, 1);
}

fn three_deaths(server: Server) {
    let (place, spec) = scheduler(server);
    place.run(
        "INSERT INTO four_queue (reputation, in_process, start_date, end_date, app_server, attempts) VALUES \
         (1, TRUE, HOURS_AGO, NULL, 'gone', 3), (2, TRUE, NOW, NULL, 'app1', 3)",
    );
    let queue = open(&place, &spec, "app1");
    queue.expect_empty();
    queue.recover(10).unwrap();
    queue.expect_empty();
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 2, "each with a reason, and none stuck");
}

fn the_duration_is_the_tables(server: Server) {
    let (place, spec) = scheduler(server);
    let queue = open(&place, &spec, "app1");
    put(queue.as_ref(), "reputation", [1]);
    let taken = queue.take();
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(place.look("SELECT duration_milliseconds FROM four_queue"), "NULL", "while it is in work");
    queue.end(taken.settle(Action::Complete));
    let duration: i64 = place.look("SELECT duration_milliseconds FROM four_queue").parse().unwrap();
    assert!(duration >= 20, "{duration} ms");
    let shown = format!("SELECT {} FROM {}", place.column("ItemDuration"), place.view(&spec));
    let shown: i64 = place.look(&shown).parse().unwrap();
    assert!(
        (shown - duration).abs() <= 4,
        "{shown} ms are shown, {duration} ms in the table (a datetime ticks every 3 ms)"
    );
}

fn work_waits_for_its_time(server: Server) {
    let (place, spec) = scheduler(server);
    place.run("INSERT INTO four_queue (reputation, scheduled_start_date) VALUES (1, TOMORROW), (2, NOW)");
    let queue = open(&place, &spec, "app1");
    let later = readpast::item::NewItem { delay_ms: Some(3_600_000), ..item(json!({"reputation": 3})) };
    queue.enqueue(&[later], None).unwrap();
    assert_eq!(place.look("SELECT COUNT(*) FROM four_queue WHERE scheduled_start_date > NOW"), "2");
    assert_eq!(until_empty(queue.as_ref(), "reputation"), ["2"]);
    place.run("UPDATE four_queue SET scheduled_start_date = NOW WHERE reputation = 3");
    assert_eq!(until_empty(queue.as_ref(), "reputation"), ["3"]);
}
