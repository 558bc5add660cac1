//! The look at many queues at once, of each kind of queue: it never sleeps over something that a claim would find.

use readpast::for_tests::Session;
use readpast::item::{Action, NewItem, Settlement};
use readpast::{Queue, Value, install};
use serde_json::json;
use std::time::Duration;
use support::both::Database;
use support::matrix;
use support::scratch::{Scratch, changed, config, look};

/// Own tables with each way to search, a table with a column for everything, and one with next to nothing.
const SPECS: [&str; 12] = [
    "own_plain",
    "own_priority",
    "own_group",
    "own_by_type",
    "own_by_kind",
    "own_shards",
    "own_own_types",
    "whole_plain",
    "whole_group",
    "whole_by_kind",
    "bare_plain",
    "bare_group",
];

/// The answer about the only queue: milliseconds. On SQL Server of the procedure that finds it: not every server that speaks its
/// language executes a procedure by a name in a variable, as QueueDue does.
fn due(database: &Database, recover: i32) -> Option<i64> {
    let query = database.pick(
        "SET NOCOUNT ON; DECLARE @DueMs bigint; EXECUTE [readpast].[Due_Job] @Recover = HOW, @DueMs = @DueMs OUTPUT; SELECT @DueMs",
        r#"SELECT due_ms FROM readpast.queue_due('[{"queue": "job", "recover": HOW}]')"#,
    );
    let rows = database.rows(&query.replace("HOW", &recover.to_string()));
    assert_eq!(rows.len(), 1, "the owner may claim");
    match rows.value(0, 0) {
        Value::Null => None,
        Value::Integer(ms) => Some(ms),
        other => panic!("{other:?}"),
    }
}

const HOUR: i32 = 3_600_000;

#[test]
fn a_look_finds_what_a_claim_finds() {
    let specs = matrix::specs();
    for name in SPECS {
        let (_, spec) = specs.iter().find(|(other, _)| other == name).unwrap_or_else(|| panic!("{name}"));
        for database in Database::each() {
            if !database.is_sql_server() {
                database.run("CREATE SCHEMA dbo");
            }
            install(&database.config(&[]), Some(spec)).unwrap();
            let open = |more: &[(&str, &str)]| Queue::open(&database.config(more), "Job").unwrap();
            let queue = open(&[("recover.interval_ms", "3600000")]);
            let put = |delay_ms: Option<i64>, customer: &str| {
                let mut columns = json!({"Customer": customer, "Rank": 1}).as_object().unwrap().clone();
                if name.starts_with("whole") {
                    columns.insert("Region".to_owned(), json!("r"));
                }
                queue.enqueue(&[NewItem { columns: columns.into(), delay_ms, ..NewItem::default() }], None).unwrap();
            };
            // It takes the turn to recover.
            assert!(queue.claim(9, Duration::ZERO).unwrap().is_empty());
            assert_eq!(due(&database, HOUR), None, "{name}: it is empty");
            put(Some(i64::from(HOUR)), "a");
            let later = due(&database, HOUR).unwrap_or_else(|| panic!("{name}: something will be due"));
            assert!((1..=i64::from(HOUR) + 1).contains(&later), "{name}: {later}");
            put(None, "b");
            assert_eq!(due(&database, HOUR), Some(0), "{name}");
            let batch = queue.claim(9, Duration::ZERO).unwrap();
            assert_eq!(batch.len(), 1, "{name}");
            let later = due(&database, HOUR).unwrap_or_else(|| panic!("{name}: something will be due"));
            assert!(later > 0, "{name}: it is in work, and nothing else is due: {later}");
            assert_eq!(due(&database, 0), Some(-1), "{name}: its worker may have died");
            let item = batch.get(0).unwrap();
            let back = Settlement {
                attempt: item.attempt(),
                ..Settlement::control(item.key(), Some(item.token()), Action::Release)
            };
            queue.settle(&[back], None).unwrap();
            assert_eq!(due(&database, HOUR), Some(0), "{name}: it was given back");
        }
    }
}

#[test]
fn a_look_says_nothing_of_queues_that_the_login_may_not_claim_from() {
    let mut database = Scratch::new();
    let role = database.role();
    database.run(&format!("GRANT USAGE ON SCHEMA readpast TO {role}"));
    database.run(&format!("GRANT EXECUTE ON FUNCTION readpast.queue_due(json) TO {role}"));
    let connection = changed(&database.connection(), &[("Uid", &role), ("Pwd", "p")]);
    let mut stranger = Session::open(&config(&connection, &[])).unwrap();
    let mut seen = |name: &str| {
        let asked = format!(r#"[{{"queue": "{name}", "recover": 1}}]"#);
        look(&mut stranger, &format!("SELECT COUNT(*)::text FROM readpast.queue_due('{asked}')"))
    };
    assert_eq!([seen("job"), seen("none"), seen("it''s")], ["0", "0", "0"]);
    database.run(&format!("GRANT EXECUTE ON FUNCTION readpast.next_job_set_trx TO {role}"));
    assert_eq!(seen("job"), "1");
}
