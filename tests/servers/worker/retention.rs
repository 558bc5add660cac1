//! Items that ended long ago go, by the workers' own doing: those that are young or not over stay, one does it at a time, and nobody's
//! claims wait for it.

use readpast::Dialect;
use readpast::engine::{Engine, Taken, WorkerTerms};
use readpast::for_tests::Session;
use readpast::ident::Identifier;
use readpast::item::Value;
use readpast::render::{self, Made, Object};
use readpast::{Action, NewItem, Queue, QueueSpec, Worker, install};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{panic, thread};
use support::both::Database;
use support::limit::until;
use support::scratch::{all, item};

/// Tables of readpast's own; with a column for everything; with next to nothing, so that readpast keeps times in a table beside.
const TABLES: [&str; 3] = [
    "null",
    r#"{"name": "jobs", "create": true, "key": [{"name": "Id", "type": "bigint", "source": "table"}],
        "lifecycle": {"type": "Kind", "enqueued": "Came", "due": "Due", "started": "Began", "finished": "Ended",
            "duration": "Ms", "attempts": "Attempts", "owner": "Owner", "lease_until": "Until", "step": "Step",
            "response": "Answer", "error": "Trouble", "token": "Version"},
        "status": {"column": "State", "values": {"Pending": "new", "Processing": "busy", "Completed": "done",
            "Error": "again", "Failed": "bad", "Cancelled": "off", "Paused": "set aside", "Terminated": "ended",
            "PartiallyCompleted": "half"}}}"#,
    r#"{"name": "jobs", "create": true, "key": [{"name": "Id", "type": "bigint", "source": "table"}],
        "lifecycle": {"due": "Due", "finished": "Ended"}, "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}"#,
];

struct Kept {
    database: Database,
    queue: Queue,
    /// The tables that know when an item was enqueued and changed, and their columns for it.
    times: Vec<(&'static str, &'static str)>,
}

impl Kept {
    /// The queue `Job` on each server at hand and each kind of table: Completed stays for 30 days, Failed for 365.
    fn each(settings: &[(&str, &str)]) -> Vec<Self> {
        TABLES.iter().flat_map(|table| Self::on(table, settings)).collect()
    }

    fn on(table: &str, settings: &[(&str, &str)]) -> Vec<Self> {
        Self::with(table, settings, json!({"retention": {"completed": "30d", "failed": "365d"}}))
    }

    /// With these options besides.
    fn with(table: &str, settings: &[(&str, &str)], options: serde_json::Value) -> Vec<Self> {
        let mut spec = json!({"queue": "Job", "backoff": "none", "columns": [{"name": "Payload", "type": "text"}]});
        spec.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let place: serde_json::Value = serde_json::from_str(table).unwrap();
        let kind = TABLES.iter().position(|other| *other == table).unwrap();
        if kind > 0 {
            spec["table"] = place;
        }
        let made = |database: Database| {
            let config = database.config(settings);
            install(&config, Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
            let queue = Queue::open(&config, "Job").unwrap();
            let times = match (kind, database.is_sql_server()) {
                // An item is enqueued before it ends.
                (0, true) => vec![("[readpast].[Job]", "[UpdatedAt]"), ("[readpast].[Job]", "[EnqueuedAt]")],
                (0, false) => vec![("readpast.job", "updated_at"), ("readpast.job", "enqueued_at")],
                (1, true) => vec![("[dbo].[jobs]", "[Version]")],
                (1, false) => vec![("public.jobs", "version")],
                (_, true) => vec![("[readpast].[Job_Lease]", "[UpdatedAt]"), ("[dbo].[jobs]", "[Ended]")],
                (_, false) => vec![("readpast.job_lease", "updated_at"), ("public.jobs", "ended")],
            };
            Self { database, queue, times }
        };
        Database::each().into_iter().map(made).collect()
    }

    /// Puts items in that end so.
    fn ended(&self, payload: &str, count: usize, action: Action) {
        for begun in (0..count).step_by(500) {
            let items: Vec<_> = (begun..count.min(begun + 500)).map(|_| item(payload)).collect();
            self.queue.enqueue(&items, None).unwrap();
            let batch = self.queue.claim(500, Duration::ZERO).unwrap();
            assert!(
                self.queue.settle(&all(&batch, action), None).unwrap().iter().all(|o| o.answer == readpast::Answer::Ok)
            );
        }
    }

    /// Makes all that is there so many days older.
    fn age(&self, days: u32) {
        for (table, column) in &self.times {
            let older = match self.database.is_sql_server() {
                true => format!("DATEADD(DAY, -{days}, CAST({column} AS datetime2(7)))"),
                false => format!("{column} - {days} * interval '1 day'"),
            };
            self.database.session().execute(&format!("UPDATE {table} SET {column} = {older}"), &[]).unwrap();
        }
    }

    /// The payloads that are left, each with how many.
    fn left(&self) -> String {
        let mut counts = std::collections::BTreeMap::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.queue.find(&readpast::Filter::default(), after.as_deref(), 1000).unwrap();
            for item in page.iter() {
                let Some(Value::Text(payload)) = item.value_of("Payload") else { panic!("a payload") };
                *counts.entry(payload.to_owned()).or_insert(0) += 1;
                after = Some(item.key().to_owned());
            }
            if page.is_empty() {
                return counts
                    .iter()
                    .map(|(payload, count)| format!("{count} {payload}"))
                    .collect::<Vec<_>>()
                    .join(", ");
            }
        }
    }

