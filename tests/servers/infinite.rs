//! Times that are infinite: PostgreSQL's usual "never" in tables that others fill. Who calls a function with one is refused; where a
//! row has one, every function goes on.

use super::bad_input::assert_says;
use readpast::description::QueueSpec;
use readpast::error::ErrorKind;
use readpast::install::install;
use readpast::item::{Action, Filter, ItemRef, Lease, Settlement, Value};
use readpast::queue::Queue;
use readpast::worker::Worker;
use std::thread;
use std::time::Duration;
use support::limit::until;
use support::scratch::Scratch;

/// A queue, the columns of its table that hold times, and how an item is put into it.
struct Kind {
    spec: &'static str,
    ddl: &'static str,
    table: &'static str,
    times: &'static [&'static str],
    add: &'static str,
}

const OWN: Kind = Kind {
    spec: r#"{"queue": "Job", "backoff": "none", "types": ["A", "B"], "attempts": {"history": true},
        "order": {"group": "Place"}, "columns": [{"name": "Place", "type": "text(20)"}]}"#,
    ddl: "SELECT 1",
    table: "readpast.job",
    times: &["scheduled_for", "updated_at", "started_at", "lease_until"],
    add: "SELECT * FROM readpast.add_job_trx()",
};

const THEIRS: Kind = Kind {
    spec: r#"{"queue": "Job", "types": ["A", "B"], "columns": [],
        "table": {"name": "work", "key": [{"name": "id", "type": "bigint", "source": "table"}],
            "lifecycle": {"type": "kind", "enqueued": "came", "due": "due_at", "started": "begun", "finished": "ended",
                "lease_until": "lease", "token": "changed"},
            "status": {"column": "state", "values": {"Pending": "new", "Processing": "taken", "Completed": "done",
                "Failed": "failed"}}}}"#,
    ddl: "CREATE TABLE work (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind varchar(20) NOT NULL, state varchar(20) NOT NULL DEFAULT 'new',
        came timestamptz NOT NULL DEFAULT clock_timestamp(), due_at timestamptz, begun timestamptz, ended timestamptz,
        lease timestamptz, changed timestamptz)",
    table: "work",
    times: &["came", "due_at", "begun", "ended", "lease", "changed"],
    add: "INSERT INTO work (kind) VALUES ('A')",
};

/// Nothing but times, and those the server's local ones: the rest is in the table beside.
const BESIDE: Kind = Kind {
    spec: r#"{"queue": "Job", "columns": [],
        "table": {"name": "work", "time": "local", "key": [{"name": "id", "type": "bigint", "source": "table"}],
            "lifecycle": {"due": "due_at", "started": "begun", "finished": "ended"},
            "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#,
    ddl: "CREATE TABLE work (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state integer NOT NULL DEFAULT 0, due_at timestamp, begun timestamp,
        ended timestamp)",
    table: "work",
    times: &["due_at", "begun", "ended"],
    add: "INSERT INTO work (state) VALUES (0)",
};

/// Times and dates that are the item's own.
const VALUES: Kind = Kind {
    spec: r#"{"queue": "Job", "columns": [{"name": "day", "type": "date"}, {"name": "at", "type": "timestamp"},
            {"name": "local_at", "type": "timestamp"}],
        "table": {"name": "work", "key": [{"name": "id", "type": "bigint", "source": "table"}],
            "lifecycle": {"due": "due_at"},
            "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#,
    ddl: "CREATE TABLE work (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state integer NOT NULL DEFAULT 0, due_at timestamptz, day date,
        at timestamptz, local_at timestamp)",
    table: "work",
    times: &["due_at", "day", "at", "local_at"],
    add: "INSERT INTO work (state) VALUES (0)",
};

impl Kind {
    fn install(&self) -> (Scratch, Queue) {
        let scratch = Scratch::empty();
        scratch.run(self.ddl);
        install(&scratch.config(&[]), Some(&QueueSpec::from_json(self.spec).unwrap())).unwrap();
        let queue = scratch.open(&[("worker", "w")]);
        (scratch, queue)
    }
}

/// Infinite, and further away than the years 1 and 9999.
const FAR: [&str; 4] = ["infinity", "-infinity", "294276-12-31", "4713-01-01 BC"];

/// All that can be asked of a queue.
fn all_calls(scratch: &Scratch, queue: &Queue, kind: &Kind) -> Result<(), readpast::Error> {
    queue.stats()?;
    queue.watch(100)?;
    queue.recover(10)?;
    let now = "2026-01-01T00:00:00Z".to_owned();
    for filter in [
        Filter::default(),
        Filter { longer_ms: Some(0), ..Filter::default() },
        Filter { before: Some(now.clone()), ..Filter::default() },
        Filter { after: Some(now), ..Filter::default() },
    ] {
        for item in queue.find(&filter, None, 100)?.iter() {
            queue.get(item.key())?;
            queue.why(item.key())?;
            queue.attempts(item.key()).or_else(|error| match error.kind() {
                ErrorKind::Unsupported => Ok(Vec::new()),
                _ => Err(error),
            })?;
        }
        // Nothing here has ended that it deletes unasked.
        queue.purge(&filter, 10)?;
    }
    scratch.session().execute("SELECT * FROM readpast.worker_job_v", &[])?;
    if kind.spec.contains("group") {
        scratch.session().execute("SELECT * FROM readpast.job_blocked_v", &[])?;
    }
    Ok(())
}

