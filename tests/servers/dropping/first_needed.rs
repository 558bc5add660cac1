//! Tables of the schema that come with the first queue that needs them, and stay for the others.

use super::installed;
use readpast::install::drop_queue;
use readpast::item::{Columns, NewItem};
use readpast::queue::Queue;
use serde_json::json;
use std::time::Duration;
use support::both::Database;

const PLAIN: &str = r#"{"queue": "Plain", "columns": [{"name": "Customer", "type": "integer"}]}"#;
const WHOLE: &str = r#"{"queue": "Whole", "columns": [{"name": "Customer", "type": "integer"}],
    "limit": [{"by": "Customer", "at_once": 1}], "retention": {"completed": "30d"},
    "schedule": [{"name": "yearly", "cron": "@yearly", "zone": "UTC", "item": {"columns": {"Customer": 1}}}]}"#;

/// The tables that are there, each with its number of rows.
fn tables(database: &Database) -> Vec<String> {
    let names = ["turn", "limit", "retention", "schedule"].iter().zip(["Turn", "Limit", "Retention", "Schedule"]);
    let there = |(lower, upper): (&&str, &str)| {
        let is_there = database.look(database.pick(
            &format!("SELECT COUNT(*) FROM sys.objects WHERE LOWER(name) = 'queue{lower}' AND SCHEMA_NAME(schema_id) = 'readpast'"),
            &format!("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'readpast' AND tablename = 'queue_{lower}'"),
        ));
        if is_there == "0" {
            return None;
        }
        let table = if database.is_sql_server() {
            format!("[readpast].Queue{upper}")
        } else {
            format!("readpast.queue_{lower}")
        };
        Some(format!("{lower} {}", database.look(&format!("SELECT COUNT(*) FROM {table}"))))
    };
    names.filter_map(there).collect()
}

fn claims_one(database: &Database, queue: &str, customer: i32) {
    let queue = Queue::open(&database.config(&[]), queue).unwrap();
    let columns = Columns::from(json!({"Customer": customer}).as_object().unwrap().clone());
    queue.enqueue(&[NewItem { columns, ..NewItem::default() }], None).unwrap();
    assert_eq!(queue.claim(1, Duration::ZERO).unwrap().len(), 1);
}

#[test]
fn a_queue_brings_the_tables_that_it_needs() {
    for database in Database::each() {
        installed(&database, PLAIN);
        assert!(tables(&database).is_empty());
        claims_one(&database, "Plain", 1);

        installed(&database, WHOLE);
        let whole = ["turn 1", "limit 1", "retention 1", "schedule 1"];
        assert_eq!(tables(&database), whole);
        claims_one(&database, "Whole", 2);

        // A change of a description takes rows away, and no table that another queue may need; a claim may wait for its turn.
        installed(&database, &PLAIN.replace("Plain", "Whole"));
        assert_eq!(tables(&database), ["turn 1", "limit 0", "retention 0", "schedule 0"]);
        installed(&database, WHOLE);
        installed(&database, &WHOLE.replace("Whole", "Plain"));
        assert_eq!(tables(&database), ["turn 2", "limit 2", "retention 2", "schedule 2"]);
        claims_one(&database, "Plain", 3);

        drop_queue(&database.config(&[]), "Whole").unwrap();
        assert_eq!(tables(&database), whole);
        claims_one(&database, "Plain", 4);
        drop_queue(&database.config(&[]), "Plain").unwrap();
        assert_eq!(tables(&database), ["turn 0", "limit 0", "retention 0", "schedule 0"]);
    }
}
