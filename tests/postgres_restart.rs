//! A PostgreSQL server that dies and comes back while workers are at it. In a binary of its own, since it takes the server
//! away from everybody.

use readpast::error::ErrorKind;
use readpast::item::{Action, Answer, ItemState};
use readpast::queue::Queue;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::cluster::Cluster;
use support::scratch::{Scratch, all, item};

const ITEMS: usize = 400;

/// The knowledge that the workers share.
#[derive(Default)]
struct Report {
    /// How often each item was settled, by its payload, as the workers' answers count it.
    settled: Mutex<HashMap<String, usize>>,
    count: AtomicUsize,
    is_over: AtomicBool,
}

/// Claims and settles until all is done; every call must come to its end by itself.
fn work(queue: &Queue, report: &Report) {
    while !report.is_over.load(Ordering::SeqCst) {
        let batch = queue.claim(3, Duration::from_millis(100)).unwrap();
        if batch.is_empty() {
            continue;
        }
        let outcomes = queue.settle(&all(&batch, Action::Complete), None).unwrap();
        for (item, outcome) in batch.iter().zip(outcomes) {
            // A worker that was held up for longer than its lease has lost the item: to another, or, since it was claimed with
            // others and got its attempt back, to the other thread that works under this name (CONFLICT).
            if outcome.answer == Answer::Ok {
                assert_eq!(outcome.state, Some(ItemState::Completed));
                let payload = format!("{:?}", item.value_of("Payload"));
                *report.settled.lock().unwrap().entry(payload).or_default() += 1;
                report.count.fetch_add(1, Ordering::SeqCst);
            } else {
                assert!(matches!(outcome.answer, Answer::LeaseLost | Answer::Conflict), "{:?}", outcome.answer);
            }
        }
    }
}

#[test]
fn workers_outlive_a_server_that_dies_and_returns_and_nothing_is_lost_or_done_twice() {
    let Some(cluster) = Cluster::at_hand() else {
        eprintln!("not run: READPAST_PG_BIN, _DATA and _USER name no cluster of ours");
        return;
    };
    // Given a queue full of items and four workers with two connections each
    let scratch = Scratch::new();
    let settings =
        [("lease.ms", "1500"), ("recover.interval_ms", "100"), ("poll.interval_ms", "50"), ("pool.size", "2")];
    let queues: Vec<_> = (0..4).map(|_| scratch.open(&settings)).collect();
    let items: Vec<_> = (0..ITEMS).map(|number| item(&number.to_string())).collect();
    queues[0].enqueue(&items, None).unwrap();
    // Nobody spends attempts for a crash of the server here.
    scratch.run("INSERT INTO readpast.app_settings (param, val_int) VALUES ('job.maxAttempts', 100)");
    scratch.run("CREATE TABLE public.completion (key timestamptz NOT NULL)");
    scratch.run(
        "CREATE FUNCTION public.note_completion() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ \
         BEGIN PERFORM pg_sleep(0.002); INSERT INTO public.completion VALUES (new.enqueued_at); RETURN NULL; END $$",
    );
    scratch.run(
        "CREATE TRIGGER completions AFTER UPDATE ON readpast.job FOR EACH ROW \
         WHEN (new.status = 'Completed') EXECUTE FUNCTION public.note_completion()",
    );

    // When the server dies twice while they work
    let report = Report::default();
    std::thread::scope(|scope| {
        for queue in queues.iter().chain(&queues) {
            scope.spawn(|| work(queue, &report));
        }
        let wait_for = |done: usize| {
            let deadline = Instant::now() + Duration::from_secs(600);
            while report.count.load(Ordering::SeqCst) < done {
                assert!(Instant::now() < deadline, "the workers stand still");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let finished = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for part in [1, 2] {
                wait_for(ITEMS * part / 4);
                cluster.crash_and_return();
            }
            scratch.wait_for("SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed'", &ITEMS.to_string());
        }));
        report.is_over.store(true, Ordering::SeqCst);
        finished.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });

    // Then every item is done, once: in the table, by the table's own count, and by the workers' answers
    assert_eq!(scratch.look("SELECT COUNT(*) FROM public.completion"), ITEMS.to_string());
    assert_eq!(scratch.look("SELECT COUNT(DISTINCT key) FROM public.completion"), ITEMS.to_string());
    let settled = report.settled.lock().unwrap();
    assert_eq!(settled.len(), ITEMS, "every settle was answered");
    assert!(settled.values().all(|times| *times == 1), "and none twice");

    // While the server is away, opening reports it
    cluster.stop();
    let error = Queue::open(&scratch.config(&[("retry.budget_ms", "0")]), "Job").unwrap_err();
    cluster.start();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    Queue::open(&scratch.config(&[]), "Job").unwrap();
}