#[test]
fn a_row_with_one_stops_nothing() {
    for kind in [OWN, THEIRS, BESIDE, VALUES] {
        let (scratch, queue) = kind.install();
        for time in kind.times {
            for value in FAR {
                let place = format!("{} {time} = {value}", kind.table);
                let set = |which: &str| scratch.run(&format!("UPDATE {} SET {time} = '{value}'{which}", kind.table));
                scratch.run(&format!("DELETE FROM {}", kind.table));
                let claim = || queue.claim(10, Duration::ZERO).unwrap_or_else(|error| panic!("{place}: {error}"));
                let asked = || all_calls(&scratch, &queue, &kind).unwrap_or_else(|error| panic!("{place}: {error}"));

                // One that waits. Never due is not due; another goes on.
                scratch.run(kind.add);
                set("");
                asked();
                let is_due = ["scheduled_for", "due_at"].contains(time);
                let batch = claim();
                let never = is_due && !value.starts_with('-') && !value.ends_with("BC");
                assert_eq!(batch.len(), usize::from(!never), "{place}");
                scratch.run(kind.add);
                let other = claim();
                assert_eq!(batch.len() + other.len(), if never { 1 } else { 2 }, "{place}");

                // Those in flight.
                set("");
                asked();
                let leases: Vec<_> = other.iter().map(Lease::from).collect();
                queue.renew(&leases).unwrap_or_else(|error| panic!("{place}: {error}"));
                for item in other.iter() {
                    let end = Settlement::control(item.key(), None, Action::Fail);
                    queue.settle(&[end], None).unwrap_or_else(|error| panic!("{place}: {error}"));
                }

                // Those that have ended, and are taken up again.
                set("");
                asked();
                let ended = queue.find(&Filter::default(), None, 10).unwrap();
                let again: Vec<_> = ended.iter().map(|item| ItemRef { key: item.key(), token: None }).collect();
                queue.redrive(&again, None).unwrap_or_else(|error| panic!("{place}: {error}"));
                scratch.run(&format!("DELETE FROM {}", kind.table));
            }
        }
    }
}

/// However an item is read.
#[test]
fn a_value_arrives_as_what_it_is() {
    let (scratch, queue) = VALUES.install();
    for (value, day, at, local_at) in [
        ("infinity", "infinity", "infinity", "infinity"),
        ("-infinity", "-infinity", "-infinity", "-infinity"),
        ("12026-01-01", "12026-01-01", "12026-01-01 00:00:00+00", "12026-01-01 00:00:00+00"),
        ("4713-01-01 BC", "4713-01-01 BC", "4713-01-01 00:00:00+00 BC", "4713-01-01 00:00:00+00 BC"),
        ("9999-12-31", "9999-12-31", "9999-12-31T00:00:00.0000000", "9999-12-31T00:00:00.0000000"),
        ("0001-01-01", "0001-01-01", "0001-01-01T00:00:00.0000000", "0001-01-01T00:00:00.0000000"),
    ] {
        scratch.run("DELETE FROM work");
        scratch.run(&format!("INSERT INTO work (day, at, local_at) VALUES ('{value}', '{value}', '{value}')"));
        let found = queue.find(&Filter::default(), None, 1).unwrap();
        let (looked, _) = queue.look(&Filter::default(), None, 1, 10).unwrap();
        let claimed = queue.claim(1, Duration::ZERO).unwrap();
        for (how, batch) in [("find", found), ("look", looked), ("claim", claimed)] {
            let item = batch.get(0).unwrap();
            for (name, text) in [("day", day), ("at", at), ("local_at", local_at)] {
                assert_eq!(item.value_of(name), Some(Value::Text(text)), "{how} {name}");
                assert!(item.to_json().contains(&format!("\"{name}\":\"{text}\"")), "{how}: {}", item.to_json());
            }
        }
    }
}

#[test]
fn why_distinguishes_never_from_always() {
    let (scratch, queue) = VALUES.install();
    for (due, reason) in [
        ("infinity", "never due"),
        ("12026-01-01", "never due"),
        ("-infinity", "due for"),
        ("4713-01-01 BC", "due for"),
    ] {
        scratch.run("DELETE FROM work");
        scratch.run(&format!("INSERT INTO work (due_at) VALUES ('{due}')"));
        let found = queue.find(&Filter::default(), None, 1).unwrap();
        let why = queue.why(found.get(0).unwrap().key()).unwrap().unwrap().to_string();
        assert!(why.starts_with(reason), "{due}: {why}");
    }
}

