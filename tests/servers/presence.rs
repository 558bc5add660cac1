//! Tables in which a row is there as long as its work is not done, on both servers: the row beside has the state.

use readpast::item::{Action, Answer, Filter, ItemRef, Settlement};
use readpast::{ItemState, NewItem, Queue, QueueSpec, install};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use support::both::Database;
use support::limit::until;

/// Somebody's table of these columns besides its key, with six rows of theirs.
fn table(database: &Database, columns: &str) {
    database.run(&format!(
        "CREATE TABLE {} ({}, payload varchar(20) NULL{columns});",
        place(database),
        database.pick("id bigint IDENTITY PRIMARY KEY", "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
    ));
    (0..6).for_each(|n| database.run(&format!("INSERT INTO {} (payload) VALUES ('p{n}')", place(database))));
}

fn place(database: &Database) -> &str {
    database.pick("[dbo].[ready]", "public.ready")
}

fn described(database: &Database, more: &Value, of_table: &Value) -> QueueSpec {
    let mut text = json!({"queue": "Ready", "columns": [{"name": "payload", "type": "text(20)"}], "completion": "delete",
        "backoff": "none", "table": {"schema": database.pick("dbo", "public"), "name": "ready", "key": ["id"]}});
    text.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    text["table"].as_object_mut().unwrap().extend(of_table.as_object().unwrap().clone());
    QueueSpec::from_json(&text.to_string()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn given(database: &Database, more: &Value, of_table: &Value) -> Queue {
    install(&database.config(&[]), Some(&described(database, more, of_table))).unwrap();
    open(database, "w", &[])
}

fn open(database: &Database, worker: &str, more: &[(&str, &str)]) -> Queue {
    let settings = [&[("worker", worker), ("recover.interval_ms", "3600000")], more].concat();
    Queue::open(&database.config(&settings), "Ready").unwrap()
}

fn keys(batch: &readpast::Batch) -> Vec<String> {
    batch.iter().map(|item| item.key().to_owned()).collect()
}

fn rows(database: &Database) -> String {
    database.look(&format!("SELECT COUNT(*) FROM {}", place(database)))
}

#[test]
fn rows_are_claimed_once_and_leave_when_they_are_done() {
    for database in Database::each() {
        table(&database, "");
        let queue = given(&database, &json!({}), &json!({}));
        assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 6);
        let first = queue.claim(4, Duration::ZERO).unwrap();
        assert_eq!(keys(&first), ["1", "2", "3", "4"]);
        // A taken row is free for nobody; a row of another program's is an item at once.
        let other = open(&database, "other", &[]);
        let second = other.claim(10, Duration::ZERO).unwrap();
        assert_eq!(keys(&second), ["5", "6"]);
        assert!(other.claim(10, Duration::ZERO).unwrap().is_empty());
        database.run(&format!("INSERT INTO {} (payload) VALUES ('late')", place(&database)));
        assert_eq!(keys(&other.claim(10, Duration::ZERO).unwrap()), ["7"]);

        let figures = queue.stats().unwrap();
        assert_eq!((figures.count(ItemState::Processing), figures.count(ItemState::Pending)), (7, 0));
        let watched = queue.watch(100).unwrap();
        assert_eq!(watched.stats.due, 0, "{watched:?}");

        let settlements = [
            Settlement::new(&first.get(0).unwrap(), Action::Complete),
            Settlement { error: Some("no"), ..Settlement::new(&first.get(1).unwrap(), Action::Fail) },
            Settlement::new(&first.get(2).unwrap(), Action::Retry),
            Settlement::new(&first.get(3).unwrap(), Action::Release),
        ];
        let answers = queue.settle(&settlements, None).unwrap();
        assert!(answers.iter().all(|outcome| outcome.answer == Answer::Ok), "{answers:?}");
        assert_eq!(rows(&database), "6");
        let state = |key: &str| queue.get(key).unwrap().get(0).map(|item| item.state().unwrap());
        assert_eq!(state("1"), None);
        assert_eq!(state("2"), Some(ItemState::Failed));
        // Failed for good: no claim meets it, until somebody redrives it.
        let again = queue.claim(10, Duration::ZERO).unwrap();
        let attempts: Vec<_> = again.iter().map(|item| (item.key().to_owned(), item.attempt())).collect();
        assert_eq!(attempts, [("3".to_owned(), 2), ("4".to_owned(), 1)]);
        let failed = queue.find(&Filter::of_states([ItemState::Failed]), None, 10).unwrap();
        assert_eq!(keys(&failed), ["2"]);
        let answers = queue.redrive(&[ItemRef::from(failed.get(0).unwrap())], None).unwrap();
        assert_eq!(answers[0].answer, Answer::Ok);
        let third = queue.claim(10, Duration::ZERO).unwrap();
        let item = third.get(0).unwrap();
        assert_eq!((item.key(), item.attempt()), ("2", 1));

        // An ended row that nobody wants goes with the row beside it.
        queue.settle(&[Settlement::new(&item, Action::Fail)], None).unwrap();
        assert_eq!(queue.purge(&Filter::of_states([ItemState::Failed]), 10).unwrap(), 1);
        let kept = database.pick("[readpast].[Ready_Lease]", "readpast.ready_lease");
        let failed = format!("SELECT COUNT(*) FROM {kept} WHERE status = 'Failed'");
        assert_eq!((rows(&database), database.look(&failed)), ("5".to_owned(), "0".to_owned()));
    }
}

#[test]
fn a_dead_workers_rows_come_back_alone_and_end_as_failed() {
    for database in Database::each() {
        table(&database, "");
        let queue = given(&database, &json!({"attempts": {"limit": 2}}), &json!({}));
        let dies = open(&database, "d", &[("lease.ms", "10")]);
        assert_eq!(keys(&dies.claim(1, Duration::ZERO).unwrap()), ["1"]);
        let back = || queue.recover(10).unwrap() == 1;
        until("the item comes back", back);
        let taken = queue.claim(10, Duration::ZERO).unwrap();
        assert_eq!(keys(&taken), ["1"], "it goes alone");
        assert!(taken.get(0).unwrap().attempt() == 2);
        queue.settle(&[Settlement::new(&taken.get(0).unwrap(), Action::Release)], None).unwrap();
        let dies = open(&database, "d", &[("lease.ms", "10")]);
        until("it dies again", || keys(&dies.claim(1, Duration::ZERO).unwrap()) == ["1"]);
        until("the item comes back", back);
        assert_eq!(queue.get("1").unwrap().get(0).unwrap().state(), Some(ItemState::Failed));
        assert_eq!(keys(&queue.claim(10, Duration::ZERO).unwrap()), ["2", "3", "4", "5", "6"]);
        // Somebody deletes rows that are in work, or ended: nothing is left of them.
        database.run(&format!("DELETE FROM {}", place(&database)));
        assert!(queue.find(&Filter::default(), None, 10).unwrap().is_empty());
    }
}

/// An item for later waits beside the table; so does a retry, until it is due.
#[test]
fn later_rows_wait() {
    for database in Database::each() {
        for due in [false, true] {
            table(&database, database.pick(", due datetime2 NULL", ", due timestamptz NULL"));
            let life = if due { json!({"lifecycle": {"due": "due"}}) } else { json!({}) };
            let queue = given(&database, &json!({}), &life);
            let later = NewItem { delay_ms: Some(3_600_000), ..NewItem::default() };
            queue.enqueue(&[later, NewItem::default()], None).unwrap();
            let taken = queue.claim(10, Duration::ZERO).unwrap();
            let mut found = keys(&taken);
            found.sort();
            assert_eq!(found, ["1", "2", "3", "4", "5", "6", "8"]);
            let in_an_hour = |item| Settlement { delay_ms: Some(3_600_000), ..Settlement::new(&item, Action::Retry) };
            let back: Vec<_> = taken.iter().map(in_an_hour).collect();
            queue.settle(&back, None).unwrap();
            assert!(queue.claim(10, Duration::ZERO).unwrap().is_empty());
            assert_eq!(queue.stats().unwrap().due, 0);
            let (shown, column) = match due {
                true => (place(&database), "due"),
                false => (
                    database.pick("[readpast].[Ready_Lease]", "readpast.ready_lease"),
                    database.pick("DueAt", "due_at"),
                ),
            };
            let one = database.pick("id", if due { "id" } else { "key_1" });
            database.run(&format!("UPDATE {shown} SET {column} = '2026-01-01T00:00:00' WHERE {one} IN (3, 7)"));
            let mut found = keys(&queue.claim(10, Duration::ZERO).unwrap());
            found.sort();
            assert_eq!(found, ["3", "7"]);
            readpast::install::drop_queue(&database.config(&[]), "Ready").unwrap();
            database.run(&format!("DROP TABLE {}", place(&database)));
        }
    }
}

/// Two claims at once: the second takes what is behind, or finds that all went to the first and asks again.
#[test]
fn claims_at_once_take_each_row_once() {
    for database in Database::each() {
        if database.is_sql_server() && !database.heeds_lock_hints() {
            continue;
        }
        table(&database, "");
        (0..194).for_each(|n| database.run(&format!("INSERT INTO {} (payload) VALUES ('m{n}')", place(&database))));
        drop(given(&database, &json!({}), &json!({})));
        let took = std::thread::scope(|scope| {
            let works = |name: String| {
                let queue = open(&database, &name, &[]);
                let mut took = Vec::new();
                loop {
                    let batch = queue.claim(3, Duration::ZERO).unwrap();
                    if batch.is_empty() {
                        return took;
                    }
                    took.extend(keys(&batch));
                    let ended: Vec<_> = (0..)
                        .zip(batch.iter())
                        .map(|(n, item)| Settlement::new(&item, if n == 0 { Action::Fail } else { Action::Complete }))
                        .collect();
                    queue.settle(&ended, None).unwrap();
                }
            };
            let workers: Vec<_> = (0..4).map(|n| scope.spawn(move || works(format!("w{n}")))).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
        });
        let once: BTreeSet<_> = took.iter().collect();
        assert_eq!((took.len(), once.len()), (200, 200));
    }
}

#[test]
fn a_row_that_is_no_item_needs_states_where_completed_ones_stay() {
    let database = Database::each().remove(0);
    let refused = |text: Value| QueueSpec::from_json(&text.to_string()).unwrap_err().to_string();
    let table = json!({"name": "ready", "key": ["id"]});
    let stays = refused(json!({"queue": "Ready", "columns": [{"name": "a", "type": "text"}], "table": table}));
    assert!(stays.contains("completion = \"delete\""), "{stays}");
    let nothing = refused(json!({"queue": "Ready", "columns": [], "completion": "delete", "table": table}));
    assert!(nothing.contains("no value at all"), "{nothing}");
    let spec = described(&database, &json!({}), &json!({}));
    assert_eq!(QueueSpec::from_json(&spec.to_json()).unwrap(), spec);
}
