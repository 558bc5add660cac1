//! Behaviour that is special to some of the tables.

use super::tables::*;
use readpast::item::{Action, Answer, ItemState, Settlement, Value};
use readpast::{QueueSpec, install};
use std::time::Duration;

fn numbers(batch: &readpast::item::Batch, column: &str) -> Vec<String> {
    batch
        .iter()
        .map(|item| match item.value_of(column) {
            Some(Value::Text(text)) => text.to_owned(),
            Some(Value::Integer(number)) => number.to_string(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn order_is_that_of_the_description() {
    for (kind, expected) in [(&EMAIL_REQUESTS, ["0", "1", "2"]), (&EMAIL_LIFO, ["4", "3", "2"])] {
        let adopted = Adopted::new(kind);
        let queue = adopted.worker("w");
        for item in adopted.items(5) {
            queue.enqueue(&[item], None).unwrap();
        }
        let expected: Vec<_> = expected.iter().map(|number| format!("{number}@example.org")).collect();
        assert_eq!(numbers(&claim(&queue, 3), "EmailAddress"), expected, "{}", kind.name);
    }
    for (kind, column) in
        [(&FOUR_QUEUE, "reputation"), (&SCHEDULER, "reputation"), (&SIMPLE_QUEUE, "Payload"), (&LOCK_TABLE, "Request")]
    {
        let adopted = Adopted::new(kind);
        let queue = adopted.worker("w");
        for item in adopted.items(5) {
            queue.enqueue(&[item], None).unwrap();
        }
        assert_eq!(numbers(&claim(&queue, 3), column), ["0", "1", "2"], "{}", kind.name);
        assert_eq!(numbers(&claim(&queue, 3), column), ["3", "4"], "{}", kind.name);
    }
}

#[test]
fn the_same_work_is_a_duplicate_and_no_error() {
    for (kind, answer) in [(&FOUR_QUEUE, "ignore"), (&SCHEDULER, "existing")] {
        let adopted = Adopted::changed(
            kind,
            "columns = [\"reputation\"]",
            &format!("columns = [\"reputation\"]\nanswer = \"{answer}\""),
        );
        let queue = adopted.worker("w");
        let first = queue.enqueue(&adopted.items(3), None).unwrap();
        let mut items = adopted.items(5);
        items.push(adopted.item(4));
        let again = queue.enqueue(&items, None).unwrap();
        let duplicates: Vec<_> = again.iter().map(|enqueued| enqueued.duplicate).collect();
        assert_eq!(duplicates, [true, true, true, false, false, true]);
        let expected = if answer == "existing" { first[1].key.as_str() } else { "" };
        assert_eq!(again[1].key, expected);
        assert_eq!(adopted.total(), 5);
    }
}

#[test]
fn a_server_that_starts_again_takes_up_its_own_work() {
    let adopted = Adopted::new(&SCHEDULER);
    let other = adopted.worker("server-2");
    other.enqueue(&adopted.items(4), None).unwrap();
    // Another process of that name, which is gone now.
    let claim_two = "SELECT COUNT(*) FROM readpast.next_four_queue_scheduler_set_trx('server-1', 2, NULL, 2)";
    assert_eq!(adopted.scratch.look(claim_two), "2");
    assert_eq!(claim(&other, 1).len(), 1);
    // The item that the old program took under this name, before readpast came.
    adopted.scratch.run(
        "UPDATE four_queue SET in_process = TRUE, start_date = localtimestamp, end_date = NULL, app_server = 'server-1', \
         attempts = 1 WHERE reputation = 3",
    );
    let again = adopted.worker("server-1");
    // One by one: any of them may be what it died of. Two were claimed together, and have their attempt back.
    for (number, attempt) in [("0", 1), ("1", 1), ("3", 2)] {
        let batch = claim(&again, 10);
        assert_eq!((numbers(&batch, "reputation"), batch.is_quarantined()), (vec![number.to_owned()], true));
        assert_eq!(batch.get(0).unwrap().attempt(), attempt);
        settle(&again, &batch, Action::Complete, "Completed");
    }
}

#[test]
fn anybody_takes_up_what_another_program_left_for_ten_minutes_and_not_a_fourth_time() {
    let adopted = Adopted::new(&SCHEDULER);
    let queue = adopted.worker("server-2");
    queue.enqueue(&adopted.items(3), None).unwrap();
    for (reputation, minutes, attempts) in [(0, 11, 1), (1, 1, 1), (2, 11, 3)] {
        adopted.scratch.run(&format!(
            "UPDATE four_queue SET in_process = TRUE, start_date = localtimestamp - interval '{minutes} minutes', \
             end_date = NULL, app_server = 'server-1', attempts = {attempts} WHERE reputation = {reputation}"
        ));
    }
    let batch = claim(&queue, 10);
    assert_eq!(numbers(&batch, "reputation"), ["0"]);
    assert_eq!(batch.get(0).unwrap().attempt(), 2);
    let failed = adopted
        .scratch
        .look("SELECT item_status || ' ' || item_error FROM readpast.four_queue_scheduler_item_v WHERE reputation = 2");
    assert!(failed.starts_with("Failed The lease of worker server-1 ran out on attempt 3 of 3"), "{failed}");
    assert_eq!(adopted.count("Processing"), 2);
}

#[test]
fn the_computed_duration_is_the_tables_own() {
    let adopted = Adopted::new(&SCHEDULER);
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(1), None).unwrap();
    let batch = claim(&queue, 1);
    assert_eq!(
        adopted.scratch.look("SELECT (end_date IS NULL)::text || app_server || attempts FROM four_queue"),
        "truew1"
    );
    settle(&queue, &batch, Action::Complete, "Completed");
    assert_eq!(
        adopted.scratch.look(
            "SELECT (duration_milliseconds BETWEEN 0 AND 3600000 AND end_date BETWEEN localtimestamp - interval '1 hour' \
             AND localtimestamp)::text FROM four_queue"
        ),
        "true"
    );
    let shown = adopted.look("v.item_duration");
    assert_eq!(adopted.scratch.look("SELECT duration_milliseconds FROM four_queue"), shown);
}

#[test]
fn one_time_for_a_whole_run_is_its_correlation_id() {
    let adopted = Adopted::new(&SIMPLE_QUEUE);
    let queue = adopted.open(&[("worker", "w"), ("worker.run_at", "2026-09-16T18:42:38.403Z")]);
    queue.enqueue(&adopted.items(3), None).unwrap();
    let first = claim(&queue, 1);
    let settlements: Vec<_> = first.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
    let (_, second) = queue.settle_and_claim(&settlements, None, 1).unwrap();
    claim(&queue, 1);
    let times =
        "SELECT COUNT(*) || ' ' || MIN(ProcessingStartedAt) || ' ' || MAX(ProcessingStartedAt) FROM SimpleQueue";
    assert_eq!(adopted.scratch.look(times), "2 2026-09-16 18:42:38.403 2026-09-16 18:42:38.403");
    // The lease runs from the server's time, whatever the worker's says.
    assert_eq!(queue.recover(10).unwrap(), 0);
    let item = second.get(0).unwrap();
    let fail = Settlement { error: Some("Something went wrong"), ..Settlement::new(&item, Action::Fail) };
    assert_eq!(queue.settle(&[fail], None).unwrap()[0].state, Some(ItemState::Failed));
    assert_eq!(adopted.scratch.look("SELECT Errors FROM SimpleQueue WHERE Errors IS NOT NULL"), "Something went wrong");
    assert_eq!(adopted.count("Failed"), 1);
}

#[test]
fn a_row_that_somebody_changed_by_hand_is_what_he_made_it() {
    let adopted = Adopted::new(&EMAIL_SENT);
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(3), None).unwrap();
    let batch = claim(&queue, 3);
    adopted.scratch.run("UPDATE EmailRequests SET IsProcessed = FALSE WHERE EmailAddress LIKE '0%'");
    adopted.scratch.run("UPDATE EmailRequests SET IsEmailSent = TRUE WHERE EmailAddress LIKE '1%'");
    adopted.scratch.run("DELETE FROM EmailRequests WHERE EmailAddress LIKE '2%'");
    assert_eq!((adopted.count("Pending"), adopted.count("Completed")), (1, 1));
    let answers: Vec<_> = batch
        .iter()
        .map(|item| queue.settle(&[Settlement::new(&item, Action::Complete)], None).unwrap()[0].answer)
        .collect();
    assert_eq!(answers, [Answer::LeaseLost, Answer::LeaseLost, Answer::NotFound]);
    adopted.age_leases();
    assert_eq!(queue.recover(10).unwrap(), 0);
    assert_eq!(
        adopted.scratch.look("SELECT COUNT(*) FROM readpast.email_requests_sent_lease WHERE status = 'Processing'"),
        "0"
    );
    let again = claim(&queue, 10);
    assert_eq!(numbers(&again, "EmailAddress"), ["0@example.org"]);
    assert_eq!(again.get(0).unwrap().attempt(), 2);
}

#[test]
fn completed_items_move_to_the_history_as_they_are() {
    let adopted = Adopted::changed(&LOCK_TABLE, "[table]\n", "completion = { history = \"Queue_History\" }\n[table]\n");
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(3), None).unwrap();
    let batch = claim(&queue, 2);
    settle(&queue, &batch, Action::Complete, "Completed");
    assert_eq!(adopted.total(), 1);
    assert_eq!(adopted.leases(), 0);
    assert_eq!(
        adopted.scratch.look(
            "SELECT COUNT(*) FROM queue_history WHERE Status = 2 AND LockedBy = 'w' AND CompletionTime >= LockedTime \
             AND NumAttempts = 1"
        ),
        "2"
    );
}

/// A column that the table's owner adds is none of the history's until the next install, and ends no settlement.
#[test]
fn a_column_that_is_added_later_ends_no_move_to_the_history() {
    let adopted = Adopted::changed(&LOCK_TABLE, "[table]\n", "completion = { history = \"Queue_History\" }\n[table]\n");
    let text = LOCK_TABLE.spec.replace("[table]\n", "completion = { history = \"Queue_History\" }\n[table]\n");
    let spec = QueueSpec { backoff: None, ..QueueSpec::from_text(&text).unwrap() };
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(3), None).unwrap();
    adopted.scratch.run("ALTER TABLE queue ADD COLUMN note text DEFAULT 'n'");
    settle(&queue, &claim(&queue, 1), Action::Complete, "Completed");
    assert_eq!(adopted.scratch.look("SELECT COUNT(*) FROM queue_history WHERE Status = 2"), "1");

    adopted.scratch.run("ALTER TABLE queue_history ADD COLUMN added_here text");
    settle(&queue, &claim(&queue, 1), Action::Complete, "Completed");
    adopted.scratch.run("ALTER TABLE queue_history ADD COLUMN note text");
    install(&adopted.scratch.config(&[]), Some(&spec)).unwrap();
    settle(&queue, &claim(&queue, 1), Action::Complete, "Completed");
    assert_eq!(adopted.scratch.look("SELECT COUNT(*) FROM queue_history WHERE note = 'n'"), "1");
    assert_eq!(adopted.total(), 0);
}

