//! Connections that fall silent, through Microsoft's driver: its own time-out asks the server to cancel, and then waits four
//! minutes for the word of that. Every call comes to an end before, and on another connection to its outcome.

use super::starting::{CONNECTION, again};
use super::{all, put, take};
use readpast::error::ErrorKind;
use readpast::item::{Action, Answer, Lease};
use readpast::queue::Queue;
use readpast::{Engine, engine::Taken, engine::WorkerTerms};
use std::io::{Write, stdin};
use std::process::Stdio;
use std::time::Duration;
use support::limit::{SOON, in_time, open_at_last, until};
use support::scripted::server::{Fault, Server};
use support::tds_peer::{Event, LoginReply, Reply};

/// Calls are given up after this and a few seconds; a log-in, which a busy machine may take long for, is not. A claim that
/// is not to fall silent is made with patience: one whose answer comes too late is lost.
const SHORT: &[(&str, &str)] =
    &[("query.timeout_ms", "2000"), ("login.timeout_ms", "600000"), ("retry.budget_ms", "600000")];

fn deaf() -> Fault {
    Fault::Instead(Reply::deaf())
}

/// Does what is asked for, and does not say so.
fn deaf_after() -> Fault {
    Fault::Spoilt(|_| Reply::deaf())
}

#[test]
fn at_every_stage_of_opening() {
    let server = Server::start();
    server.refuse_login(LoginReply::Silence);
    server.fault("SET LOCK_TIMEOUT", deaf());
    server.fault("[QueueCatalog]", deaf());
    let queue = in_time(|| server.open(&[SHORT, &[("login.timeout_ms", "5000")]].concat()));
    // More on a machine that stalls; else the driver itself says of the log-in that it took too long.
    let (logins, given_up) = (server.peer.logins().len(), queue.connections().given_up);
    assert!(logins >= 4 && given_up >= 2, "{logins} log-ins, {given_up} given up");
}

#[test]
fn in_the_settings_of_a_session_without_another_try() {
    let server = Server::start();
    server.fault("SET LOCK_TIMEOUT", deaf());
    let config = server.config(&[SHORT, &[("retry.budget_ms", "0")]].concat());
    let error = in_time(|| Queue::open(&config, "Job").unwrap_err());
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    assert!(error.message().contains("given up"), "{error}");
}

#[test]
fn in_a_claim() {
    let server = Server::start();
    let queue = server.open(SHORT);
    put(&server.open(&[]), &["a"]);
    server.fault("[Next_Job", deaf());
    let taken = in_time(|| take(&queue, 1)).len();
    // On a machine that stalls the second may have come too late, and the item be lost with it.
    assert!(taken == 1 || server.requests("[Next_Job").len() > 2);
    let connections = queue.connections();
    assert!(connections.given_up >= 1 && connections.hanging >= 1 && connections.open == 1, "{connections:?}");
    let attention = |event: &Event| matches!(event, Event::Attention { .. });
    server.peer.wait_until("it is asked to cancel", |events| events.iter().any(attention));
}

#[test]
fn in_a_settle_before_and_after_its_commit() {
    for fault in [deaf, deaf_after] {
        let server = Server::start();
        let (queue, patient) = (server.open(SHORT), server.open(&[]));
        put(&patient, &["a"]);
        let batch = take(&patient, 1);
        server.fault("[Modify_Job", fault());
        let outcomes = in_time(|| queue.settle(&all(&batch, Action::Complete), None).unwrap());
        assert_eq!(outcomes[0].answer, Answer::Ok);
        assert_eq!(server.ledger().settled.len(), 1, "it took effect once");
        let requests = server.requests("[Modify_Job");
        assert!(requests.len() >= 2, "it was asked for again");
        assert!(requests.iter().all(|request| request.values() == requests[0].values()), "with one identity");
    }
}

