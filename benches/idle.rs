//! The cost of an idle worker, and how soon it is at work: queries a second while nothing is due, and the time from the
//! end of an enqueue to the return of a waiting claim; and on PostgreSQL the same of many queues in many processes, with the
//! doorbell and without.
//!
//! Why: a worker waits most of its life. By default it may ask the server once a second (`poll.interval_ms`), however
//! many threads wait; yet what is enqueued by the same process it must have within 10 ms, and what others enqueue within
//! the interval.
//!
//! How to read it: queries are counted by the server. Latencies are the median and the longest; the items of others are
//! put in by a connection that the library knows nothing of, at moments spread over the interval.

mod common;
mod idle_fleet;

use common::{Server, show, verdict};
use readpast::{item::NewItem, queue::Queue};
use std::{
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

const WAITERS: usize = 4;
const LOCAL: usize = 60;
const REMOTE: u32 = 8;
const INTERVAL: Duration = Duration::from_millis(1000);

fn main() {
    Server::each("idle", |server| {
        server.install("Bench");
        queries(server);
        recoveries(server);
        let queue = server.open("Bench", &[]);
        local(&queue);
        remote(server, &queue);
        drop(queue);
        if !server.is_sql_server() {
            idle_fleet::measure(server);
        }
    });
}

/// The looks in the first moment, when nobody knows yet that there is nothing, are in both waits and cancel out.
fn queries(server: &Server) {
    server.count_calls();
    let [short, long] = [Duration::from_secs(1), Duration::from_secs(7)].map(|wait| {
        let before = server.claims("Bench");
        let queue = server.open("Bench", &[]);
        thread::scope(|scope| {
            for _ in 0..WAITERS {
                scope.spawn(|| assert!(queue.claim(10, wait).unwrap().is_empty()));
            }
        });
        queue.close(Duration::from_secs(10)).unwrap();
        // The server takes its time to publish what it has counted.
        thread::sleep(Duration::from_millis(500));
        (server.claims("Bench") - before) as f64
    });
    let rate = (long - short) / 6.0;
    verdict(&format!("queries a second of {WAITERS} threads that wait"), &format!("{rate:.2}"), "<= 1", rate <= 1.0);
}

/// Searches for the items of dead workers by processes that wait: by one of them, once in `recover.interval_ms`.
fn recoveries(server: &Server) {
    const PROCESSES: usize = 8;
    const SECONDS: u64 = 20;

    if server.is_sql_server() {
        // It counts the calls of procedures only as long as it keeps their plans.
        return;
    }
    let searches = || {
        thread::sleep(Duration::from_secs(1));
        server.number(
            "SELECT COALESCE(SUM(calls), 0)::bigint FROM pg_stat_user_functions WHERE funcname = 'recover_bench_trx'",
        )
    };
    // An item in work: without one nobody looks for dead workers.
    let busy = server.open("Bench", &[]);
    busy.enqueue(&[NewItem::default()], None).unwrap();
    assert_eq!(busy.claim(1, Duration::ZERO).unwrap().len(), 1);
    let before = searches();
    let settings = [("recover.interval_ms", "1000"), ("poll.interval_ms", "100")];
    let queues = server.open_by_processes("Bench", PROCESSES, &settings);
    thread::scope(|scope| {
        for queue in &queues {
            scope.spawn(|| assert!(queue.claim(1, Duration::from_secs(SECONDS)).unwrap().is_empty()));
        }
    });
    queues.iter().for_each(|queue| queue.close(Duration::from_secs(10)).unwrap());
    let rate = (searches() - before) as f64 / SECONDS as f64;
    server.empty("Bench");
    let what = format!("recoveries a second of {PROCESSES} processes, interval 1 s");
    verdict(&what, &format!("{rate:.2}"), "<= 1.5", rate <= 1.5);
}

fn local(queue: &Queue) {
    let waits: Vec<_> = (0..LOCAL)
        .map(|_| {
            let claimed = wait_in_background(queue);
            // The waiter has asked the server, and sleeps.
            thread::sleep(Duration::from_millis(20));
            queue.enqueue(&[NewItem::default()], None).unwrap();
            let enqueued = Instant::now();
            claimed.recv().unwrap().saturating_duration_since(enqueued)
        })
        .collect();
    report("pick-up of an item of this process", waits, Duration::from_millis(10), "<= 10 ms");
}

fn remote(server: &Server, queue: &Queue) {
    let mut session = server.session();
    let waits: Vec<_> = (0..REMOTE)
        .map(|i| {
            let claimed = wait_in_background(queue);
            thread::sleep(Duration::from_millis(50) + INTERVAL * i / REMOTE);
            server.put_one(&mut session, "Bench");
            let enqueued = Instant::now();
            claimed.recv().unwrap().saturating_duration_since(enqueued)
        })
        .collect();
    // A claim's own time comes on top of the interval.
    let most = INTERVAL + Duration::from_millis(50);
    report("pick-up of an item of others", waits, most, "<= 1 s");
}

/// A thread that waits for one item, and returns the time at which it has it.
fn wait_in_background(queue: &Queue) -> Receiver<Instant> {
    let (tell, told) = mpsc::channel();
    let queue = queue.clone();
    thread::spawn(move || {
        let batch = queue.claim(1, Duration::from_secs(30)).unwrap();
        let now = Instant::now();
        assert_eq!(batch.len(), 1);
        tell.send(now).unwrap();
    });
    told
}

fn report(what: &str, mut waits: Vec<Duration>, most: Duration, target: &str) {
    waits.sort_unstable();
    let (middle, longest) = (waits[waits.len() / 2], waits[waits.len() - 1]);
    verdict(&format!("{what}, median (longest {})", show(longest)), &show(middle), target, middle <= most);
}
