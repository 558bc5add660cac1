//! Waiting for items, and being called off.

use readpast::for_tests::Session;
use readpast::item::{Action, ItemState, NewItem, Value};
use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};
use support::api::{Api, item};
use support::fixture::{Body, Given};
use support::limit::until;

pub const BODIES: &[(&str, Body)] = &[
    ("wait::ends_empty_at_its_deadline", ends_empty_at_its_deadline),
    ("wait::a_local_item_ends_it", a_local_item_ends_it),
    ("wait::a_remote_item_is_found_by_polling", a_remote_item_is_found_by_polling),
    ("wait::the_next_due_time_is_met", the_next_due_time_is_met),
    ("wait::an_interrupt_ends_it_until_resumed", an_interrupt_ends_it_until_resumed),
    ("wait::a_shared_handle_is_interrupted_for_itself", a_shared_handle_is_interrupted_for_itself),
    ("wait::closing_ends_it", closing_ends_it),
    ("wait::an_idle_process_polls_once_per_interval", an_idle_process_polls_once_per_interval),
];

/// Longer than any test takes: a wait of this length ends by what is tested, or the test hangs.
const LONG: Duration = Duration::from_secs(3600);

fn ends_empty_at_its_deadline(given: &Given) {
    let queue = given.queue(&[]);
    let begun = Instant::now();
    assert_eq!(queue.claim(1, Duration::from_millis(50)).unwrap(), []);
    assert!(begun.elapsed() >= Duration::from_millis(50));
}

/// Claims one item in another thread; gives the thread time to be waiting.
fn waiting(queue: Arc<dyn Api>) -> JoinHandle<Result<usize, String>> {
    let waiter =
        std::thread::spawn(move || queue.claim(1, LONG).map(|taken| taken.len()).map_err(|problem| problem.kind));
    std::thread::sleep(Duration::from_millis(100));
    assert!(!waiter.is_finished());
    waiter
}

fn a_local_item_ends_it(given: &Given) {
    // With an interval of an hour, only the wake-up can end the wait. Producer and waiter are two handles.
    let producer = given.queue(&[]);
    let waiter = waiting(given.open(&[("poll.interval_ms", "3600000")]).into());
    producer.put("x");
    assert_eq!(waiter.join().unwrap(), Ok(1));
}

fn a_remote_item_is_found_by_polling(given: &Given) {
    let queue: Arc<dyn Api> = given.queue(&[("poll.interval_ms", "20")]).into();
    let added = queue.put("x");
    given.meddle("Status = 'Paused'", "Payload = 'x'");
    let waiter = waiting(Arc::clone(&queue));
    // Behind the library's back, as another machine would do it.
    given.meddle("Status = 'Pending'", "Payload = 'x'");
    assert_eq!(waiter.join().unwrap(), Ok(1));
    assert!(!added.key.is_empty());
}

fn the_next_due_time_is_met(given: &Given) {
    let queue: Arc<dyn Api> = given.queue(&[("poll.interval_ms", "3600000")]).into();
    queue.put_item(NewItem { delay_ms: Some(300), ..item("x") });
    assert_eq!(queue.claim(1, LONG).unwrap().len(), 1);

    // The same for what this process learns only while it waits.
    let waiter = waiting(Arc::clone(&queue));
    queue.put_item(NewItem { delay_ms: Some(100), ..item("y") });
    assert_eq!(waiter.join().unwrap(), Ok(1));
}

fn an_interrupt_ends_it_until_resumed(given: &Given) {
    let queue: Arc<dyn Api> = given.queue(&[]).into();
    let waiter = waiting(Arc::clone(&queue));
    queue.interrupt();
    assert_eq!(waiter.join().unwrap(), Err("Interrupted".to_owned()));

    // It stays: one that comes a moment later must not miss it.
    queue.put("x");
    assert_eq!(queue.claim(1, LONG).unwrap_err().kind, "Interrupted");
    assert_eq!(queue.claim(1, Duration::ZERO).unwrap_err().kind, "Interrupted");
    queue.resume();
    let taken = queue.take();
    queue.interrupt();
    let (outcomes, none) = queue.settle_and_claim(&[taken.settle(Action::Complete)], 1).unwrap();
    assert_eq!((outcomes.len(), none.len()), (1, 0), "work in hand can be finished, new work is not taken");
}

