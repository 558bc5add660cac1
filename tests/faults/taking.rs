//! Enqueueing and claiming when answers are lost.

use super::{item, put, take};
use readpast::error::ErrorKind;
use std::time::Duration;
use support::scripted::server::{Fault, Server};
use support::tds_peer::{Reply, ServerMessage};

#[test]
fn enqueueing_again_adds_nothing_and_gives_the_same_keys() {
    let server = Server::start();
    let queue = server.open(&[]);
    let lost: [fn(_) -> Reply; 3] =
        [|_| Reply::cut_before(), |answer| Reply::cut_inside(answer, 100), |_| Reply::cut_before()];
    lost.into_iter().for_each(|spoil| server.fault("[Add_Job", Fault::Spoilt(spoil)));
    let enqueued = queue.enqueue(&[item("a"), item("b")], None).unwrap();

    let keys: Vec<_> = server.ledger().items.iter().map(|item| item.key.clone()).collect();
    assert_eq!(enqueued.iter().map(|item| item.key.clone()).collect::<Vec<_>>(), keys, "two items, and no more");
    let requests = server.requests("[Add_Job");
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|request| request.values() == requests[0].values()));
}

#[test]
fn a_lost_enqueue_can_be_learnt_later() {
    let server = Server::start();
    let queue = server.open(&[("retry.budget_ms", "0")]);
    server.fault("[Add_Job", Fault::Spoilt(|_| Reply::cut_before()));
    let error = queue.enqueue(&[item("a")], None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    let enqueued = queue.enqueue(&[item("a")], error.operation()).unwrap();
    assert_eq!(server.ledger().items.len(), 1);
    assert_eq!(enqueued[0].key, server.ledger().items[0].key);
}

#[test]
fn two_calls_without_an_identity_are_two_calls() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    put(&queue, &["a"]);
    assert_eq!(server.ledger().items.len(), 2);
}

/// The queue's own key is drawn anew; a key of the user's columns is as taken the next time.
#[test]
fn a_key_that_is_taken_is_tried_again_only_if_it_was_drawn() {
    let server = Server::start();
    let queue = server.open(&[]);
    let drawn = "Violation of PRIMARY KEY constraint 'PK_Job'. Cannot insert duplicate key in object 'readpast.Job'.";
    server.fail("[Add_Job", &ServerMessage::error(2627, drawn).class(14));
    put(&queue, &["a"]);
    assert_eq!(server.requests("[Add_Job").len(), 2);

    let given = "Cannot insert duplicate key row in object 'readpast.Job' with unique index 'UX_Job_Payload'.";
    server.fail("[Add_Job", &ServerMessage::error(2601, given).class(14));
    let error = queue.enqueue(&[item("a")], None).unwrap_err();
    assert_eq!((error.kind(), error.native_code()), (ErrorKind::InvalidItem, 2601));
    assert!(error.message().contains("UX_Job_Payload"), "{error}");
    assert_eq!(server.requests("[Add_Job").len(), 3);
}

#[test]
fn a_claim_whose_answer_is_lost_gets_what_it_took() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a", "b", "c"]);
    let lost: [fn(_) -> Reply; 2] = [|_| Reply::cut_before(), |answer| Reply::cut_inside(answer, 100)];
    for (place, spoil) in lost.into_iter().enumerate() {
        server.fault("[Next_Job", Fault::Spoilt(spoil));
        let batch = take(&queue, 1);
        let item = batch.get(0).unwrap();
        assert_eq!((item.key(), item.attempt()), (server.ledger().items[place].key.as_str(), 1));
    }
    assert_eq!(server.ledger().items[2].status, "Pending");
    assert_eq!((server.requests("[Next_Job").len(), server.requests("[Claimed_Job").len()), (2, 2));
}

