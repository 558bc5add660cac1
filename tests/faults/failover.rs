//! A server that goes away, moves, or is short of something: at log-in and in use.

use super::{all, put, take};
use readpast::error::ErrorKind;
use readpast::item::Action;
use readpast::queue::Queue;
use readpast::worker::{Job, Worker};
use std::sync::{Arc, Barrier};
use support::scripted::server::{Fault, Server};
use support::tds_peer::{Answer, Event, LoginReply, Reply, ServerMessage};

/// The errors of Azure SQL and SQL Server that pass.
fn passing() -> [ServerMessage; 4] {
    [
        ServerMessage::database_unavailable("jobs"),
        ServerMessage::service_error(),
        ServerMessage::resource_limit(),
        ServerMessage::error(40501, "The service is currently busy.").class(20),
    ]
}

/// The error of a wrong name, and for a moment of any name while a database moves.
fn refusals() -> [(ServerMessage, ErrorKind); 2] {
    [
        (ServerMessage::login_failed("sa"), ErrorKind::Authentication),
        (ServerMessage::cannot_open_database("jobs"), ErrorKind::DatabaseMissing),
    ]
}

/// Opens `count` connections by as many calls at once, all of which are at rest afterwards.
fn connect_many(server: &Server, queue: &Queue, count: usize) {
    let all_there = Arc::new(Barrier::new(count));
    (0..count).for_each(|_| server.fault("[Stats_Job", Fault::Together(Arc::clone(&all_there))));
    std::thread::scope(|scope| {
        (0..count).for_each(|_| drop(scope.spawn(|| queue.stats().unwrap())));
    });
    assert_eq!(server.peer.logins().len(), count);
}

#[test]
fn opening_outlives_what_passes() {
    let server = Server::start();
    passing().into_iter().for_each(|message| server.refuse_login(LoginReply::Refuse(message)));
    server.refuse_login(LoginReply::Cut);
    server.fail("SET LOCK_TIMEOUT", &ServerMessage::database_unavailable("jobs"));
    server.fault("[QueueCatalog]", Fault::Instead(Reply::cut_before()));
    let queue = server.open(&[]);
    assert_eq!(queue.name(), "Job");
    assert_eq!(server.peer.logins().len(), 8, "each fault cost one log-in");
}

#[test]
fn opening_reports_a_passing_error_that_outlasts_the_budget() {
    for message in passing() {
        let server = Server::start();
        let number = message.number;
        server.refuse_login(LoginReply::Refuse(message.clone()));
        let error = Queue::open(&server.config(&[("retry.budget_ms", "0")]), "Job").unwrap_err();
        let kind = if [10928, 40501].contains(&number) { ErrorKind::Busy } else { ErrorKind::Unavailable };
        assert_eq!((error.kind(), error.native_code()), (kind, number), "{error}");
        assert!(error.is_retryable() && error.message().contains(&message.text[..30]), "{error}");
        assert_eq!(server.peer.logins().len(), 1);
    }
}

/// Trying a wrong password again and again can lock its user out.
#[test]
fn opening_does_not_repeat_a_refused_log_in() {
    for (message, kind) in refusals() {
        let server = Server::start();
        let number = message.number;
        server.refuse_login(LoginReply::Refuse(message));
        let error = Queue::open(&server.config(&[]), "Job").unwrap_err();
        assert_eq!((error.kind(), error.native_code()), (kind, number));
        assert!(!error.is_retryable() && error.message().contains("check"), "{error}");
        assert_eq!(server.peer.logins().len(), 1, "one attempt");
    }
}

#[test]
fn a_refused_log_in_passes_when_a_connection_was_lost_just_before() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    server.fault("[Modify_Job", Fault::Spoilt(|_| Reply::cut_before()));
    refusals().into_iter().for_each(|(message, _)| server.refuse_login(LoginReply::Refuse(message)));
    queue.settle(&all(&batch, Action::Complete), None).unwrap();
    assert_eq!(server.ledger().settled.len(), 1);
    assert_eq!(server.peer.logins().len(), 4);
}

#[test]
fn a_refused_log_in_stands_while_the_other_connections_work() {
    let server = Server::start();
    let queue = server.open(&[]);
    // A connection was lost once, and replaced: that is over.
    server.peer.cut_all();
    queue.stats().unwrap();
    let both = Arc::new(Barrier::new(2));
    for (message, kind) in refusals() {
        // One call keeps the only connection busy, so the other has to log in.
        server.fault("[Stats_Job", Fault::Together(Arc::clone(&both)));
        let calls = server.requests("[Stats_Job").len();
        let before = server.peer.logins().len();
        let refused = std::thread::scope(|scope| {
            let busy = scope.spawn(|| queue.stats().unwrap());
            server.wait_for("[Stats_Job", calls + 1);
            server.refuse_login(LoginReply::Refuse(message));
            let refused = queue.stats();
            both.wait();
            busy.join().unwrap();
            refused
        });
        assert_eq!(refused.unwrap_err().kind(), kind);
        assert_eq!(server.peer.logins().len(), before + 1, "one attempt");
    }
}

