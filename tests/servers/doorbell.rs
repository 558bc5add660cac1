//! The doorbell: who adds to a queue wakes a process that sleeps over it, by a notification of PostgreSQL. The looks of the poller are
//! taken away in these tests, and the pauses of the threads are an hour, so that only a ring can wake one.

use readpast::engine::{Taken, WorkerTerms};
use readpast::error::ErrorKind;
use readpast::for_tests::Session;
use readpast::item::{Action, Answer, ItemRef, NewItem, OperatorVerb, Settlement};
use readpast::queue::Waited;
use readpast::{Batch, Engine, Queue, Verdict, Worker};
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;
use support::limit::until;
use support::scratch::{Scratch, changed, config};

const ALONE: [(&str, &str); 2] = [("poll.interval_ms", "3600000"), ("recover.interval_ms", "3600000")];

/// Nobody rings, and the threads look by themselves an hour later: only the poller finds it, which looks less and less often.
const BY_THE_POLLER: [(&str, &str); 2] = [("poll.doorbell", "off"), ("poll.interval_ms", "3600000")];

const LONG: Duration = Duration::from_secs(600);

const LISTENERS: &str =
    "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'";

/// A thread that waits for an item, in a process that has a row among the sleepers and whose looks fail.
fn sleeper(scratch: &Scratch, settings: &[(&str, &str)]) -> JoinHandle<Batch> {
    let queue = scratch.open(&[&ALONE, settings].concat());
    let sleeper = std::thread::spawn(move || queue.claim(1, Duration::from_secs(3600)).unwrap());
    scratch.wait_for("SELECT COUNT(*) FROM readpast.queue_sleeper", "1");
    scratch.run("ALTER FUNCTION readpast.queue_due RENAME TO queue_due_gone");
    sleeper
}

