//! Processes that die, stand still, and lose their connections: whose items run again before their leases are over, and whose do not. No
//! lease here is ever over. The clock of a test is another process: once its items have come back after its death, the server has looked
//! for longer than any grace.

mod process;

use libtest_mimic::{Arguments, Trial};
use process::{LEASE, Worker, begin};
use readpast::engine::{Engine, WorkerTerms};
use readpast::item::{Action, Batch, NewItem, Settlement};
use readpast::{Queue, QueueSpec, install};
use std::env;
use std::time::{Duration, Instant};
use support::both::Database;
use support::limit::until;

/// Each kind of queue: where the lease is, and where the items are.
const QUEUES: [(&str, &str); 3] = [
    ("own", r#"{"queue": "Job", "backoff": "none", "columns": [{"name": "Payload", "type": "text(20)"}]}"#),
    (
        "described",
        r#"{"queue": "Job", "backoff": "none", "columns": [{"name": "Payload", "type": "text(20)"}],
            "table": {"name": "Work", "create": true, "key": [{"name": "Id", "type": "bigint", "source": "table"}],
                "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#,
    ),
    (
        "described_with_roles",
        r#"{"queue": "Job", "backoff": "none", "columns": [{"name": "Payload", "type": "text(20)"}],
            "table": {"name": "Work", "create": true, "key": [{"name": "Id", "type": "bigint", "source": "table"}],
                "status": {"column": "State", "values":
                    {"Pending": 0, "Processing": 1, "Error": 2, "Failed": 3, "Completed": 4, "Cancelled": 5, "Paused": 6,
                        "Terminated": 7, "PartiallyCompleted": 8}},
                "lifecycle": {"due": "DueAt", "attempts": "Tries", "started": "BeganAt", "owner": "Owner", "lease_until": "HeldUntil",
                    "error": "Trouble"}}}"#,
    ),
];

type Test = fn(&Database);

fn main() {
    if let Ok(order) = env::var(process::ORDER) {
        return process::run(&order);
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let tests: [(&str, Test); 6] = [
        ("a_process_that_stands_still_keeps_its_items", a_process_that_stands_still_keeps_its_items),
        ("connections_that_are_cut_and_come_back_lose_nothing", connections_that_are_cut_and_come_back_lose_nothing),
        ("no_item_begins_twice_while_connections_are_cut", no_item_begins_twice_while_connections_are_cut),
        ("a_server_that_began_anew_takes_nobody_for_dead", a_server_that_began_anew_takes_nobody_for_dead),
        ("without_a_grace_leases_alone_decide", without_a_grace_leases_alone_decide),
        ("claims_without_a_worker_have_no_lifeline", claims_without_a_worker_have_no_lifeline),
    ];
    let of_queues = QUEUES.iter().map(|(name, spec)| {
        Trial::test(format!("a_killed_process_items_run_again/{name}"), move || {
            Database::each().iter().for_each(|database| a_killed_process_items_run_again(database, spec));
            Ok(())
        })
    });
    let of_places = Trial::test("a_killed_process_items_run_again_at_each_place", || {
        let pairs = Database::each().into_iter().zip(Database::each());
        pairs.for_each(|(one, other)| a_killed_process_items_run_again_at_each_place(&one, &other));
        Ok(())
    });
    let others = tests.into_iter().map(|(name, test)| {
        Trial::test(name, move || {
            for database in Database::each() {
                install(&database.config(&[]), Some(&QueueSpec::from_json(QUEUES[0].1).unwrap())).unwrap();
                test(&database);
            }
            Ok(())
        })
    });
    libtest_mimic::run(&arguments, of_queues.chain([of_places]).chain(others).collect()).exit();
}

fn open(database: &Database, worker: &str) -> Queue {
    Queue::open(&database.config(&[("worker", worker), LEASE]), "Job").unwrap()
}

fn add(queue: &Queue, count: usize) {
    queue.enqueue(&vec![NewItem::default(); count], None).unwrap();
}

fn lifelines(database: &Database, worker: &str) -> String {
    let table = database.pick("[readpast].[QueueLifeline]", "readpast.queue_lifeline");
    database.look(&format!("SELECT COUNT(*) FROM {table} WHERE worker = '{worker}'"))
}

fn held(database: &Database, worker: &str) -> String {
    let table = database.pick("[readpast].[Job]", "readpast.job");
    let owner = database.pick("LeaseOwner", "lease_owner");
    database.look(&format!("SELECT COUNT(*) FROM {table} WHERE status = 'Processing' AND {owner} = '{worker}'"))
}

/// A worker of this process, which takes what comes back and ends it.
struct Heir(Engine);

impl Heir {
    fn new(database: &Database) -> Self {
        let engine = Engine::new(&open(database, "heir"), WorkerTerms::default());
        engine.start().unwrap();
        Self(engine)
    }

    fn take(&self, count: usize) -> Vec<i32> {
        (0..count).map(|_| Self::end(&self.0, &begin(&self.0))).collect()
    }

    fn end(engine: &Engine, batch: &Batch) -> i32 {
        let item = batch.get(0).unwrap();
        engine.end(&[Settlement::new(&item, Action::Complete)]);
        item.attempt()
    }
}

/// A grace within which a process gets a connection, however busy the machine is.
const LONG: [(&str, &str); 1] = [("lease.grace_ms", "10000")];

/// Another process dies with an item, which comes back: nobody who was dead before it is overlooked.
fn pass_a_grace(database: &Database, heir: &Heir) {
    pass(database, heir, &[]);
}

fn pass(database: &Database, heir: &Heir, grace: &[(&str, &str)]) {
    add(heir.0.queue(), 1);
    let mut clock = Worker::start(database, "clock", 1, grace);
    until("the server knows of it", || lifelines(database, "clock") == "1");
    clock.kill();
    heir.take(1);
}

fn a_killed_process_items_run_again(database: &Database, spec: &str) {
    install(&database.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
    add(&open(database, "producer"), 10);
    let mut victim = Worker::start(database, "victim", 2, &[("worker.ahead", "8")]);
    until("the server knows of it", || lifelines(database, "victim") == "1");
    let heir = Heir::new(database);
    let since = Instant::now();
    victim.kill();
    let attempts = heir.take(10);
    println!("{}: {} ms", database.pick("SQL Server", "PostgreSQL"), since.elapsed().as_millis());
    assert!(attempts.iter().all(|attempt| *attempt <= 2), "{attempts:?}");
    until("nothing is left of the worker", || lifelines(database, "victim") == "0");
}

/// Each place knows of the worker, and gives its items back.
fn a_killed_process_items_run_again_at_each_place(one: &Database, other: &Database) {
    let places = [one, other];
    for place in places {
        install(&place.config(&[]), Some(&QueueSpec::from_json(QUEUES[0].1).unwrap())).unwrap();
        add(&open(place, "producer"), 3);
    }
    let connections = places.map(Database::connection);
    let settings = [("places.one", connections[0].as_str()), ("places.other", connections[1].as_str())];
    let mut victim = Worker::start(one, "victim", 4, &settings);
    until("both know of it", || places.iter().all(|place| lifelines(place, "victim") == "1"));
    assert!(places.iter().all(|place| held(place, "victim") != "0"), "it takes from the places in turn");
    let heirs = places.map(Heir::new);
    victim.kill();
    for (place, heir) in places.iter().zip(&heirs) {
        assert_eq!(heir.take(3).len(), 3);
        until("nothing is left of the worker", || lifelines(place, "victim") == "0");
    }
}

fn a_process_that_stands_still_keeps_its_items(database: &Database) {
    add(&open(database, "producer"), 1);
    let frozen = Worker::start(database, "frozen", 1, &[]);
    until("the server knows of it", || lifelines(database, "frozen") == "1");
    frozen.stop();
    let heir = Heir::new(database);
    pass_a_grace(database, &heir);
    assert_eq!(held(database, &frozen.name), "1");
    frozen.go_on();
    assert_eq!(frozen.end(), "1 settled, 0 lost");
}

fn connections_that_are_cut_and_come_back_lose_nothing(database: &Database) {
    add(&open(database, "producer"), 2);
    let cut = Worker::start(database, "cut", 2, &LONG);
    until("the server knows of it", || lifelines(database, "cut") == "1");
    let heir = Heir::new(database);
    for _ in 0..2 {
        end_connections(database);
        pass(database, &heir, &LONG);
        assert_eq!(held(database, &cut.name), "2");
    }
    assert_eq!(cut.end(), "2 settled, 0 lost");
}

fn no_item_begins_twice_while_connections_are_cut(database: &Database) {
    const ITEMS: usize = 200;
    let workers = ["one", "other"].map(|name| Worker::drain(database, name, &LONG));
    let names = ["one", "other"];
    add(&open(database, "producer"), 2);
    until("the server knows of them", || names.iter().all(|name| lifelines(database, name) == "1"));
    add(&open(database, "producer"), ITEMS - 2);
    let state = |state| {
        format!("SELECT COUNT(*) FROM {} WHERE status {state}", database.pick("[readpast].[Job]", "readpast.job"))
    };
    let (mut cuts, mut left) = (0, ITEMS);
    while left > 0 {
        end_connections(database);
        cuts += 1;
        std::thread::sleep(Duration::from_millis(100));
        // The next cut would come too soon while a log-in takes longer.
        let before = left;
        until("an item is done", || {
            left = database.look(&state("<> 'Completed'")).parse().unwrap();
            left < before
        });
    }
    let mut begun: Vec<_> = workers.iter().flat_map(Worker::drained).collect();
    begun.sort();
    let count = begun.len();
    begun.dedup();
    assert_eq!((count, begun.len()), (ITEMS, ITEMS), "{cuts} cuts");
}

/// Ends all connections of workers on the server's side.
fn end_connections(database: &Database) {
    database.run(database.pick(
        "DECLARE @kill nvarchar(max) = N'';
         SELECT @kill = @kill + CONCAT(N'KILL ', s.session_id, N';') FROM sys.dm_exec_sessions AS s
         WHERE s.database_id = DB_ID() AND s.session_id <> @@SPID;
         EXECUTE (@kill);",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    ));
}

fn a_server_that_began_anew_takes_nobody_for_dead(database: &Database) {
    add(&open(database, "producer"), 1);
    let mut victim = Worker::start(database, "victim", 1, &[]);
    until("the server knows of it", || lifelines(database, "victim") == "1");
    // It would note the server's begin anew.
    victim.kill();
    database.run(database.pick(
        "UPDATE [readpast].[QueueLifeline] SET [ServerBegan] = '2001-01-01' WHERE [Worker] = 'victim'",
        "UPDATE readpast.queue_lifeline SET server_began = '2001-01-01' WHERE worker = 'victim'",
    ));
    let heir = Heir::new(database);
    pass_a_grace(database, &heir);
    assert_eq!(held(database, &victim.name), "1");
}

fn without_a_grace_leases_alone_decide(database: &Database) {
    add(&open(database, "producer"), 1);
    let mut victim = Worker::start(database, "victim", 1, &[("lease.grace_ms", "0")]);
    let heir = Heir::new(database);
    pass_a_grace(database, &heir);
    assert_eq!(lifelines(database, &victim.name), "0");
    victim.kill();
    pass_a_grace(database, &heir);
    assert_eq!(held(database, &victim.name), "1");
}

/// Nobody renews them, and makes sure of a connection meanwhile.
fn claims_without_a_worker_have_no_lifeline(database: &Database) {
    let queue = open(database, "both");
    add(&queue, 2);
    let engine = Engine::new(&queue, WorkerTerms::default());
    let batch = begin(&engine);
    until("the server knows of it", || lifelines(database, "both") == "1");
    assert_eq!(queue.claim(1, Duration::ZERO).unwrap().len(), 1);
    assert_eq!(lifelines(database, "both"), "0");
    Heir::end(&engine, &batch);
    engine.close(Duration::from_secs(600)).unwrap();
}
