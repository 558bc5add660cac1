//! Figures from bounded looks, on both servers: in tables of readpast's own and in adopted ones.

use readpast::item::{Action, Batch, NewItem, Settlement, Value};
use readpast::{ErrorKind, ItemState, Queue, QueueSpec, Watched, install};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use support::both::Database;
use support::scratch::Scratch;

const LIFE: &str = r#""enqueued": "Came", "due": "DueAt", "started": "Began", "duration": "Ran", "attempts": "Tries",
    "owner": "Who", "lease_until": "Until", "step": "Step", "response": "Response", "error": "Error", "token": "Changed""#;

const WHOLE: [&str; 2] = [
    "CREATE TABLE dbo.Tasks (
        Id bigint IDENTITY NOT NULL PRIMARY KEY, N int NOT NULL, State varchar(20) NOT NULL DEFAULT 'Pending',
        Came datetime2 NOT NULL DEFAULT SYSUTCDATETIME(), DueAt datetime2 NULL, Began datetime2 NULL, Ran bigint NULL,
        Tries int NOT NULL DEFAULT 0, Who nvarchar(128) NULL, Until datetime2 NULL, Step nvarchar(60) NULL,
        Response nvarchar(max) NULL, Error nvarchar(max) NULL, Changed datetime2 NOT NULL DEFAULT SYSUTCDATETIME())",
    "CREATE TABLE tasks (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n integer NOT NULL, state text NOT NULL DEFAULT 'Pending',
        came timestamptz NOT NULL DEFAULT clock_timestamp(), dueat timestamptz, began timestamptz, ran bigint,
        tries integer NOT NULL DEFAULT 0, who text, until timestamptz, step text,
        response text, error text, changed timestamptz NOT NULL DEFAULT clock_timestamp())",
];

const BARE: [&str; 2] = [
    "CREATE TABLE dbo.Tasks (Id bigint IDENTITY NOT NULL PRIMARY KEY, N int NOT NULL, State int NOT NULL DEFAULT 0)",
    "CREATE TABLE tasks (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n integer NOT NULL, state integer NOT NULL DEFAULT 0)",
];

