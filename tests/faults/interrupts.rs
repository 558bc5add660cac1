//! Waits that are called off from another thread.

use super::{all, put, take};
use readpast::error::{Error, ErrorKind};
use readpast::item::{Action, Batch};
use readpast::queue::Queue;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use support::limit::open_at_last;
use support::scripted::server::{Fault, Server};
use support::tds_peer::Reply;

const HOUR: Duration = Duration::from_secs(3600);

/// Claims in a thread of its own, with a wait of an hour.
fn claim_aside(queue: &Queue) -> Receiver<Result<Batch, Error>> {
    let (sender, receiver) = channel();
    let queue = queue.clone();
    std::thread::spawn(move || sender.send(queue.claim(1, HOUR)));
    receiver
}

/// The result of the call in the other thread; it must not take long, and how long "long" is does not matter.
fn outcome<T>(receiver: &Receiver<Result<T, Error>>) -> Result<T, Error> {
    receiver.recv_timeout(Duration::from_secs(600)).expect("the call came back")
}

#[test]
fn a_claim_that_waits_is_interrupted_until_resumed() {
    let server = Server::start();
    let queue = server.open(&[("poll.interval_ms", "3600000")]);
    let waiting = claim_aside(&queue);
    server.wait_for("[Next_Job", 1);
    queue.interrupt();
    assert_eq!(outcome(&waiting).unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(queue.claim(1, Duration::ZERO).unwrap_err().kind(), ErrorKind::Interrupted);

    queue.resume();
    put(&queue, &["a"]);
    assert_eq!(outcome(&claim_aside(&queue)).unwrap().len(), 1);
}

#[test]
fn an_interrupt_ends_the_pauses_between_tries() {
    let server = Server::start();
    let queue = server.open(&[("retry.first_ms", "60000"), ("retry.budget_ms", "3600000")]);
    server.fault("[Next_Job", Fault::Instead(Reply::deadlock()));
    let waiting = claim_aside(&queue);
    server.wait_for("[Next_Job", 1);
    queue.interrupt();
    assert_eq!(outcome(&waiting).unwrap_err().kind(), ErrorKind::Interrupted);
}

/// Work in hand can be brought to its end, faults included.
#[test]
fn an_interrupt_lets_a_settle_go_on() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    queue.interrupt();
    server.fault("[Modify_Job", Fault::Spoilt(|_| Reply::cut_before()));
    queue.settle(&all(&batch, Action::Complete), None).unwrap();
    assert_eq!(server.ledger().settled.len(), 1);
}

#[test]
fn closing_calls_off_those_who_wait() {
    let server = Server::start();
    let queue = server.open(&[("poll.interval_ms", "3600000")]);
    let waiting: Vec<_> = (0..3).map(|_| claim_aside(&queue)).collect();
    server.wait_for("[Next_Job", 1);
    queue.close(Duration::from_secs(600)).unwrap();
    for receiver in &waiting {
        assert_eq!(outcome(receiver).unwrap_err().kind(), ErrorKind::Closed);
    }
    assert_eq!(queue.stats().unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn closing_ends_the_pauses_between_tries() {
    let server = Server::start();
    let queue = server.open(&[("retry.first_ms", "60000"), ("retry.budget_ms", "3600000")]);
    server.fault("[Next_Job", Fault::Instead(Reply::deadlock()));
    let waiting = claim_aside(&queue);
    server.wait_for("[Next_Job", 1);
    queue.close(Duration::from_secs(600)).unwrap();
    assert_eq!(outcome(&waiting).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn closing_while_a_settle_tries_again_leaves_its_outcome_to_be_learnt() {
    let server = Server::start();
    let settings = [("retry.first_ms", "60000"), ("retry.budget_ms", "3600000")];
    let queue = server.open(&settings);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    server.fault("[Modify_Job", Fault::Spoilt(|_| Reply::cut_before()));
    let error = std::thread::scope(|scope| {
        let settling = scope.spawn(|| queue.settle(&all(&batch, Action::Complete), None).unwrap_err());
        server.wait_for("[Modify_Job", 1);
        queue.close(Duration::from_secs(600)).unwrap();
        settling.join().unwrap()
    });
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    let outcomes = server.open(&settings).settle(&all(&batch, Action::Complete), error.operation()).unwrap();
    assert_eq!(outcomes[0].answer, readpast::item::Answer::Ok);
    assert_eq!(server.ledger().settled.len(), 1);
}

#[test]
fn closing_waits_for_a_call_in_flight_only_so_long() {
    let server = Server::start();
    let queue = server.open(&[]);
    server.fault("[Next_Job", Fault::Instead(Reply::silence()));
    let waiting = claim_aside(&queue);
    server.wait_for("[Next_Job", 1);
    let error = queue.close(Duration::from_millis(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.message().contains("1 call"), "{error}");

    server.peer.cut_all();
    assert_eq!(outcome(&waiting).unwrap_err().kind(), ErrorKind::Closed);
    queue.close(Duration::from_secs(600)).unwrap();
}

#[test]
fn a_call_that_finds_no_free_connection_says_so_in_time() {
    let server = Server::start();
    let queue = server.open(&[("pool.size", "1"), ("pool.acquire_ms", "1"), ("retry.budget_ms", "0")]);
    server.fault("[Next_Job", Fault::Instead(Reply::silence()));
    let waiting = claim_aside(&queue);
    server.wait_for("[Next_Job", 1);
    let error = queue.stats().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PoolTimeout);
    assert!(error.message().contains("pool.size"), "{error}");
    server.peer.cut_all();
    assert_eq!(outcome(&waiting).unwrap_err().kind(), ErrorKind::ConnectionLost);
}

/// The last handle goes while its connection is dead, in every state that one can be in.
#[test]
fn handles_of_dead_connections_go_quietly() {
    for fault in [Reply::cut_before(), Reply::deadlock(), Reply::silence()] {
        let server = Server::start();
        let queue = open_at_last(&server.config(&[("retry.budget_ms", "0"), ("query.timeout_ms", "1000")]));
        // A busy machine may not get to it in a second, but not each time.
        assert!((0..60).any(|_| queue.claim(1, Duration::ZERO).is_ok()));
        server.fault("[Next_Job", Fault::Instead(fault));
        queue.claim(1, Duration::ZERO).unwrap_err();
        server.peer.cut_all();
        drop(queue);
    }
    let mut server = Server::start();
    let queue = server.open(&[]);
    take(&queue, 1);
    server.peer.stop();
    drop(queue);
}
