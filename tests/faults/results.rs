//! Answers of several results: rows count only when the server has reported that all went well.

use super::{all, put, take};
use readpast::error::{Error, ErrorKind};
use readpast::item::Action;
use std::time::Duration;
use support::scripted::ledger::{answer_columns, cells, then_item_columns, with_item_columns};
use support::scripted::server::{Fault, Server};
use support::tds_peer::{Answer, Reply, ServerMessage};

const KEY: &str = "2026-11-21T08:30:00.1234567";

/// One item handed out, and the statement ended.
fn handed_out() -> Answer {
    let item = [KEY, "Processing", "w", "payload"];
    let cells = cells("CLAIMED", None, KEY, KEY, 1, item[1]).into_iter();
    let values = [support::tds_peer::Value::datetime2(item[0]), item[1].into(), item[2].into(), item[3].into()];
    with_item_columns().row(cells.chain(values)).end()
}

fn late_error() -> ServerMessage {
    ServerMessage::error(50099, "a trigger of the table refuses this.")
}

/// The result of a claim that is answered like this; the connection must be fit for the next one.
fn claim_answered(answer: Answer) -> Error {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    // The claim, and the one around what the table may have refused.
    server.fault("[Next_Job", Fault::Instead(answer.clone().into()));
    server.fault("[Next_Job_Apart", Fault::Instead(answer.into()));
    let error = queue.claim(1, Duration::ZERO).unwrap_err();
    assert_eq!(take(&queue, 1).len(), 1, "the connection is fit for use");
    assert_eq!(server.peer.logins().len(), 1);
    error
}

#[test]
fn rows_followed_by_an_error_are_not_believed() {
    let error = claim_answered(handed_out().message(&late_error()));
    assert_eq!((error.kind(), error.native_code(), error.sqlstate()), (ErrorKind::Database, 50099, Some("42000")));
    assert!(error.message().contains("a trigger of the table"), "{error}");
}

#[test]
fn rows_followed_by_an_error_that_ends_the_batch_are_not_believed() {
    assert_eq!(claim_answered(handed_out().abort(&late_error())).native_code(), 50099);
}

#[test]
fn an_error_between_two_results_is_not_overlooked() {
    let error = claim_answered(handed_out().message(&late_error()).end().affected(1));
    assert_eq!(error.native_code(), 50099);
}

#[test]
fn an_error_within_the_rows_is_not_overlooked() {
    let row = cells("OK", Some(0), KEY, KEY, 1, "Processing");
    let error = claim_answered(answer_columns().row(row).message(&ServerMessage::error(8134, "Divide by zero")));
    assert_eq!(error.native_code(), 8134);
}

/// The rows of a settlement and of the claim in the same transaction come before its COMMIT: two results, then its end.
#[test]
fn a_settle_and_claim_counts_when_the_transaction_has_ended() {
    let settled = || answer_columns().row(cells("OK", Some(0), KEY, KEY, 1, "Completed"));
    let item = || {
        let more = ["Processing", "w", "payload"].map(support::tds_peer::Value::from);
        let item = [support::tds_peer::Value::datetime2(KEY)].into_iter().chain(more);
        cells("CLAIMED", None, KEY, KEY, 1, "Processing").into_iter().chain(item)
    };
    let both = || then_item_columns(settled()).row(item()).end();
    for answer in [
        settled().end().message(&late_error()),
        settled().end().abort(&late_error()),
        both().message(&late_error()),
        both().abort(&late_error()),
    ] {
        let server = Server::start();
        let queue = server.open(&[]);
        put(&queue, &["a", "b"]);
        let batch = take(&queue, 1);
        // Nothing was done; the second is that of the settlement alone, since the claim may be what was refused.
        server.fault("[Modify_Job", Fault::Instead(answer.clone().into()));
        server.fault("[Modify_Job", Fault::Instead(answer.into()));
        let error = queue.settle_and_claim(&all(&batch, Action::Complete), None, 1).unwrap_err();
        assert_eq!(error.native_code(), 50099, "{error}");
        assert_eq!(server.ledger().settled.len(), 0);
        assert_eq!(server.peer.logins().len(), 1, "the connection is fit for use");
        let (outcomes, next) = queue.settle_and_claim(&all(&batch, Action::Complete), None, 1).unwrap();
        assert_eq!((outcomes[0].answer, next.len()), (readpast::item::Answer::Ok, 1));
        assert_eq!(next.get(0).unwrap().attempt(), 1);
    }
}

