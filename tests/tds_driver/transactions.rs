//! Manual commit: the driver begins and ends transactions by transaction manager requests.

use super::{code, codes, connect};
use support::tds_peer::{Answer, Call, Peer, Reply, TransactionCall};

fn kinds(peer: &Peer) -> Vec<&'static str> {
    peer.requests().iter().map(|request| request.kind()).collect()
}

#[test]
fn turning_autocommit_off_begins_a_transaction_at_once() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    connection.set_autocommit(false).unwrap();
    assert_eq!(kinds(&peer), ["begin"]);

    connection.execute("UPDATE", (), None).unwrap();
    assert_eq!(peer.requests()[1].transaction, 1);
}

#[test]
fn a_commit_begins_the_next_transaction() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    connection.set_autocommit(false).unwrap();
    connection.execute("UPDATE 1", (), None).unwrap();
    connection.commit().unwrap();
    connection.execute("UPDATE 2", (), None).unwrap();
    connection.rollback().unwrap();

    let requests = peer.requests();
    assert_eq!(kinds(&peer), ["begin", "batch", "commit", "batch", "rollback"]);
    assert_eq!(requests[2].call, Call::Transaction(TransactionCall::Commit { begins_next: true }));
    assert_eq!(requests[3].transaction, 2);
}

#[test]
fn a_commit_with_nothing_to_commit_is_not_sent() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    connection.set_autocommit(false).unwrap();
    connection.execute("UPDATE", (), None).unwrap();
    connection.commit().unwrap();
    connection.commit().unwrap();
    assert_eq!(kinds(&peer), ["begin", "batch", "commit"]);
}

#[test]
fn turning_autocommit_on_commits_without_a_next_transaction() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    connection.set_autocommit(false).unwrap();
    connection.execute("UPDATE", (), None).unwrap();
    connection.set_autocommit(true).unwrap();
    let call = peer.requests()[2].call.clone();
    assert_eq!(call, Call::Transaction(TransactionCall::Commit { begins_next: false }));
}

#[test]
fn a_transaction_begun_in_sql_is_in_every_request() {
    let peer = Peer::start(|request| match request.sql() {
        "BEGIN TRANSACTION" => Answer::new().begin_transaction().into(),
        _ => Reply::default(),
    });
    let connection = connect(&peer);
    connection.execute("BEGIN TRANSACTION", (), None).unwrap();
    connection.execute("UPDATE", (), None).unwrap();
    assert_eq!(peer.requests()[1].transaction, 1);
}

#[test]
fn after_a_deadlock_the_driver_begins_anew() {
    let peer = Peer::start(|request| match request.sql() {
        "UPDATE loser" => Reply::deadlock(),
        _ => Reply::default(),
    });
    let connection = connect(&peer);
    connection.set_autocommit(false).unwrap();
    assert_eq!(codes(connection.execute("UPDATE loser", (), None)), code("40001", 1205));
    connection.execute("UPDATE", (), None).unwrap();
    assert_eq!(kinds(&peer), ["begin", "batch", "begin", "batch"]);
}

#[test]
fn a_connection_cut_at_commit_leaves_the_outcome_open() {
    let peer = Peer::start(|request| match request.call {
        Call::Transaction(TransactionCall::Commit { .. }) => Reply::cut_before(),
        _ => Reply::default(),
    });
    let connection = connect(&peer);
    connection.set_autocommit(false).unwrap();
    connection.execute("UPDATE", (), None).unwrap();
    assert_eq!(codes(connection.commit()), code("08S01", 10054));
    assert!(connection.is_dead().unwrap());
}
