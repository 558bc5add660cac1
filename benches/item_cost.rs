//! The cost of an item: commits and bytes of the log (WAL), time of the server's processors and of the client's, by how it is put in
//! and worked on; beside the least that a server can do, a loop of two statements in the server; and how long an item waits at half load.
//!
//! Why: commits and the log are what a busy server runs out of first, and replicas and backups carry each byte again.
//!
//! How to read it: medians of rounds that are interleaved, an item each. The server's time is that of all its processes, autovacuum and the
//! writers of the log included. A checkpoint comes before each filling, so that whole pages are not in the log of what is measured. "limit"
//! claims 1,000 and ends 1,000 by key and token, without leases, attempts or identities; its log is that of two new versions of a row, each
//! with the entries of its indexes. PostgreSQL on this machine only: SQL Server
//! counts none of it by database.

mod common;

use common::{Server, median, record, verdict};
use readpast::{
    Action, Queue, QueueSpec, Settlement, Worker,
    install::install,
    item::{NewItem, Value},
    worker::Stop,
};
use serde_json::json;
use std::{
    fs,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const ITEMS: u32 = 20_000;
const ROUNDS: usize = 5;

/// The work of the machine and the server so far.
struct Account {
    commits: i64,
    wal: i64,
    /// Seconds of processors.
    server: f64,
    client: f64,
}

/// A way to put items in or to have them done.
struct Way {
    name: &'static str,
    queue: &'static str,
    /// Whether items are there before.
    filled: bool,
    run: fn(&Server, &Queue, u32),
}

const WAYS: [Way; 8] = [
    Way { name: "enqueue, 1 a call", queue: "Keep", filled: false, run: |_, queue, items| enqueue(queue, items, 1) },
    Way {
        name: "enqueue, 1,000 a call",
        queue: "Keep",
        filled: false,
        run: |_, queue, items| enqueue(queue, items, 1000),
    },
    Way { name: "claim and settle, 1 a call", queue: "Keep", filled: true, run: |_, queue, _| drain(queue, 1) },
    Way { name: "claim and settle, 500 a call", queue: "Keep", filled: true, run: |_, queue, _| drain(queue, 500) },
    Way {
        name: "10 handlers of one item",
        queue: "Keep",
        filled: true,
        run: |_, queue, items| work(queue, 10, 1, items),
    },
    Way { name: "4 handlers of 100", queue: "Keep", filled: true, run: |_, queue, items| work(queue, 4, 100, items) },
    Way {
        name: "4 handlers of 100, deleted when done",
        queue: "Gone",
        filled: true,
        run: |_, queue, items| work(queue, 4, 100, items),
    },
    Way { name: "limit: two statements in the server", queue: "Keep", filled: true, run: |server, _, _| limit(server) },
];

fn main() {
    Server::each("item cost", |server| {
        if server.is_sql_server() {
            println!("  left out: SQL Server counts commits and its log by instance only");
            return;
        }
        server.install("Keep");
        let gone = QueueSpec::from_json(r#"{"queue": "Gone", "completion": "delete"}"#).unwrap();
        install(&server.config(&[]), Some(&gone)).unwrap();
        server.session().execute(LIMIT, &[]).unwrap();
        let items = server.scaled(ITEMS);
        let rounds: Vec<_> = (0..ROUNDS).map(|_| WAYS.each_ref().map(|way| cost(server, way, items))).collect();
        println!("  {:<40}{:>12}{:>12}{:>16}{:>16}", "an item", "commits", "log, B", "server, us", "client, us");
        let of = |way: usize, figure: usize| median(rounds.iter().map(|round| round[way][figure]).collect());
        for (place, way) in WAYS.iter().enumerate() {
            let [commits, wal, on_server, on_client] = [0, 1, 2, 3].map(|figure| of(place, figure));
            println!("  {:<40}{commits:>12.3}{wal:>12.0}{on_server:>16.1}{on_client:>16.1}", way.name);
            record::row(
                "an item",
                json!({"": way.name, "commits": format!("{commits:.3}"), "log, B": wal.round(),
                "server, us": format!("{on_server:.1}"), "client, us": format!("{on_client:.1}")}),
            );
        }
        let [by_ones, batches] = [of(4, 0), of(5, 0)];
        verdict("commits an item, 10 handlers of one item", &format!("{by_ones:.3}"), "<= 0.1", by_ones <= 0.1);
        verdict("commits an item, 4 handlers of 100", &format!("{batches:.3}"), "<= 0.02", batches <= 0.02);
        let above = of(5, 2) / of(7, 2);
        verdict(
            "server's time, 4 handlers of 100 against the limit",
            &format!("{above:.2} x"),
            "<= 1.15 x",
            above <= 1.15,
        );
        let above = of(5, 1) / of(7, 1);
        verdict("log, 4 handlers of 100 against the limit", &format!("{above:.2} x"), "<= 1.25 x", above <= 1.25);
        half_load(server);
    });
}

/// Commits, bytes of the log, microseconds of the server and of the client, an item.
fn cost(server: &Server, way: &Way, items: u32) -> [f64; 4] {
    server.empty(way.queue);
    server.settle_down(way.queue);
    if way.filled {
        server.fill(way.queue, "Pending", 2001, items);
        server.session().execute(&format!("VACUUM (ANALYZE) {}", server.table(way.queue)), &[]).unwrap();
    }
    let queue = server.open(way.queue, &[]);
    let before = account(server);
    (way.run)(server, &queue, items);
    // Its sessions report their commits when they end.
    drop(queue);
    let after = account(server);
    let each = |amount: f64| amount / f64::from(items);
    [
        each((after.commits - before.commits) as f64),
        each((after.wal - before.wal) as f64),
        each(1e6 * (after.server - before.server)),
        each(1e6 * (after.client - before.client)),
    ]
}

fn account(server: &Server) -> Account {
    // Sessions that have just ended are counted.
    thread::sleep(Duration::from_millis(300));
    let mut session = server.session();
    let mut number = |query: &str| match session.execute(query, &[]).unwrap().value(0, 0) {
        Value::Integer(number) => number,
        other => panic!("{query}: {other:?}"),
    };
    let own = number("SELECT pg_backend_pid()::bigint");
    let parent = stat(&own.to_string()).and_then(|fields| fields.get(1).cloned()).unwrap();
    let ours = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let children = ours.filter_map(|process| stat(&process)).filter(|fields| fields[1] == parent);
    let seconds = |fields: &[String], places: &[usize]| -> f64 {
        places.iter().map(|&place| fields[place].parse::<f64>().unwrap()).sum::<f64>() / 100.0
    };
    // Those that have ended count with their parent.
    let ended = seconds(&stat(&parent).unwrap(), &[11, 12, 13, 14]);
    Account {
        commits: number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"),
        wal: number("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"),
        server: ended + children.map(|fields| seconds(&fields, &[11, 12])).sum::<f64>(),
        client: seconds(&stat("self").unwrap(), &[11, 12]),
    }
}

/// The fields of a process behind its name: its state, its parent, ... (proc(5); times are in hundredths of a second).
fn stat(process: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

fn enqueue(queue: &Queue, items: u32, batch: u32) {
    let payload = json!({"recipient": "someone@example.org", "template": "welcome"}).to_string();
    let item = NewItem { columns: [("Payload", payload.as_str())].into_iter().collect(), ..NewItem::default() };
    let batch = vec![item; batch as usize];
    for _ in 0..items / batch.len() as u32 {
        queue.enqueue(&batch, None).unwrap();
    }
}

fn drain(queue: &Queue, most: u32) {
    let mut batch = queue.claim(most, Duration::ZERO).unwrap();
    while !batch.is_empty() {
        let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        batch = queue.settle_and_claim(&done, None, most).unwrap().1;
    }
}

fn work(queue: &Queue, threads: u32, batch: u32, items: u32) {
    let worker = Worker::new(queue).threads(threads).batch_size(batch);
    let (stop, done) = (worker.stop_handle(), AtomicU64::new(0));
    worker
        .run(|_| {
            if done.fetch_add(1, Ordering::Relaxed) + 1 == u64::from(items) {
                stop.stop();
            }
        })
        .unwrap();
}

/// The least: on the queue's own table and index, each of the two in a transaction.
const LIMIT: &str = "
CREATE PROCEDURE two_statements() LANGUAGE plpgsql AS $$
DECLARE
    keys timestamptz[];
    tokens timestamptz[];
    at timestamptz;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', false);
    LOOP
        at := clock_timestamp();
        WITH due AS (
            SELECT q.enqueued_at FROM readpast.keep AS q
            WHERE q.status IN ('Pending', 'Error') AND q.scheduled_for <= at
            ORDER BY q.scheduled_for, q.enqueued_at LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED
        ), taken AS (
            UPDATE readpast.keep AS q SET status = 'Processing', started_at = at, updated_at = at, attempt_num = 1
            FROM due AS d WHERE q.enqueued_at = d.enqueued_at RETURNING q.enqueued_at, q.updated_at
        )
        SELECT array_agg(t.enqueued_at), array_agg(t.updated_at) INTO keys, tokens FROM taken AS t;
        COMMIT;
        EXIT WHEN keys IS NULL;
        UPDATE readpast.keep AS q SET status = 'Completed', updated_at = clock_timestamp(), duration = 1
        FROM unnest(keys, tokens) AS k (key, token) WHERE q.enqueued_at = k.key AND q.updated_at = k.token;
        COMMIT;
    END LOOP;
END;
$$";

fn limit(server: &Server) {
    server.session().execute("CALL two_statements()", &[]).unwrap();
}

/// From before an enqueue to the begin of the handler, at half of what 10 handlers of one item get done.
fn half_load(server: &Server) {
    const BATCH: u64 = 20;
    let items = server.scaled(ITEMS);
    server.empty("Keep");
    server.fill("Keep", "Pending", 2001, items);
    server.settle_down("Keep");
    let queue = server.open("Keep", &[]);
    let begun = Instant::now();
    work(&queue, 10, 1, items);
    let rate = f64::from(items) / begun.elapsed().as_secs_f64() / 2.0;
    server.empty("Keep");

    let worker = Worker::new(&queue).threads(10);
    let (stop, waits): (Stop, _) = (worker.stop_handle(), Mutex::new(Vec::new()));
    let clock = Instant::now();
    let offered = (rate * 10.0) as u64 / BATCH;
    thread::scope(|scope| {
        scope.spawn(|| {
            worker
                .run(|job| {
                    let put_in: u64 = job.text("Payload").unwrap().parse().unwrap();
                    let mut waits = waits.lock().unwrap();
                    waits.push(clock.elapsed().as_micros() as f64 / 1e3 - put_in as f64 / 1e3);
                    if waits.len() as u64 == offered * BATCH {
                        stop.stop();
                    }
                })
                .unwrap();
        });
        for number in 0..offered {
            let due = Duration::from_secs_f64((number * BATCH) as f64 / rate);
            thread::sleep(due.saturating_sub(clock.elapsed()));
            let put_in = clock.elapsed().as_micros().to_string();
            let item = NewItem { columns: [("Payload", put_in.as_str())].into_iter().collect(), ..NewItem::default() };
            queue.enqueue(&vec![item; BATCH as usize], None).unwrap();
        }
    });
    let mut waits = waits.into_inner().unwrap();
    waits.sort_by(f64::total_cmp);
    let [middle, late] = [0.5, 0.99].map(|part| waits[(part * (waits.len() - 1) as f64) as usize]);
    let what = format!("enqueue to handler at half load ({rate:.0}/s), p99");
    println!("  median of it {middle:.2} ms");
    record::row(
        "half load",
        json!({"items/s": rate.round(), "median, ms": format!("{middle:.2}"), "p99, ms": format!("{late:.2}")}),
    );
    verdict(&what, &format!("{late:.1} ms"), "<= 10 ms", late <= 10.0);
}