    /// Nobody has deleted anything yet.
    fn anew(&self) {
        let sql_server = "UPDATE [readpast].[QueueRetention] SET [DoneAt] = '0001-01-01'";
        self.database
            .session()
            .execute(self.database.pick(sql_server, "UPDATE readpast.queue_retention SET done_at = '-infinity'"), &[])
            .unwrap();
    }
}

/// Attempts that are remembered have an age of their own.
mod attempts;

/// As [`Kept::age`] and [`Kept::ended`]: what is over for one rule and not for the other, what is young, what has not ended.
fn mixed(kept: &Kept) {
    kept.ended("old", 600, Action::Complete);
    kept.ended("cancelled", 2, Action::Cancel);
    kept.ended("failed long ago", 3, Action::Fail);
    kept.age(340);
    kept.ended("failed", 2, Action::Fail);
    kept.queue.enqueue(&[NewItem { delay_ms: Some(86_400_000), ..item("waits") }], None).unwrap();
    kept.age(29);
    kept.ended("young", 2, Action::Complete);
}

#[test]
fn workers_delete_what_is_over_and_claims_go_on() {
    for kept in Kept::each(&[("retention.interval_ms", "50")]) {
        mixed(&kept);
        assert_eq!(kept.left(), "2 cancelled, 2 failed, 3 failed long ago, 600 old, 1 waits, 2 young");
        let worker = Worker::new(&kept.queue);
        let stop = worker.stop_handle();
        let handled = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                worker.run(|_| {
                    handled.fetch_add(1, Ordering::SeqCst);
                })
            });
            let clean = "2 cancelled, 2 failed, 1 waits, 22 young";
            let fresh: Vec<_> = (0..20).map(|_| item("young")).collect();
            kept.queue.enqueue(&fresh, None).unwrap();
            // Whatever comes of it, the worker stops.
            let seen = panic::catch_unwind(panic::AssertUnwindSafe(|| {
                until("all is handled", || handled.load(Ordering::SeqCst) == 20);
                until(&format!("what is over is gone from {}", kept.times[0].0), || kept.left() == clean);
            }));
            stop.stop();
            seen.unwrap_or_else(|payload| panic::resume_unwind(payload));
        });
    }
}

#[test]
fn a_worker_that_stops_when_nothing_is_due_leaves_nothing_behind() {
    for kept in Kept::each(&[]) {
        mixed(&kept);
        let engine = Engine::new(&kept.queue, WorkerTerms { until_empty: true, observer: None });
        assert!(matches!(engine.take(1, Duration::from_secs(600)), Ok(Taken::Stopping)));
        engine.close(Duration::from_secs(600)).unwrap();
        assert_eq!(kept.left(), "2 cancelled, 2 failed, 1 waits, 2 young");
    }
}

