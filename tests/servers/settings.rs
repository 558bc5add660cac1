//! The table of settings that was there before readpast, for the queue whose description names it: on both servers.

use readpast::engine::{Engine, Taken, WorkerTerms};
use readpast::item::{Action, Answer, NewItem, Settlement};
use readpast::{ErrorKind, ItemState, Queue, QueueSpec, Renewal, install};
use serde_json::json;
use std::time::Duration;
use support::both::Database;
use support::limit::until;
use support::scratch::look;

const TABLES: [&str; 2] = [
    "CREATE TABLE dbo.Jobs (Id bigint IDENTITY NOT NULL PRIMARY KEY, N int NOT NULL, State int NOT NULL DEFAULT 0)
    CREATE TABLE dbo.AppSettings (Param varchar(100) NOT NULL PRIMARY KEY, ValInt int NULL, ValText varchar(100) NULL)
    CREATE TABLE dbo.Config ([Key] nvarchar(50) NOT NULL PRIMARY KEY, Number bigint NULL)",
    "CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n integer NOT NULL, state integer NOT NULL DEFAULT 0);
    CREATE TABLE appsettings (param varchar(100) NOT NULL PRIMARY KEY, valint integer, valtext varchar(100));
    CREATE TABLE config (key text NOT NULL PRIMARY KEY, number bigint)",
];

