//! Schedules: items that workers put in at planned times. On both servers.

use readpast::engine::{Engine, Taken, WorkerTerms};
use readpast::item::{Missed, NewItem, Overlap, Schedule, ScheduleChange};
use readpast::{
    Action, Columns, ErrorKind, Filter, ItemState, Queue, QueueSpec, Settlement, Value, Worker, drop_queue, install,
};
use serde_json::json;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use support::both::Database;
use support::limit::{SOON, until};

fn spec(schedules: &serde_json::Value) -> QueueSpec {
    let spec = json!({
        "queue": "Report", "types": ["Daily", "Other"], "schedule": schedules,
        "columns": [{"name": "N", "type": "integer", "nullable": false}],
    });
    QueueSpec::from_json(&spec.to_string()).unwrap()
}

fn open(database: &Database, schedules: &serde_json::Value) -> Queue {
    install(&database.config(&[]), Some(&spec(schedules))).unwrap();
    Queue::open(&database.config(&[]), "Report").unwrap()
}

/// A leap day's: no test lasts until then.
fn on_leap_days(name: &str, n: i32) -> serde_json::Value {
    json!({"name": name, "cron": "0 3 29 2 *", "zone": "Europe/Zurich", "item": {"type": "Other", "columns": {"N": n}}})
}

/// A change that makes a schedule.
fn made(cron: &str, n: i32) -> ScheduleChange {
    let item = NewItem { columns: Columns::from_iter([("N", n)]), ..NewItem::default() };
    ScheduleChange {
        cron: Some(cron.to_owned()),
        zone: Some("UTC".to_owned()),
        item: Some(item),
        ..ScheduleChange::default()
    }
}

fn one(queue: &Queue, name: &str) -> Schedule {
    queue.schedules().unwrap().into_iter().find(|schedule| schedule.name == name).unwrap()
}

/// Has the planned times of all schedules be so many seconds ago. The process of this handle learns it.
fn set_back(database: &Database, queue: Option<&Queue>, seconds: i32) {
    let text = database.pick(
        "UPDATE [readpast].QueueSchedule SET NextAt = CAST(DATEADD(SECOND, -{}, SYSUTCDATETIME()) AS datetime2(0))",
        "UPDATE readpast.queue_schedule SET next_at = date_trunc('second', clock_timestamp()) - interval '{} seconds'",
    );
    database.session().execute(&text.replace("{}", &seconds.to_string()), &[]).unwrap();
    if let Some(queue) = queue {
        let name = queue.schedules().unwrap()[0].name.clone();
        queue.set_schedule(&name, &ScheduleChange::default()).unwrap();
    }
}

/// Works until the queue is empty: the numbers of the items.
fn drain(database: &Database) -> Vec<i64> {
    let queue = Queue::open(&database.config(&[]), "Report").unwrap();
    let done = Mutex::new(Vec::new());
    Worker::new(&queue)
        .until_empty(true)
        .run(|item| {
            if let Some(Value::Integer(n)) = item.item().value_of("N") {
                done.lock().unwrap().push(n);
            }
        })
        .unwrap();
    let mut done = done.into_inner().unwrap();
    done.sort_unstable();
    done
}

fn count(queue: &Queue) -> usize {
    queue.find(&Filter::default(), None, 1000).unwrap().len()
}

#[test]
fn a_look_goes_on_while_more_are_due() {
    for database in Database::each() {
        let many: Vec<_> = (0..90).map(|n| on_leap_days(&format!("report {n}"), n)).collect();
        drop(open(&database, &json!(many)));
        assert!(drain(&database).is_empty());
        set_back(&database, None, 40);
        assert_eq!(drain(&database), (0..90).collect::<Vec<i64>>());
    }
}