#[test]
fn an_attempt_that_never_began_is_reported() {
    let (scratch, queue) = OWN.install();
    scratch.run(OWN.add);
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    let key = batch.get(0).unwrap().key().to_owned();
    queue.settle(&[Settlement::new(&batch.get(0).unwrap(), Action::Fail)], None).unwrap();
    scratch.run("UPDATE readpast.job_attempt SET started_at = '-infinity'");
    assert_eq!(queue.attempts(&key).unwrap()[0].started.as_deref(), Some("-infinity"));
}

#[test]
fn an_item_taken_from_one_is_settled_and_has_a_time() {
    for kind in [OWN, THEIRS] {
        let (scratch, queue) = kind.install();
        for time in kind.times {
            for value in ["infinity", "-infinity"] {
                let place = format!("{} {time} = {value}", kind.table);
                scratch.run(&format!("DELETE FROM {}", kind.table));
                scratch.run(kind.add);
                if !(value == "infinity" && ["scheduled_for", "due_at"].contains(time)) {
                    scratch.run(&format!("UPDATE {} SET {time} = '{value}'", kind.table));
                }
                let batch = queue.claim(1, Duration::ZERO).unwrap();
                let done = Settlement::new(&batch.get(0).unwrap(), Action::Complete);
                let outcome = queue.settle(&[done], None).unwrap().remove(0);
                assert_eq!(outcome.answer, readpast::item::Answer::Ok, "{place}");
                assert_eq!(queue.stats().unwrap().count(readpast::item::ItemState::Completed), 1, "{place}");
            }
        }
    }
}

#[test]
fn a_call_with_an_infinite_time_is_refused() {
    for kind in [OWN, THEIRS] {
        let (scratch, queue) = kind.install();
        let refused_so = |call: &str, words: &str| {
            let error = scratch.session().execute(call, &[]).expect_err(call);
            assert_says::<()>(Err(error), ErrorKind::InvalidItem, &[words]);
        };
        let no_time = |call: &str| refused_so(call, "\"due\" takes timestamp");
        for value in ["infinity", "-infinity"] {
            let due = if kind.table == "work" { "due_" } else { "scheduled_for_" };
            no_time(&format!("SELECT * FROM readpast.add_job_set_trx(NULL, '[{{\"due\": \"{value}\"}}]')"));
            no_time(&format!("SELECT * FROM readpast.add_job_set_utx('[{{\"due\": \"{value}\"}}]')"));
            no_time(&format!("SELECT * FROM readpast.add_job_trx({due} => '{value}')"));
            let batch = {
                queue.enqueue(&[readpast::item::NewItem::default()], None).unwrap();
                queue.claim(1, Duration::ZERO).unwrap()
            };
            let item = batch.get(0).unwrap();
            let given = format!(
                r#"[{{"key": "{}", "attempt": 1, "token": "{}", "status": "Error", "due": "{value}"}}]"#,
                item.key(),
                item.token()
            );
            no_time(&format!("SELECT * FROM readpast.modify_job_set_trx(NULL, 'w', '{given}')"));
            no_time(&format!(
                "SELECT * FROM readpast.modify_job_trx('{}', '{}', 'Error', {due} => '{value}', worker_ => 'w', attempt_num_ => 1)",
                item.key(),
                item.token()
            ));
            let done = Settlement::new(&item, Action::Complete);
            assert_eq!(queue.settle(&[done], None).unwrap()[0].answer, readpast::item::Answer::Ok, "it is untouched");
        }
    }
}

/// A row, or a trigger of the table, that no claim can take: nobody who claims has given anything that were wrong.
#[test]
fn a_refusal_of_the_table_is_no_mistake_of_the_caller() {
    let (scratch, queue) = THEIRS.install();
    scratch.run("CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN 1 / 0; END'");
    scratch.run("CREATE TRIGGER refuses BEFORE UPDATE ON work FOR EACH ROW EXECUTE FUNCTION refuses()");
    scratch.run(THEIRS.add);
    assert!(queue.claim(1, Duration::ZERO).unwrap().is_empty());
    let refused = || queue.watch(10).unwrap().refused;
    assert!(refused()[0].reason.contains("division by zero"), "{:?}", refused());
    let none = scratch.session().execute("SELECT * FROM readpast.next_job_set_trx('w', 0)", &[]);
    assert_says(none, ErrorKind::InvalidItem, &["max_ must be"]);

    // A worker goes on, and has the item when it is mended.
    let worker = Worker::new(&queue);
    let stop = worker.stop_handle();
    thread::scope(|scope| {
        let working = scope.spawn(|| worker.run(|_| {}));
        until("the worker has met it", || refused()[0].times > 1);
        scratch.run("DROP TRIGGER refuses ON work");
        scratch.wait_for("SELECT state FROM work", "done");
        stop.stop();
        working.join().unwrap().unwrap();
    });
}