#[test]
fn a_producer_may_say_when_an_item_came() {
    let adopted = Adopted::new(&SIMPLE_QUEUE);
    let queue = adopted.worker("w");
    let mut items = adopted.items(2);
    items[1].columns.insert("CreatedAt", "2021-09-16T17:55:38.403Z");
    items[1].columns.insert("Id", "d6513312-4dcc-4c44-b044-08b98257037c");
    let keys = queue.enqueue(&items, None).unwrap();
    assert_eq!(keys[1].key, "d6513312-4dcc-4c44-b044-08b98257037c");
    assert_eq!(numbers(&claim(&queue, 2), "Payload"), ["1", "0"]);
    assert_eq!(adopted.scratch.look("SELECT MIN(CreatedAt)::text FROM SimpleQueue"), "2021-09-16 17:55:38.403");
}

#[test]
fn figures_tell_how_many_workers_are_needed() {
    let adopted = Adopted::new(&LOCK_TABLE);
    adopted.scratch.run(
        "INSERT INTO Queue (Status, LockedBy, LockedTime, RequestedTime, CompletionTime, NumAttempts) \
         SELECT 2, 'w', t + interval '20 seconds', t, t + interval '80 seconds', 1 \
         FROM (SELECT localtimestamp - n * interval '25 seconds' AS t FROM generate_series(1, 120) AS n) AS t",
    );
    let figure = |name: &str| {
        adopted.scratch.look(&format!("SELECT value FROM readpast.stats_lock_table() WHERE name = '{name}'"))
    };
    assert_eq!(figure("count.Completed"), "120");
    assert_eq!(figure("arrivals.last_hour"), "120");
    assert_eq!(
        (figure("wait.mean_ms"), figure("claimed.mean_ms"), figure("claimed.p90_ms")),
        ("20000".into(), "60000".into(), "60000".into())
    );
    // 120 an hour of a minute each keep two busy; at four fifths of their time that is three.
    assert_eq!(figure("workers.needed"), "3");
    // One that is worked on, and one whose lock has broken: nobody works on that.
    adopted.scratch.run(
        "INSERT INTO Queue (Status, LockedBy, LockedTime, RequestedTime) SELECT 1, 'w', t, t \
         FROM (VALUES (localtimestamp - interval '1 minute'), (localtimestamp - interval '31 minutes')) AS v (t)",
    );
    assert_eq!((figure("count.Processing"), figure("lease.expired")), ("2".into(), "1".into()));
    assert_eq!(figure("claimed.count"), "1");
}