/// The queue, with `settings` in its table's description.
fn spec(settings: &str) -> QueueSpec {
    let text = format!(
        r#"{{"queue": "Job", "columns": [{{"name": "N", "type": "integer", "nullable": false}}], "backoff": "none",
            "attempts": {{"limit": 4}}, "table": {{"name": "Jobs", "key": [{{"name": "Id", "type": "bigint"}}]{settings},
            "status": {{"column": "State", "values": {{"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}}}}}}"#
    );
    QueueSpec::from_json(&text).unwrap()
}

fn open(database: &Database) -> Queue {
    Queue::open(&database.config(&[]), "Job").unwrap()
}

/// How many attempts a new item has.
fn attempts(queue: &Queue) -> i32 {
    let columns = json!({"N": 1}).as_object().unwrap().clone();
    queue.enqueue(&[NewItem { columns: columns.into(), ..NewItem::default() }], None).unwrap();
    loop {
        let batch = queue.claim(1, Duration::ZERO).unwrap();
        let item = batch.get(0).unwrap();
        let retry = Settlement { delay_ms: Some(0), ..Settlement::new(&item, Action::Retry) };
        if queue.settle(&[retry], None).unwrap()[0].state == Some(ItemState::Failed) {
            return item.attempt();
        }
    }
}

/// The lease of the one item that there is.
fn granted(queue: &Queue) -> Option<Duration> {
    let columns = json!({"N": 1}).as_object().unwrap().clone();
    queue.enqueue(&[NewItem { columns: columns.into(), ..NewItem::default() }], None).unwrap();
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    let one = |action| Settlement { delay_ms: Some(0), ..Settlement::new(&batch.get(0).unwrap(), action) };
    let (_, next) = queue.settle_and_claim(&[one(Action::Release)], None, 1).unwrap();
    assert_eq!(batch.lease(), next.lease(), "each claim says it");
    queue.settle(&[Settlement::new(&next.get(0).unwrap(), Action::Complete)], None).unwrap();
    batch.lease()
}

fn listed(queue: &Queue) -> Vec<(String, String, Option<i32>, i32)> {
    let listed = queue.settings().unwrap().into_iter();
    listed.map(|setting| (setting.param, setting.table, setting.value, setting.described)).collect()
}

#[test]
fn the_teams_own_settings_count_where_they_are_named() {
    for database in Database::each() {
        database.run(database.pick(TABLES[0], TABLES[1]));
        let place = database.pick("dbo", "public");
        for (settings, table, insert) in [
            (
                r#", "settings": "AppSettings""#,
                "AppSettings",
                "INSERT INTO AppSettings (Param, ValInt) VALUES ('job.maxAttempts', 2)",
            ),
            (
                r#", "settings": {"name": "Config", "param": "Key", "value": "Number"}"#,
                "Config",
                database.pick(
                    "INSERT INTO Config ([Key], Number) VALUES ('job.maxAttempts', 2)",
                    "INSERT INTO config (key, number) VALUES ('job.maxAttempts', 2)",
                ),
            ),
        ] {
            let table = format!("{place}.{table}");
            install(&database.config(&[]), Some(&spec(settings))).unwrap();
            let queue = open(&database);
            assert_eq!(attempts(&queue), 4, "nothing is there yet: the description counts");
            let all = [("job.maxAttempts", None, 4), ("job.leaseMs", None, 300_000)];
            let all = all.map(|(param, value, described)| (param.to_owned(), table.clone(), value, described));
            assert_eq!(listed(&queue)[0], all[0]);
            assert_eq!(listed(&queue)[1].1, all[1].1);
            database.run(insert);
            assert_eq!(attempts(&queue), 2, "{table}");
            assert_eq!(listed(&queue)[0], ("job.maxAttempts".to_owned(), table.clone(), Some(2), 4));
            queue.set_setting("maxAttempts", Some(1)).unwrap();
            queue.set_setting("leaseMs", Some(60_000)).unwrap();
            assert_eq!((attempts(&queue), listed(&queue)[1].2), (1, Some(60_000)), "{table}");
            queue.set_setting("maxAttempts", None).unwrap();
            assert_eq!(attempts(&queue), 4);
        }
        // Without the key readpast's own table counts again, and theirs is no concern of the queue.
        install(&database.config(&[]), Some(&spec(""))).unwrap();
        let queue = open(&database);
        database.run("UPDATE AppSettings SET ValInt = 2 WHERE Param = 'job.maxAttempts'");
        assert_eq!((attempts(&queue), listed(&queue)[0].1.as_str()), (4, "AppSettings"));
        queue.set_setting("maxAttempts", Some(3)).unwrap();
        assert_eq!(attempts(&queue), 3);
    }
}

/// In a table without a key, which is theirs to leave so. What holds the place on SQL Server is a hint in one statement; here who comes
/// second is seen to wait.
#[test]
fn two_first_settings_make_one_row() {
    for database in Database::each().into_iter().filter(|database| !database.is_sql_server()) {
        database.run(TABLES[1]);
        database.run("CREATE TABLE loose (param text, valint integer)");
        install(&database.config(&[]), Some(&spec(r#", "settings": {"name": "loose"}"#))).unwrap();
        let (mut first, mut looker, queue) = (database.session(), database.session(), open(&database));
        std::thread::scope(|scope| {
            let second = first
                .transaction(|first| {
                    first.execute("INSERT INTO loose (param, valint) VALUES ('job.maxAttempts', 7)", &[])?;
                    let second = scope.spawn(|| queue.set_setting("maxAttempts", Some(8)));
                    let waits = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = 'loose'::regclass";
                    while look(&mut looker, waits) == "0" && !second.is_finished() {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                    Ok(second)
                })
                .unwrap();
            second.join().unwrap().unwrap();
        });
        assert_eq!(database.look("SELECT string_agg(valint::text, ',') FROM loose"), "8");
    }
}

#[test]
fn a_table_that_does_not_fit_is_refused() {
    for database in Database::each() {
        database.run(database.pick(TABLES[0], TABLES[1]));
        for (settings, words) in [
            (r#", "settings": "NoSettings""#, "there is no such table, which table.settings names"),
            (r#", "settings": {"name": "AppSettings", "value": "ValIntt"}"#, "table.settings.value names"),
            (
                r#", "settings": {"name": "AppSettings", "value": "ValText"}"#,
                "table.settings.value has to be a whole number",
            ),
            (r#", "settings": {"name": "AppSettings", "param": "ValInt"}"#, "table.settings.param has to be text"),
        ] {
            let error = install(&database.config(&[]), Some(&spec(settings))).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
            assert!(error.message().contains(words), "{words}: {error}");
        }
        // A name is a name.
        let hostile = spec(r#", "settings": {"name": "x]; DROP TABLE Jobs--", "value": "\"; --"}"#);
        assert!(install(&database.config(&[]), Some(&hostile)).is_err());
        assert_eq!(database.look("SELECT COUNT(*) FROM Jobs"), "0");
    }
}

/// The setting wins over the description, and the handle over both.
#[test]
fn a_claim_says_how_long_its_lease_is() {
    const OWN: &str = r#"{"queue": "Own", "columns": [{"name": "N", "type": "integer", "nullable": false}]}"#;
    let ms = |ms| Some(Duration::from_millis(ms));
    for database in Database::each() {
        database.run(database.pick(TABLES[0], TABLES[1]));
        for spec in [QueueSpec::from_json(OWN).unwrap(), spec("")] {
            install(&database.config(&[]), Some(&spec)).unwrap();
            let name = spec.queue.as_str();
            let queue = Queue::open(&database.config(&[]), name).unwrap();
            assert_eq!(granted(&queue), Some(queue.lease()), "{name}: as described");
            queue.set_setting("leaseMs", Some(90_000)).unwrap();
            assert_eq!(granted(&queue), ms(90_000), "{name}: as set");
            assert_ne!(queue.lease(), Duration::from_millis(90_000), "{name}: the handle does not know");
            let asks = Queue::open(&database.config(&[("lease.ms", "70000")]), name).unwrap();
            assert_eq!(granted(&asks), ms(70_000), "{name}: as asked for");
            assert_eq!(asks.claim(1, Duration::ZERO).unwrap().lease(), None, "{name}: nothing is claimed");
        }
    }
}

/// Renewals by hand go by the handle's lease, which is longer than the one that the server grants.
#[test]
fn a_renewal_is_in_time_for_the_lease_that_was_granted() {
    const OWN: &str = r#"{"queue": "Own", "columns": [{"name": "N", "type": "integer", "nullable": false}]}"#;
    for database in Database::each() {
        install(&database.config(&[]), Some(&QueueSpec::from_json(OWN).unwrap())).unwrap();
        let queue = Queue::open(&database.config(&[]), "Own").unwrap();
        queue.set_setting("leaseMs", Some(3000)).unwrap();
        let asks = || {
            database.look(
                database.pick("SELECT LeaseUntil FROM [readpast].Own", "SELECT lease_until::text FROM readpast.own"),
            )
        };
        let columns = json!({"N": 1}).as_object().unwrap().clone();
        queue.enqueue(&[NewItem { columns: columns.into(), ..NewItem::default() }], None).unwrap();
        let batch = queue.claim(1, Duration::ZERO).unwrap();
        let before = asks();
        let renewal = Renewal::start(&queue, &batch, Duration::from_secs(86_400)).unwrap();
        until("the lease is renewed", || asks() != before);
        assert_eq!(renewal.lost(), Vec::<String>::new());
    }
}

/// A worker whose handle believes in a longer lease keeps its item.
#[test]
fn a_worker_renews_by_the_lease_that_was_granted() {
    const OWN: &str = r#"{"queue": "Own", "columns": [{"name": "N", "type": "integer", "nullable": false}]}"#;
    for database in Database::each() {
        install(&database.config(&[]), Some(&QueueSpec::from_json(OWN).unwrap())).unwrap();
        let queue = Queue::open(&database.config(&[]), "Own").unwrap();
        queue.set_setting("leaseMs", Some(3000)).unwrap();
        let columns = json!({"N": 1}).as_object().unwrap().clone();
        queue.enqueue(&[NewItem { columns: columns.into(), ..NewItem::default() }], None).unwrap();
        let engine = Engine::new(&queue, WorkerTerms::default());
        let Taken::Items(batch) = engine.take(1, Duration::from_secs(600)).unwrap() else { panic!("nothing came") };
        let until_when = || {
            let own = "SELECT LeaseUntil FROM [readpast].Own";
            database.look(database.pick(own, "SELECT lease_until::text FROM readpast.own"))
        };
        for _ in 0..3 {
            let before = until_when();
            until("the lease is renewed", || until_when() != before);
        }
        let item = batch.get(0).unwrap();
        assert!(!engine.is_lost(item.key(), item.attempt()));
        assert_eq!(engine.end(&[Settlement::new(&item, Action::Complete)]), [Answer::Ok]);
        engine.close(Duration::from_secs(600)).unwrap();
        assert_eq!(engine.figures().settled, 1);
    }
}
