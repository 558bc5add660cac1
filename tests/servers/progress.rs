//! How far items are, as those who work on them report it, on both servers.

use readpast::install::{drop_queue, install};
use readpast::item::{Action, ItemState, NewItem, Settlement};
use readpast::worker::Job;
use readpast::{
    Answer, Batch, ErrorKind, Item, ItemRef, OperatorVerb, Progress, ProgressReport, Queue, QueueSpec, Worker,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::both::Database;

/// Queues whose items end differently.
fn kinds() -> Vec<Value> {
    vec![
        json!({}),
        json!({"attempts": {"history": true}, "types": ["A", "B"], "claim_by": ["type"]}),
        json!({"completion": "delete", "subtypes": [{"name": "Mail", "columns": [{"name": "Address", "type": "text(50)"}]}]}),
        json!({"completion": {"history": "Done"}, "lease": {"durable": false}, "shards": 3}),
        json!({"after": true, "roles": {"own_types_only": true}}),
    ]
}

pub fn open(database: &Database, more: &Value, settings: &[(&str, &str)]) -> Queue {
    let mut spec =
        json!({"queue": "Scan", "backoff": "none", "progress": true, "columns": [{"name": "N", "type": "integer"}]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let spec = QueueSpec::from_json(&spec.to_string()).unwrap_or_else(|error| panic!("{more}: {error}"));
    install(&database.config(&[]), Some(&spec)).unwrap_or_else(|error| panic!("{more}: {error}"));
    Queue::open(&database.config(settings), "Scan").unwrap()
}

fn put(queue: &Queue, count: usize) {
    queue.enqueue(&vec![NewItem::default(); count], None).unwrap();
}

pub fn claim(queue: &Queue, max: u32) -> Batch {
    queue.claim(max, Duration::ZERO).unwrap()
}

pub fn report<'a>(item: &Item<'a>, percent: Option<i32>, text: Option<&'a str>) -> ProgressReport<'a> {
    ProgressReport { key: item.key(), token: item.token(), attempt: item.attempt(), percent, text }
}

pub fn answer(queue: &Queue, report: ProgressReport<'_>) -> Answer {
    queue.report_progress(&[report]).unwrap()[0].answer
}

pub fn seen(queue: &Queue, key: &str) -> Option<(Option<i32>, Option<String>)> {
    queue.progress(&[key]).unwrap().pop().map(|Progress { percent, text, .. }| (percent, text))
}

pub fn settle(queue: &Queue, item: &Item<'_>, action: Action) {
    assert_eq!(queue.settle(&[Settlement::new(item, action)], None).unwrap()[0].answer, Answer::Ok);
}

/// The report stays after a failed attempt, until another one begins. A release does not count the attempt, and the next one starts
/// empty all the same. In the end the item is Completed, with a report of 6 percent.
pub fn attempts_begin_empty(queue: &Queue, first: &Item<'_>, text: Option<&str>, more: &Value) {
    let reported = seen(queue, first.key());
    let lease = readpast::Lease { key: first.key(), attempt: first.attempt() };
    assert_eq!(queue.renew(&[lease]).unwrap()[0].answer, Answer::Ok);
    settle(queue, first, Action::Retry);
    assert!(reported.is_some() && seen(queue, first.key()) == reported, "{more}");
    for (percent, text, action) in [(5, None, Action::Release), (6, text, Action::Complete)] {
        let batch = claim(queue, 2);
        let again = batch.iter().find(|item| item.key() == first.key()).unwrap();
        assert_eq!((seen(queue, again.key()), again.attempt()), (None, 2), "{more}");
        assert_eq!(answer(queue, report(&again, Some(percent), text)), Answer::Ok, "{more}");
        assert_eq!(seen(queue, again.key()), Some((Some(percent), text.map(str::to_owned))), "{more}");
        settle(queue, &again, action);
    }
}

/// Reports count for the worker, the attempt and the token of the claim, and for items that are there. In the end there is one of 2 percent.
pub fn nobody_else_reports(queue: &Queue, other: &Queue, item: &Item<'_>, absent: &str, more: &Value) {
    assert_eq!(answer(queue, report(item, Some(1), None)), Answer::Ok);
    assert_eq!(answer(other, report(item, Some(9), None)), Answer::LeaseLost, "{more}");
    assert_eq!(answer(queue, ProgressReport { attempt: 2, ..report(item, Some(9), None) }), Answer::LeaseLost);
    let old = ProgressReport { token: "2020-01-01T00:00:00.0000000", ..report(item, Some(9), None) };
    assert_eq!(answer(queue, old), Answer::Conflict, "{more}");
    let gone = ProgressReport { key: absent, ..report(item, Some(9), None) };
    let outcomes = queue.report_progress(&[gone, report(item, Some(2), None)]).unwrap();
    assert_eq!((outcomes[0].answer, outcomes[1].answer), (Answer::NotFound, Answer::Ok), "{more}");
}

#[test]
fn reports_are_seen_and_the_next_attempt_starts_empty() {
    for database in Database::each() {
        for more in kinds() {
            let queue = open(&database, &more, &[]);
            put(&queue, 2);
            let batch = claim(&queue, 1);
            let first = batch.get(0).unwrap();
            assert_eq!(seen(&queue, first.key()), None);
            assert_eq!(answer(&queue, report(&first, Some(42), Some("page 42 of 100"))), Answer::Ok, "{more}");
            assert_eq!(seen(&queue, first.key()), Some((Some(42), Some("page 42 of 100".to_owned()))), "{more}");
            let shown = queue.progress(&[first.key(), "2020-01-01T00:00:00.0000010"]).unwrap();
            assert!(
                shown.len() == 1 && shown[0].key == first.key() && shown[0].reported.starts_with("20"),
                "{shown:?}"
            );
            // Each report takes the place of the one before; the token stays, and the lease is renewed as before.
            let long = "\u{1f600}".repeat(150);
            for (percent, text, kept) in [
                (Some(101), None, Some((Some(100), None))),
                (Some(-1), Some("a\0b"), Some((None, Some("a b".to_owned())))),
                (None, Some(long.as_str()), Some((None, Some("\u{1f600}".repeat(100))))),
                (Some(0), Some(""), Some((Some(0), None))),
                (None, None, Some((None, None))),
            ] {
                assert_eq!(answer(&queue, report(&first, percent, text)), Answer::Ok, "{more}");
                assert_eq!(seen(&queue, first.key()), kept, "{more}");
            }
            let twice = [report(&first, Some(1), Some("one")), report(&first, Some(2), None)];
            let outcomes = queue.report_progress(&twice).unwrap();
            assert!(outcomes.iter().all(|one| one.answer == Answer::Ok && one.token == first.token()), "{outcomes:?}");
            assert_eq!(seen(&queue, first.key()), Some((Some(2), None)), "the last one of a call counts");
            attempts_begin_empty(&queue, &first, None, &more);
            let left = more["completion"].is_null().then_some((Some(6), None));
            assert_eq!(seen(&queue, first.key()), left, "it goes with its item: {more}");
            queue.close(Duration::from_secs(10)).unwrap();
            drop_queue(&database.config(&[]), "Scan").unwrap();
        }
    }
}

#[test]
fn a_worker_that_has_lost_its_item_reports_nothing() {
    for database in Database::each() {
        let queue = open(&database, &json!({}), &[("worker", "one")]);
        let other = Queue::open(&database.config(&[("worker", "two")]), "Scan").unwrap();
        put(&queue, 1);
        let batch = claim(&queue, 1);
        let item = batch.get(0).unwrap();
        nobody_else_reports(&queue, &other, &item, "2020-01-01T00:00:00.0000010", &json!({}));
        assert_eq!(seen(&queue, item.key()), Some((Some(2), None)));
        // A step gives it another token.
        let step = Settlement { step: Some("half"), ..Settlement::new(&item, Action::Step) };
        let token = queue.settle(&[step], None).unwrap().remove(0).token;
        assert_eq!(answer(&queue, report(&item, Some(9), None)), Answer::Conflict);
        assert_eq!(answer(&queue, ProgressReport { token: &token, ..report(&item, Some(3), None) }), Answer::Ok);
        // An operator cancels it.
        queue.act(OperatorVerb::Cancel, &[ItemRef { key: item.key(), token: None }]).unwrap();
        assert_eq!(answer(&queue, ProgressReport { token: &token, ..report(&item, Some(9), None) }), Answer::LeaseLost);
        assert_eq!(seen(&queue, item.key()), Some((Some(3), None)));
        // The lease runs out, and another worker has it.
        put(&queue, 1);
        let batch = claim(&queue, 1);
        let item = batch.get(0).unwrap();
        assert_eq!(answer(&queue, report(&item, Some(50), Some("mine"))), Answer::Ok);
        database.run(database.pick(
            "UPDATE [readpast].Scan SET LeaseUntil = StartedAt",
            "UPDATE readpast.scan SET lease_until = started_at",
        ));
        assert_eq!(other.recover(10).unwrap(), 1);
        assert_eq!(answer(&queue, report(&item, Some(60), None)), Answer::LeaseLost);
        let batch = claim(&other, 1);
        assert_eq!(batch.get(0).unwrap().key(), item.key());
        assert_eq!(answer(&queue, report(&item, Some(60), None)), Answer::LeaseLost);
        assert_eq!(seen(&other, item.key()), None);
    }
}

#[test]
fn five_hundred_items_report_in_one_call() {
    for database in Database::each() {
        let queue = open(&database, &json!({}), &[]);
        put(&queue, 500);
        let batch = claim(&queue, 500);
        let reports: Vec<_> = batch.iter().map(|item| report(&item, Some(7), Some("all"))).collect();
        for _ in 0..2 {
            let outcomes = queue.report_progress(&reports).unwrap();
            assert!(outcomes.iter().all(|one| one.answer == Answer::Ok && one.state == Some(ItemState::Processing)));
        }
        let keys: Vec<_> = batch.iter().map(|item| item.key()).collect();
        let shown = queue.progress(&keys).unwrap();
        assert!(shown.len() == 500 && shown.iter().all(|one| one.percent == Some(7)));
        let ends: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        assert!(queue.settle(&ends, None).unwrap().iter().all(|one| one.answer == Answer::Ok));
        assert_eq!(queue.purge(&readpast::Filter::default(), 1000).unwrap(), 500);
        assert_eq!(queue.progress(&keys).unwrap(), []);
    }
}

#[test]
fn a_handler_is_seen_at_work_by_its_last_report() {
    for database in Database::each() {
        let queue = open(&database, &json!({}), &[]);
        put(&queue, 3);
        let (begun, go_on) = (Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()));
        let (is_over, until) = (AtomicBool::new(false), Instant::now() + Duration::from_secs(600));
        let worker = Worker::new(&queue).threads(3).until_empty(true);
        thread::scope(|scope| {
            let watched = scope.spawn(|| {
                // Each goes on once its last report is there, although it reports nothing more.
                let wanted = Some((Some(99), Some("nearly".to_owned())));
                while go_on.lock().unwrap().len() < 3 && Instant::now() < until {
                    let keys: Vec<String> = begun.lock().unwrap().iter().cloned().collect();
                    let there = keys.into_iter().filter(|key| seen(&queue, key) == wanted);
                    go_on.lock().unwrap().extend(there);
                    thread::sleep(Duration::from_millis(20));
                }
                is_over.store(true, Ordering::Relaxed);
            });
            worker
                .run(|job: &Job<'_>| {
                    for percent in 0..99 {
                        job.progress(percent, "at work").unwrap();
                    }
                    job.step("half").unwrap();
                    job.progress(99, "nearly").unwrap();
                    begun.lock().unwrap().insert(job.key().to_owned());
                    while !go_on.lock().unwrap().contains(job.key()) && !is_over.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(5));
                    }
                })
                .unwrap();
            watched.join().unwrap();
        });
        assert_eq!(go_on.lock().unwrap().len(), 3);
    }
}