#[test]
fn an_item_is_put_in_at_its_planned_time() {
    for database in Database::each() {
        drop(open(&database, &json!([on_leap_days("daily report", 7)])));
        let look = || one(&Queue::open(&database.config(&[]), "Report").unwrap(), "daily report");
        let planned = look();
        assert!(planned.described && planned.enabled && planned.next_at.is_none() && planned.problem.is_none());
        assert!(planned.upcoming.len() == 5 && planned.words.unwrap().starts_with("At 03:00"));
        assert!(drain(&database).is_empty(), "a worker computes the next time");
        let next = look().next_at.unwrap();
        assert_eq!(look().upcoming[0], next);

        set_back(&database, None, 40);
        assert_eq!(drain(&database), [7]);
        let fired = look();
        assert_eq!((fired.next_at, fired.last_answer.as_deref()), (Some(next), Some("FIRED")));
        assert!(fired.fired_at.unwrap() - fired.last_at.unwrap() >= 40, "{fired:?}");
        let queue = Queue::open(&database.config(&[]), "Report").unwrap();
        let found = queue.get(&fired.last_key.unwrap()).unwrap();
        assert_eq!(found.get(0).unwrap().state(), Some(ItemState::Completed), "the key is that of the item");
        assert_eq!(
            found.get(0).unwrap().value_of("Type").or(found.get(0).unwrap().value_of("type")),
            Some(Value::Text("Other"))
        );
        assert!(drain(&database).is_empty());
        assert_eq!(count(&queue), 1);
    }
}