/// The look for them may be lost as well, or come when the server has not carried out the first try, and never does.
#[test]
fn a_claim_is_looked_for_until_it_is_known() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a", "b"]);
    server.fault("[Next_Job", Fault::Spoilt(|_| Reply::cut_before()));
    server.fault("[Claimed_Job", Fault::Instead(Reply::cut_before()));
    assert_eq!(take(&queue, 1).get(0).unwrap().key(), server.ledger().items[0].key);
    server.fault("[Next_Job", Fault::Instead(Reply::cut_before()));
    assert_eq!(take(&queue, 1).get(0).unwrap().key(), server.ledger().items[1].key);
    assert_eq!((server.requests("[Next_Job").len(), server.requests("[Claimed_Job").len()), (3, 3));
}

/// An error that says that nothing was done costs no look, and a look that is refused costs what was claimed its lease, not the
/// worker its life.
#[test]
fn a_claim_is_looked_for_only_when_it_may_be_there_and_may_be_seen() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a", "b"]);
    server.fail("[Next_Job", &ServerMessage::error(1205, "Deadlock victim.").class(13));
    assert_eq!(take(&queue, 1).get(0).unwrap().key(), server.ledger().items[0].key);
    assert!(server.requests("[Claimed_Job").is_empty());
    server.ledger().items[0].status = "Completed".to_owned();
    put(&queue, &["c"]);
    server.fault("[Next_Job", Fault::Spoilt(|_| Reply::cut_before()));
    server.fail("[Claimed_Job", &ServerMessage::error(229, "The EXECUTE permission was denied.").class(14));
    assert_eq!(take(&queue, 1).get(0).unwrap().key(), server.ledger().items[2].key);
    assert_eq!(server.ledger().items[1].status, "Processing", "the lease of the second runs out one day");
}

#[test]
fn a_claim_that_fails_for_good_says_why_and_leaves_the_connection_usable() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    let missing = ServerMessage::error(2812, "Could not find stored procedure 'readpast.Next_Job_Set_trx'.").state(62);
    server.fail("[Next_Job", &missing);
    let error = queue.claim(1, Duration::ZERO).unwrap_err();
    assert_eq!((error.kind(), error.native_code()), (ErrorKind::SchemaMismatch, 2812));
    assert!(error.message().contains("Next_Job_Set_trx"), "{error}");
    assert_eq!(take(&queue, 1).len(), 1);
    assert_eq!(server.peer.logins().len(), 1);
}

#[test]
fn renewing_recovering_and_counting_outlive_faults_too() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    for part in ["[Renew_Job", "[Recover_Job", "[Stats_Job"] {
        server.fault(part, Fault::Instead(Reply::deadlock()));
        server.fault(part, Fault::Instead(Reply::cut_before()));
    }
    let outcomes = queue.renew(&[readpast::item::Lease::from(batch.get(0).unwrap())]).unwrap();
    assert_eq!(outcomes.len(), 1);
    assert_eq!(queue.recover(10).unwrap(), 0);
    queue.stats().unwrap();
}

/// A full disk does not get better within seconds: the error comes at once, with the server's text.
#[test]
fn a_server_that_cannot_write_is_reported_at_once() {
    for (number, text) in [
        (1105, "Could not allocate space for object because the 'PRIMARY' filegroup is full."),
        (9002, "The transaction log for database 'jobs' is full due to 'LOG_BACKUP'."),
        (40544, "The database has reached its size quota."),
    ] {
        let server = Server::start();
        let queue = server.open(&[]);
        server.fail("[Add_Job", &ServerMessage::error(number, text).class(17));
        let error = queue.enqueue(&[item("a")], None).unwrap_err();
        assert_eq!((error.kind(), error.native_code()), (ErrorKind::Storage, number));
        assert!(error.message().contains(text), "{error}");
        assert_eq!(server.requests("[Add_Job").len(), 1);
        put(&queue, &["a"]);
        assert_eq!(server.peer.logins().len(), 1, "the connection is as good as before");
    }
}
