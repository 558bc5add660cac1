//! Several result sets, counts and messages in one answer, and the order in which they surface.

use odbc_api::handles::{AsStatementRef, Diagnostics};
use odbc_api::{Cursor, Error};

use super::{code, codes, connect, diagnostic};
use support::tds_peer::{Answer, Peer, Reply, ServerMessage, Type};

/// A peer that gives this answer to everything.
fn answering(answer: Answer) -> Peer {
    Peer::start(move |_| answer.clone().into())
}

fn numbers(answer: Answer, numbers: impl IntoIterator<Item = i32>) -> Answer {
    numbers.into_iter().fold(answer.columns([("n", Type::Int)]), |answer, number| answer.row([number.into()]))
}

fn read(cursor: &mut impl Cursor) -> Result<Vec<i32>, Error> {
    let mut numbers = Vec::new();
    while let Some(mut row) = cursor.next_row()? {
        let mut number = 0;
        row.get_data(1, &mut number)?;
        numbers.push(number);
    }
    Ok(numbers)
}

#[test]
fn result_sets_come_one_after_the_other() {
    let peer = answering(numbers(numbers(Answer::new(), [1, 2]), []));
    let connection = connect(&peer);
    let mut first = connection.execute("EXEC two_sets", (), None).unwrap().unwrap();
    assert_eq!(read(&mut first).unwrap(), [1, 2]);
    let mut second = first.more_results().unwrap().unwrap();
    assert_eq!(read(&mut second).unwrap(), Vec::<i32>::new());
    assert!(second.more_results().unwrap().is_none());
}

#[test]
fn a_counted_statement_hides_the_result_set_behind_it() {
    let peer = answering(numbers(Answer::new().affected(3), [1]));
    let connection = connect(&peer);
    let mut statement = connection.preallocate().unwrap();
    assert!(statement.execute("UPDATE and SELECT", ()).unwrap().is_none());
    assert_eq!(statement.row_count().unwrap(), Some(3));
}

#[test]
fn without_counts_the_result_set_comes_first() {
    let peer = answering(numbers(Answer::new().no_count().affected(3), [1]));
    let connection = connect(&peer);
    let mut cursor = connection.execute("UPDATE and SELECT", (), None).unwrap().unwrap();
    assert_eq!(read(&mut cursor).unwrap(), [1]);
}

#[test]
fn a_count_of_zero_is_no_failure() {
    let peer = answering(Answer::new().affected(0));
    let connection = connect(&peer);
    let mut statement = connection.preallocate().unwrap();
    assert!(statement.execute("DELETE nothing", ()).unwrap().is_none());
    assert_eq!(statement.row_count().unwrap(), Some(0));
}

/// Its text is out of reach by then: `odbc-api` asks for the number of columns after executing, which
/// makes the driver forget the diagnostics.
#[test]
fn a_message_before_the_rows_does_not_disturb_them() {
    let peer = answering(numbers(Answer::new().message(&ServerMessage::info(0, "printed")), [1]));
    let connection = connect(&peer);
    let mut cursor = connection.execute("EXEC talkative", (), None).unwrap().unwrap();
    assert!(cursor.as_stmt_ref().diagnostic_record(1, &mut [0; 100]).is_none());
    assert_eq!(read(&mut cursor).unwrap(), [1]);
}

/// The driver manager answers `SQLMoreResults` with "no data" once executing has failed.
#[test]
fn an_error_of_the_first_statement_hides_the_rows_of_the_second() {
    let failed = Answer::new().message(&ServerMessage::error(50003, "first"));
    let peer = answering(numbers(failed, [1]));
    let connection = connect(&peer);
    assert_eq!(codes(connection.execute("EXEC half", (), None)), code("42000", 50003));
    assert!(connection.execute("EXEC half", (), None).is_err(), "the connection is usable");
}

#[test]
fn an_error_has_number_and_message() {
    let error = ServerMessage::error(50001, "the queue is frozen").class(16).state(7).at("rp.claim", 12);
    let peer = Peer::start(move |_| Reply::error(&error));
    let (state, native, message) = diagnostic(connect(&peer).execute("EXEC rp.claim", (), None));
    assert_eq!((state.as_str(), native), ("42000", 50001));
    assert!(message.ends_with("[SQL Server]the queue is frozen"), "{message}");
}

#[test]
fn a_unique_violation_comes_before_its_consequences() {
    let violation = ServerMessage::error(2627, "Violation of UNIQUE KEY constraint").class(14);
    let terminated = ServerMessage::info(3621, "The statement has been terminated.");
    let peer = answering(Answer::new().message(&violation).message(&terminated));
    assert_eq!(codes(connect(&peer).execute("INSERT", (), None)), code("23000", 2627));
}

#[test]
fn an_error_between_rows_surfaces_from_fetching() {
    let peer = answering(numbers(Answer::new(), [1, 2]).message(&ServerMessage::error(8134, "Divide by zero")));
    let connection = connect(&peer);
    let mut cursor = connection.execute("SELECT 1 / n", (), None).unwrap().unwrap();
    assert!(cursor.next_row().unwrap().is_some());
    assert!(cursor.next_row().unwrap().is_some());
    assert_eq!(codes(cursor.next_row()), code("22012", 8134));
}

#[test]
fn an_error_after_the_rows_surfaces_from_asking_for_more() {
    let peer = answering(numbers(Answer::new(), [1]).end().message(&ServerMessage::error(50002, "late")));
    let connection = connect(&peer);
    let mut cursor = connection.execute("EXEC late", (), None).unwrap().unwrap();
    assert_eq!(read(&mut cursor).unwrap(), [1], "the rows look like a success");
    assert_eq!(codes(cursor.more_results()), code("42000", 50002));
}

#[test]
fn a_cursor_dropped_early_keeps_a_late_error_to_itself() {
    let peer = answering(numbers(Answer::new(), [1]).end().message(&ServerMessage::error(50002, "late")));
    let connection = connect(&peer);
    drop(connection.execute("EXEC late", (), None).unwrap());
    assert!(!connection.is_dead().unwrap());
    assert_eq!(peer.attentions(), 0, "what is left was small enough to be read away");
}