#[test]
fn a_deadlock_after_the_rows_is_met_by_another_try() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    server.fault("[Next_Job", Fault::Instead(handed_out().abort(&ServerMessage::deadlock()).into()));
    let batch = take(&queue, 1);
    assert_eq!(batch.len(), 1);
    assert_eq!(batch.get(0).unwrap().token(), server.ledger().items[0].token, "that of the second answer");
}

/// `SET NOCOUNT ON` of the session reaches into procedures, so only one that turns it off by itself counts its statements. A
/// warning (8153: an aggregate has met a NULL) before the end of a statement is a result of its own to the driver, too.
#[test]
fn counts_and_warnings_before_the_rows_are_passed_over() {
    let warning = ServerMessage::info(8153, "Warning: Null value is eliminated by an aggregate.").class(10);
    let counted = || Answer::new().affected(3);
    let warned = || Answer::new().no_count().message(&warning).affected(1);
    for before in [counted(), warned(), counted().message(&warning).affected(0)] {
        let server = Server::start();
        let queue = server.open(&[]);
        put(&queue, &["a"]);
        let batch = take(&queue, 1);
        let rows = before.columns(support::scripted::ledger::answer_column_types());
        let rows = rows.row(cells("OK", Some(0), KEY, KEY, 1, "Completed"));
        server.fault("[Modify_Job", Fault::Instead(rows.into()));
        let outcomes = queue.settle(&all(&batch, Action::Complete), None).unwrap();
        assert_eq!((outcomes.len(), outcomes[0].answer), (1, readpast::item::Answer::Ok));
        assert_eq!(server.peer.logins().len(), 1, "the connection is fit for use");
    }
}

/// A procedure that selects nothing at all has no answer.
#[test]
fn counts_without_rows_are_an_error() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    server.fault("[Modify_Job", Fault::Instead(Answer::new().affected(3).affected(1).into()));
    let error = queue.settle(&all(&batch, Action::Complete), None).unwrap_err();

    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "it may have been done");
    assert!(error.message().contains("without rows"), "{error}");
    let again = queue.settle(&all(&batch, Action::Complete), error.operation()).unwrap();
    assert_eq!(again[0].answer, readpast::item::Answer::Ok);
}

#[test]
fn an_error_behind_a_count_is_not_overlooked() {
    assert_eq!(claim_answered(Answer::new().affected(3).message(&late_error())).native_code(), 50099);
}

/// Reports of statements under `SET NOCOUNT ON` do not stand before an error.
#[test]
fn an_error_of_a_later_statement_is_not_overlooked() {
    let error = claim_answered(Answer::new().no_count().affected(3).message(&late_error()));
    assert_eq!(error.native_code(), 50099);
}

#[test]
fn messages_and_counts_around_the_rows_do_not_disturb() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    let chatter = |answer: Answer| -> Reply {
        let hint = ServerMessage::info(0, "statistics of the moment");
        answer.end().message(&hint).affected(1).message(&hint).end().into()
    };
    server.fault("[Next_Job", Fault::Spoilt(chatter));
    let batch = take(&queue, 1);
    assert_eq!(queue.settle(&all(&batch, Action::Complete), None).unwrap().len(), 1);
}

/// An answer that the installed procedures never give says so, and is not taken for an empty queue.
#[test]
fn an_answer_of_another_shape_is_an_error() {
    for answer in [Answer::new(), answer_columns(), answer_columns().row(cells("HELLO", None, KEY, KEY, 1, "Pending"))]
    {
        let server = Server::start();
        let queue = server.open(&[]);
        server.fault("[Next_Job", Fault::Instead(answer.into()));
        assert_eq!(queue.claim(1, Duration::ZERO).unwrap_err().kind(), ErrorKind::Protocol);
    }
}

/// A settle that is answered for other items than it named must not be taken as done.
#[test]
fn an_answer_for_other_items_is_an_error() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    server
        .fault("[Modify_Job", Fault::Instead(answer_columns().row(cells("OK", Some(1), KEY, KEY, 1, "Failed")).into()));
    let error = queue.settle(&all(&batch, Action::Complete), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
}
