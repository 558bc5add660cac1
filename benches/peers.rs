//! The same work by other job queues on PostgreSQL: jobs that do nothing, all of them there before the clock starts, until
//! the last is settled. In one run, on the same server with the same settings, each in a database of its own.
//!
//! Why: "fast" says nothing by itself.
//!
//! How to read it: each figure is the median of rounds that are interleaved; the ratio is to readpast with 10 handlers of
//! one item. The peers are programs in `benches/peers`, with the versions pinned there, which `benches/peers/setup.sh`
//! installs; those that are not installed are left out. All of them settle durably: a job that was reported as done is
//! done after a crash of the server (`fsync` and `synchronous_commit` are on). Between a job's end and that report lie, for
//! readpast and whatever completes in batches, a few milliseconds, after which a crash of the *worker* has jobs done again.

mod common;

use common::{Server, median, record};
use readpast::Worker;
use serde_json::Value;
use std::{
    env,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

const ITEMS: u32 = 20_000;
const ROUNDS: usize = 3;

/// A peer: how it is shown, its program and the arguments before the number of jobs, and what part of the jobs it gets.
struct Peer {
    label: &'static str,
    program: &'static [&'static str],
    part: u32,
}

const PEERS: [Peer; 8] = [
    Peer { label: "graphile-worker, 10 at once", program: &["node", "graphile.mjs", "plain"], part: 1 },
    Peer { label: "graphile-worker, localQueue", program: &["node", "graphile.mjs", "localQueue"], part: 1 },
    // All of them would take this one minutes, and procrastinate one.
    Peer { label: "pg-boss, 10 loops of 1", program: &["node", "pgboss.mjs", "1"], part: 10 },
    Peer { label: "pg-boss, 10 loops of 100", program: &["node", "pgboss.mjs", "100"], part: 1 },
    Peer { label: "River, 10 workers", program: &["./river", "10"], part: 1 },
    Peer { label: "River, 100 workers", program: &["./river", "100"], part: 1 },
    Peer { label: "River, 2,000 workers (its bench)", program: &["./river", "2000"], part: 1 },
    Peer { label: "procrastinate, 10 at once", program: &["venv/bin/python", "procrastinate_peer.py"], part: 10 },
];

/// How we are used: handlers, items of a take, fetchers.
const OURS: [(&str, u32, u32, &str); 4] = [
    ("readpast, 10 handlers of 1", 10, 1, "2"),
    ("readpast, 10 handlers of 1, 1 fetcher", 10, 1, "1"),
    ("readpast, 10 handlers of 100", 10, 100, "2"),
    ("readpast, 10 handlers of 100, 1 fetcher", 10, 100, "1"),
];

fn main() {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join(".local/peers");
    if env::var_os("READPAST_TEST_POSTGRES").is_none() || !installed.exists() {
        println!("\npeers: left out; run benches/peers/setup.sh, then .ci/with_cluster.sh cargo bench --bench peers");
        return;
    }
    Server::each("peers", |server| {
        if server.is_sql_server() {
            return;
        }
        server.install("Bench");
        let mut figures: Vec<(String, Vec<f64>)> = Vec::new();
        for round in 0..ROUNDS {
            for (label, handlers, batch, fetchers) in OURS {
                note(&mut figures, label, ours(server, handlers, batch, fetchers));
            }
            for peer in &PEERS {
                if let Some(rate) = theirs(server, &installed, peer, round) {
                    note(&mut figures, peer.label, rate);
                }
            }
        }
        for (label, rates) in &figures {
            record::rounds("jobs/s, jobs that do nothing", label, rates);
        }
        let medians: Vec<_> = figures.into_iter().map(|(label, rates)| (label, median(rates))).collect();
        let ours = medians[0].1;
        println!("  {:<40}{:>12}{:>12}", "", "items/s", "ratio");
        for (label, rate) in medians {
            println!("  {label:<40}{rate:>12.0}{:>10.2} x", rate / ours);
        }
    });
}

fn note(figures: &mut Vec<(String, Vec<f64>)>, label: &str, rate: f64) {
    match figures.iter_mut().find(|(known, _)| known == label) {
        Some((_, rates)) => rates.push(rate),
        None => figures.push((label.to_owned(), vec![rate])),
    }
}

/// Items per second, to the end of the last settle.
fn ours(server: &Server, handlers: u32, batch: u32, fetchers: &str) -> f64 {
    let items = server.scaled(ITEMS);
    server.empty("Bench");
    server.fill("Bench", "Pending", 2001, items);
    server.settle_down("Bench");
    let queue = server.open("Bench", &[("worker.fetchers", fetchers)]);
    let worker = Worker::new(&queue).threads(handlers).batch_size(batch);
    let (stop, done) = (worker.stop_handle(), AtomicU64::new(0));
    let begun = Instant::now();
    worker
        .run(|_| {
            if done.fetch_add(1, Ordering::Relaxed) + 1 == u64::from(items) {
                stop.stop();
            }
        })
        .unwrap();
    f64::from(items) / begun.elapsed().as_secs_f64()
}

/// The same by a peer, as it says of itself; `None` when it is not installed.
fn theirs(server: &Server, installed: &Path, peer: &Peer, round: usize) -> Option<f64> {
    let (program, arguments) = peer.program.split_first().expect("a program");
    let path = if *program == "node" { PathBuf::from(program) } else { installed.join(program) };
    let is_there = if *program == "node" { installed.join("node_modules").exists() } else { path.exists() };
    if !is_there {
        return None;
    }
    let items = server.scaled(ITEMS) / peer.part;
    let database = server.another_database(&format!("peer_{round}"));
    let output = Command::new(path)
        .args(arguments)
        .arg(items.to_string())
        .current_dir(installed)
        .env("DATABASE_URL", url(database.scratch()))
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", peer.label));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {said}{}", peer.label, String::from_utf8_lossy(&output.stderr));
    let figures: Value = serde_json::from_str(said.lines().last().unwrap_or_default()).expect("a line of JSON");
    assert_eq!(figures["left"], 0, "{}: {said}", peer.label);
    Some(f64::from(items) / figures["seconds"].as_f64().expect("seconds"))
}

/// The URL of a connection string.
fn url(connection: &str) -> String {
    let part = |name: &str| {
        let mut parts = connection.split(';').filter_map(|part| part.split_once('='));
        parts.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).unwrap_or_default()
    };
    let mut password = String::new();
    for byte in part("Pwd").bytes() {
        let _ = write!(password, "%{byte:02x}");
    }
    format!("postgres://{}:{password}@{}:{}/{}", part("Uid"), part("Server"), part("Port"), part("Database"))
}
