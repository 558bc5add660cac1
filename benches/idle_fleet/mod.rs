//! Many queues in many processes with nothing to do; how soon one is woken by another process; and the price of that for who adds to a
//! busy queue.

use crate::common::{Server, median, show, verdict};
use readpast::for_tests::Session;
use readpast::item::{Action, ItemRef, NewItem, OperatorVerb, Settlement};
use readpast::queue::Queue;
use readpast::worker::Worker;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const QUEUES: usize = 100;
const PROCESSES: usize = 20;
const WATCHED: u64 = 30;
const SAMPLES: usize = 200;
const SLEEPERS: usize = 50;
const PAIRS: usize = 9;
const OF_A_ROUND: usize = 1500;

pub fn measure(server: &Server) {
    for (label, bell) in [("with the doorbell", "on"), ("by polls alone", "off")] {
        latency(server, label, bell);
    }
    soon_after_work(server);
    for (label, bell) in [("with the doorbell", "on"), ("by renewals and polls alone", "off")] {
        cancelled(server, label, bell);
        awaited(server, label, bell);
    }
    busy(server);
    settled(server);
    beside_sleepers(server);
    idle(server);
}

fn add(session: &mut Session) {
    session.execute("SELECT readpast.add_bench_trx()", &[]).unwrap();
}

/// A thread that claims one item after the other, and reports when it has it.
fn claimer(queue: Queue) -> mpsc::Receiver<Instant> {
    let (sender, claimed) = mpsc::channel();
    thread::spawn(move || {
        while let Ok(batch) = queue.claim(1, Duration::from_secs(3600)) {
            if sender.send(Instant::now()).is_err() {
                return;
            }
            let item = batch.get(0).unwrap();
            if queue.settle(&[Settlement::new(&item, Action::Complete)], None).is_err() {
                // It was closed.
                return;
            }
        }
    });
    claimed
}

fn quantiles(mut waits: Vec<Duration>) -> [Duration; 2] {
    waits.sort_unstable();
    [waits[waits.len() / 2], waits[waits.len() * 99 / 100]]
}

/// Items of another process that come to a process which has been idle for 0.3 to 1.5 seconds.
fn latency(server: &Server, label: &str, bell: &str) {
    // Items of others are still in work, and would come in between.
    server.empty("Bench");
    let queue = server.open("Bench", &[("poll.doorbell", bell)]);
    let (claimed, mut session) = (claimer(queue.clone()), server.session());
    let waits = (0..SAMPLES)
        .map(|sample| {
            thread::sleep(Duration::from_millis(300 + 1200 * sample as u64 / SAMPLES as u64));
            let added = Instant::now();
            add(&mut session);
            claimed.recv().unwrap().saturating_duration_since(added)
        })
        .collect();
    queue.close(Duration::from_secs(10)).unwrap();
    let [p50, p99] = quantiles(waits);
    let (most, target) = if bell == "on" { (10, "<= 10 ms, p99 <= 50 ms") } else { (1000, "<= 1 s") };
    let what = format!("pick-up of another process' item {label}, median (p99 {})", show(p99));
    verdict(&what, &show(p50), target, p50 <= Duration::from_millis(most) && p99 <= Duration::from_millis(most * 5));
}

/// A worker at work on an item that an operator cancels in another process: until its handler learns of it. Leases last three seconds.
fn cancelled(server: &Server, label: &str, bell: &str) {
    server.empty("Bench");
    let operator = server.open_by_processes("Bench", 1, &[]).remove(0);
    operator.set_setting("leaseMs", Some(3000)).unwrap();
    let queue = server.open("Bench", &[("poll.doorbell", bell)]);
    let (sender, began) = mpsc::channel();
    let (learns, learned) = mpsc::channel();
    let worker = Worker::new(&queue);
    let stop = worker.stop_handle();
    let works = thread::spawn(move || {
        worker.run(move |job| {
            sender.send(job.key().to_owned()).unwrap();
            while !job.is_lost() {
                thread::sleep(Duration::from_micros(200));
            }
            learns.send(Instant::now()).unwrap();
        })
    });
    let waits = (0..SAMPLES / 2)
        .map(|sample| {
            operator.enqueue(&[NewItem::default()], None).unwrap();
            let key = began.recv().unwrap();
            thread::sleep(Duration::from_millis(100 + 1000 * (sample as u64 * 37 % 100) / 100));
            let item = ItemRef { key: &key, token: None };
            let cancelled = Instant::now();
            operator.act(OperatorVerb::Cancel, &[item]).unwrap();
            learned.recv().unwrap().saturating_duration_since(cancelled)
        })
        .skip(2)
        .collect();
    stop.stop();
    works.join().unwrap().unwrap();
    operator.set_setting("leaseMs", None).unwrap();
    queue.close(Duration::from_secs(10)).unwrap();
    let [p50, p99] = quantiles(waits);
    let (most, target) = if bell == "on" { (10, "<= 10 ms") } else { (1000, "<= 1 s") };
    let what = format!("a handler learns of a cancel {label}, median (p99 {})", show(p99));
    verdict(&what, &show(p50), target, p50 <= Duration::from_millis(most));
}