fn a_shared_handle_is_interrupted_for_itself(given: &Given) {
    let queue: Arc<dyn Api> = given.queue(&[]).into();
    let shared: Arc<dyn Api> = queue.share().into();
    assert_eq!(shared.worker(), queue.worker());

    let (first, second) = (waiting(Arc::clone(&queue)), waiting(Arc::clone(&shared)));
    shared.interrupt();
    assert_eq!(second.join().unwrap(), Err("Interrupted".to_owned()));
    queue.put("x");
    assert_eq!(first.join().unwrap(), Ok(1), "the other handle goes on");

    // One settles the items that the other has claimed: one worker, one set of leases.
    shared.resume();
    queue.put("y");
    let taken = shared.take();
    assert_eq!(queue.end(taken.settle(Action::Complete)).state, Some(ItemState::Completed));

    // An interrupt reaches what was shared from the handle, at any remove, and is ended where it began.
    let (grandchild, child) = (Arc::<dyn Api>::from(shared.share()), Arc::clone(&shared));
    let waiters = [waiting(Arc::clone(&grandchild)), waiting(child)];
    queue.interrupt();
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap(), Err("Interrupted".to_owned()));
    }
    grandchild.resume();
    assert_eq!(grandchild.claim(1, LONG).unwrap_err().kind, "Interrupted");
    queue.resume();
    grandchild.expect_empty();

    // Closing one closes all.
    let late: Arc<dyn Api> = queue.share().into();
    let waiter = waiting(late);
    shared.close(LONG).unwrap();
    assert_eq!(waiter.join().unwrap(), Err("Closed".to_owned()));
    assert_eq!(queue.enqueue(&[item("x")], None).unwrap_err().kind, "Closed");
}

fn closing_ends_it(given: &Given) {
    let queue: Arc<dyn Api> = given.queue(&[]).into();
    let waiter = waiting(Arc::clone(&queue));
    queue.close(LONG).unwrap();
    assert_eq!(waiter.join().unwrap(), Err("Closed".to_owned()));
    assert_eq!(queue.claim(1, Duration::ZERO).unwrap_err().kind, "Closed");
    assert_eq!(queue.enqueue(&[item("x")], None).unwrap_err().kind, "Closed");
    queue.close(LONG).unwrap();
}

fn an_idle_process_polls_once_per_interval(given: &Given) {
    if given.server.is_sql_server() {
        return; // Counted by the server's own statistics, which are PostgreSQL's here; the scripted peer counts for both.
    }
    given.queue(&[]);
    let function = format!("next_{}_set_trx", given.table().rsplit('"').nth(1).unwrap());
    let mut session = given.session();
    session.execute("ALTER SYSTEM SET track_functions = 'pl'", &[]).unwrap();
    session.execute("SELECT pg_reload_conf()", &[]).unwrap();
    // A queue that is opened then counts from the start.
    let tracked = "SELECT current_setting('track_functions')";
    until("calls are counted", || shown(&mut given.session(), tracked) == "pl");
    let queue = given.open(&[("poll.interval_ms", "3600000"), ("application", &function)]);
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                for _ in 0..10 {
                    assert_eq!(queue.claim(1, Duration::from_millis(20)).unwrap(), []);
                }
            });
        }
    });
    // Closing ends the connections, and with them the delay of their statistics.
    queue.close(LONG).unwrap();
    let count =
        format!("SELECT COALESCE(SUM(calls), 0)::text FROM pg_stat_user_functions WHERE funcname = '{function}'");
    let mut calls = || shown(&mut session, &count).parse::<u64>().unwrap();
    let open = format!("SELECT COUNT(*)::text FROM pg_stat_activity WHERE application_name = '{function}'");
    until("the connections have ended", || shown(&mut given.session(), &open) == "0");
    until("the statistics are there", || calls() >= 1);
    // Threads that found the queue's state unknown at first may each have looked once; then one look was enough for all.
    let calls = calls();
    assert!(calls <= 5, "{calls} looks for 50 waits");
}

/// A text that a query gives.
fn shown(session: &mut Session, query: &str) -> String {
    match session.execute(query, &[]).unwrap().value(0, 0) {
        Value::Text(text) => text.to_owned(),
        other => panic!("{other:?}"),
    }
}