/// The first document's Next_ takes items in Error too, however they came there: another program's Modify_, or the time before
/// the table was adopted.
#[test]
fn items_that_others_have_set_to_error_are_tried_again() {
    let adopted = Adopted::new(&SYNC_QUEUE);
    let insert = |second: u32, attempts: u32, due: &str| {
        adopted.scratch.run(&format!(
            "INSERT INTO SyncQueue (EnqueuedAt, Type, Status, AttemptNum, ScheduledFor, UpdatedAt) \
             VALUES ('2026-01-01T00:00:0{second}Z', 'Orders', 'Error', {attempts}, {due}, now())"
        ));
    };
    insert(1, 1, "now() - interval '1 minute'");
    insert(2, 2, "now() + interval '1 hour'");
    insert(3, 3, "now() - interval '1 minute'");
    insert(4, 1, "NULL");
    let queue = adopted.worker("w");
    let batch = claim(&queue, 10);
    let mut seen: Vec<_> = batch.iter().map(|item| (item.key()[18..19].to_owned(), item.attempt())).collect();
    seen.sort();
    assert_eq!(seen, [("1".to_owned(), 2), ("4".to_owned(), 2)], "what is due, and not what waits or is spent");
    assert_eq!(adopted.scratch.look("SELECT Status FROM SyncQueue WHERE AttemptNum = 3"), "Failed");
    settle(&queue, &batch, Action::Complete, "Completed");

    // Due now, says somebody; then, when a worker's own retry waits: later.
    adopted.scratch.run("UPDATE SyncQueue SET ScheduledFor = now() WHERE AttemptNum = 2 AND Status = 'Error'");
    std::thread::sleep(Duration::from_millis(20));
    let batch = claim(&queue, 10);
    assert_eq!(batch.iter().map(|item| item.attempt()).collect::<Vec<_>>(), [3]);
    settle(&queue, &batch, Action::Release, "Pending");
    let batch = claim(&queue, 10);
    let retry: Vec<_> =
        batch.iter().map(|item| Settlement { delay_ms: Some(0), ..Settlement::new(&item, Action::Retry) }).collect();
    // The third attempt of three was its last.
    assert_eq!(queue.settle(&retry, None).unwrap()[0].state.map(|state| state.as_str()), Some("Failed"));
}

/// Retries whose time was put off by hand do not stand in the way of those that are due.
#[test]
fn a_retry_that_was_put_off_by_hand_waits_and_holds_nobody_up() {
    let adopted = Adopted::new(&SYNC_QUEUE);
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(2), None).unwrap();
    let batch = claim(&queue, 2);
    let keys: Vec<_> = batch.iter().map(|item| item.key().to_owned()).collect();
    let retries: Vec<_> = batch
        .iter()
        .enumerate()
        .map(|(n, item)| Settlement { delay_ms: Some(100 + 10 * n as i64), ..Settlement::new(&item, Action::Retry) })
        .collect();
    queue.settle(&retries, None).unwrap();
    let first = &keys[0];
    adopted
        .scratch
        .run(&format!("UPDATE SyncQueue SET ScheduledFor = now() + interval '1 hour' WHERE EnqueuedAt = '{first}Z'"));
    std::thread::sleep(Duration::from_millis(150));
    let taken: Vec<_> =
        (0..3).flat_map(|_| claim(&queue, 1).iter().map(|item| item.key().to_owned()).collect::<Vec<_>>()).collect();
    assert_eq!(taken, [keys[1].clone()]);
}
