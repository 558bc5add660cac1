//! When what is over is deleted: between other work, and never instead of it.

use readpast::engine::{Engine, Taken, WorkerTerms};
use readpast::item::Value;
use readpast::worker::{Event, Procedure};
use readpast::{Action, Filter, ItemState, Queue, QueueSpec, install};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::both::Database;
use support::limit::{HOLDS, NEVER, until};
use support::scratch::{all, item};

/// The queue `Job` with so many items that ended long ago, on each server at hand.
fn each(old: usize, settings: &[(&str, &str)]) -> Vec<(Database, Queue)> {
    let made = |database: Database| {
        let spec =
            r#"{"queue": "Job", "retention": {"completed": "30d"}, "columns": [{"name": "Payload", "type": "text"}]}"#;
        let config = database.config(settings);
        install(&config, Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
        let queue = Queue::open(&config, "Job").unwrap();
        for begun in (0..old).step_by(500) {
            let items: Vec<_> = (begun..old.min(begun + 500)).map(|_| item("old")).collect();
            queue.enqueue(&items, None).unwrap();
            let batch = queue.claim(500, Duration::ZERO).unwrap();
            queue.settle(&all(&batch, Action::Complete), None).unwrap();
        }
        let aged = database.pick(
            "UPDATE [readpast].[Job] SET [UpdatedAt] = DATEADD(DAY, -31, [UpdatedAt]), [EnqueuedAt] = DATEADD(DAY, -31, [EnqueuedAt])",
            "UPDATE readpast.job SET updated_at = updated_at - interval '31 days', enqueued_at = enqueued_at - interval '31 days'",
        );
        database.session().execute(aged, &[]).unwrap();
        (database, queue)
    };
    Database::each().into_iter().map(made).collect()
}

/// How many items are left that have ended.
fn left(queue: &Queue) -> i64 {
    queue.stats().unwrap().count(ItemState::Completed)
}

#[test]
fn due_items_are_claimed_before_a_backlog_is_deleted() {
    // The fetcher may have begun before anybody wanted something, and goes on while this thread is held up: no proof then.
    // What deletes first does so every time.
    let is_first = |left: &Vec<i64>| matches!(left[..], [750 | 1000]);
    assert!((0..10).any(|_| seen_by_the_claim().iter().all(is_first)), "the backlog was always deleted first");
}

/// How many items were left of a backlog of 1000 when a worker claimed what was due, on each server at hand.
fn seen_by_the_claim() -> Vec<Vec<i64>> {
    let settings = [("worker.fetchers", "1"), HOLDS];
    let look = |(_database, queue): (Database, Queue)| {
        queue.enqueue(&[item("new")], None).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        // On the only fetcher, which does nothing else meanwhile.
        let observer = {
            let (seen, queue) = (Arc::clone(&seen), queue.clone());
            move |event: &Event<'_>| {
                if let Event::Claimed { .. } = event {
                    seen.lock().unwrap().push(left(&queue));
                }
            }
        };
        let engine = Engine::new(&queue, WorkerTerms { until_empty: true, observer: Some(Arc::new(observer)) });
        let Ok(Taken::Items(batch)) = engine.take(1, NEVER) else { panic!("there is one") };
        engine.end(&all(&batch, Action::Complete));
        assert!(matches!(engine.take(1, NEVER), Ok(Taken::Stopping)));
        engine.close(NEVER).unwrap();
        assert_eq!(left(&queue), 1, "and it leaves nothing behind");
        seen.lock().unwrap().clone()
    };
    each(1000, &settings).into_iter().map(look).collect()
}

#[test]
fn a_worker_that_cannot_delete_stops_all_the_same_when_nothing_is_due() {
    for (database, queue) in each(3, &[]) {
        // The procedure goes with the rule.
        install(
            &database.config(&[]),
            Some(
                &QueueSpec::from_json(r#"{"queue": "Job", "columns": [{"name": "Payload", "type": "text"}]}"#).unwrap(),
            ),
        )
        .unwrap();
        let engine = Engine::new(&queue, WorkerTerms { until_empty: true, observer: None });
        assert!(matches!(engine.take(1, NEVER), Ok(Taken::Stopping)));
        engine.close(NEVER).unwrap();
        assert_eq!((engine.figures().troubles, left(&queue)), (1, 3), "it is not tried again at once");
    }
}

#[test]
fn a_turn_that_comes_a_little_early_is_not_lost() {
    for (database, queue) in each(3, &[("retention.interval_ms", "86400000")]) {
        let done = |minutes: u32| {
            let done = match database.is_sql_server() {
                true => format!(
                    "UPDATE [readpast].[QueueRetention] SET [DoneAt] = DATEADD(MINUTE, -{minutes}, SYSUTCDATETIME())"
                ),
                false => format!(
                    "UPDATE readpast.queue_retention SET done_at = clock_timestamp() - {minutes} * interval '1 minute'"
                ),
            };
            database.session().execute(&done, &[]).unwrap();
        };
        done(20 * 60);
        assert_eq!(queue.retain(10).unwrap(), 0);
        done(24 * 60 - 1);
        assert_eq!(queue.retain(10).unwrap(), 3);
    }
}

#[test]
fn procedures_that_work_delete_what_is_over_too() {
    for (database, queue) in each(600, &[]) {
        database.run(database.pick(
            "CREATE PROCEDURE dbo.handle @Payload nvarchar(max) AS SET NOCOUNT ON",
            "CREATE FUNCTION public.handle(payload text) RETURNS void LANGUAGE sql AS ''",
        ));
        queue.enqueue(&[item("new")], None).unwrap();
        let procedure = Procedure::find(&queue, "handle").unwrap();
        assert!(procedure.work(Duration::ZERO).unwrap().is_some());
        assert_eq!(left(&queue), 601, "work comes first");
        until("what is over is gone", || {
            assert_eq!(procedure.work(Duration::ZERO).unwrap(), None);
            left(&queue) == 1
        });
        let found = queue.find(&Filter::default(), None, 10).unwrap();
        assert_eq!(found.get(0).unwrap().value_of("Payload"), Some(Value::Text("new")));
    }
}