/// A process that has waited for the end of an item for 0.1 to 1.5 seconds, when another settles it.
fn awaited(server: &Server, label: &str, bell: &str) {
    server.empty("Bench");
    let queue = server.open("Bench", &[("poll.doorbell", bell)]);
    let worker = server.open_by_processes("Bench", 1, &[]).remove(0);
    let waits = (0..SAMPLES / 2)
        .map(|sample| {
            let key = queue.enqueue(&[NewItem::default()], None).unwrap().remove(0).key;
            let waits = queue.clone();
            let waiter = thread::spawn(move || {
                waits.wait_for(&key, Duration::from_secs(60)).unwrap();
                Instant::now()
            });
            let batch = worker.claim(1, Duration::from_secs(60)).unwrap();
            thread::sleep(Duration::from_millis(100 + 1400 * (sample as u64 * 37 % 100) / 100));
            let settled = Instant::now();
            worker.settle(&[Settlement::new(&batch.get(0).unwrap(), Action::Complete)], None).unwrap();
            waiter.join().unwrap().saturating_duration_since(settled)
        })
        .skip(2)
        .collect();
    queue.close(Duration::from_secs(10)).unwrap();
    let [p50, p99] = quantiles(waits);
    let (most, target) = if bell == "on" { (10, "<= 10 ms") } else { (1000, "<= 1 s") };
    let what = format!("a wait for an item ends {label}, median (p99 {})", show(p99));
    verdict(&what, &show(p50), target, p50 <= Duration::from_millis(most));
}

/// The same 60 ms after an item, by polls alone.
fn soon_after_work(server: &Server) {
    server.empty("Bench");
    let queue = server.open("Bench", &[("poll.doorbell", "off")]);
    let (claimed, mut session) = (claimer(queue.clone()), server.session());
    let waits = (0..SAMPLES)
        .map(|_| {
            let added = Instant::now();
            add(&mut session);
            let wait = claimed.recv().unwrap().saturating_duration_since(added);
            thread::sleep(Duration::from_millis(60));
            wait
        })
        .skip(1)
        .collect();
    queue.close(Duration::from_secs(10)).unwrap();
    let [p50, p99] = quantiles(waits);
    let what = format!("the same by polls alone, 60 ms after work, median (p99 {})", show(p99));
    verdict(&what, &show(p50), "<= 100 ms", p50 <= Duration::from_millis(100));
}

/// Adding to a queue over which nobody sleeps, with the look for sleepers and without.
fn busy(server: &Server) {
    let adds = format!("DO $$ BEGIN FOR i IN 1..{OF_A_ROUND} LOOP PERFORM readpast.add_bench_trx(); END LOOP; END $$");
    let parts = [["PERFORM \"readpast\".\"queue_ring\"", ";"]];
    let cost = cost(server, "readpast.add_bench_set_trx", &parts, &["SELECT 1", &adds]);
    verdict_of("time to add to a busy queue, with and without the doorbell", cost);
}

/// Settling items for which nobody waits, one by one, with the looks for who is to be woken and without.
fn settled(server: &Server) {
    let prepare = format!(
        "DO $$ BEGIN FOR i IN 1..{OF_A_ROUND} LOOP PERFORM readpast.add_bench_trx(); END LOOP; \
         DROP TABLE IF EXISTS taken; CREATE TEMPORARY TABLE taken AS \
         SELECT n.enqueued_at AS key, n.updated_at AS token FROM readpast.next_bench_set_trx('w', 1000) AS n; END $$"
    );
    let settle = "DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM taken LOOP \
         PERFORM readpast.modify_bench_set_trx(NULL, 'w', json_build_array(json_build_object(\
         'key', r.key, 'token', r.token, 'attempt', 1, 'status', 'Completed'))); END LOOP; END $$";
    let parts = [
        ["IF items_::text !~", "END IF;"],
        ["IF is_awaited_", "END IF;"],
        [",\n        EXISTS (SELECT 1 FROM \"readpast\".\"queue_awaited\"", ")"],
    ];
    let cost = cost(server, "readpast.modify_bench_set_trx", &parts, &[&prepare, settle]);
    verdict_of("time to settle in a busy queue, with and without the doorbell", cost);
}

fn verdict_of(what: &str, mut ratios: Vec<f64>) {
    ratios.sort_unstable_by(f64::total_cmp);
    let (least, most, ratio) = (ratios[0], ratios[ratios.len() - 1], median(ratios));
    verdict(&format!("{what} ({least:.2} to {most:.2})"), &format!("{ratio:.3}"), "<= 1.02", ratio <= 1.02);
}

