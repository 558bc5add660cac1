//! `retention.history`: attempts that ended long ago are forgotten, whatever becomes of their items.

use super::{Kept, TABLES};
use readpast::item::Value;
use readpast::{Action, Queue, QueueSpec, Worker, install};
use serde_json::{Value as Json, json};
use std::time::Duration;
use std::{panic, thread};
use support::both::Database;
use support::limit::until;
use support::scratch::{all, item};

impl Kept {
    /// The queue `Job` on each server and each kind of table, with attempts that are remembered for a week.
    fn remembering(settings: &[(&str, &str)]) -> Vec<Self> {
        Self::remembering_on(&TABLES, settings, &json!({}))
    }

    fn remembering_on(tables: &[&str], settings: &[(&str, &str)], more: &Json) -> Vec<Self> {
        let mut options = json!({"attempts": {"history": true, "limit": 100}, "retention": {"history": "7d"}});
        options["retention"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tables.iter().flat_map(|table| Self::with(table, settings, options.clone())).collect()
    }

    /// Makes all that is remembered of attempts so many days older.
    fn age_attempts(&self, days: u32) {
        let older = self.database.pick(
            "UPDATE [readpast].[Job_Attempt] SET [EndedAt] = DATEADD(DAY, -{}, [EndedAt])",
            "UPDATE readpast.job_attempt SET ended_at = ended_at - {} * interval '1 day'",
        );
        self.database.session().execute(&older.replace("{}", &days.to_string()), &[]).unwrap();
    }

    /// All items that are due fail once.
    fn attempted(&self) {
        let batch = self.queue.claim(500, Duration::ZERO).unwrap();
        self.queue.settle(&all(&batch, Action::Retry), None).unwrap();
    }

    /// How many a call deletes whose turn it is.
    fn retained(&self, max: u32) -> u64 {
        self.anew();
        self.queue.retain(max).unwrap()
    }

    fn remembered(&self) -> i64 {
        let count = self
            .database
            .pick("SELECT COUNT_BIG(*) FROM [readpast].[Job_Attempt]", "SELECT COUNT(*) FROM readpast.job_attempt");
        match self.database.session().execute(count, &[]).unwrap().value(0, 0) {
            Value::Integer(count) => count,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn attempts_go_before_their_items_and_young_ones_stay() {
    for kept in Kept::remembering(&[]) {
        kept.queue.enqueue(&[item("a"), item("b")], None).unwrap();
        kept.attempted();
        kept.attempted();
        kept.age_attempts(6);
        assert_eq!((kept.retained(10), kept.remembered()), (0, 4), "not yet");
        kept.age_attempts(2);
        kept.attempted();
        assert_eq!(kept.retained(3), 3, "no more than asked for");
        assert_eq!((kept.retained(3), kept.remembered()), (1, 2));
        assert_eq!(kept.left(), "1 a, 1 b");
        for item in kept.queue.find(&readpast::Filter::default(), None, 10).unwrap().iter() {
            let left: Vec<_> = kept.queue.attempts(item.key()).unwrap().iter().map(|one| one.number).collect();
            assert_eq!((left, item.attempt()), (vec![3], 3), "the third is young, and the item knows of all");
        }
    }
}

#[test]
fn items_and_attempts_share_the_limit_and_both_are_done() {
    // Not readpast's own, whose items cannot be made older and keep their key.
    for kept in Kept::remembering_on(&TABLES[1..], &[], &json!({"cancelled": "30d"})) {
        kept.ended("over", 4, Action::Cancel);
        kept.age(31);
        kept.queue.enqueue(&[item("waits"), item("waits")], None).unwrap();
        kept.attempted();
        kept.age_attempts(8);
        assert_eq!((kept.retained(3), kept.left().as_str()), (3, "1 over, 2 waits"));
        // The last item, and two attempts of others; its own goes with it, whichever finds it first.
        let deleted: u64 = (0..3).map(|_| kept.retained(3)).sum();
        assert!((3..=4).contains(&deleted), "{deleted}");
        assert_eq!((kept.remembered(), kept.left().as_str()), (0, "2 waits"));
    }
}

#[test]
fn attempts_that_somebody_holds_are_passed_over() {
    for kept in Kept::remembering(&[]) {
        kept.queue.enqueue(&[item("a"), item("b"), item("c")], None).unwrap();
        kept.attempted();
        kept.age_attempts(8);
        let mut other = kept.database.session();
        other.execute("BEGIN TRANSACTION", &[]).unwrap();
        let hold = kept.database.pick(
            "UPDATE TOP (1) [readpast].[Job_Attempt] SET [Response] = N'held'",
            "UPDATE readpast.job_attempt SET response = 'held' \
             WHERE number = (SELECT MIN(number) FROM readpast.job_attempt)",
        );
        other.execute(hold, &[]).unwrap();
        assert_eq!(kept.retained(10), 2);
        other.execute("ROLLBACK TRANSACTION", &[]).unwrap();
        assert_eq!((kept.retained(10), kept.remembered()), (1, 0));
    }
}

#[test]
fn workers_forget_them() {
    for kept in Kept::remembering(&[("retention.interval_ms", "50")]) {
        let items: Vec<_> = (0..300).map(|_| item("a")).collect();
        kept.queue.enqueue(&items, None).unwrap();
        kept.attempted();
        kept.age_attempts(8);
        let worker = Worker::new(&kept.queue);
        let stop = worker.stop_handle();
        thread::scope(|scope| {
            scope.spawn(|| worker.run(|_| {}));
            let seen = panic::catch_unwind(panic::AssertUnwindSafe(|| {
                // Each was tried once more, and that is remembered.
                until("what is old is forgotten", || kept.remembered() == 300 && kept.completed() == 300);
            }));
            stop.stop();
            seen.unwrap_or_else(|payload| panic::resume_unwind(payload));
        });
    }
}

impl Kept {
    fn completed(&self) -> usize {
        let filter = readpast::Filter { states: vec![readpast::ItemState::Completed], ..readpast::Filter::default() };
        self.queue.find(&filter, None, 1000).unwrap().len()
    }
}

#[test]
fn it_is_chosen_later_and_given_up_again() {
    for database in Database::each() {
        let config = database.config(&[]);
        let spec = |retention: &str| {
            let spec = format!(r#"{{"queue": "Job", "attempts": {{"history": true}}{retention}}}"#);
            QueueSpec::from_json(&spec).unwrap()
        };
        let indexes = || {
            let count = database.pick(
                "SELECT COUNT_BIG(*) FROM sys.indexes WHERE [name] LIKE N'IX[_]Job[_]Attempt[_]Ended%'",
                "SELECT COUNT(*) FROM pg_indexes WHERE schemaname = 'readpast' AND indexname = 'job_attempt_ended'",
            );
            database.session().execute(count, &[]).unwrap().value(0, 0) == Value::Integer(1)
        };
        install(&config, Some(&spec(""))).unwrap();
        assert!(!indexes(), "who keeps them writes no more than before");
        install(&config, Some(&spec(r#", "retention": {"history": "1s"}"#))).unwrap();
        let queue = Queue::open(&config, "Job").unwrap();
        assert!(indexes() && queue.retain(1).unwrap() == 0);
        install(&config, Some(&spec(""))).unwrap();
        assert!(!indexes() && queue.retain(1).is_err(), "both are gone with the rule");
    }
}
