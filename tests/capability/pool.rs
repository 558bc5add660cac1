//! The pool behind a queue.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};
use support::api::{Api, item};
use support::fixture::{Body, Given};
use support::limit::until;

pub const BODIES: &[(&str, Body)] = &[
    ("pool::few_connections_serve_many_threads", few_connections_serve_many_threads),
    ("pool::broken_connections_are_replaced", broken_connections_are_replaced),
    ("pool::idle_and_old_connections_are_replaced", idle_and_old_connections_are_replaced),
];

fn few_connections_serve_many_threads(given: &Given) {
    let queue = given.queue(&[("pool.size", "2"), ("application", &application(given))]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..5).for_each(|_| drop(queue.put("x"))));
        }
    });
    assert_eq!(given.look("COUNT(*)", "1 = 1"), "40");
    wait_for_connections(given, if given.server.is_sql_server() { 0..=0 } else { 1..=2 });
}

/// Waits until so many are open: the server may take a moment to take leave of one.
fn wait_for_connections(given: &Given, expected: RangeInclusive<i64>) {
    until(&format!("{expected:?} are open"), || expected.contains(&connections(given)));
}

/// How many connections the body's queue has open, by the name it goes by.
fn connections(given: &Given) -> i64 {
    if given.server.is_sql_server() {
        return 0; // Not every server that speaks T-SQL shows its sessions; the scripted peer counts them instead.
    }
    let statement = format!("SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = '{}'", application(given));
    match given.session().execute(&statement, &[]).unwrap().value(0, 0) {
        readpast::item::Value::Integer(count) => count,
        other => panic!("{other:?}"),
    }
}

fn application(given: &Given) -> String {
    given.queue.chars().take(60).collect()
}

fn broken_connections_are_replaced(given: &Given) {
    if given.server.is_sql_server() {
        return; // The scripted peer cuts connections there.
    }
    given.queue(&[]);
    let queue = given.open(&[("application", &application(given)), ("pool.size", "4")]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| queue.claim(1, Duration::ZERO).unwrap());
        }
    });
    let kill = format!(
        "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{}'",
        application(given)
    );
    given.session().execute(&kill, &[]).unwrap();
    queue.put("x");
    queue.take();
}

fn idle_and_old_connections_are_replaced(given: &Given) {
    given.queue(&[]);
    for setting in ["pool.idle_ms", "pool.lifetime_ms"] {
        let queue: Arc<dyn Api> = given.open(&[(setting, "0"), ("application", &application(given))]).into();
        for _ in 0..3 {
            queue.enqueue(&[item("x")], None).unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        queue.claim(10, Duration::ZERO).unwrap();
        wait_for_connections(given, 0..=1);
        queue.close(Duration::from_secs(600)).unwrap();
        wait_for_connections(given, 0..=0);
    }
}
