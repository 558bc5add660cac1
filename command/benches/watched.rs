//! The cost of being watched: items per second of workers beside `readpast serve` and without it, in a queue of millions,
//! and how long each page takes there.
//!
//! Why: a person who looks at a queue must not slow it down, and a page must not get slower as the queue grows: every figure is
//! a bounded look by an index, never a count of the table.
//!
//! How to read it: rounds with and without are neighbours, and which of the two comes first changes. Watched means: `serve`
//! as it is started by default, a scrape of `/metrics` each second, and somebody who has the page of the queue open, which
//! listens for events and is fetched again with each. The two processes, the workers and PostgreSQL share the machine.

/// The other benchmarks are the library's.
#[path = "../../benches/common/mod.rs"]
mod common;

use common::{Server, median, verdict};
use readpast::{Queue, Worker};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Items that have ended before anything is measured.
const ENDED: u32 = 5_000_000;
/// Items that the workers do in a round: enough that a round takes several scrapes and looks.
const ITEMS: u32 = 300_000;
const ROUNDS: usize = 6;
/// How often each page is fetched.
const FETCHES: usize = 20;

const PAGES: [(&str, &str); 9] = [
    ("all queues", "/"),
    ("a queue", "/queue/Bench"),
    ("failed items", "/queue/Bench/items?status=Failed"),
    ("completed items", "/queue/Bench/items?status=Completed"),
    ("items by error", "/queue/Bench/items?error=boom"),
    ("items that ended long ago", "/queue/Bench/items?status=Completed&older=30d"),
    ("one item", "/queue/Bench/item?key=2001-01-01T00%3A00%3A00.1234560"),
    ("/metrics", "/metrics"),
    ("/scale", "/scale/Bench"),
];

fn main() {
    Server::each("watched", |server| {
        server.install("Bench");
        let ended = server.scaled(ENDED);
        server.fill("Bench", "Completed", 2001, ended);
        server.fill("Bench", "Failed", 2000, 1000);
        server.settle_down("Bench");
        let items = server.scaled(ITEMS);
        let queue = server.open("Bench", &[]);
        let (mut rates, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
        // Buffers, plans and code are warm after a round of each.
        for round in 0..=ROUNDS {
            let mut pair = [0.0, 0.0];
            for watched in if round % 2 == 0 { [false, true] } else { [true, false] } {
                let year = 2002 + 2 * u32::try_from(round).unwrap() + u32::from(watched);
                server.fill("Bench", "Pending", year, items);
                server.settle_down("Bench");
                pair[usize::from(watched)] =
                    if watched { beside(server, || work(&queue, items)) } else { work(&queue, items) };
            }
            if round > 0 {
                rates[0].push(pair[0]);
                rates[1].push(pair[1]);
                ratios.push(pair[1] / pair[0]);
            }
        }
        let [alone, watched] = rates.map(median);
        println!("  {:<58}{alone:>12.0}", "items/s, 10 handlers, nobody looks");
        println!("  {:<58}{watched:>12.0}", "items/s beside serve, a scrape a second and an open page");
        let (least, most) = ratios.iter().fold((f64::MAX, 0.0_f64), |(l, m), &ratio| (l.min(ratio), m.max(ratio)));
        let lost = 100.0 * (1.0 - median(ratios));
        let what = format!("lost beside serve (rounds: {:.1} to {:.1} %)", 100.0 * (1.0 - most), 100.0 * (1.0 - least));
        verdict(&what, &format!("{lost:.1} %"), "< 3 %", lost < 3.0);
        pages(server, &queue, items);
    });
}

/// Items per second of 10 handlers that do nothing, to the end of the last settle.
fn work(queue: &Queue, items: u32) -> f64 {
    let worker = Worker::new(queue).threads(10);
    let stop = worker.stop_handle();
    let (done, begun) = (AtomicU64::new(0), Instant::now());
    worker
        .run(|_| {
            if done.fetch_add(1, Ordering::Relaxed) + 1 == u64::from(items) {
                stop.stop();
            }
        })
        .unwrap();
    f64::from(items) / begun.elapsed().as_secs_f64()
}

/// Works while the queue is watched.
fn beside(server: &Server, work: impl FnOnce() -> f64) -> f64 {
    let served = Served::start(server);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                served.get("/metrics");
                thread::sleep(Duration::from_secs(1));
            }
        });
        scope.spawn(|| served.watch("/queue/Bench", &over));
        let rate = work();
        over.store(true, Ordering::Relaxed);
        rate
    })
}

/// How long each page takes, while nothing happens and while the workers work.
fn pages(server: &Server, queue: &Queue, items: u32) {
    let served = Served::start(server);
    let idle = PAGES.map(|(_, path)| served.times(path));
    let over = AtomicBool::new(false);
    let busy = thread::scope(|scope| {
        let worker = Worker::new(queue).threads(10);
        let stop = worker.stop_handle();
        server.fill("Bench", "Pending", 1999, items * 2);
        scope.spawn(move || worker.run(|_| ()).unwrap());
        scope.spawn(|| served.watch("/queue/Bench", &over));
        let busy = PAGES.map(|(_, path)| served.times(path));
        stop.stop();
        over.store(true, Ordering::Relaxed);
        busy
    });
    for (((name, _), idle), busy) in PAGES.iter().zip(idle).zip(busy) {
        let figure = |times: &[f64]| (median(times.to_vec()), times.iter().copied().fold(0.0, f64::max));
        let ((idle, idle_most), (busy, busy_most)) = (figure(&idle), figure(&busy));
        let what = format!("{name}: {idle:.0} ms (most {idle_most:.0}), beside workers (most {busy_most:.0})");
        verdict(&what, &format!("{busy:.0} ms"), "< 200 ms", idle < 200.0 && busy < 200.0);
    }
}

/// `readpast serve` as a process of its own.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    /// To the first figures.
    fn start(server: &Server) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_readpast"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("READPAST_CONNECTION", server.scratch())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        let served = Self { child, address };
        while !served.get("/health/ready").starts_with("HTTP/1.1 200") {
            thread::sleep(Duration::from_millis(50));
        }
        served
    }

    fn connect(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// The whole answer.
    fn get(&self, path: &str) -> String {
        let mut answer = String::new();
        self.connect(path).read_to_string(&mut answer).unwrap();
        answer
    }

    /// The times of some fetches in milliseconds.
    fn times(&self, path: &str) -> Vec<f64> {
        let fetches = (0..FETCHES).map(|_| {
            let begun = Instant::now();
            let answer = self.get(path);
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
            begun.elapsed().as_secs_f64() * 1e3
        });
        fetches.collect()
    }

    /// As a browser does that has a page open: fetches it again whenever there are new figures.
    fn watch(&self, path: &str, over: &AtomicBool) {
        let stream = self.connect("/events");
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut events = BufReader::new(stream);
        let mut line = String::new();
        while !over.load(Ordering::Relaxed) {
            // Text that was read before a time-out stays in the line.
            if let Ok(read) = events.read_line(&mut line) {
                assert_ne!(read, 0, "the stream of events has ended");
                if line.starts_with("event: figures") {
                    self.get(path);
                }
                line.clear();
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