#[test]
fn an_item_whose_row_somebody_holds_waits_for_nobody() {
    for database in Database::each().into_iter().filter(Database::heeds_lock_hints) {
        let queue = open(&database, &json!({}), &[]);
        put(&queue, 2);
        let batch = claim(&queue, 2);
        let (held, free) = (batch.get(0).unwrap(), batch.get(1).unwrap());
        let mut holder = database.session();
        holder.execute(database.pick("BEGIN TRANSACTION", "BEGIN"), &[]).unwrap();
        let hold = database.pick(
            "UPDATE [readpast].Scan SET Step = NULL WHERE EnqueuedAt = (SELECT MIN(q.EnqueuedAt) FROM [readpast].Scan AS q)",
            "UPDATE readpast.scan SET step = NULL WHERE enqueued_at = (SELECT MIN(q.enqueued_at) FROM readpast.scan AS q)",
        );
        holder.execute(hold, &[]).unwrap();
        let outcomes = queue.report_progress(&[report(&held, Some(1), None), report(&free, Some(1), None)]).unwrap();
        let answers: Vec<_> = outcomes.iter().map(|one| (one.answer, one.state)).collect();
        assert_eq!(answers, [(Answer::Ok, None), (Answer::Ok, Some(ItemState::Processing))]);
        holder.execute("ROLLBACK", &[]).unwrap();
        assert_eq!((seen(&queue, held.key()), seen(&queue, free.key())), (None, Some((Some(1), None))));
    }
}

#[test]
fn a_queue_without_it_refuses_reports_until_it_is_installed() {
    for database in Database::each() {
        let queue = open(&database, &json!({"progress": false}), &[("worker", "one")]);
        put(&queue, 1);
        Worker::new(&queue)
            .until_empty(true)
            .run(|job: &Job<'_>| {
                let error = job.progress(42, None).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                assert!(error.message().contains("queue Scan lacks \"progress = true\""), "{error}");
            })
            .unwrap();
        assert_eq!(queue.progress(&["2020-01-01T00:00:00.0000010"]).unwrap(), []);
        // It can be added, and taken out again.
        let queue = open(&database, &json!({}), &[("worker", "one")]);
        put(&queue, 1);
        let batch = claim(&queue, 1);
        let item = batch.get(0).unwrap();
        assert_eq!(answer(&queue, report(&item, Some(1), None)), Answer::Ok);
        let queue = open(&database, &json!({"progress": false}), &[("worker", "one")]);
        settle(&queue, &item, Action::Complete);
        assert_eq!(queue.purge(&readpast::Filter::default(), 10).unwrap(), 2);
    }
}