#[test]
fn one_at_a_time_and_once_in_an_interval() {
    for kept in Kept::each(&[("retention.interval_ms", "86400000")]) {
        kept.ended("old", 40, Action::Complete);
        kept.age(31);
        // Somebody is at it: nobody waits for him.
        let mut other = kept.database.session();
        other.execute("BEGIN TRANSACTION", &[]).unwrap();
        let lock = kept.database.pick(
            "UPDATE [readpast].[QueueRetention] SET [DoneAt] = [DoneAt]",
            "SELECT 1 FROM readpast.queue_retention FOR UPDATE",
        );
        other.execute(lock, &[]).unwrap();
        assert_eq!(kept.queue.retain(10).unwrap(), 0);
        other.execute("ROLLBACK TRANSACTION", &[]).unwrap();

        // Until all is gone each call goes on, from any caller; together they delete each item once.
        let deleted: u64 = thread::scope(|scope| {
            let one = || {
                let mut mine = 0;
                until("what is over is gone", || {
                    mine += kept.queue.retain(3).unwrap();
                    kept.left().is_empty()
                });
                mine
            };
            let all: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!((deleted, kept.left().as_str()), (40, ""));

        kept.ended("old", 5, Action::Complete);
        kept.age(31);
        assert_eq!(kept.queue.retain(10).unwrap(), 0, "it was done within the interval");
        kept.anew();
        assert_eq!(kept.queue.retain(10).unwrap(), 5);
    }
}

/// Others end items without a word to the row beside the table: the item ended when they say, whatever that row knows.
#[test]
fn items_that_others_ended_are_as_old_as_their_times() {
    for kept in Kept::on(TABLES[2], &[]) {
        kept.ended("theirs", 1, Action::Fail);
        kept.age(40);
        let ended = kept.database.pick(
            "UPDATE [dbo].[jobs] SET [State] = 2, [Ended] = SYSUTCDATETIME()",
            "UPDATE public.jobs SET state = 2, ended = clock_timestamp()",
        );
        kept.database.session().execute(ended, &[]).unwrap();
        assert_eq!(kept.queue.retain(10).unwrap(), 0, "{}", kept.left());
        kept.age(31);
        kept.anew();
        assert_eq!(kept.queue.retain(10).unwrap(), 1, "{}", kept.left());
    }
}

#[test]
fn items_that_somebody_holds_are_passed_over() {
    for kept in Kept::on(TABLES[0], &[]) {
        kept.ended("old", 3, Action::Complete);
        kept.ended("held", 1, Action::Complete);
        kept.age(31);
        let mut other: Session = kept.database.session();
        other.execute("BEGIN TRANSACTION", &[]).unwrap();
        let (table, payload) =
            (kept.times[0].0, if kept.database.is_sql_server() { "[Payload]" } else { "\"Payload\"" });
        other.execute(&format!("UPDATE {table} SET {payload} = 'held still' WHERE {payload} = 'held'"), &[]).unwrap();
        assert_eq!(kept.queue.retain(10).unwrap(), 3);
        other.execute("ROLLBACK TRANSACTION", &[]).unwrap();
        assert_eq!(kept.left(), "1 held");
    }
}

#[test]
fn a_queue_that_keeps_all_deletes_nothing() {
    for database in Database::each() {
        let config = database.config(&[]);
        let spec = |more: &str| QueueSpec::from_json(&format!(r#"{{"queue": "Job"{more}}}"#)).unwrap();
        install(&config, Some(&spec(""))).unwrap();
        assert_eq!(Queue::open(&config, "Job").unwrap().retain(1).unwrap(), 0);
        // It is chosen later, and given up again.
        install(&config, Some(&spec(r#", "retention": {"completed": "1s"}"#))).unwrap();
        let queue = Queue::open(&config, "Job").unwrap();
        install(&config, Some(&spec(""))).unwrap();
        assert!(queue.retain(1).is_err(), "the procedure is gone with the rule");
    }
}

#[test]
fn a_worker_s_role_may_delete_what_is_over_and_nothing_else() {
    let role = format!("readpast_keeper_{}", std::process::id());
    let described = |more: &str| {
        let spec = format!(r#"{{"queue": "Job", {more}, "roles": {{"worker": "{role}"}}}}"#);
        QueueSpec::from_json(&spec).unwrap()
    };
    let spec = described(r#""retention": {"completed": "1s"}"#);
    let attempts_alone = described(r#""attempts": {"history": true}, "retention": {"history": "1s"}"#);
    for (dialect, spec) in [Dialect::SqlServer, Dialect::Postgres]
        .into_iter()
        .flat_map(|dialect| [(dialect, &spec), (dialect, &attempts_alone)])
    {
        let schema = Identifier::new("the schema", "readpast").unwrap();
        let granted = |object: Object| match object.makes {
            Made::Grant(grant) if grant.role == role => Some(grant.on.name.to_lowercase()),
            _ => None,
        };
        let granted: Vec<_> = render::queue(dialect, &schema, spec).unwrap().into_iter().filter_map(granted).collect();
        let has = |name: &str| granted.iter().any(|granted| granted == name);
        assert_eq!((has("retain_job_trx"), has("purge_job_trx")), (true, false), "{granted:?}");
    }
    // And so it is, where one can ask for another role.
    for database in Database::each().into_iter().filter(|database| !database.is_sql_server()) {
        install(&database.config(&[]), Some(&spec)).unwrap();
        let mut session = database.session();
        let mut may = |name: &str| {
            let asked = format!(
                "SELECT COUNT(*) FROM pg_proc AS p WHERE p.proname = '{name}_job_trx' \
                 AND has_function_privilege('{role}', p.oid, 'EXECUTE')"
            );
            session.execute(&asked, &[]).unwrap().value(0, 0) == Value::Integer(1)
        };
        assert_eq!((may("retain"), may("purge")), (true, false));
        for done in ["DROP OWNED BY", "DROP ROLE"] {
            session.execute(&format!("{done} \"{role}\""), &[]).unwrap();
        }
    }
}