#[test]
fn a_passing_error_in_use_is_met_by_another_try_on_a_new_connection() {
    for message in passing() {
        let server = Server::start();
        let queue = server.open(&[]);
        put(&queue, &["a"]);
        server.fault("[Next_Job", Fault::Instead(Reply::cut_after(Answer::new().abort(&message))));
        assert_eq!(take(&queue, 1).len(), 1);
        assert_eq!(server.peer.logins().len(), 2);
    }
}

#[test]
fn connections_of_a_server_that_failed_are_not_used_again() {
    let server = Server::start();
    let queue = server.open(&[]);
    connect_many(&server, &queue, 3);
    server.fail("[Next_Job", &ServerMessage::database_unavailable("jobs"));
    take(&queue, 1);
    queue.stats().unwrap();

    assert_eq!(server.peer.logins().len(), 4, "one new connection serves both calls");
    let last: Vec<_> = server.peer.requests().iter().rev().take(2).map(|request| request.connection).collect();
    assert_eq!(last, [3, 3]);
    let closed = |events: &[Event]| events.iter().filter(|event| matches!(event, Event::Closed { .. })).count() == 3;
    server.peer.wait_until("the end of all three old connections", closed);
}

#[test]
fn a_server_that_restarts_costs_each_handle_one_failure_and_no_call() {
    let server = Server::start();
    let queue = server.open(&[]);
    connect_many(&server, &queue, 4);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    let server = server.restart();

    queue.settle(&all(&batch, Action::Complete), None).unwrap();
    assert_eq!(server.ledger().settled.len(), 1);
    assert_eq!(server.peer.logins().len(), 1, "the other dead connections were not tried");
    queue.stats().unwrap();
    assert_eq!(server.peer.logins().len(), 1);
}

#[test]
fn connections_cut_while_idle_do_not_fail_a_call() {
    let server = Server::start();
    let queue = server.open(&[]);
    for round in 2..5 {
        server.peer.cut_all();
        put(&queue, &["a"]);
        assert_eq!(server.peer.logins().len(), round);
    }
    assert_eq!(server.ledger().items.len(), 3);
}

/// A new primary, or one that recovers from a crash, lets nobody in for longer than any call is retried.
#[test]
fn a_worker_outlives_refused_log_ins_for_longer_than_its_budget() {
    const REFUSALS: usize = 60;
    let server = Server::start();
    let queue = server.open(&[("retry.budget_ms", "50")]);
    put(&queue, &["a"]);
    server.fault("[Next_Job", Fault::Instead(Reply::cut_before()));
    let refusals = refusals().into_iter().cycle().take(REFUSALS);
    refusals.for_each(|(message, _)| server.refuse_login(LoginReply::Refuse(message)));

    let worker = Worker::new(&queue);
    let stop = worker.stop_handle();
    worker.run(|_: &Job<'_>| stop.stop()).unwrap();
    assert_eq!(server.ledger().settled.len(), 1);
    assert_eq!(server.peer.logins().len(), 1 + REFUSALS + 1, "each was met by another try");
}

/// A pool that reached the old primary, which only reads now, finds the new one by a new log-in.
#[test]
fn a_replica_that_cannot_be_written_to_is_left() {
    let server = Server::start();
    let queue = server.open(&[]);
    connect_many(&server, &queue, 3);
    let text = "Failed to update database \"jobs\" because the database is read-only.";
    server.fail("[Add_Job", &ServerMessage::error(3906, text));
    put(&queue, &["a"]);
    assert_eq!(server.ledger().items.len(), 1);
    assert_eq!(server.peer.logins().len(), 4);
    let last = server.peer.requests().pop().unwrap();
    assert_eq!(last.connection, 3);
    let closed = |events: &[Event]| events.iter().filter(|event| matches!(event, Event::Closed { .. })).count() == 3;
    server.peer.wait_until("the end of all three old connections", closed);
}

#[test]
fn a_server_that_throttles_is_not_met_by_more_log_ins() {
    for message in [ServerMessage::resource_limit(), ServerMessage::error(40501, "The service is currently busy.")] {
        let server = Server::start();
        let queue = server.open(&[]);
        connect_many(&server, &queue, 3);
        (0..5).for_each(|_| server.fail("[Next_Job", &message));
        take(&queue, 1);
        // One that ends its session costs that session alone.
        server.fault("[Next_Job", Fault::Instead(Reply::cut_after(Answer::new().abort(&message.clone().class(20)))));
        take(&queue, 1);
        let all_there = Arc::new(Barrier::new(3));
        (0..3).for_each(|_| server.fault("[Stats_Job", Fault::Together(Arc::clone(&all_there))));
        std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(|| queue.stats().unwrap()))));
        assert_eq!(server.peer.logins().len(), 4, "{message:?}");
    }
}
