//! Pauses of a queue and of its types, by each way to claim. On both servers.

use readpast::engine::{Engine, Taken, WorkerTerms};
use readpast::error::ErrorKind;
use readpast::item::{Action, Columns, Filter, ItemState, NewItem, PauseEnd, Settlement, Why};
use readpast::{Dialect, Queue, QueueSpec, Value, Worker, drop_queue, install};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::both::Database;
use support::limit::{SOON, until};
use support::matrix;
use support::scratch::{Scratch, administer, changed, config};

const HOUR: Duration = Duration::from_secs(3600);

fn open(database: &Database, more: &serde_json::Value) -> Queue {
    let mut spec = json!({"queue": "Job", "types": ["A", "B"], "columns": [{"name": "N", "type": "integer"}]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
    Queue::open(&database.config(&[]), "Job").unwrap()
}

fn put(queue: &Queue, kind: &str, n: i32) {
    let item = NewItem { kind: Some(kind.to_owned()), columns: Columns::from_iter([("N", n)]), ..NewItem::default() };
    queue.enqueue(&[item], None).unwrap();
}

/// The numbers of what a claim takes.
fn taken(queue: &Queue) -> Vec<i64> {
    let number = |value| match value {
        Some(Value::Integer(n)) => n,
        other => panic!("{other:?}"),
    };
    queue.claim(10, Duration::ZERO).unwrap().iter().map(|item| number(item.value_of("N"))).collect()
}

/// Has all pauses end now.
fn end_all(database: &Database) {
    let text = database.pick(
        "UPDATE [readpast].QueuePause SET [Until] = SYSUTCDATETIME()",
        "UPDATE readpast.queue_pause SET until = clock_timestamp()",
    );
    database.session().execute(text, &[]).unwrap();
}

#[test]
fn nothing_of_a_paused_queue_is_claimed_in_any_table() {
    let mut tried = 0;
    for (name, spec) in matrix::specs() {
        let (kind, option) = name.split_once('_').unwrap();
        if !["plain", "group", "by_type", "by_step", "by_kind", "shards", "own_types"].contains(&option)
            || kind == "claimed"
        {
            continue;
        }
        for database in Database::each() {
            if !database.is_sql_server() {
                database.run("CREATE SCHEMA dbo");
            }
            // Not each server that speaks T-SQL takes the column of shards.
            if option == "shards" && !database.heeds_lock_hints() {
                continue;
            }
            tried += 1;
            install(&database.config(&[]), Some(&spec)).unwrap_or_else(|error| panic!("{name}: {error}"));
            let queue = Queue::open(&database.config(&[]), "Job").unwrap();
            let by_kind = match option {
                "by_type" => [Some(("worker.types", r#"["A"]"#)), None],
                "own_types" if kind == "own" => [Some(("worker.types", r#"["A"]"#)), None],
                "by_step" => [Some(("worker.steps", r#"[""]"#)), None],
                "by_kind" => [Some(("worker.types", r#"["A"]"#)), Some(("worker.steps", r#"[""]"#))],
                _ => [None, None],
            };
            let settings: Vec<_> = by_kind.into_iter().flatten().collect();
            let of_kind = Queue::open(&database.config(&settings), "Job").unwrap();
            let has_types = spec.types.len() > 1 && kind != "bare";
            let item = |rank: i32| {
                let mut columns = json!({"Rank": rank, "Customer": format!("c{rank}")});
                if kind == "whole" {
                    columns["Region"] = json!("r");
                }
                NewItem {
                    kind: has_types.then(|| if rank % 2 == 1 { "A" } else { "B" }.to_owned()),
                    columns: Columns::from_json(&columns.to_string()).unwrap(),
                    ..NewItem::default()
                }
            };
            let claim = |queue: &Queue, most| queue.claim(most, Duration::ZERO).unwrap().len();
            queue.enqueue(&(1..=4).map(item).collect::<Vec<_>>(), None).unwrap();
            queue.pause_queue(None, PauseEnd::Resumed, None).unwrap_or_else(|error| panic!("{name}: {error}"));
            for by in [&queue, &of_kind] {
                assert_eq!(claim(by, 10), 0, "{name}");
            }
            assert!(queue.resume_queue(None).unwrap(), "{name}");
            if has_types {
                queue.pause_queue(Some("B"), PauseEnd::After(HOUR), None).unwrap();
                assert_eq!(claim(&of_kind, 1), 1, "{name}");
                assert_eq!(claim(&queue, 10), 1, "{name}");
                for by in [&queue, &of_kind] {
                    assert_eq!(claim(by, 10), 0, "{name}");
                }
                assert!(queue.resume_queue(Some("B")).unwrap());
                assert_eq!(claim(&queue, 10), 2, "{name}");
            } else {
                let refused = queue.pause_queue(Some("A"), PauseEnd::Resumed, None).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::Unsupported, "{name}: {refused}");
                assert_eq!(claim(&queue, 10), 4, "{name}");
            }
        }
    }
    assert!(tried > 15, "{tried}");
}

#[test]
fn a_type_waits_and_the_others_go_on() {
    for database in Database::each() {
        for (claim_by, shards) in [(json!([]), None), (json!(["type"]), None), (json!([]), Some(4))] {
            if shards.is_some() && !database.heeds_lock_hints() {
                continue;
            }
            let mut more = json!({"claim_by": claim_by});
            if let Some(shards) = shards {
                more["shards"] = json!(shards);
            }
            let queue = open(&database, &more);
            let other = Queue::open(&database.config(&[]), "Job").unwrap();
            for n in 0..6 {
                put(&queue, ["A", "B"][n as usize % 2], n);
            }
            other.on_behalf_of("ann").pause_queue(Some("A"), PauseEnd::Resumed, Some("the bank is down")).unwrap();
            // Another handle, that of a worker that began before, and items that come meanwhile.
            put(&queue, "A", 6);
            put(&queue, "B", 7);
            let mut claimed = taken(&queue);
            claimed.sort_unstable();
            assert_eq!(claimed, [1, 3, 5, 7]);
            assert!(taken(&Queue::open(&database.config(&[]), "Job").unwrap()).is_empty(), "one that begins later");
            other.pause_queue(Some("B"), PauseEnd::Resumed, None).unwrap();
            put(&queue, "B", 8);
            assert!(taken(&queue).is_empty());
            assert!(other.resume_queue(Some("A")).unwrap() && !other.resume_queue(Some("A")).unwrap());
            assert!(!other.resume_queue(None).unwrap(), "the queue itself was not paused");
            let mut claimed = taken(&queue);
            claimed.sort_unstable();
            assert_eq!(claimed, [0, 2, 4, 6]);
            other.resume_queue(Some("B")).unwrap();
            assert_eq!(taken(&queue), [8]);
            drop_queue(&database.config(&[]), "Job").unwrap();
        }
    }
}

#[test]
fn items_in_work_go_on_and_those_given_back_wait() {
    for database in Database::each() {
        let queue = open(&database, &json!({"backoff": "none"}));
        for n in 0..4 {
            put(&queue, "A", n);
        }
        let batch = queue.claim(3, Duration::ZERO).unwrap();
        queue.pause_queue(None, PauseEnd::Resumed, None).unwrap();
        let item = |n| batch.get(n).unwrap();
        // Settled with a claim of the next in the same call.
        let engine = Engine::new(&queue, WorkerTerms::default());
        queue
            .settle(&[Settlement::new(&item(0), Action::Complete), Settlement::new(&item(1), Action::Retry)], None)
            .unwrap();
        assert!(matches!(engine.take(10, Duration::from_millis(50)).unwrap(), Taken::Nothing));
        engine.close(None).unwrap();
        // The lease of a dead worker is taken back all the same.
        database
            .session()
            .execute(
                database.pick(
                    "UPDATE [readpast].Job SET LeaseUntil = StartedAt WHERE Status = 'Processing'",
                    "UPDATE readpast.job SET lease_until = started_at WHERE status = 'Processing'",
                ),
                &[],
            )
            .unwrap();
        let recovering = Queue::open(&database.config(&[("recover.interval_ms", "10")]), "Job").unwrap();
        until("the item of the dead worker is given back", || {
            assert!(recovering.claim(10, Duration::from_millis(20)).unwrap().is_empty());
            queue.stats().unwrap().count(ItemState::Processing) == 0
        });
        let stats = queue.stats().unwrap();
        assert_eq!((stats.count(ItemState::Completed), stats.due), (1, 3));
        queue.resume_queue(None).unwrap();
        let mut claimed = taken(&queue);
        while claimed.len() < 3 {
            claimed.extend(taken(&queue));
        }
        claimed.sort_unstable();
        assert_eq!(claimed, [1, 2, 3], "one of them alone, since its worker died");
    }
}

#[test]
fn a_pause_ends_by_the_clock_of_the_server() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        put(&queue, "A", 1);
        queue.pause_queue(None, PauseEnd::After(HOUR), None).unwrap();
        assert!(taken(&queue).is_empty());
        end_all(&database);
        assert!(queue.pauses().unwrap().is_empty());
        assert_eq!(taken(&queue), [1]);
        let marks = database.pick(
            "UPDATE [readpast].QueueRefused SET [Until] = SYSUTCDATETIME()",
            "UPDATE readpast.queue_refused SET until = clock_timestamp()",
        );
        database.session().execute(marks, &[]).unwrap();
        let recovering = Queue::open(&database.config(&[("recover.interval_ms", "10")]), "Job").unwrap();
        let left = database
            .pick("SELECT COUNT(*) FROM [readpast].QueueRefused", "SELECT COUNT(*) FROM readpast.queue_refused");
        until("claims go around it no longer", || {
            assert!(taken(&recovering).is_empty());
            database.look(left) == "0"
        });
        assert!(!queue.resume_queue(None).unwrap(), "it is over");

        // A claim that waits takes what is there once the pause has ended.
        put(&queue, "B", 2);
        for kind in [None, Some("B")] {
            queue.pause_queue(kind, PauseEnd::After(Duration::from_millis(1500)), None).unwrap();
            let begun = Instant::now();
            let batch = queue.claim(1, SOON).unwrap();
            assert_eq!(batch.len(), 1);
            assert!(begun.elapsed() > Duration::from_millis(1000), "not before");
            let item = batch.get(0).unwrap();
            queue.settle(&[Settlement::new(&item, Action::Release)], None).unwrap();
        }
        let refused = queue.pause_queue(None, PauseEnd::At(std::time::SystemTime::UNIX_EPOCH + HOUR), None);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
        let refused = queue.pause_queue(Some("C"), PauseEnd::Resumed, None).unwrap_err();
        assert!(refused.message().contains("no type \"C\""), "{refused}");
    }
}

#[test]
fn an_idle_worker_begins_again_when_another_process_resumes() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        queue.pause_queue(None, PauseEnd::Resumed, None).unwrap();
        put(&queue, "A", 1);
        // Another connection string is another process.
        let other = format!("{}{}", database.connection(), database.pick("WSID=other;", "Fetch=10;"));
        let worker = Queue::open(&database.config(&[("connection", &other)]), "Job").unwrap();
        let worker = Worker::new(&worker);
        let (stop, done) = (worker.stop_handle(), AtomicBool::new(false));
        thread::scope(|scope| {
            let working = scope.spawn(|| worker.run(|_| done.store(true, Ordering::SeqCst)));
            until("it has made a claim", || !queue.workers().unwrap().is_empty());
            assert!(!done.load(Ordering::SeqCst), "it is paused");
            queue.resume_queue(None).unwrap();
            until("the worker has taken it", || done.load(Ordering::SeqCst));
            stop.stop();
            working.join().unwrap().unwrap();
        });
    }
}

#[test]
fn procedures_called_by_hand_find_nothing_in_a_paused_queue() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        put(&queue, "A", 1);
        put(&queue, "B", 2);
        queue.pause_queue(None, PauseEnd::Resumed, None).unwrap();
        let is_sql_server = database.is_sql_server();
        let call = |name: &str, arguments: &str| {
            if is_sql_server {
                format!("EXECUTE [readpast].[{name}] {arguments}")
            } else {
                let name =
                    readpast::ident::QueueName::new(name).map_or(name.to_ascii_lowercase(), |name| name.snake_case());
                format!("SELECT * FROM readpast.{name}({arguments})")
            }
        };
        let rows = |name: &str, arguments: &str| {
            let mut session = database.session();
            if name.ends_with("_utx") {
                return session.transaction(|session| session.execute(&call(name, arguments), &[])).unwrap().len();
            }
            session.execute(&call(name, arguments), &[]).unwrap().len()
        };
        for name in ["Next_Job_trx", "Next_Job_utx"] {
            assert_eq!(rows(name, "'w'"), 0, "{name}");
        }
        for name in ["Next_Job_Set_trx", "Next_Job_Apart_trx"] {
            let text = call(name, "'w', 5");
            assert_eq!(database.look(&text).split(' ').next(), Some("EMPTY"), "{name}");
        }
        queue.resume_queue(None).unwrap();
        queue.pause_queue(Some("A"), PauseEnd::Resumed, None).unwrap();
        assert_eq!(rows("Next_Job_trx", "'w'"), 1);
        assert_eq!(rows("Next_Job_trx", "'w'"), 0);
        queue.resume_queue(Some("A")).unwrap();
        assert_eq!(rows("Next_Job_utx", "'w'"), 1);
    }
}

#[test]
fn figures_and_reasons_name_the_pause() {
    for database in Database::each() {
        let queue = open(&database, &json!({})).on_behalf_of("ann");
        put(&queue, "A", 1);
        put(&queue, "B", 2);
        assert!(queue.watch(100).unwrap().pauses.is_empty() && queue.pauses().unwrap().is_empty());
        queue.pause_queue(Some("A"), PauseEnd::Resumed, Some("a \"b\"\n<c>")).unwrap();
        let key = |kind: &str| {
            let found = queue.find(&Filter { types: vec![kind.to_owned()], ..Filter::default() }, None, 9).unwrap();
            found.get(0).unwrap().key().to_owned()
        };
        let why = |kind: &str| queue.why(&key(kind)).unwrap().unwrap();
        assert!(matches!(why("B"), Why::Waiting { .. }), "{:?}", why("B"));
        let Why::QueuePaused(pause) = why("A") else { panic!("{:?}", why("A")) };
        assert_eq!((pause.kind.as_deref(), pause.who.as_str()), (Some("A"), "ann"));
        queue.pause_queue(None, PauseEnd::After(HOUR), None).unwrap();
        let pauses = queue.pauses().unwrap();
        assert_eq!(queue.watch(100).unwrap().pauses, pauses);
        assert_eq!(pauses.len(), 2);
        assert!(pauses[0].kind.is_none() && pauses[0].until.is_some() && pauses[0].reason.is_none());
        assert_eq!((&pauses[1].until, pauses[1].reason.as_deref()), (&None, Some("a \"b\"\n<c>")));
        assert!(!pauses[1].login.is_empty());
        assert!(matches!(why("B"), Why::QueuePaused(_)));
        // A second begin changes the end, and not since when it is.
        queue.on_behalf_of("bob").pause_queue(None, PauseEnd::Resumed, Some("for longer")).unwrap();
        let changed = queue.pauses().unwrap().remove(0);
        assert_eq!((&changed.since, changed.until, changed.who.as_str()), (&pauses[0].since, None, "bob"));
        queue.resume_queue(None).unwrap();
        let found = queue.actions(false, None, 9).unwrap();
        let found: Vec<_> = found.iter().map(|of| (of.verb.as_str(), of.who.as_str(), of.filter.as_deref())).collect();
        let of_queue = Some(r#"{"type":null}"#);
        let expected = [
            ("resume queue", "ann", of_queue),
            ("pause queue", "bob", of_queue),
            ("pause queue", "ann", of_queue),
            ("pause queue", "ann", Some(r#"{"type":"A"}"#)),
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn an_install_keeps_a_pause_and_a_drop_ends_it() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        queue.pause_queue(None, PauseEnd::Resumed, None).unwrap();
        if database.dialect == Dialect::Postgres {
            assert_eq!(open(&database, &json!({"lease": {"ms": 20_000}})).pauses().unwrap().len(), 1);
        }
        drop_queue(&database.config(&[]), "Job").unwrap();
        assert!(open(&database, &json!({})).pauses().unwrap().is_empty(), "a new queue of the name");
    }
}

#[test]
fn a_schedule_puts_its_item_in_and_it_waits() {
    for database in Database::each() {
        let item = json!({"columns": {"N": 7}});
        let schedule = json!([{"name": "s", "cron": "0 3 29 2 *", "zone": "UTC", "item": item}]);
        let queue = open(&database, &json!({"schedule": schedule}));
        queue.pause_queue(None, PauseEnd::Resumed, None).unwrap();
        assert_eq!(queue.run_schedule("s").unwrap().0, "FIRED");
        assert!(taken(&queue).is_empty());
        queue.resume_queue(None).unwrap();
        assert_eq!(taken(&queue), [7]);
    }
}

#[test]
fn a_queue_that_other_procedures_claim_from_is_not_paused() {
    let scratch = Scratch::empty();
    scratch.run(
        "CREATE TABLE jobs (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, state integer NOT NULL DEFAULT 0, began timestamptz, holder text)",
    );
    scratch.run("CREATE FUNCTION take(holder_ text) RETURNS SETOF bigint LANGUAGE sql AS $$ SELECT id FROM jobs $$");
    let spec = QueueSpec::from_json(
        r#"{"queue": "JobsOfOthers", "columns": [], "procedures": {"next": "take"}, "lease": {"kind": "fixed"},
        "table": {"name": "jobs", "key": ["id"], "lifecycle": {"started": "began", "owner": "holder"}, "states": {
            "Pending": {"state": 0, "began": {"is": "null"}}, "Processing": {"state": 0, "began": {"is": "set"}},
            "Completed": {"state": 1}}}}"#,
    );
    install(&scratch.config(&[]), Some(&spec.unwrap())).unwrap();
    let queue = Queue::open(&scratch.config(&[]), "JobsOfOthers").unwrap();
    let refused = queue.pause_queue(None, PauseEnd::Resumed, None).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    assert!(queue.pauses().unwrap().is_empty());
}

#[test]
fn an_operator_pauses_and_a_worker_sees_it() {
    let mut scratch = Scratch::empty();
    let roles = ["worker", "operator"].map(|role| format!("{}_{role}", scratch.name));
    let spec = json!({"queue": "Job", "types": ["A", "B"], "columns": [{"name": "N", "type": "integer"}],
        "roles": {"worker": roles[0], "operator": roles[1]}});
    install(&scratch.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
    let logins = roles.each_ref().map(|role| {
        let login = scratch.role();
        administer(&format!("GRANT \"{role}\" TO {login}"));
        login
    });
    let [worker, operator] = logins.each_ref().map(|login| {
        let connection = changed(&scratch.connection(), &[("Uid", login), ("Pwd", "p")]);
        Queue::open(&config(&connection, &[]), "Job").unwrap()
    });
    put(&operator, "A", 1);
    for refused in [worker.pause_queue(None, PauseEnd::Resumed, None), worker.resume_queue(None).map(drop)] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
    operator.pause_queue(None, PauseEnd::Resumed, Some("why")).unwrap();
    assert!(taken(&worker).is_empty());
    assert_eq!(worker.pauses().unwrap()[0].login, logins[1]);
    assert_eq!(worker.watch(10).unwrap().pauses.len(), 1);
    assert!(operator.resume_queue(None).unwrap());
    assert_eq!(taken(&worker), [1]);
    for role in &roles {
        scratch.run(&format!("DROP OWNED BY \"{role}\""));
        administer(&format!("DROP ROLE \"{role}\""));
    }
}
