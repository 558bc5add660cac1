//! Copies of queues, on both servers: made, worked on, watched and dropped, with nothing left and nothing of the real one touched.

use readpast::description::EXAMPLES;
use readpast::item::{Action, Answer};
use readpast::stress::{self, Copy, PREFIX, Watcher, item};
use readpast::{ErrorKind, ItemState, Queue, QueueSpec, Settlement, install};
use std::time::Duration;
use support::both::Database;

/// A description with its table in the shape that it gives.
fn described(name: &str) -> QueueSpec {
    let (_, text) = EXAMPLES.iter().find(|(other, _)| *other == name).unwrap();
    let mut spec = QueueSpec::from_text(text).unwrap();
    if let readpast::description::Storage::Table(table) = &mut spec.storage {
        table.create = true;
    }
    spec
}

fn schemas(database: &Database) -> String {
    database.look(&format!(
        "SELECT COUNT(*) FROM {} WHERE {} LIKE '{PREFIX}%'",
        database.pick("sys.schemas", "pg_namespace"),
        database.pick("name", "nspname")
    ))
}

#[test]
fn a_copy_works_as_its_queue_and_leaves_nothing() {
    for name in ["notification", "queue_lock_table", "four_queue", "email_requests_delete", "simple_queue"] {
        for database in Database::each() {
            let spec = described(name);
            install(&database.config(&[]), Some(&spec)).unwrap();
            let real = Queue::open(&database.config(&[]), spec.queue.as_str()).unwrap();
            real.enqueue(&[item(&spec, 1)], None).unwrap();
            let before = real.stats().unwrap().counts;

            let copy = Copy::make(&database.config(&[]), spec.queue.as_str(), "t1").unwrap();
            assert!(copy.schema().starts_with(PREFIX) && copy.spec().queue == spec.queue);
            let again = Copy::make(&database.config(&[]), spec.queue.as_str(), "t1").unwrap_err();
            assert!(again.message().contains("is there already"), "{again}");
            let queue = Queue::open(copy.config(), spec.queue.as_str()).unwrap();
            let items: Vec<_> = (0..20).map(|number| item(copy.spec(), number)).collect();
            assert_eq!(queue.enqueue(&items, None).unwrap().len(), 20);
            let mut watcher = Watcher::start(&copy, "readpast").unwrap();
            let mut done = 0;
            loop {
                let batch = queue.claim(7, Duration::ZERO).unwrap();
                if batch.is_empty() {
                    break;
                }
                watcher.look();
                let settled: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
                let outcomes = queue.settle(&settled, None).unwrap();
                assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok), "{outcomes:?}");
                done += outcomes.len();
            }
            assert_eq!(done, 20, "{name}");
            let observed = watcher.finish();
            if database.is_sql_server() {
                assert!(!observed.sessions.is_empty() || !observed.unread.is_empty(), "{observed:?}");
            } else {
                assert!(observed.samples >= Some(1), "{observed:?}");
            }
            assert!(observed.graphs.is_empty(), "{observed:?}");
            // A statement and a commit take some time on each server, and need no right to look at it.
            let probe = &observed.probe;
            assert!(probe.round_trip.is_some_and(|time| !time.is_zero()) && probe.commit.is_some(), "{observed:?}");
            assert!(observed.round_trip() <= probe.round_trip && observed.trip.is_some(), "{observed:?}");
            drop(queue);

            assert_eq!(schemas(&database), "1");
            copy.remove().unwrap();
            copy.remove().unwrap();
            assert_eq!(schemas(&database), "0", "{name}");
            assert_eq!(real.stats().unwrap().counts, before, "{name}: nothing of the real one was touched");
            assert_eq!(real.stats().unwrap().count(ItemState::Pending), 1);
        }
    }
}

/// Settings of the queue hold for its copy, wherever it stands; later changes do not.
#[test]
fn a_copy_has_settings_of_its_own() {
    let own = r#"{"queue": "Job", "attempts": {"limit": 4}}"#;
    let described = r#"{"queue": "Job", "columns": [{"name": "N", "type": "integer", "nullable": false}],
        "attempts": {"limit": 4}, "table": {"name": "Jobs", "create": true, "key": [{"name": "Id", "type": "bigint"}],
        "settings": {"name": "Config", "param": "Name", "value": "Number"}, "status": {"column": "State",
        "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}}"#;
    for text in [own, described] {
        for database in Database::each() {
            database.run("CREATE TABLE Config (Name varchar(100) NOT NULL PRIMARY KEY, Number bigint NULL)");
            install(&database.config(&[]), Some(&QueueSpec::from_json(text).unwrap())).unwrap();
            let real = Queue::open(&database.config(&[]), "Job").unwrap();
            real.set_setting("maxAttempts", Some(2)).unwrap();
            real.set_setting("leaseMs", Some(60_000)).unwrap();
            let copy = Copy::make(&database.config(&[]), "Job", "t3").unwrap();
            real.set_setting("maxAttempts", Some(9)).unwrap();

            let queue = Queue::open(copy.config(), "Job").unwrap();
            let settings = queue.settings().unwrap();
            let settings: Vec<_> = settings.iter().map(|s| (s.value, s.described, s.table.as_str())).collect();
            assert_eq!(settings, [(None, 2, "AppSettings"), (None, 60_000, "AppSettings")]);
            queue.enqueue(&[item(copy.spec(), 1)], None).unwrap();
            let mut states = Vec::new();
            while let Some(item) = queue.claim(1, Duration::ZERO).unwrap().get(0) {
                let again = Settlement { delay_ms: Some(0), ..Settlement::new(&item, Action::Retry) };
                states.extend(queue.settle(&[again], None).unwrap()[0].state);
            }
            assert_eq!(states.last(), Some(&ItemState::Failed));
            assert_eq!(states.len(), 2, "{states:?}");
            drop(queue);
            copy.remove().unwrap();
        }
    }
}

#[test]
fn nothing_but_a_copy_is_dropped() {
    for database in Database::each() {
        install(&database.config(&[]), None).unwrap();
        for schema in ["readpast", "dbo", "public", "x_readpast_stress_1"] {
            let error = stress::remove(&database.config(&[]), schema).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
        stress::remove(&database.config(&[]), &format!("{PREFIX}nobody")).unwrap();
        assert!(readpast::install::installed(&database.config(&[])).is_ok());
    }
}

#[test]
fn a_queue_with_procedures_on_the_real_table_is_not_copied() {
    for database in Database::each() {
        let (_, text) = EXAMPLES.iter().find(|(name, _)| *name == "get_next_item").unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documents");
        for file in ["lock_table", "get_next_item"] {
            let file = format!("{folder}/{file}.{}.sql", database.pick("sql_server", "postgres"));
            database.run(&std::fs::read_to_string(file).unwrap());
        }
        install(&database.config(&[]), Some(&QueueSpec::from_text(text).unwrap())).unwrap();
        let error = Copy::make(&database.config(&[]), "NextItem", "t2").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("works on the real table"), "{error}");
        assert_eq!(schemas(&database), "0");
    }
}
