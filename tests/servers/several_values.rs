//! Tables in which several values mean one state, on both servers.

use readpast::item::{Action, Filter, ItemRef, Settlement};
use readpast::{ItemState, NewItem, Queue, QueueSpec, install};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use support::both::Database;

/// A queue of six items: two under each value that means Pending, and of each pair one that is due in an hour.
fn given(database: &Database, due: bool) -> Queue {
    let life = if due { json!({"due": "Due", "started": "Began"}) } else { json!({}) };
    let text = json!({"queue": "Job", "columns": [{"name": "What", "type": "text(20)"}], "backoff": "none",
        "table": {"schema": "readpast", "name": "Jobs", "create": true, "key": ["Id"], "lifecycle": life,
            "states": {"Pending": {"State": ["available", "scheduled", "retryable"]}, "Processing": {"State": ["executing", "running"]},
                "Completed": {"State": "completed"}, "Failed": {"State": ["discarded", "cancelled"]}}}});
    install(&database.config(&[]), Some(&QueueSpec::from_json(&text.to_string()).unwrap())).unwrap();
    let queue = Queue::open(&database.config(&[("worker", "w")]), "Job").unwrap();
    queue.enqueue(&vec![NewItem::default(); 6], None).unwrap();
    let table = database.pick("[readpast].[Jobs]", "readpast.jobs");
    for (value, first) in [("scheduled", 3), ("retryable", 5)] {
        database.run(&format!("UPDATE {table} SET State = '{value}' WHERE Id BETWEEN {first} AND {}", first + 1));
    }
    if due {
        let later = database.pick("DATEADD(HOUR, 1, SYSUTCDATETIME())", "clock_timestamp() + interval '1 hour'");
        database.run(&format!("UPDATE {table} SET Due = {later} WHERE Id IN (2, 4, 6)"));
    }
    queue
}

fn states(database: &Database) -> String {
    let each = database.pick(
        "SELECT STRING_AGG(CONCAT(Id, State), ' ') WITHIN GROUP (ORDER BY Id) FROM [readpast].[Jobs]",
        "SELECT string_agg(id || state, ' ' ORDER BY id) FROM readpast.jobs",
    );
    database.look(each)
}

#[test]
fn every_value_of_a_state_is_claimed_and_the_first_is_written() {
    for database in Database::each() {
        for due in [true, false] {
            let queue = given(&database, due);
            assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 6);
            let taken = queue.claim(10, Duration::ZERO).unwrap();
            let mut keys: Vec<_> = taken.iter().map(|item| item.key().to_owned()).collect();
            keys.sort();
            assert_eq!(keys, if due { vec!["1", "3", "5"] } else { vec!["1", "2", "3", "4", "5", "6"] });
            let done: Vec<_> = taken.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
            queue.settle(&done[..2], None).unwrap();
            queue.settle(&[Settlement::new(&taken.get(2).unwrap(), Action::Fail)], None).unwrap();
            if due {
                // A value other than the first stays until the item is due.
                assert_eq!(states(&database), "1completed 2available 3completed 4scheduled 5discarded 6retryable");
                let table = database.pick("[readpast].[Jobs]", "readpast.jobs");
                database.run(&format!("UPDATE {table} SET State = 'cancelled' WHERE Id = 5"));
                let failed = queue.find(&Filter::of_states([ItemState::Failed]), None, 10).unwrap();
                let found: Vec<_> = failed.iter().map(|item| item.key().to_owned()).collect();
                assert_eq!(found, ["5"]);
                queue.redrive(&[ItemRef::from(failed.get(0).unwrap())], None).unwrap();
                assert!(states(&database).contains("5available"), "{}", states(&database));
            }
            readpast::install::drop_queue(&database.config(&[]), "Job").unwrap();
            database.run(database.pick("DROP TABLE [readpast].[Jobs]", "DROP TABLE readpast.jobs"));
        }
    }
}

/// A row that its table lets no claim touch stops no other, whatever its value is.
#[test]
fn a_row_that_may_not_become_the_first_value_stops_no_other() {
    for database in Database::each() {
        let queue = given(&database, true);
        let table = database.pick("[readpast].[Jobs]", "readpast.jobs");
        database.run(&format!("UPDATE {table} SET Due = NULL"));
        database.run(&format!(
            "ALTER TABLE {table} ADD CONSTRAINT refuses CHECK (Id <> 3 OR State IN ('scheduled', 'completed'))"
        ));
        let mut keys = BTreeSet::new();
        let done = (0..20).any(|_| {
            keys.extend(queue.claim(10, Duration::ZERO).unwrap().iter().map(|item| item.key().to_owned()));
            keys.len() == 5
        });
        assert!(done && !keys.contains("3"), "{keys:?}: {}", states(&database));
    }
}

/// Items in work are found under each value: somebody else's worker may write another.
#[test]
fn items_in_work_come_back_under_every_value() {
    for database in Database::each() {
        let queue = given(&database, true);
        let dies = Queue::open(&database.config(&[("worker", "d"), ("lease.ms", "10")]), "Job").unwrap();
        let taken = dies.claim(2, Duration::ZERO).unwrap();
        assert_eq!(taken.len(), 2);
        let table = database.pick("[readpast].[Jobs]", "readpast.jobs");
        database.run(&format!("UPDATE {table} SET State = 'running' WHERE Id = {}", taken.get(0).unwrap().key()));
        let mut back = 0;
        let all = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(2));
            back += queue.recover(100).unwrap();
            back == 2
        });
        assert!(all, "{back} came back: {}", states(&database));
    }
}
