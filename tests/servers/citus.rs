//! Queues in the database of a Citus, whose coordinator READPAST_TEST_CITUS names (an ODBC connection string): in a schema that it shards, and in
//! one of the coordinator alone. Without it these tests are left out, and say so; the suite `capability` runs there as well.

use readpast::error::ErrorKind;
use readpast::for_tests::Session;
use readpast::install::{drop_queue, install};
use readpast::{Action, Answer, NewItem, Queue, QueueSpec, Severity, Worker, doctor};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use std::{env, process, thread};
use support::limit::until;
use support::scratch::{all, config, item, look};

const ITEMS: usize = 300;

/// A schema of the test's own. One test at a time has one: some cut connections of all.
struct Place {
    _turn: MutexGuard<'static, ()>,
    server: String,
    schema: String,
}

impl Place {
    /// None without a Citus.
    fn new(is_sharded: bool) -> Option<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        static TURN: Mutex<()> = Mutex::new(());
        let Ok(server) = env::var("READPAST_TEST_CITUS") else {
            eprintln!("READPAST_TEST_CITUS is not set: left out");
            return None;
        };
        let schema = format!("readpast_citus_{}_{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let place = Self { _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner), server, schema };
        if is_sharded {
            place.run(&format!("CREATE SCHEMA {}", place.schema));
            place.shard();
        }
        Some(place)
    }

    fn shard(&self) {
        self.look(&format!("SELECT citus_schema_distribute('{}')::text", self.schema));
    }

    fn config(&self) -> readpast::config::Config {
        config(&self.server, &[("schema", &self.schema)])
    }

    fn installs(&self, spec: &str) {
        install(&self.config(), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
    }

    fn open(&self) -> Queue {
        Queue::open(&self.config(), "Job").unwrap()
    }

    fn session(&self) -> Session {
        let mut session = Session::open(&self.config()).unwrap();
        session.execute("RESET readpast.checks_items", &[]).unwrap();
        session
    }

    fn run(&self, statement: &str) {
        self.session().execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    fn look(&self, query: &str) -> String {
        look(&mut self.session(), query)
    }

    /// How many items have this state.
    fn count(&self, state: &str) -> String {
        self.look(&format!("SELECT COUNT(*) FROM {}.job WHERE status = '{state}'", self.schema))
    }

    fn fill(&self) {
        let items: Vec<NewItem> = (0..ITEMS).map(|number| item(&number.to_string())).collect();
        self.open().enqueue(&items, None).unwrap();
    }

    /// The errors that the doctor finds.
    fn errors(&self) -> Vec<String> {
        let findings = doctor::check(&self.config(), None).unwrap();
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(ToString::to_string).collect()
    }

    /// Drains the queue by a worker, with `meddle` at work meanwhile, until each item has ended once.
    fn drains(&self, meddle: impl Fn() + Send + Sync) {
        let (queue, handled) = (self.open(), AtomicUsize::new(0));
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                Worker::new(&queue).threads(4).run(|_| {
                    handled.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(5));
                })
            });
            until("half of it is done", || handled.load(Ordering::Relaxed) > ITEMS / 4);
            meddle();
            until("all of it is done", || self.count("Completed") == ITEMS.to_string());
            queue.interrupt();
            worker.join().unwrap().unwrap();
        });
        let twice = format!("SELECT COUNT(*) FROM {}.job WHERE attempt_num > 1", self.schema);
        let again: usize = self.look(&twice).parse().unwrap();
        assert!(handled.load(Ordering::Relaxed) <= ITEMS + again, "what ran twice had lost its claim");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let dropped = Session::open(&self.config())
            .and_then(|mut session| session.execute(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema), &[]));
        if let Err(error) = dropped {
            eprintln!("the schema {} is left: {error}", self.schema);
        }
    }
}