/// Adds an item as another process would: the one that sleeps learns nothing of it but by the bell.
fn add(scratch: &Scratch) {
    scratch.run(r#"SELECT readpast.add_job_trx("Payload_" => 'x')"#);
}

#[test]
fn an_enqueue_wakes_a_process_that_sleeps() {
    let scratch = Scratch::new();
    let sleeper = sleeper(&scratch, &[]);
    let row = scratch.look("SELECT id FROM readpast.queue_sleeper");
    add(&scratch);
    let rows = format!("SELECT COUNT(*) FROM readpast.queue_sleeper WHERE id = {row}");
    assert_eq!(scratch.look(&rows), "0", "others need not ring again");
    assert_eq!(sleeper.join().unwrap().len(), 1);
}

#[test]
fn a_ring_comes_with_the_commit_and_not_with_a_rollback() {
    let scratch = Scratch::new();
    let sleeper = sleeper(&scratch, &[]);
    let mut session = scratch.session();
    let rolled_back: Result<(), _> = session.transaction(|session| {
        session.execute(r#"SELECT readpast.add_job_utx("Payload_" => 'x')"#, &[])?;
        session.execute("SELECT 1 / 0", &[]).map(drop)
    });
    rolled_back.unwrap_err();
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.queue_sleeper"), "1", "it sleeps on");
    session.transaction(|session| session.execute(r#"SELECT readpast.add_job_utx("Payload_" => 'x')"#, &[])).unwrap();
    assert_eq!(sleeper.join().unwrap().len(), 1);
}

/// An open transaction that has rung holds up no other, and no one that falls asleep.
#[test]
fn nobody_waits_for_an_open_transaction_that_has_rung() {
    let scratch = Scratch::new();
    let sleeper = sleeper(&scratch, &[]);
    scratch
        .session()
        .transaction(|session| {
            session.execute(r#"SELECT readpast.add_job_utx("Payload_" => 'x')"#, &[])?;
            add(&scratch);
            scratch.run("SELECT readpast.queue_sleep('[\"job\"]', 'another', pg_backend_pid())");
            Ok(())
        })
        .unwrap();
    assert_eq!(sleeper.join().unwrap().len(), 1);
}

/// Its row is in the way of no transaction whose snapshot is older than the row's end.
#[test]
fn a_caller_with_an_old_snapshot_adds_all_the_same() {
    let scratch = Scratch::new();
    let sleeper = sleeper(&scratch, &[]);
    scratch
        .session()
        .transaction(|session| {
            session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", &[])?;
            session.execute("SELECT COUNT(*) FROM readpast.queue_sleeper", &[])?;
            add(&scratch);
            session.execute(r#"SELECT readpast.add_job_utx("Payload_" => 'y')"#, &[])
        })
        .unwrap();
    assert_eq!(sleeper.join().unwrap().len(), 1);
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job"), "2");
}

#[test]
fn a_listener_that_is_killed_is_followed_by_another() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[("poll.interval_ms", "50")]);
    let stop = queue.clone();
    let sleeper = std::thread::spawn(move || queue.claim(1, Duration::from_secs(3600)));
    let listener = "SELECT COALESCE(MAX(listener), 0) FROM readpast.queue_sleeper";
    until("it sleeps", || scratch.look(listener) != "0");
    let first = scratch.look(listener);
    scratch.run(&format!("SELECT pg_terminate_backend({first})"));
    until("another listens", || ![first.as_str(), "0"].contains(&scratch.look(listener).as_str()));
    let channels = "SELECT COUNT(*) FROM readpast.queue_sleeper";
    assert_eq!(scratch.look(channels), "1", "the row of the dead one is gone");
    stop.interrupt();
    sleeper.join().unwrap().unwrap_err();
}

#[test]
fn a_closed_queue_leaves_no_connection_behind() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[("poll.interval_ms", "50"), ("application", "closed")]);
    let waits = queue.clone();
    let sleeper = std::thread::spawn(move || waits.claim(1, Duration::from_secs(3600)));
    scratch.wait_for(LISTENERS, "1");
    queue.close(LONG).unwrap();
    sleeper.join().unwrap().unwrap_err();
    scratch.wait_for(LISTENERS, "0");
    drop(queue);
}

#[test]
fn rows_of_dead_processes_go_when_another_falls_asleep() {
    let scratch = Scratch::new();
    scratch.run("INSERT INTO readpast.queue_sleeper (queue, channel, listener) SELECT 'job', 'dead', 0 FROM generate_series(1, 9)");
    let queue = scratch.open(&[("poll.interval_ms", "50")]);
    let stop = queue.clone();
    let sleeper = std::thread::spawn(move || queue.claim(1, Duration::from_secs(3600)));
    scratch.wait_for("SELECT string_agg((listener > 0)::text, ' ') FROM readpast.queue_sleeper", "true");
    stop.interrupt();
    sleeper.join().unwrap().unwrap_err();
}

#[test]
fn without_a_doorbell_the_poller_finds_it() {
    let scratch = Scratch::new();
    // The driver alone knows the server of a data source; "off" is for who wants no more connections.
    let queue = scratch.open(&BY_THE_POLLER);
    let sleeper = std::thread::spawn(move || queue.claim(1, LONG).unwrap());
    let polls = "SELECT (COUNT(*) > 0)::text FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%queue_due%' \
                 AND query NOT LIKE '%pg_stat_activity%'";
    scratch.wait_for(polls, "true");
    assert_eq!(scratch.look(LISTENERS), "0");
    add(&scratch);
    assert_eq!(sleeper.join().unwrap().len(), 1);
}

#[test]
fn looks_serve_all_queues_of_a_process() {
    let scratch = Scratch::new();
    let names = ["Job", "Two", "Three"];
    for name in &names[1..] {
        let spec = format!(r#"{{"queue": "{name}", "columns": [{{"name": "Payload", "type": "text"}}]}}"#);
        readpast::install(&scratch.config(&[]), Some(&readpast::QueueSpec::from_json(&spec).unwrap())).unwrap();
    }
    let named = [&BY_THE_POLLER[..], &[("application", "looks")]].concat();
    let open = |name: &str| Queue::open(&config(&changed(&scratch.connection(), &[]), &named), name).unwrap();
    let queues: Vec<_> = names.iter().map(|name| open(name)).collect();
    let sleepers: Vec<_> =
        queues.iter().cloned().map(|queue| std::thread::spawn(move || queue.claim(1, LONG).unwrap().len())).collect();
    let looks = "SELECT (COUNT(*) > 0)::text FROM pg_stat_activity WHERE application_name = 'looks' AND query LIKE '%queue_due%'";
    scratch.wait_for(looks, "true");
    for name in ["job", "two", "three"] {
        scratch.run(&format!(r#"SELECT readpast.add_{name}_trx("Payload_" => 'x')"#));
    }
    assert_eq!(sleepers.into_iter().map(|sleeper| sleeper.join().unwrap()).sum::<usize>(), 3);
}

/// Nobody claims, since nothing is due, and the worker that died cannot: the look finds it.
#[test]
fn a_look_finds_the_items_of_a_dead_worker() {
    let scratch = Scratch::new();
    add(&scratch);
    let dead = scratch.open(&[("worker", "dead")]);
    assert_eq!(dead.claim(1, Duration::ZERO).unwrap().len(), 1);
    let queue = scratch.open(&[&BY_THE_POLLER[..], &[("recover.interval_ms", "100")]].concat());
    let sleeper = std::thread::spawn(move || queue.claim(1, LONG).unwrap().len());
    scratch.run("UPDATE readpast.job SET lease_until = started_at");
    assert_eq!(sleeper.join().unwrap(), 1);
}

/// Looks of a wait come an hour apart, and leases last a day: only a ring reports what happens to an item.
const RARELY: [(&str, &str); 1] = [("poll.interval_ms", "3600000")];

/// A worker of one item, which works until it has lost it.
fn holder(scratch: &Scratch) -> (Engine, String) {
    let spec = r#"{"queue": "Job", "backoff": "none", "lease": {"ms": 86400000}}"#;
    readpast::install(&scratch.config(&[]), Some(&readpast::QueueSpec::from_json(spec).unwrap())).unwrap();
    let queue = scratch.open(&[&RARELY[..], &[("worker", "The worker of this test")]].concat());
    let key = queue.enqueue(&[NewItem::default()], None).unwrap().remove(0).key;
    let engine = Engine::new(&queue, WorkerTerms::default());
    let Taken::Items(_) = engine.take(1, LONG).unwrap() else { panic!("no item") };
    scratch.wait_for(LISTENERS, "1");
    (engine, key)
}

fn is_lost(engine: &Engine, key: &str) {
    let changes = engine.changes(0, LONG);
    assert!(changes == Some(1) && engine.is_lost(key, 1));
    engine.end(&[Settlement { attempt: 1, ..Settlement::control(key, None, Action::Complete) }]);
    engine.close(LONG).unwrap();
}

#[test]
fn a_worker_learns_at_once_of_an_operators_cancel() {
    let scratch = Scratch::new();
    let (engine, key) = holder(&scratch);
    let item = ItemRef { key: &key, token: None };
    let operator = Queue::open(&config(&changed(&scratch.connection(), &[("Fetch", "10")]), &[]), "Job").unwrap();
    assert_eq!(operator.act(OperatorVerb::Cancel, &[item]).unwrap()[0].answer, Answer::Ok);
    is_lost(&engine, &key);
}

#[test]
fn a_worker_learns_at_once_of_a_cancel_in_sql() {
    let scratch = Scratch::new();
    let (engine, key) = holder(&scratch);
    scratch.run("SELECT readpast.modify_job_trx(enqueued_at, updated_at, 'Paused') FROM readpast.job");
    is_lost(&engine, &key);
}

/// A wait in the state of another process, whose next look is an hour away.
fn waiter(scratch: &Scratch, key: &str) -> JoinHandle<Waited> {
    let settings = [&RARELY[..], &[("application", "waiter")]].concat();
    let queue = Queue::open(&config(&changed(&scratch.connection(), &[("Fetch", "10")]), &settings), "Job").unwrap();
    let key = key.to_owned();
    let waiter = std::thread::spawn(move || queue.wait_for(&key, Duration::from_secs(3600)).unwrap());
    scratch.wait_for("SELECT COUNT(*) FROM readpast.queue_awaited", "1");
    // It looks some more times, with pauses of 30 ms, and then it rests.
    let rests = "SELECT (MAX(query_start) < clock_timestamp() - interval '2 seconds')::text FROM pg_stat_activity \
                 WHERE application_name = 'waiter' AND datname = current_database() AND query NOT LIKE 'LISTEN%'";
    scratch.wait_for(rests, "true");
    waiter
}

#[test]
fn a_wait_ends_when_another_process_settles_its_item() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    let keys = queue.enqueue(&[(); 3].map(|()| NewItem::default()), None).unwrap();
    let waiter = waiter(&scratch, &keys[1].key);
    let awaited = "SELECT COUNT(*) FROM readpast.queue_awaited";
    let attempts = Mutex::new(0);
    let worker = Worker::new(&queue).until_empty(true);
    worker
        .run(|job| {
            if job.key() == keys[1].key {
                *attempts.lock().unwrap() += 1;
                if job.attempt() == 1 {
                    assert_eq!(scratch.look(awaited), "1", "others' ends ring for nobody");
                    return Verdict::retry("again");
                }
                scratch.wait_for(awaited, "1");
            }
            Verdict::complete()
        })
        .unwrap();
    assert!(matches!(waiter.join().unwrap(), Waited::Ended(_)));
    assert_eq!((*attempts.lock().unwrap(), scratch.look(awaited).as_str()), (2, "0"), "it waited on after the first");
}

#[test]
fn a_wait_ends_when_an_operator_cancels_its_item() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    let key = queue.enqueue(&[NewItem::default()], None).unwrap().remove(0).key;
    let waiter = waiter(&scratch, &key);
    scratch.run("SELECT readpast.modify_job_trx(enqueued_at, updated_at, 'Cancelled') FROM readpast.job");
    assert!(matches!(waiter.join().unwrap(), Waited::Ended(_)));
}

#[test]
fn items_that_nobody_waits_for_any_more_are_forgotten() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    let keys: Vec<_> = queue.enqueue(&[(); 2].map(|()| NewItem::default()), None).unwrap();
    scratch.run("INSERT INTO readpast.queue_awaited (queue, key, channel, listener) VALUES ('job', 'dead', 'dead', 0)");
    let awaited = "SELECT STRING_AGG(key, ' ') FROM readpast.queue_awaited";
    for key in &keys {
        while scratch.look(awaited) != key.key {
            assert!(matches!(queue.wait_for(&key.key, Duration::from_millis(300)).unwrap(), Waited::NotYet));
        }
    }
}

#[test]
fn a_login_without_the_right_to_find_items_cannot_wait_for_them() {
    let mut scratch = Scratch::new();
    let role = scratch.role();
    scratch.run(&format!("GRANT USAGE ON SCHEMA readpast TO {role}"));
    scratch.run(&format!("GRANT EXECUTE ON FUNCTION readpast.queue_await TO {role}"));
    let login = changed(&scratch.connection(), &[("UID", &role), ("PWD", "p")]);
    let mut session = Session::open(&config(&login, &[])).unwrap();
    let ask = "SELECT readpast.queue_await('job', '[\"x\"]', 'another', pg_backend_pid(), FALSE)";
    assert_eq!(session.execute(ask, &[]).map(drop).unwrap_err().kind(), ErrorKind::PermissionDenied);
    scratch.run(&format!("GRANT EXECUTE ON FUNCTION readpast.find_job TO {role}"));
    session.execute(ask, &[]).unwrap();
}