/// The time of the second statement with a function as it is to that without some parts of it: pairs, one after the other. Each part is
/// named by its beginning and its end. One statement does all of a round, so that neither the client nor the log is measured.
fn cost(server: &Server, function: &str, parts: &[[&str; 2]], statements: &[&str; 2]) -> Vec<f64> {
    let mut session = server.session();
    let with = text(&mut session, &format!("SELECT pg_get_functiondef('{function}'::regproc)"));
    let mut without = with.clone();
    for [begins, ends] in parts {
        let begin = without.find(begins).unwrap_or_else(|| panic!("{function} has no {begins}"));
        let end = begin + without[begin..].find(ends).unwrap() + ends.len();
        without.replace_range(begin..end, "");
    }
    let mut round = |definition: &str| {
        session.execute(definition, &[]).unwrap();
        session.execute(statements[0], &[]).unwrap();
        let begun = Instant::now();
        session.execute(statements[1], &[]).unwrap();
        begun.elapsed().as_secs_f64()
    };
    let _warm = (round(&with), round(&without));
    let ratios = (0..PAIRS)
        .map(|pair| {
            let (first, second) = if pair % 2 == 0 { (&with, &without) } else { (&without, &with) };
            let (first, second) = (round(first), round(second));
            if pair % 2 == 0 { first / second } else { second / first }
        })
        .collect();
    round(&with);
    server.empty("Bench");
    ratios
}

/// Adding to a busy queue while many processes wait for its items, and one more works: with the doorbell and without.
fn beside_sleepers(server: &Server) {
    let rate = |bell: &str| {
        let queues = server.open_by_processes("Bench", SLEEPERS, &[("poll.doorbell", bell)]);
        let claimed: Vec<_> = queues.iter().map(|queue| claimer(queue.clone())).collect();
        thread::sleep(Duration::from_secs(3));
        let (added, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (mut session, added, stop) = (server.session(), Arc::clone(&added), Arc::clone(&stop));
                thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        add(&mut session);
                        added.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        thread::sleep(Duration::from_secs(5));
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        queues.iter().for_each(|queue| queue.close(Duration::from_secs(30)).unwrap());
        drop(claimed);
        server.empty("Bench");
        added.load(Ordering::Relaxed) as f64 / 5.0
    };
    let ratios: Vec<_> = (0..3).map(|_| (rate("off"), rate("on"))).collect();
    for (off, on) in &ratios {
        println!("  items/s added beside {SLEEPERS} processes that wait: {on:.0} with the doorbell, {off:.0} without");
    }
    let ratio = median(ratios.iter().map(|(off, on)| on / off).collect());
    verdict("rate of adding beside them, with the doorbell to without", &format!("{ratio:.2}"), ">= 0.9", ratio >= 0.9);
}

/// The transactions of an idle fleet, as the server counts them.
fn idle(server: &Server) {
    let names: Vec<_> = (0..QUEUES).map(|number| format!("Idle{number}")).collect();
    names.iter().for_each(|name| server.install(name));
    // A server for tests has few connections: one handle of each process keeps its own, and the poller uses that. They log in one after
    // the other, and a busy machine takes its time.
    let patient = [("login.timeout_ms", "600000"), ("pool.idle_ms", "300000")];
    let closing = [("login.timeout_ms", "600000"), ("pool.idle_ms", "0")];
    let (mut queues, mut waiters) = (Vec::new(), Vec::new());
    for (place, name) in names.iter().enumerate() {
        for queue in server.open_by_processes(name, PROCESSES, if place == 0 { &patient } else { &closing }) {
            assert!(queue.claim(1, Duration::ZERO).unwrap().is_empty());
            queues.push(queue.clone());
            let wait = move || drop(queue.claim(1, Duration::from_secs(3600)));
            waiters.push(thread::Builder::new().stack_size(256 << 10).spawn(wait).unwrap());
        }
    }
    // Until all rest.
    let counted =
        "SELECT (xact_commit + xact_rollback)::bigint FROM pg_stat_database WHERE datname = current_database()";
    let mut before = server.number(counted);
    loop {
        thread::sleep(Duration::from_secs(10));
        let now = server.number(counted);
        if now - before < 600 {
            break;
        }
        before = now;
    }
    let before = server.number(counted);
    thread::sleep(Duration::from_secs(WATCHED));
    // The count has the question's own log-in and settings, too.
    let rate = (server.number(counted) - before) as f64 / WATCHED as f64;
    queues.iter().for_each(|queue| queue.close(Duration::from_secs(30)).unwrap());
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    let what = format!("transactions a second of {QUEUES} idle queues in {PROCESSES} processes");
    verdict(&what, &format!("{rate:.1}"), "<= 20", rate <= 20.5);
}

fn text(session: &mut Session, query: &str) -> String {
    match session.execute(query, &[]).unwrap().value(0, 0) {
        readpast::Value::Text(text) => text.to_owned(),
        other => panic!("{query}: {other:?}"),
    }
}