/// The rest of a description besides its name and its column, and the table that is there before.
fn kinds() -> Vec<(String, Option<[&'static str; 2]>)> {
    let states: Vec<_> = ItemState::ALL.iter().map(|state| format!("\"{state}\": \"{state}\"")).collect();
    let key = r#""name": "Tasks", "key": [{"name": "Id", "type": "bigint", "source": "table"}]"#;
    let status = format!(r#""status": {{"column": "State", "values": {{{}}}}}"#, states.join(","));
    let few = r#""states": {"Pending": {"State": 0}, "Processing": {"State": 1}, "Completed": {"State": 2}, "Failed": {"State": 3}}"#;
    vec![
        (String::new(), None),
        (r#", "order": {"direction": "lifo", "priority": {"column": "N"}}"#.to_owned(), None),
        (r#", "shards": 3, "order": {"priority": {"column": "N", "first": "lowest"}}"#.to_owned(), None),
        (r#", "order": {"group": "N"}, "completion": {"history": "Job_Done"}"#.to_owned(), None),
        (r#", "types": ["a", "b"], "roles": {"own_types_only": true}, "completion": "delete""#.to_owned(), None),
        (format!(r#", "table": {{{key}, "lifecycle": {{{LIFE}}}, {status}}}"#), Some(WHOLE)),
        (format!(r#", "table": {{{key}, {few}}}"#), Some(BARE)),
    ]
}

fn each(mut test: impl FnMut(&Database, &Queue, &str)) {
    for (kind, table) in kinds() {
        for database in Database::each() {
            if let Some([sql_server, postgres]) = table {
                database.run(database.pick(sql_server, postgres));
            }
            let spec = format!(
                r#"{{"queue": "Job", "columns": [{{"name": "N", "type": "integer", "nullable": false}}],
                    "backoff": {{"first_ms": 3600000, "jitter": 0}}{kind}}}"#
            );
            install(&database.config(&[]), Some(&QueueSpec::from_json(&spec).unwrap())).unwrap();
            println!("{:?} {kind}", database.dialect);
            test(&database, &worker(&database, "w1"), &format!("{:?} {kind}", database.dialect));
        }
    }
}

fn worker(database: &Database, name: &str) -> Queue {
    Queue::open(&database.config(&[("worker", name), ("lease.ms", "600000")]), "Job").unwrap()
}

fn enqueue(queue: &Queue, numbers: std::ops::Range<i32>, delay_ms: Option<i64>) {
    let item = |n: i32| NewItem {
        columns: json!({"N": n}).as_object().unwrap().clone().into(),
        delay_ms,
        ..NewItem::default()
    };
    queue.enqueue(&numbers.map(item).collect::<Vec<_>>(), None).unwrap();
}

fn settle(queue: &Queue, batch: &Batch, action: Action, error: Option<&str>) {
    let settlements: Vec<_> = batch.iter().map(|item| Settlement { error, ..Settlement::new(&item, action) }).collect();
    queue.settle(&settlements, None).unwrap();
}

fn claim(queue: &Queue, max: u32) -> Batch {
    let batch = queue.claim(max, Duration::ZERO).unwrap();
    assert_eq!(batch.len(), max as usize);
    batch
}

/// Items in every state that a worker can lead to, two workers' in flight, and one that is not due.
fn fill(database: &Database, queue: &Queue) {
    enqueue(queue, 0..20, None);
    enqueue(queue, 20..21, Some(3_600_000));
    settle(queue, &claim(queue, 4), Action::Complete, None);
    settle(queue, &claim(queue, 3), Action::Fail, Some("boom\nat line 1"));
    settle(queue, &claim(queue, 1), Action::Fail, Some("<b>bang</b>"));
    settle(queue, &claim(queue, 2), Action::Retry, Some("later"));
    claim(queue, 3);
    claim(&worker(database, "w2"), 1);
}

#[test]
fn secrets_are_shown_to_workers_alone() {
    let secret = r#"{"queue": "Job", "columns": [{"name": "N", "type": "integer", "nullable": false},
        {"name": "Code", "type": "text(20)", "secret": true}]KIND}"#;
    let beside = r#", "table": {"name": "Tasks", "key": [{"name": "Id", "type": "bigint", "source": "table"}],
        "states": {"Pending": {"State": 0}, "Processing": {"State": 1}, "Completed": {"State": 2}}}"#;
    for (kind, table) in [("", None), (beside, Some(BARE))] {
        for database in Database::each() {
            if let Some([sql_server, postgres]) = table {
                let script = database.pick(sql_server, postgres).to_owned();
                database.run(&script.replacen("State", "Code varchar(20) NULL, State", 1).replacen(
                    ", state",
                    ", code varchar(20), state",
                    1,
                ));
            }
            let spec = QueueSpec::from_json(&secret.replace("KIND", kind)).unwrap();
            install(&database.config(&[]), Some(&spec)).unwrap();
            let queue = worker(&database, "w1");
            assert!(queue.spec().is_secret("code") && !queue.spec().is_secret("N"), "it is kept with the queue");
            let columns = json!({"N": 1, "Code": "s3same"}).as_object().unwrap().clone();
            let key = queue
                .enqueue(&[NewItem { columns: columns.into(), ..NewItem::default() }], None)
                .unwrap()
                .remove(0)
                .key;
            let value = |batch: &Batch| {
                let item = batch.get(0).unwrap();
                let found = ["Code", "code"].iter().find_map(|name| item.value_of(name));
                if let Some(Value::Text(text)) = found { Some(text.to_owned()) } else { None }
            };
            assert_eq!(value(&queue.get(&key).unwrap()), None);
            assert_eq!(value(&queue.find(&Default::default(), None, 1).unwrap()), None);
            assert_eq!(value(&claim(&queue, 1)).as_deref(), Some("s3same"));
        }
    }
}

#[test]
fn every_kind_of_table_is_reported() {
    each(|database, queue, kind| {
        let begun = Instant::now();
        fill(database, queue);
        a_small_queue_is_told_exactly(queue, kind, begun);
        workers_and_errors_are_told(queue, kind);
        a_look_ends_at_its_bound_and_says_so(queue, kind);
    });
}

fn a_small_queue_is_told_exactly(queue: &Queue, kind: &str, begun: Instant) {
    let (watched, stats) = (queue.watch(10_000).unwrap(), queue.stats().unwrap());
    let found = &watched.stats;
    assert_eq!(found.counts, stats.counts, "{kind}");
    assert_eq!((found.due, found.expired, found.claimed), (stats.due, stats.expired, 4), "{kind}");
    assert_eq!(found.oldest_due_ms.is_some(), stats.oldest_due_ms.is_some(), "{kind}");
    let of_arrivals = |stats: &readpast::QueueStats| (stats.arrivals_last_hour, stats.workers_needed);
    assert_eq!(of_arrivals(found), of_arrivals(&stats), "{kind}");
    assert_eq!((found.sample, found.claimed_ms), (stats.sample, stats.claimed_ms), "{kind}");
    if is_within_the_minute(begun) {
        assert_eq!(watched.ended_last_minute, found.sample, "{kind}");
    }
    assert!(!watched.window_capped && !watched.due_capped && watched.counts_capped == [false; 9], "{kind}");
}

/// Whether what has ended since then has ended in the last minute: a machine that stalls may take longer.
fn is_within_the_minute(begun: Instant) -> bool {
    begun.elapsed() < Duration::from_secs(50)
}

/// The figures and trend of each type, also of one that no item has.
#[test]
fn types_and_trends_are_reported() {
    let table = r#", "table": {"name": "Tasks", "key": [{"name": "Id", "type": "bigint", "source": "table"}],
        "lifecycle": {"type": "Kind", "enqueued": "Came"}, "states": {"Pending": {"State": 0}, "Processing": {"State": 1},
        "Completed": {"State": 2}, "Failed": {"State": 3}}}"#;
    let adopted = BARE.map(|text| {
        let (kind, came) = (
            "Kind varchar(60) NOT NULL",
            if text.contains("dbo") {
                "Came datetime2 NOT NULL DEFAULT SYSUTCDATETIME()"
            } else {
                "Came timestamptz NOT NULL DEFAULT clock_timestamp()"
            },
        );
        text.replacen('(', &format!("({kind}, {came}, "), 1)
    });
    let kinds = [
        (String::new(), None, true, Some(2)),
        (r#", "completion": {"history": "Job_Done"}"#.to_owned(), None, true, Some(2)),
        (r#", "completion": "delete""#.to_owned(), None, false, None),
        // When a completed item began and ended has no column there.
        (table.to_owned(), Some(&adopted), true, None),
    ];
    for (kind, table, tells, ended) in kinds {
        for database in Database::each() {
            if let Some([sql_server, postgres]) = table {
                database.run(database.pick(sql_server, postgres));
            }
            let spec = format!(
                r#"{{"queue": "Job", "types": ["a", "b", "c"],
                    "columns": [{{"name": "N", "type": "integer", "nullable": false}}]{kind}}}"#
            );
            install(&database.config(&[]), Some(&QueueSpec::from_json(&spec).unwrap())).unwrap();
            let kind = format!("{:?} {kind}", database.dialect);
            let queue = worker(&database, "w1");
            for (of, count) in [("a", 6), ("b", 4)] {
                let item = |n: i32| NewItem {
                    kind: Some(of.to_owned()),
                    columns: json!({"N": n}).as_object().unwrap().clone().into(),
                    ..NewItem::default()
                };
                queue.enqueue(&(0..count).map(item).collect::<Vec<_>>(), None).unwrap();
            }
            settle(&queue, &claim(&queue, 2), Action::Complete, None);
            claim(&queue, 3);
            let watched = queue.watch(10_000).unwrap();
            let types: Vec<_> =
                watched.types.iter().map(|of| (of.name.as_str(), of.waiting, of.due, of.in_flight)).collect();
            assert_eq!(types, [("a", 1, 1, 3), ("b", 4, 4, 0), ("c", 0, 0, 0)], "{kind}");
            let [a, b, c] = watched.types.as_slice() else { panic!("{kind}") };
            assert!(a.oldest_due_ms.is_some() && b.oldest_due_ms.is_some() && c.oldest_due_ms.is_none(), "{kind}");
            let trend = watched.trend(None);
            assert_eq!((trend.counted, trend.depth), (tells && ended.is_some(), 5), "{kind}");
            if tells {
                let arrived: Vec<_> = watched.types.iter().map(|of| of.arrivals_last_hour).collect();
                assert_eq!(arrived, [Some(6), Some(4), Some(0)], "{kind}");
                assert_eq!(
                    watched.types.iter().map(|of| of.workers_needed).collect::<Vec<_>>(),
                    [Some(1), Some(1), Some(0)]
                );
                assert_eq!(trend.depth_in_an_hour, None, "some seconds are no hour: {kind}");
                assert!(trend.window_ms.is_some(), "{kind}");
                assert_eq!((a.ended_per_hour, watched.ended_per_hour), (ended, ended), "{kind}");
                assert_eq!(c.ended_per_hour, ended.map(|_| 0), "{kind}");
            } else {
                assert!(a.arrivals_last_hour.is_none() && a.workers_needed.is_none(), "{kind}");
                assert!(trend.arrivals_per_hour.is_some_and(|many| many > 5), "five within some seconds: {trend:?}");
                assert_eq!(
                    (trend.ended_per_hour, trend.depth_in_an_hour),
                    (None, None),
                    "one look tells no change: {kind}"
                );
                settle(&queue, &claim(&queue, 2), Action::Complete, None);
                let later = queue.watch(10_000).unwrap().trend(Some((&watched, Duration::from_secs(60))));
                // Two a minute fewer wait than came.
                assert_eq!(later.ended_per_hour, later.arrivals_per_hour.map(|many| many + 120), "{kind}");
            }
            // One call: it looks twice where one look cannot tell, and once where it can.
            let alone = queue.trend(10_000, Duration::ZERO).unwrap().1;
            let (_, trend) = queue.trend(10_000, Duration::from_millis(20)).unwrap();
            assert_eq!(
                trend.ended_per_hour.is_some(),
                ended.is_none(),
                "a burst is no rate where it is counted: {kind}"
            );
            assert_eq!((trend.counted, trend.depth), (ended.is_some(), alone.depth), "{kind}");
            queue.interrupt();
            let called_off = queue.trend(10_000, Duration::from_secs(600)).map(|_| ()).map_err(|error| error.kind());
            assert_eq!(called_off, ended.map(|_| ()).ok_or(ErrorKind::Interrupted), "{kind}");
            queue.resume();
            let short = queue.watch(2).unwrap();
            assert!(short.types.iter().all(|of| of.waiting <= 2), "{kind}");
            assert!(short.types.iter().any(|of| of.capped), "{kind}");
        }
    }
}

fn workers_and_errors_are_told(queue: &Queue, kind: &str) {
    let Watched { workers, errors, .. } = queue.watch(10_000).unwrap();
    let held: Vec<_> = workers.iter().map(|holding| (holding.worker.as_str(), holding.items)).collect();
    assert_eq!(held, [("w1", 3), ("w2", 1)], "{kind}");
    assert!(workers.iter().all(|holding| holding.longest_ms.is_some_and(|ms| (0..600_000).contains(&ms))), "{kind}");
    let mut said: Vec<_> = errors.iter().map(|trouble| (trouble.items, trouble.state)).collect();
    said.sort_unstable_by_key(|(items, _)| *items);
    let (failed, error) = (Some(ItemState::Failed), Some(ItemState::Error));
    assert_eq!(said, [(1, failed), (2, error), (3, failed)], "{kind}");
    for trouble in &errors {
        let found = queue.get(&trouble.key).unwrap();
        let item = found.get(0).unwrap();
        assert_eq!(item.state(), trouble.state, "{kind}");
        let whole = ["Error", "ItemError", "item_error"].iter().find_map(|name| item.value_of(name));
        let Some(Value::Text(whole)) = whole else { panic!("{whole:?}: {kind}") };
        assert_eq!(Some(trouble.text.as_str()), whole.lines().next(), "{kind}");
    }
}

fn a_look_ends_at_its_bound_and_says_so(queue: &Queue, kind: &str) {
    let watched = queue.watch(2).unwrap();
    assert!(watched.window_capped && watched.due_capped && watched.window == 2, "{kind}");
    assert!(watched.stats.counts.iter().all(|count| *count <= 2), "{kind}: {:?}", watched.stats.counts);
    assert!(watched.is_capped(ItemState::Pending) && watched.is_capped(ItemState::Processing), "{kind}");
    for most in [0, 1_000_001] {
        let error = queue.watch(most).unwrap_err();
        assert_eq!(error.kind(), readpast::ErrorKind::InvalidArgument);
    }
}

#[test]
fn ends_are_seen_behind_a_long_backlog() {
    for database in Database::each() {
        let spec = r#"{"queue": "Job", "columns": [{"name": "N", "type": "integer", "nullable": false}]}"#;
        install(&database.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
        let queue = worker(&database, "w1");
        enqueue(&queue, 0..40, None);
        let begun = Instant::now();
        settle(&queue, &claim(&queue, 8), Action::Complete, None);
        // The newest ten are all pending; nothing is in flight, and then something is.
        let watched = queue.watch(10).unwrap();
        assert!(watched.ended_last_minute == 8 || !is_within_the_minute(begun), "{watched:?}");
        claim(&queue, 2);
        let watched = queue.watch(10).unwrap();
        assert!(watched.ended_last_minute == 8 || !is_within_the_minute(begun), "{watched:?}");
        assert_eq!((watched.stats.sample, watched.window_capped), (8, true));
    }
}

/// The look takes its part of each shard: the oldest is among them whichever it is of; and one shard may have more than its part.
#[test]
fn a_look_is_at_every_shard() {
    for database in Database::each() {
        let spec = r#"{"queue": "Job", "shards": 4, "columns": [{"name": "N", "type": "integer", "nullable": false}]}"#;
        install(&database.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
        let queue = worker(&database, "w1");
        enqueue(&queue, 0..40, None);
        let nothing_is_old = queue.watch(8).unwrap().stats.oldest_due_ms.unwrap();
        assert!(nothing_is_old < 3_600_000, "{nothing_is_old}");
        let item = |due: &str| NewItem {
            columns: json!({"N": 100}).as_object().unwrap().clone().into(),
            due: Some(due.to_owned()),
            ..NewItem::default()
        };
        // A shard each.
        let old = ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z", "2023-01-01T00:00:00Z"];
        queue.enqueue(&old.map(item), None).unwrap();
        let (few, all) = (queue.watch(8).unwrap(), queue.watch(1_000).unwrap());
        assert!(few.due_capped && few.is_capped(ItemState::Pending) && few.stats.due == 8, "{few:?}");
        assert!(!all.due_capped && !all.is_capped(ItemState::Pending) && all.stats.due == 44, "{all:?}");
        let (few, all) = (few.stats.oldest_due_ms.unwrap(), all.stats.oldest_due_ms.unwrap());
        assert!((all - few).abs() < 3_600_000, "{few} and {all}");

        // The rest is of one shard.
        for _ in 0..3 {
            claim(&queue, 11);
        }
        let (few, all) = (queue.watch(20).unwrap(), queue.watch(1_000).unwrap());
        assert!(few.is_capped(ItemState::Pending) && few.stats.due < 11, "{few:?}");
        assert!(!all.is_capped(ItemState::Pending) && all.stats.due == 11, "{all:?}");
    }
}

/// The figures of a procedure that counts, by name; those of every item, and not of one worker, error or type.
fn figures(database: &Database, call: [&str; 2]) -> BTreeMap<String, Option<i64>> {
    let rows = database.rows(database.pick(call[0], call[1]));
    let figure = |row| match (rows.value(row, 0), rows.value(row, 1)) {
        (Value::Text(name), Value::Integer(number)) => Some((name.to_owned(), Some(number))),
        (Value::Text(name), _) => Some((name.to_owned(), None)),
        _ => None,
    };
    (0..rows.len()).filter_map(figure).collect()
}

/// Items that come and are due at such minutes from now: both servers count the same of them.
#[test]
fn servers_count_alike() {
    let states: Vec<_> = ItemState::ALL.iter().map(|state| format!("\"{state}\": \"{state}\"")).collect();
    let spec = format!(
        r#"{{"queue": "Job", "columns": [{{"name": "N", "type": "integer", "nullable": false}}], "table": {{"name": "Tasks",
            "key": [{{"name": "Id", "type": "bigint", "source": "table"}}], "lifecycle": {{{LIFE}}},
            "status": {{"column": "State", "values": {{{}}}}}}}}}"#,
        states.join(",")
    );
    // State, came, due, began, all in minutes from now, and how long it ran.
    let items = [
        ("Pending", -10, None, None, None),
        ("Pending", -20, Some(30), None, None),
        ("Pending", -5, Some(90), None, None),
        ("Pending", -120, Some(-5), None, None),
        ("Error", -30, Some(10), Some(-25), None),
        ("Completed", -40, None, Some(-39), Some(60_000)),
        ("Completed", -180, None, Some(-170), Some(30_000)),
        ("Processing", -50, None, Some(-1), None),
        // Somebody's clock is fast, or the time is a plan: it has not come.
        ("Pending", 30, Some(40), None, None),
    ];
    for database in Database::each() {
        database.run(database.pick(WHOLE[0], WHOLE[1]));
        install(&database.config(&[]), Some(&QueueSpec::from_json(&spec).unwrap())).unwrap();
        let at = |minutes: Option<i32>| match minutes {
            None => "NULL".to_owned(),
            Some(minutes) if database.is_sql_server() => format!("DATEADD(MINUTE, {minutes}, SYSUTCDATETIME())"),
            Some(minutes) => format!("now() + {minutes} * interval '1 minute'"),
        };
        for (state, came, due, began, ran) in items {
            let ran = ran.map_or("NULL".to_owned(), |ran: i64| ran.to_string());
            let until = at((state == "Processing").then_some(9));
            let times = format!("{}, {}, {}", at(Some(came)), at(due), at(began));
            let names = "N, State, Came, DueAt, Began, Ran, Until";
            database.run(&format!("INSERT INTO Tasks ({names}) VALUES (1, '{state}', {times}, {ran}, {until})"));
        }
        let watched = figures(&database, ["EXECUTE [readpast].[Watch_Job]", "SELECT * FROM readpast.watch_job()"]);
        let counted = figures(&database, ["EXECUTE [readpast].[Stats_Job]", "SELECT * FROM readpast.stats_job()"]);
        for (name, expected) in [
            ("count.Pending", 5),
            ("count.Error", 1),
            ("due.count", 2),
            ("arrivals.last_hour", 6),
            ("sample.items", 2),
            ("claimed.mean_ms", 45_000),
            ("claimed.count", 1),
            ("lease.expired", 0),
        ] {
            assert_eq!(
                (watched[name], counted[name]),
                (Some(expected), Some(expected)),
                "{name} of {:?}",
                database.dialect
            );
        }
        for (name, expected) in [("due.within_hour", 3), ("came.last_hour", 4), ("came.waiting", 5)] {
            assert_eq!(watched[name], Some(expected), "{name} of {:?}", database.dialect);
        }
        // Six an hour, each 45 s: less than one worker.
        assert_eq!(counted["workers.needed"], Some(1), "{:?}", database.dialect);
    }
}

/// The first line of each error is shown: long ones cost no more than the server takes.
#[test]
fn long_errors_are_looked_at_by_their_beginning() {
    let scratch = Scratch::empty();
    let own = r#"{"queue": "Own", "columns": [{"name": "n", "type": "integer"}]}"#;
    let beside = r#"{"queue": "Beside", "columns": [{"name": "n", "type": "integer"}], "table": {"name": "work", "create": true,
        "key": [{"name": "id", "type": "bigint", "source": "table"}], "lifecycle": {"error": "error"},
        "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}}"#;
    for (text, fill) in [
        (
            own,
            "INSERT INTO readpast.own (enqueued_at, type, status, attempt_num, scheduled_for, updated_at, error) \
             SELECT t, 'Default', 'Failed', 1, t, t, e FROM LONG",
        ),
        (beside, "INSERT INTO work (state, error) SELECT 3, e FROM LONG"),
    ] {
        let spec = QueueSpec::from_json(text).unwrap();
        install(&scratch.config(&[]), Some(&spec)).unwrap();
        let long = "(SELECT timestamptz '2026-01-01' + n * interval '1 s' AS t, 'it failed' || repeat('x', 300) || E'\\n' \
                    || repeat('y', 1000000) AS e FROM generate_series(1, 1200) AS n) AS l";
        scratch.run(&fill.replace("LONG", long));
        let queue = Queue::open(&scratch.config(&[]), spec.queue.as_str()).unwrap();
        let errors = queue.watch(10_000).unwrap().errors;
        let first_line = format!("it failed{}", "x".repeat(191));
        assert_eq!(errors.len(), 1, "{text}");
        assert_eq!((errors[0].text.as_str(), errors[0].items), (first_line.as_str(), 1_200), "{text}");
    }
}
