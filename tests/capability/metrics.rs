//! The process's own figures.

use readpast::Lease;
use readpast::item::Action;
use std::time::Duration;
use support::api::item;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("metrics::tell_what_this_process_did", tell_what_this_process_did),
    ("metrics::tell_what_was_refused", tell_what_was_refused),
    ("metrics::tell_of_errors_that_passed", tell_of_errors_that_passed),
    ("metrics::tell_of_connections_while_there_are_any", tell_of_connections_while_there_are_any),
];

/// A figure of the body's queue; `more` are labels besides its own.
fn figure(given: &Given, name: &str, more: &str) -> f64 {
    figure_in(&given.layer.metrics(), given, name, more)
}

fn figure_in(text: &str, given: &Given, name: &str, more: &str) -> f64 {
    let start = format!("{name}{{schema=\"readpast\",queue=\"{}\"{more}}} ", given.queue);
    let found: Vec<_> = text.lines().filter_map(|line| line.strip_prefix(&start)).collect();
    assert!(found.len() < 2, "{start} is there {} times", found.len());
    found.first().map_or(-1.0, |value| value.parse().unwrap())
}

/// Reads the text once for all: it has every queue that this process has had so far, and that takes its time.
#[track_caller]
fn expect(given: &Given, figures: &[(&str, &str, f64)]) {
    let text = given.layer.metrics();
    for (name, more, value) in figures {
        assert_eq!(figure_in(&text, given, name, more), *value, "{name} {more}");
    }
}

fn tell_what_this_process_did(given: &Given) {
    let queue = given.queue(&[]);
    let settled = "readpast_settled_items_total";
    expect(given, &[(settled, ",outcome=\"Completed\"", 0.0), ("readpast_claimed_items_total", "", 0.0)]);
    let items: Vec<_> = (0..5).map(|i| item(&i.to_string())).collect();
    queue.enqueue(&items, None).unwrap();
    let taken = queue.claim(3, Duration::ZERO).unwrap();
    queue.settle(&[taken[0].settle(Action::Complete), taken[1].settle(Action::Fail)], None).unwrap();
    let (_, more) = queue.settle_and_claim(&[taken[2].settle(Action::Retry)], 1).unwrap();
    queue.renew(&[more[0].lease()]).unwrap();
    queue.share().claim(5, Duration::ZERO).unwrap();
    queue.stats().unwrap();
    let call = "readpast_call_duration_seconds_count";
    expect(
        given,
        &[
            ("readpast_enqueued_items_total", ",outcome=\"new\"", 5.0),
            ("readpast_enqueued_items_total", ",outcome=\"duplicate\"", 0.0),
            ("readpast_claims_total", ",found=\"items\"", 3.0),
            ("readpast_claimed_items_total", "", 6.0),
            (settled, ",outcome=\"Completed\"", 1.0),
            (settled, ",outcome=\"Failed\"", 1.0),
            (settled, ",outcome=\"Error\"", 1.0),
            (settled, ",outcome=\"Processing\"", 0.0),
            ("readpast_lost_leases_total", "", 0.0),
            ("readpast_call_retries_total", "", 0.0),
            ("readpast_call_errors_total", ",error=\"Deadlock\"", 0.0),
            (call, ",call=\"enqueue\"", 1.0),
            (call, ",call=\"claim\"", 2.0),
            (call, ",call=\"settle\"", 1.0),
            (call, ",call=\"settle_and_claim\"", 1.0),
            (call, ",call=\"renew\"", 1.0),
            (call, ",call=\"stats\"", 1.0),
            (call, ",call=\"purge\"", -1.0),
            ("readpast_call_duration_seconds_bucket", ",call=\"claim\",le=\"+Inf\"", 2.0),
        ],
    );
    assert!(figure(given, "readpast_call_duration_seconds_sum", ",call=\"claim\"") > 0.0);
    queue.expect_empty();
    drop(queue);
    expect(given, &[("readpast_claims_total", ",found=\"nothing\"", 1.0), ("readpast_claimed_items_total", "", 6.0)]);
}

fn tell_what_was_refused(given: &Given) {
    let queue = given.queue(&[]);
    queue.put("x");
    let taken = queue.take();
    queue.end(taken.settle(Action::Complete));
    queue.end(taken.settle(Action::Complete));
    queue.renew(&[taken.lease(), Lease { key: &taken.key, attempt: 2 }]).unwrap();
    // An operator who comes too late has lost nothing.
    queue.end(readpast::Settlement::control(&taken.key, None, Action::Cancel));
    let refusals = ["LeaseLost", "Conflict", "IllegalTransition", "NotFound", "Duplicate"];
    let text = given.layer.metrics();
    let refused = |why| figure_in(&text, given, "readpast_settled_items_total", &format!(",outcome=\"{why}\""));
    assert_eq!(refusals.map(refused).iter().sum::<f64>(), 2.0);
    expect(
        given,
        &[
            ("readpast_settled_items_total", ",outcome=\"Completed\"", 1.0),
            ("readpast_lost_leases_total", "", 3.0),
            ("readpast_call_errors_total", ",error=\"InvalidArgument\"", -1.0),
        ],
    );
}

fn tell_of_errors_that_passed(given: &Given) {
    if given.server.is_sql_server() {
        return; // The scripted peer cuts connections there.
    }
    given.queue(&[]);
    let queue = given.open(&[("application", &given.queue)]);
    queue.put("x");
    let kill = format!(
        "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{}'",
        given.queue
    );
    given.session().execute(&kill, &[]).unwrap();
    queue.put("y");
    let text = given.layer.metrics();
    let of_queue = format!("readpast_call_errors_total{{schema=\"readpast\",queue=\"{}\"", given.queue);
    let errors = text.lines().filter(|line| line.starts_with(&of_queue));
    let errors: f64 = errors.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
    assert!(errors >= 1.0, "{text}");
    expect(
        given,
        &[
            ("readpast_call_retries_total", "", errors),
            ("readpast_call_errors_total", ",error=\"Deadlock\"", 0.0),
            ("readpast_enqueued_items_total", ",outcome=\"new\"", 2.0),
        ],
    );
}

fn tell_of_connections_while_there_are_any(given: &Given) {
    let queue = given.queue(&[("pool.size", "1")]);
    // Four threads have one connection: sooner or later one has to wait.
    let has_waited = || figure(given, "readpast_pool_waits_total", "") >= 1.0;
    let waits = (0..1000).any(|_| {
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| queue.put("x")))));
        has_waited()
    });
    assert!(waits);
    let opened = figure(given, "readpast_pool_opened_connections_total", "");
    assert!(opened >= 1.0);
    assert!(figure(given, "readpast_pool_wait_seconds_total", "") > 0.0);
    expect(
        given,
        &[
            ("readpast_pool_connections_max", "", 1.0),
            ("readpast_pool_connections", ",state=\"idle\"", 1.0),
            ("readpast_pool_connections", ",state=\"in_use\"", 0.0),
            ("readpast_pool_waiting_threads", "", 0.0),
        ],
    );
    drop(queue);
    expect(
        given,
        &[
            ("readpast_pool_connections_max", "", 0.0),
            ("readpast_pool_connections", ",state=\"idle\"", 0.0),
            ("readpast_pool_opened_connections_total", "", opened),
        ],
    );
}