#[test]
fn at_the_end_of_the_budget_an_outcome_is_unknown_and_can_be_learnt() {
    let server = Server::start();
    let patient = server.open(&[]);
    let queue = open_at_last(&server.config(&[SHORT, &[("retry.budget_ms", "0")]].concat()));
    put(&patient, &["a"]);
    let batch = take(&patient, 1);
    server.fault("[Modify_Job", deaf_after());
    let error = in_time(|| queue.settle(&all(&batch, Action::Complete), None).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    // The peer may be late: the next call is not to come before this one.
    server.wait_for("[Modify_Job", 1);
    let outcomes = patient.settle(&all(&batch, Action::Complete), error.operation()).unwrap();
    assert_eq!((outcomes[0].answer, server.ledger().settled.len()), (Answer::Ok, 1));
}

#[test]
fn in_a_renewal_and_in_an_enqueue() {
    let server = Server::start();
    let queue = server.open(SHORT);
    server.fault("[Add_Job", deaf_after());
    in_time(|| put(&queue, &["a"]));
    assert_eq!(server.ledger().items.len(), 1);
    let batch = take(&server.open(&[]), 1);
    let kept = batch.get(0).unwrap();
    server.fault("[Renew_Job", deaf());
    let outcomes = in_time(|| queue.renew(&[Lease { key: kept.key(), attempt: kept.attempt() }]).unwrap());
    assert!(outcomes[0].answer == Answer::Ok && queue.connections().given_up >= 2);
}

/// Calls that hang do not hold up those on other connections: neither the driver nor the driver manager has a lock that they
/// keep.
#[test]
fn beside_calls_that_go_on() {
    let server = Server::start();
    let queue = server.open(&[("query.timeout_ms", "3600000"), ("pool.size", "8")]);
    (0..4).for_each(|_| server.fault("[Stats_Job", deaf()));
    for number in 1..=4 {
        let queue = queue.clone();
        std::thread::spawn(move || queue.stats());
        server.wait_for("[Stats_Job", number);
    }
    in_time(|| put(&queue, &["a", "b"]));
    let batch = in_time(|| take(&queue, 2));
    in_time(|| queue.settle(&all(&batch, Action::Complete), None).unwrap());
    let another = in_time(|| server.open(SHORT));
    in_time(|| another.close(SOON).unwrap());
    let error = in_time(|| queue.close(Duration::from_millis(1)).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    in_time(|| drop(queue));
}

#[test]
fn under_a_worker() {
    let server = Server::start();
    let (queue, patient) = (server.open(SHORT), server.open(&[]));
    server.fault("[Next_Job", deaf());
    server.fault("[Modify_Job", deaf());
    server.fault("[Modify_Job", deaf_after());
    // Items that a stalled machine claims too late are left to the lease: then there is another item, and another worker.
    while server.ledger().settled.is_empty() {
        assert!(server.ledger().items.len() < 5, "a claim after the silent one gets its item");
        // One, since what a settle claims that is given up for good is left to the lease, too.
        put(&patient, &["a"]);
        let engine = Engine::new(&queue, WorkerTerms { until_empty: true, ..WorkerTerms::default() });
        in_time(|| {
            loop {
                match engine.take(1, Duration::from_secs(3600)).unwrap() {
                    Taken::Items(batch) => drop(engine.end(&all(&batch, Action::Complete))),
                    Taken::Nothing => {}
                    Taken::Stopping => break,
                }
            }
            engine.close(SOON).unwrap();
        });
    }
    assert_eq!(server.ledger().settled.len(), 1);
    assert!(queue.connections().given_up >= 3);
    in_time(|| queue.stats().unwrap());
}

#[test]
fn under_a_worker_that_is_stopped() {
    let server = Server::start();
    let queue = server.open(&[("query.timeout_ms", "3600000")]);
    put(&queue, &["a"]);
    let engine = Engine::new(&queue, WorkerTerms::default());
    let Taken::Items(batch) = engine.take(1, SOON).unwrap() else { panic!("an item is due") };
    server.fault("[Modify_Job", deaf_after());
    engine.end(&all(&batch, Action::Complete));
    server.wait_for("[Modify_Job", 1);
    in_time(|| {
        assert_eq!(engine.close(Duration::from_millis(100)).unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(queue.close(Duration::from_millis(100)).unwrap_err().kind(), ErrorKind::TimedOut);
        drop((engine, queue));
    });
    until("it is settled", || server.ledger().settled.len() == 1);
}

/// A program that ends while a call hangs ends as it would have. The test starts itself again.
#[test]
fn while_a_program_ends() {
    if let Ok(connection) = std::env::var(CONNECTION) {
        let mut config = readpast::Config::new();
        config.set("connection", &connection).unwrap();
        config.set("query.timeout_ms", "1000").unwrap();
        config.set("retry.budget_ms", "0").unwrap();
        let queue = open_at_last(&config);
        assert_eq!(queue.stats().unwrap_err().kind(), ErrorKind::ConnectionLost);
        assert_eq!(queue.connections().hanging, 1);
        // It hangs, as soon as its connection is open: a busy machine may need several tries.
        std::thread::spawn(move || while queue.stats().is_err() {});
        stdin().read_line(&mut String::new()).unwrap();
        return;
    }
    let server = Server::start();
    (0..2).for_each(|_| server.fault("[Stats_Job", deaf()));
    let mut command = again("silence::while_a_program_ends", &server.peer.connection_string(), r#"exec "$@""#);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let orders = child.stdin.take().unwrap();
    server.wait_for("[Stats_Job", 2);
    writeln!(&orders).unwrap();
    let status = in_time(|| child.wait().unwrap());
    assert!(status.success(), "{status}");
}