#[test]
fn one_of_all_calls_for_a_planned_time_puts_the_item_in() {
    for database in Database::each() {
        let queue = open(&database, &json!([on_leap_days("r", 1)]));
        let call = |was: &str, next: &str| {
            let text = database.pick(
                "EXECUTE [readpast].Fire_Report_trx @Name = 'r', @Was = {w}, @Next = {n}, @Adds = 1",
                "SELECT * FROM readpast.fire_report_trx('r', {w}, {n}, TRUE)",
            );
            let rows = database.session().execute(&text.replace("{w}", was).replace("{n}", next), &[]).unwrap();
            match rows.value(0, 0) {
                Value::Text(answer) => answer.to_owned(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(call("'2026-01-01T00:00:00'", "'2026-01-02T00:00:00'"), "GONE", "no time is planned");
        for day in 1..5 {
            let was = if day == 1 { "NULL".to_owned() } else { format!("'2026-01-0{day}T00:00:00'") };
            let next = format!("'2026-01-0{}T00:00:00'", day + 1);
            let answers = Mutex::new(Vec::new());
            thread::scope(|scope| {
                for _ in 0..6 {
                    scope.spawn(|| answers.lock().unwrap().push(call(&was, &next)));
                }
            });
            let answers = answers.into_inner().unwrap();
            assert_eq!(answers.iter().filter(|answer| *answer == "FIRED").count(), 1, "{answers:?}");
            assert_eq!(answers.iter().filter(|answer| *answer == "GONE").count(), 5, "{answers:?}");
        }
        assert_eq!(count(&queue), 4);
    }
}

/// As libraries do whose versions know other rules of a zone: half of the callers think that the next time comes an hour later. All fire what is
/// planned, and no time has two items.
#[test]
fn versions_that_know_other_rules_of_a_zone_put_each_planned_time_in_once() {
    for database in Database::each() {
        let queue = open(&database, &json!([on_leap_days("r", 1)]));
        let planned = database.pick(
            "SELECT CONVERT(varchar(19), NextAt, 126) FROM [readpast].QueueSchedule",
            "SELECT to_char(next_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS') FROM readpast.queue_schedule",
        );
        let fire = |was: &str, next: &str| {
            let text = database.pick(
                "EXECUTE [readpast].Fire_Report_trx @Name = 'r', @Was = {w}, @Next = {n}, @Adds = 1",
                "SELECT * FROM readpast.fire_report_trx('r', {w}, {n}, TRUE)",
            );
            let rows = database.session().execute(&text.replace("{w}", was).replace("{n}", next), &[]).unwrap();
            matches!(rows.value(0, 0), Value::Text("FIRED"))
        };
        assert!(fire("NULL", "'2026-03-01T02:00:00'"), "the first time");
        let mut fired = 1;
        for day in 2..8 {
            let was = database.look(planned);
            let counts = Mutex::new(0);
            thread::scope(|scope| {
                for version in [0, 1, 0, 1] {
                    let (was, fire, counts) = (&was, &fire, &counts);
                    scope.spawn(move || {
                        let next = format!("'2026-03-0{day}T0{}:00:00'", 2 + version);
                        *counts.lock().unwrap() += i32::from(fire(&format!("'{was}'"), &next));
                    });
                }
            });
            assert_eq!(counts.into_inner().unwrap(), 1, "{was}");
            fired += 1;
            let next = database.look(planned);
            assert!(next > was && next.starts_with(&format!("2026-03-0{day}T0")), "{was} {next}");
        }
        assert_eq!(count(&queue), fired);
    }
}

#[test]
fn missed_times_give_one_item_or_each_or_none() {
    for database in Database::each() {
        let queue = open(&database, &json!([]));
        for (n, (name, missed)) in
            [("once", Missed::Once), ("each", Missed::Each), ("skip", Missed::Skip)].into_iter().enumerate()
        {
            let change = ScheduleChange { missed: Some(missed), ..made("@every 1h", n as i32 + 1) };
            assert!(queue.set_schedule(name, &change).unwrap());
        }
        assert!(drain(&database).is_empty());
        set_back(&database, Some(&queue), 3 * 3600 + 100);
        let mut all = drain(&database);
        // Each turn puts one in; the next turn comes at once.
        until("the missed ones are put in", || {
            all.extend(drain(&database));
            all.len() >= 5
        });
        all.sort_unstable();
        assert_eq!(all, [1, 2, 2, 2, 2]);
        let skipped = one(&queue, "skip");
        assert!(skipped.last_at.is_none() && skipped.next_at.is_some(), "{skipped:?}");
        set_back(&database, Some(&queue), 20);
        assert_eq!(drain(&database), [1, 2, 3], "20 seconds are not too late");
    }
}

#[test]
fn no_item_is_put_in_beside_the_last_one_where_that_is_asked() {
    for database in Database::each() {
        let queue = open(&database, &json!([]));
        queue.set_schedule("a", &ScheduleChange { overlap: Some(Overlap::Skip), ..made("@hourly", 1) }).unwrap();
        assert_eq!(queue.run_schedule("a").unwrap().0, "FIRED");
        assert_eq!(queue.run_schedule("a").unwrap(), ("SKIPPED".to_owned(), None), "it waits");
        let batch = queue.claim(1, Duration::ZERO).unwrap();
        let planned = one(&queue, "a").next_at;
        assert_eq!(queue.run_schedule("a").unwrap().0, "SKIPPED", "it is in work");
        let first = one(&queue, "a");
        assert_eq!(
            (first.last_answer.as_deref(), first.next_at),
            (Some("SKIPPED"), planned),
            "a run leaves the planned time"
        );
        let item = batch.get(0).unwrap();
        assert_eq!(queue.get(&first.last_key.unwrap()).unwrap().get(0).unwrap().key(), item.key());
        queue.settle(&[Settlement::new(&item, Action::Complete)], None).unwrap();
        assert_eq!(queue.run_schedule("a").unwrap().0, "FIRED");
        assert_eq!(count(&queue), 2);
    }
}

#[test]
fn schedules_are_made_changed_switched_and_removed_at_run_time() {
    for database in Database::each() {
        let queue = open(&database, &json!([on_leap_days("described", 1)])).on_behalf_of("ann");
        assert!(queue.set_schedule("mine", &made("0 4 29 2 *", 2)).unwrap());
        drain(&database);
        let next = one(&queue, "mine").next_at.unwrap();
        assert!(!queue.set_schedule("mine", &made("0 4 29 2 *", 3)).unwrap());
        assert_eq!(one(&queue, "mine").next_at, Some(next), "the same rule keeps its time");
        assert!(one(&queue, "mine").item.contains('3'));
        // An install leaves what was made at run time, takes back what its description had, and keeps the time of a rule.
        let described = one(&queue, "described").next_at;
        install(&database.config(&[]), Some(&spec(&json!([on_leap_days("described", 9)])))).unwrap();
        assert_eq!(one(&queue, "described").next_at, described);
        assert!(one(&queue, "described").item.contains('9') && one(&queue, "mine").next_at == Some(next));
        install(&database.config(&[]), Some(&spec(&json!([])))).unwrap();
        assert_eq!(queue.schedules().unwrap().len(), 1);

        let off = ScheduleChange { enabled: Some(false), ..ScheduleChange::default() };
        queue.set_schedule("mine", &off).unwrap();
        set_back(&database, Some(&queue), 40);
        assert!(drain(&database).is_empty(), "it is off");
        assert_eq!(queue.run_schedule("mine").unwrap().0, "FIRED", "by hand it runs all the same");
        queue.set_schedule("mine", &ScheduleChange { enabled: Some(true), ..off }).unwrap();
        assert_eq!(one(&queue, "mine").next_at, None, "it begins anew");
        assert_eq!(drain(&database), [3]);
        assert_eq!(one(&queue, "mine").next_at, Some(next));
        assert!(queue.remove_schedule("mine").unwrap() && !queue.remove_schedule("mine").unwrap());
        let found = queue.actions(false, None, 20).unwrap();
        let verbs: Vec<_> = found.iter().map(|action| (action.verb.as_str(), action.who.as_str())).collect();
        let expected = [
            "remove schedule",
            "enable schedule",
            "run schedule",
            "set schedule",
            "disable schedule",
            "set schedule",
            "set schedule",
        ];
        assert_eq!(verbs, expected.map(|verb| (verb, "ann")));
        queue.set_schedule("left", &made("0 4 29 2 *", 2)).unwrap();
        drop_queue(&database.config(&[]), "Report").unwrap();
        assert!(open(&database, &json!([])).schedules().unwrap().is_empty(), "a new queue of the name");
    }
}

#[test]
fn mistakes_are_refused_at_their_place() {
    for database in Database::each() {
        let queue = open(&database, &json!([]));
        let refused = |name: &str, change: &ScheduleChange, place: &str| {
            let error = queue.set_schedule(name, change).unwrap_err();
            assert!(error.message().starts_with(place), "{error:?}");
        };
        refused("", &made("@hourly", 1), "name: ");
        refused("a\nb", &made("@hourly", 1), "name: ");
        refused(&"x".repeat(101), &made("@hourly", 1), "name: ");
        refused("a", &made("61 * * * *", 1), "cron: ");
        refused("a", &ScheduleChange { zone: Some("Mars".to_owned()), ..made("@hourly", 1) }, "zone: ");
        refused("a", &ScheduleChange { item: Some(NewItem::default()), ..made("@hourly", 1) }, "item 0: column \"N\"");
        let due = NewItem { delay_ms: Some(5), ..made("@hourly", 1).item.unwrap() };
        refused("a", &ScheduleChange { item: Some(due), ..made("@hourly", 1) }, "an item of a schedule");
        refused("a", &ScheduleChange { item: None, ..made("@hourly", 1) }, "name: there is no schedule \"a\"");
        assert_eq!(queue.run_schedule("a").unwrap_err().kind(), ErrorKind::InvalidArgument);
        queue.set_schedule("a", &made("@hourly", 1)).unwrap();
        refused("a", &ScheduleChange { cron: Some("x".to_owned()), ..ScheduleChange::default() }, "cron: ");

        // A rule that somebody wrote by hand fires nothing, says why, and holds up no other.
        let text = database.pick(
            "EXECUTE [readpast].Schedule_Report_trx @Name = 'b', @Cron = 'b', @Zone = 'UTC', @Items = '[{\"columns\": {\"N\": 5}}]'",
            "SELECT readpast.schedule_report_trx('b', 'b', 'UTC', '[{\"columns\": {\"N\": 5}}]')",
        );
        database.session().execute(text, &[]).unwrap();
        drain(&database);
        set_back(&database, Some(&queue), 5);
        assert_eq!(drain(&database), [1]);
        assert!(one(&queue, "b").problem.unwrap().starts_with("cron: "));
        let missed = database.pick("]', @Missed = 'no'", "]', missed_ => 'no'");
        for (from, to) in [("]'", missed), ("\"N\"", "\"M\""), ("5}", "5}, \"due\": \"2026-01-01\""), ("'b'", "''")] {
            let refused = database.session().execute(&text.replacen(from, to, 1), &[]);
            assert!(refused.is_err(), "{to}");
        }
        let none = QueueSpec::from_json(r#"{"queue": "Plain", "columns": []}"#).unwrap();
        install(&database.config(&[]), Some(&none)).unwrap();
        let plain = Queue::open(&database.config(&[]), "Plain").unwrap();
        assert_eq!(plain.schedules().unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn a_worker_that_runs_puts_items_in_again_and_again() {
    for database in Database::each() {
        let queue = open(&database, &json!([]));
        let engine = Engine::new(&queue, WorkerTerms::default());
        let (mut made_it, mut ticks) = (false, 0);
        until("it has ticked three times", || {
            if let Taken::Items(batch) = engine.take(10, Duration::from_millis(20)).unwrap() {
                ticks += batch.len();
                let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
                engine.end(&done);
            }
            if !made_it {
                // Made while it runs.
                made_it = queue.set_schedule("tick", &made("@every 1s", 1)).unwrap();
            }
            ticks >= 3
        });
        engine.close(None).unwrap();
    }
}

#[test]
fn described_tables_with_keys_of_two_columns_take_schedules() {
    for database in Database::each() {
        let spec = json!({
            "queue": "Report", "schedule": [],
            "columns": [{"name": "N", "type": "integer"}],
            "table": {
                "name": "Reports", "schema": "readpast", "create": true,
                "key": [{"name": "Site", "type": "text(10)", "source": "producer"}, {"name": "Made", "type": "timestamp", "source": "producer"}],
                "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}},
            },
        });
        install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
        let queue = Queue::open(&database.config(&[]), "Report").unwrap();
        let columns =
            Columns::from_iter([("Site", json!("a'b")), ("Made", json!("2026-01-02T03:04:05")), ("N", json!(4))]);
        let item = Some(NewItem { columns, ..NewItem::default() });
        queue.set_schedule("a", &ScheduleChange { overlap: Some(Overlap::Skip), item, ..made("@hourly", 1) }).unwrap();
        let (answer, key) = queue.run_schedule("a").unwrap();
        assert_eq!(answer, "FIRED");
        assert_eq!(queue.get(&key.unwrap()).unwrap().len(), 1);
        assert_eq!(queue.run_schedule("a").unwrap().0, "SKIPPED");
        assert_eq!(drain(&database), [4]);
    }
}

#[test]
fn many_schedules_that_cannot_fire_hold_up_no_other() {
    for database in Database::each() {
        let queue = open(&database, &json!([]));
        let text = database.pick(
            "INSERT INTO [readpast].QueueSchedule (Queue, Name, Cron, Zone, Items, Missed, Overlap, Described, Enabled)
             SELECT 'Report', CONCAT('bad ', value), 'bad', 'UTC', '[{}]', 'once', 'allow', 0, 1 FROM STRING_SPLIT('1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30', ',')",
            "INSERT INTO readpast.queue_schedule (queue, name, cron, zone, items, missed, overlap, described, enabled)
             SELECT 'report', 'bad ' || n, 'bad', 'UTC', '[{}]', 'once', 'allow', FALSE, TRUE FROM generate_series(1, 30) AS n",
        );
        database.session().execute(text, &[]).unwrap();
        queue.set_schedule("good", &made("@every 1s", 1)).unwrap();
        let engine = Engine::new(&queue, WorkerTerms::default());
        until("the good one has fired", || {
            engine.take(1, Duration::from_millis(20)).unwrap();
            one(&queue, "good").last_at.is_some()
        });
        engine.abandon();
        assert_eq!(queue.schedules().unwrap().iter().filter(|schedule| schedule.problem.is_some()).count(), 30);
    }
}

/// A time with parts of a second, written by hand, is none that a call can name.
#[test]
fn schedules_that_are_not_there_are_not_looked_at_again_and_again() {
    for database in Database::each().into_iter().filter(|database| !database.is_sql_server()) {
        drop(open(&database, &json!([])));
        database.run(
            "INSERT INTO readpast.queue_schedule (queue, name, cron, zone, items, missed, overlap, described, enabled, next_at)
             SELECT 'report', 'odd ' || n, '@daily', 'UTC', '[{}]', 'once', 'allow', FALSE, TRUE, '2026-01-01 00:00:00.5+00'
             FROM generate_series(1, 20) AS n",
        );
        database.run(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET track_functions = pl', current_database()); END $$",
        );
        let queue = Queue::open(&database.config(&[("poll.interval_ms", "100")]), "Report").unwrap();
        assert!(queue.claim(1, Duration::from_secs(3)).unwrap().is_empty());
        queue.close(SOON).unwrap();
        let calls =
            "SELECT COALESCE(SUM(calls), 0)::bigint FROM pg_stat_user_functions WHERE funcname = 'fire_report_trx'";
        until("the server has counted", || database.look(calls) != "0");
        // At once it would be hundreds of looks at all of them.
        let calls: i64 = database.look(calls).parse().unwrap();
        assert!(calls <= 20 * 10, "{calls}");
    }
}

#[test]
fn a_claim_that_waits_puts_in_what_is_planned() {
    for database in Database::each() {
        let queue = open(&database, &json!([]));
        queue.set_schedule("tick", &made("@every 1s", 1)).unwrap();
        // Longer than the machine can need: nobody else puts it in.
        let batch = queue.claim(1, SOON).unwrap();
        assert_eq!(batch.get(0).unwrap().value_of("N"), Some(Value::Integer(1)));
    }
}

#[test]
fn an_item_is_due_at_its_planned_time_in_a_table_of_local_times_too() {
    for database in Database::each() {
        let zone = database.pick(
            "SELECT 1",
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = ''America/New_York''', current_database()); END $$",
        );
        database.session().execute(zone, &[]).unwrap();
        let spec = json!({
            "queue": "Report", "schedule": [], "columns": [{"name": "N", "type": "integer"}],
            "table": {
                "name": "Reports", "schema": "readpast", "create": true, "key": [{"name": "Id", "type": "bigint"}], "time": "local",
                "lifecycle": {"due": "Due"},
                "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}},
            },
        });
        install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
        let queue = Queue::open(&database.config(&[]), "Report").unwrap();
        queue.set_schedule("a", &made("@hourly", 1)).unwrap();
        let fire = database.pick(
            "EXECUTE [readpast].Fire_Report_trx @Name = 'a', @Was = NULL, @Next = '{}', @Adds = {}",
            "SELECT * FROM readpast.fire_report_trx('a', NULL, '{}Z', {} = 1)",
        );
        let fire = |was: Option<&str>, next: &str, adds: &str| {
            let was = was.map_or("NULL".to_owned(), |was| format!("'{was}{}'", database.pick("", "Z")));
            let text = fire.replacen("NULL", &was, 1).replacen("{}", next, 1).replacen("{}", adds, 1);
            database.session().execute(&text, &[]).unwrap();
        };
        fire(None, "2026-07-01T03:00:00", "0");
        fire(Some("2026-07-01T03:00:00"), "2026-07-02T03:00:00", "1");
        // The time of the wall clock: of this server, or of New York.
        let due = database.look(database.pick(
            "SELECT CONVERT(varchar(19), DATEADD(MINUTE, DATEDIFF(MINUTE, SYSDATETIME(), SYSUTCDATETIME()), Due), 126) FROM [readpast].Reports",
            "SELECT to_char(due + interval '4 hours', 'YYYY-MM-DD\"T\"HH24:MI:SS') FROM readpast.reports",
        ));
        assert_eq!(due, "2026-07-01T03:00:00");
    }
}
