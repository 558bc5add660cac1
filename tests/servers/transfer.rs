//! Money goes from one account to another, hundreds of times, by a procedure that is the queue's handler, each time with an item
//! that follows; while connections are cut and workers vanish in the middle of it. The sums hold: each transfer is done once,
//! and each has its one item that follows.

use readpast::error::ErrorKind;
use readpast::worker::Procedure;
use readpast::{Columns, ItemState, NewItem, Queue};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use support::scratch::{Scratch, look};

const TRANSFERS: usize = 500;
const WORKERS: usize = 4;
const MOST_CUTS: u64 = 60;

const HANDLER: &str = "
CREATE FUNCTION public.handle(payload text, key text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF payload = 'told' THEN
        INSERT INTO public.told (key) VALUES (handle.key);
    ELSE
        UPDATE public.account SET balance = balance - payload::integer WHERE id = 1;
        UPDATE public.account SET balance = balance + payload::integer WHERE id = 2;
        INSERT INTO public.transfer (key, amount) VALUES (handle.key, payload::integer);
        PERFORM readpast.add_job_utx(\"Payload_\" => 'told');
    END IF;
END;
$$";

/// A queue full of transfers, and the sum of them.
fn filled(scratch: &Scratch) -> usize {
    for statement in [
        "CREATE TABLE public.account (id integer PRIMARY KEY, balance bigint NOT NULL)",
        "INSERT INTO public.account (id, balance) VALUES (1, 0), (2, 0)",
        // Neither has a unique key: what is done twice is to be seen, not prevented.
        "CREATE TABLE public.transfer (key text NOT NULL, amount integer NOT NULL)",
        "CREATE TABLE public.told (key text NOT NULL)",
        HANDLER,
        // A cut costs an attempt, and here are many.
        "INSERT INTO readpast.app_settings (param, val_int) VALUES ('job.maxAttempts', 1000)",
    ] {
        scratch.run(statement);
    }
    let item = |amount: usize| {
        let columns: Columns = json!({"Payload": amount.to_string()}).as_object().unwrap().clone().into();
        NewItem { columns, ..NewItem::default() }
    };
    let items: Vec<_> = (1..=TRANSFERS).map(item).collect();
    scratch.open(&[]).enqueue(&items, None).unwrap();
    (1..=TRANSFERS).sum()
}

/// Works until nothing is left to do, whatever happens to its connections; now and then as another worker.
fn work(scratch: &Scratch, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        let Ok(queue) = Queue::open(&scratch.config(&[("retry.budget_ms", "2000")]), "Job") else { continue };
        let Ok(procedure) = Procedure::find(&queue, "handle") else { continue };
        for _ in 0..200 {
            match procedure.work(Duration::ZERO) {
                Ok(Some(_)) => {}
                Ok(None) if done.load(Ordering::Relaxed) => return,
                Ok(None) => thread::yield_now(),
                Err(error) => assert!(error.kind().is_transient() || error.kind() == ErrorKind::Protocol, "{error}"),
            }
        }
    }
}

#[test]
fn the_sums_hold_however_often_it_is_cut() {
    // On a busy machine the work may be done before anything is cut.
    assert!((0..5).any(|_| transfer_all() > 0), "it was to be cut");
}

/// Does all transfers and looks at the sums. How often it was cut.
fn transfer_all() -> u64 {
    let scratch = Scratch::new();
    let sum = filled(&scratch);
    let (done, cuts) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut session = scratch.session();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| work(&scratch, &done));
        }
        let (done, cuts) = (&done, &cuts);
        scope.spawn(move || {
            // In the middle of whatever it does: of a call, a commit, or between the two.
            let cut = "SELECT COUNT(pg_terminate_backend(s.pid)) FROM (SELECT a.pid FROM pg_stat_activity AS a WHERE a.datname = \
                       current_database() AND a.application_name = 'readpast' AND a.state <> 'idle' ORDER BY random() LIMIT 1) AS s";
            while !done.load(Ordering::Relaxed) && cuts.load(Ordering::Relaxed) < MOST_CUTS {
                let count = look(&mut session, cut).parse::<u64>().unwrap();
                cuts.fetch_add(count, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
            }
        });
        let completed = format!(
            "SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed' HAVING COUNT(*) >= {}",
            2 * TRANSFERS
        );
        scratch.wait_for(&format!("SELECT COUNT(*) FROM ({completed}) AS c"), "1");
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(scratch.look("SELECT STRING_AGG(balance::text, ' ' ORDER BY id) FROM account"), format!("-{sum} {sum}"));
    let transfers = "SELECT COUNT(*) || ' ' || COUNT(DISTINCT key) || ' ' || SUM(amount) FROM transfer";
    assert_eq!(scratch.look(transfers), format!("{TRANSFERS} {TRANSFERS} {sum}"));
    assert_eq!(
        scratch.look("SELECT COUNT(*) || ' ' || COUNT(DISTINCT key) FROM told"),
        format!("{TRANSFERS} {TRANSFERS}")
    );
    let stats = scratch.open(&[]).stats().unwrap();
    assert_eq!(stats.count(ItemState::Completed), 2 * i64::try_from(TRANSFERS).unwrap());
    assert_eq!(stats.counts.iter().sum::<i64>(), 2 * i64::try_from(TRANSFERS).unwrap(), "and nothing else");
    cuts.into_inner()
}
