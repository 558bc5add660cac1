//! The SQL that the developers' page shows, run as it stands there: what is enqueued in the caller's transaction is there when that
//! commits, and not when it is rolled back.

use readpast::description::QueueSpec;
use readpast::{Queue, install};
use std::{fs, path::Path, time::Duration};
use support::both::Database;

/// The lines of the code block in this language, of which there is one.
fn block(language: &str) -> Vec<String> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/developer.md")).unwrap();
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap_or_else(|| panic!("no {language}"));
    rest.split_once("```").unwrap().0.lines().map(str::to_owned).collect()
}

fn description() -> QueueSpec {
    QueueSpec::from_json(&block("json").join("\n")).unwrap()
}

#[test]
fn items_enqueued_in_a_transaction_share_its_end() {
    for database in Database::each() {
        install(&database.config(&[]), Some(&description())).unwrap();
        database.run("CREATE TABLE orders (id int NOT NULL)");
        let queue = Queue::open(&database.config(&[]), "Notification").unwrap();
        let lines = block(database.pick("tsql", "sql"));
        assert_eq!(lines.len(), 4, "begin, insert, enqueue, commit");
        for end in ["ROLLBACK", lines[3].as_str()] {
            assert!(queue.claim(1, Duration::ZERO).unwrap().is_empty());
            let mut session = database.session();
            for statement in lines[..3].iter().map(String::as_str).chain([end]) {
                session.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
            }
        }
        assert_eq!(database.look("SELECT COUNT(*) FROM orders"), "1");
        let batch = queue.claim(10, Duration::ZERO).unwrap();
        assert_eq!(batch.len(), 1, "that of the transaction that was committed");
        let item: serde_json::Value = serde_json::from_str(&batch.get(0).unwrap().to_json()).unwrap();
        assert_eq!((item["Recipient"].as_str(), item["Body"].as_str()), (Some("a@example.org"), Some("Your order")));
    }
}
