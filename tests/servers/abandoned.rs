//! Workers that are abandoned at a bad moment: in the middle of a step, after a close that gave up, beside a slow observer.

use readpast::engine::{Event, Taken, WorkerTerms};
use readpast::item::NewItem;
use readpast::{Action, Answer, Engine, ErrorKind, ItemState, Queue, Settlement};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use support::limit::{in_time, until};
use support::scratch::Scratch;

const LONG: Duration = Duration::from_secs(600);

/// An engine with an item that a handler works on, and the item's key.
fn at_work(queue: &Queue, terms: WorkerTerms) -> (Engine, String) {
    queue.enqueue(&[NewItem::default()], None).unwrap();
    let engine = Engine::new(queue, terms);
    engine.start().unwrap();
    let Taken::Items(batch) = engine.take(1, LONG).unwrap() else { panic!("there is an item") };
    let key = batch.get(0).unwrap().key().to_owned();
    (engine, key)
}

fn done(key: &str) -> Settlement<'_> {
    Settlement { attempt: 1, ..Settlement::control(key, None, Action::Complete) }
}

/// The item is back: a claim gets it, at the attempt that was not spent.
fn is_back(queue: &Queue) {
    let again = queue.claim(1, LONG).unwrap();
    assert_eq!(again.iter().map(|item| item.attempt()).collect::<Vec<_>>(), [1], "no attempt was spent");
}

#[test]
fn a_step_under_way_does_not_keep_the_item() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    let (engine, key) = at_work(&queue, WorkerTerms::default());
    let mut holder = scratch.session();
    holder.execute("BEGIN", &[]).unwrap();
    holder.execute("SELECT 1 FROM readpast.job FOR UPDATE", &[]).unwrap();
    thread::scope(|scope| {
        let step = scope.spawn(|| engine.step(&key, 1, "half").unwrap());
        scratch.wait_for(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
            "1",
        );
        engine.abandon();
        assert!(engine.is_lost(&key, 1), "its handler learns of it at once");
        assert_eq!(engine.end(&[done(&key)]), [Answer::NotFound]);
        assert_eq!(engine.step(&key, 1, "more").unwrap(), Answer::NotFound);
        holder.execute("COMMIT", &[]).unwrap();
        assert_eq!(step.join().unwrap(), Answer::Ok);
    });
    engine.close(Some(LONG)).unwrap();
    is_back(&queue);
}

#[test]
fn a_worker_that_was_given_up_gives_its_items_back_itself() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    let (engine, key) = at_work(&queue, WorkerTerms::default());
    for _ in 0..2 {
        let error = engine.close(Some(Duration::from_millis(1))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        // Nobody would settle an end.
        assert!(engine.is_lost(&key, 1));
        assert_eq!(engine.end(&[done(&key)]), [Answer::NotFound]);
    }
    assert_eq!(queue.stats().unwrap().count(ItemState::Processing), 1);
    engine.abandon();
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 1);
    engine.close(Some(LONG)).unwrap();
    is_back(&queue);
}

/// The program is about to end: it waits for no lock of others, and for no second try.
#[test]
fn the_last_try_of_a_worker_that_was_given_up_is_brief() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[("pool.size", "1")]);
    let (engine, _) = at_work(&queue, WorkerTerms::default());
    let mut holder = scratch.session();
    holder.execute("BEGIN", &[]).unwrap();
    holder.execute("SELECT 1 FROM readpast.job FOR UPDATE", &[]).unwrap();
    engine.close(Some(Duration::from_millis(1))).unwrap_err();
    in_time(|| engine.abandon());
    holder.execute("ROLLBACK", &[]).unwrap();
    let calls = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    scratch.wait_for(calls, "0");
}

/// The program's knowledge of its items is uncertain: none is given back.
#[test]
fn the_leases_of_a_worker_whose_observer_panicked_run_out() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    queue.enqueue(&[NewItem::default()], None).unwrap();
    let observer = |event: &Event<'_>| assert!(!matches!(event, Event::Settled { .. }), "as it happens");
    let terms = WorkerTerms { observer: Some(Arc::new(observer)), ..WorkerTerms::default() };
    let (engine, key) = at_work(&queue, terms);
    let Taken::Items(other) = engine.take(1, LONG).unwrap() else { panic!("there is another") };
    assert_eq!(engine.end(&[done(&key)]), [Answer::Ok]);
    until("the observer has panicked", || engine.is_lost(other.get(0).unwrap().key(), 1));
    engine.abandon();
    assert_eq!(queue.stats().unwrap().count(ItemState::Processing), 1);
    engine.close(Some(LONG)).unwrap_err();
}

#[test]
fn observers_learn_of_an_abandon_before_its_settlement() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    let log = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&log);
    let observer = move |event: &Event<'_>| {
        let word = match event {
            Event::Abandoned { .. } => {
                // Long enough for a fetcher that was awake already.
                thread::sleep(Duration::from_millis(100));
                "abandoned"
            }
            Event::Settled { .. } => "settled",
            _ => return,
        };
        seen.lock().unwrap().push(word);
    };
    let (engine, _) = at_work(&queue, WorkerTerms { observer: Some(Arc::new(observer)), ..WorkerTerms::default() });
    engine.abandon();
    engine.close(Some(LONG)).unwrap();
    assert_eq!(*log.lock().unwrap(), ["abandoned", "settled"]);
}