#[test]
fn a_sharded_queue_drains_while_its_schema_moves() {
    let Some(place) = Place::new(true) else { return };
    place.installs(r#"{"queue": "Job", "backoff": "none", "attempts": {"limit": 1000}}"#);
    place.fill();
    let at = format!(
        "SELECT MIN(s.nodeport || ' ' || s.nodename) FROM pg_dist_shard_placement AS s INNER JOIN pg_dist_shard AS d USING (shardid) \
         WHERE d.logicalrelid = '{}.job'::regclass",
        place.schema
    );
    let others = "SELECT COUNT(*) FROM pg_dist_node WHERE shouldhaveshards";
    assert_ne!(place.look(others), "1", "a schema can move to another node only");
    let begun = place.look(&at);
    let (begun_port, begun_name) = begun.split_once(' ').unwrap();
    place.drains(|| {
        let elsewhere = format!("NOT (nodename = '{begun_name}' AND nodeport = {begun_port})");
        for node in [elsewhere.as_str(), "TRUE"] {
            let there = place.look(&at);
            let (port, name) = there.split_once(' ').unwrap();
            place.look(&format!(
                "SELECT citus_schema_move('{}', n.nodename, n.nodeport, 'block_writes')::text FROM pg_dist_node AS n \
                 WHERE n.shouldhaveshards AND {node} AND NOT (n.nodename = '{name}' AND n.nodeport = {port}) LIMIT 1",
                place.schema
            ));
            assert_ne!(place.look(&at), there, "it has moved");
        }
    });
}

#[test]
fn a_sharded_queue_survives_cuts_between_the_nodes() {
    let Some(place) = Place::new(true) else { return };
    place.installs(r#"{"queue": "Job", "backoff": "none", "attempts": {"limit": 1000}}"#);
    place.fill();
    place.drains(|| {
        for _ in 0..5 {
            place.look(
                "SELECT COUNT(*) FROM run_command_on_workers($$SELECT COUNT(pg_terminate_backend(a.pid)) FROM pg_stat_activity AS a \
                 WHERE a.application_name LIKE 'citus_internal%' AND a.pid <> pg_backend_pid()$$)",
            );
            let before = place.count("Completed");
            until("it goes on", || place.count("Completed") != before || before == ITEMS.to_string());
        }
    });
}

/// In either kind of schema.
#[test]
fn an_enqueue_commits_with_rows_of_a_distributed_table() {
    for is_sharded in [true, false] {
        let Some(place) = Place::new(is_sharded) else { return };
        place.installs(r#"{"queue": "Job"}"#);
        let table = format!("public.{}_order", place.schema);
        place.run(&format!("CREATE TABLE {table} (id integer PRIMARY KEY)"));
        place.look(&format!("SELECT create_distributed_table('{table}', 'id')::text"));
        let mut session = place.session();
        for fails in [true, false] {
            let done: readpast::error::Result<()> = session.transaction(|session| {
                session.execute(&format!("INSERT INTO {table} SELECT g FROM generate_series(1, 20) AS g"), &[])?;
                session.execute(&format!(r#"SELECT {}.add_job_utx("Payload_" => 'x')"#, place.schema), &[])?;
                if fails { session.execute("SELECT 1 / 0", &[]).map(drop) } else { Ok(()) }
            });
            assert_eq!(done.is_err(), fails);
            let there = format!("SELECT COUNT(*) FROM {table}");
            let expected = if fails { ["0", "0"] } else { ["20", "1"] };
            assert_eq!([place.look(&there), place.count("Pending")], expected);
        }
        place.run(&format!("DROP TABLE {table}"));
        let queue = place.open();
        let batch = queue.claim(1, Duration::ZERO).unwrap();
        assert_eq!(queue.settle(&all(&batch, Action::Complete), None).unwrap()[0].answer, Answer::Ok);
    }
}

#[test]
fn a_plain_queue_is_of_its_node_alone_until_citus_shards_its_schema() {
    let Some(place) = Place::new(false) else { return };
    place.installs(r#"{"queue": "Job", "shards": 3}"#);
    let elsewhere = format!(
        "SELECT COUNT(*) FROM run_command_on_workers($$SELECT COUNT(*) FROM pg_namespace WHERE nspname = '{}'$$) \
         WHERE result <> '0'",
        place.schema
    );
    assert_eq!((place.look(&elsewhere).as_str(), place.errors()), ("0", Vec::new()));
    place.open().enqueue(&[item("a")], None).unwrap();

    place.shard();
    let errors = place.errors();
    assert!(errors.iter().any(|error| error.contains("install the queues again")), "{errors:?}");
    place.installs(r#"{"queue": "Job", "shards": 3}"#);
    assert_eq!(place.errors(), Vec::<String>::new());
    let queue = place.open();
    queue.enqueue(&[item("b")], None).unwrap();
    // The other nodes have what a call needs.
    let add = format!(
        "SELECT COUNT(*) FROM run_command_on_workers($$SELECT COUNT(*) FROM {}.add_job_set_trx(NULL, '[{{\"columns\": {{}}}}]')$$) \
         WHERE NOT success",
        place.schema
    );
    assert_eq!(place.look(&add), "0");
    let nodes = place.look("SELECT COUNT(*) FROM pg_dist_node WHERE groupid > 0").parse::<usize>().unwrap();
    let batch = queue.claim(100, Duration::ZERO).unwrap();
    assert_eq!(batch.len(), 2 + nodes);
    queue.settle(&all(&batch, Action::Complete), None).unwrap();
    drop_queue(&place.config(), "Job").unwrap();
}

#[test]
fn a_sharded_queue_keeps_figures_of_its_minutes() {
    let Some(place) = Place::new(true) else { return };
    place.installs(r#"{"queue": "Job"}"#);
    let queue = place.open();
    queue.enqueue(&[item("a")], None).unwrap();
    assert!(queue.keep_minute(&queue.watch(100).unwrap()).unwrap());
    assert_eq!(queue.minutes(SystemTime::UNIX_EPOCH).unwrap()[0].due, 1);
    let asks = format!(
        "SELECT COUNT(*) FROM {}.queue_minute_keep('[{{\"queue\": \"job\"}}, {{\"queue\": \"b\"}}]')",
        place.schema
    );
    assert_eq!(place.look(&asks), "1", "nobody keeps those of the other");
}

#[test]
fn a_queue_that_citus_cannot_have_is_refused_and_changes_nothing() {
    let Some(place) = Place::new(true) else { return };
    for (spec, why) in [
        (r#"{"queue": "Job", "after": true}"#, "triggers"),
        (r#"{"queue": "Job", "roles": {"own_types_only": true}}"#, "own_types_only"),
        (r#"{"queue": "Job", "limit": [{"at_once": 1}]}"#, "limits"),
        (
            r#"{"queue": "Job", "columns": [], "table": {"name": "elsewhere", "create": true, "key": [{"name": "id", "type": "bigint"}],
                "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#,
            "joins no table of another",
        ),
    ] {
        let error = install(&place.config(), Some(&QueueSpec::from_json(spec).unwrap())).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.message().contains(why), "{error}");
    }
    let made = format!("SELECT COUNT(*) FROM pg_tables WHERE schemaname = '{}'", place.schema);
    assert_eq!(place.look(&made), "0");
}
