//! Deadlocks and connections that break: before, inside and after an answer.

use std::time::Duration;

use odbc_api::{Connection, ConnectionOptions, Cursor, Error};

use super::{code, codes, connect, diagnostic, environment};
use support::tds_peer::{Answer, Event, Peer, Reply, ServerMessage, Type};

/// A row that takes more than one packet.
fn long_row() -> Answer {
    let columns = [("n", Type::Int), ("payload", Type::NVarCharMax)];
    Answer::new().columns(columns).row([1.into(), "x".repeat(5000).into()])
}

fn fetch_payload(connection: &Connection<'_>) -> Result<usize, Error> {
    let mut cursor = connection.execute("SELECT payload", (), None)?.expect("a result set");
    let mut row = cursor.next_row()?.expect("a row");
    let mut payload = Vec::new();
    row.get_wide_text(2, &mut payload)?;
    Ok(payload.len())
}

fn cut_and_wait(peer: &Peer) {
    peer.cut_all();
    peer.wait_until("the cut", |events| matches!(events.last(), Some(Event::Closed { .. })));
}

#[test]
fn a_deadlock_is_a_serialization_failure_and_the_connection_survives() {
    let peer = Peer::start(|request| match request.sql() {
        "EXEC loser @a = @P1" => Reply::deadlock(),
        _ => Reply::default(),
    });
    let connection = connect(&peer);
    let mut prepared = connection.prepare("EXEC loser @a = ?").unwrap();
    assert_eq!(codes(prepared.execute(&1)), code("40001", 1205));
    assert!(!connection.is_dead().unwrap());
    assert!(connection.execute("EXEC other", (), None).is_ok());
}

#[test]
fn a_connection_cut_before_the_answer_is_dead() {
    let peer = Peer::start(|_| Reply::cut_before());
    let connection = connect(&peer);
    assert_eq!(codes(connection.execute("EXEC p", (), None)), code("08S01", 10054));
    assert!(connection.is_dead().unwrap());

    assert_eq!(codes(connection.execute("EXEC p", (), None)), code("08S01", 0));
    assert_eq!(peer.requests().len(), 1, "the driver does not send again by itself");
    assert_eq!(peer.logins().len(), 1, "nor does it connect again");
}

#[test]
fn a_connection_cut_inside_the_first_packet_fails_the_execution() {
    let peer = Peer::start(|_| Reply::cut_inside(long_row(), 20));
    let connection = connect(&peer);
    assert_eq!(codes(connection.execute("SELECT payload", (), None)), code("08S01", 10054));
    assert!(connection.is_dead().unwrap());
}

#[test]
fn a_connection_cut_inside_a_value_fails_reading_it() {
    let peer = Peer::start(|_| Reply::cut_inside(long_row(), 4500));
    let connection = connect(&peer);
    assert_eq!(codes(fetch_payload(&connection)), code("08S01", 10054));
    assert!(connection.is_dead().unwrap());
}

#[test]
fn fetching_on_after_a_cut_is_a_protocol_error_without_a_number() {
    let peer = Peer::start(|_| Reply::cut_inside(long_row(), 4500));
    let connection = connect(&peer);
    let mut cursor = connection.execute("SELECT payload", (), None).unwrap().unwrap();
    cursor.next_row().unwrap();
    let (state, native, message) = diagnostic(cursor.next_row());
    assert_eq!((state.as_str(), native), ("08S01", 10054), "{message}");
    let (state, native, message) = diagnostic(cursor.next_row());
    assert_eq!((state.as_str(), native), ("HY000", 0), "{message}");
}

#[test]
fn a_connection_cut_after_the_answer_is_noticed_by_the_next_request() {
    let peer = Peer::start(|_| Reply::cut_after(long_row()));
    let connection = connect(&peer);
    assert_eq!(fetch_payload(&connection).unwrap(), 5000);
    peer.wait_until("the cut", |events| matches!(events.last(), Some(Event::Closed { .. })));
    assert!(!connection.is_dead().unwrap(), "the driver does not look at the socket for this");
    assert_eq!(codes(connection.execute("EXEC p", (), None)), code("08S01", 10054));
    assert!(connection.is_dead().unwrap());
}

#[test]
fn an_idle_connection_that_was_cut_is_not_restored() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    cut_and_wait(&peer);
    assert_eq!(codes(connection.execute("EXEC p", (), None)), code("08S01", 10054));
    assert_eq!(peer.logins().len(), 1);
}

/// As a real SQL Server agrees to session recovery, this is what happens there unless the
/// connection string forbids it: the session is another one, and nobody says so.
#[test]
fn with_session_recovery_an_idle_connection_that_was_cut_is_replaced_silently() {
    let peer = Peer::script(|_| Reply::default()).session_recovery().start();
    let connection = connect(&peer);
    cut_and_wait(&peer);
    // The driver looks at the socket before a request only if the last one was a while ago.
    std::thread::sleep(Duration::from_millis(200));
    assert!(connection.execute("EXEC p", (), None).is_ok());
    assert_eq!(peer.logins().len(), 2);
}

#[test]
fn with_session_recovery_a_connection_cut_in_a_request_is_broken_for_good() {
    let peer = Peer::script(|_| Reply::cut_before()).session_recovery().start();
    let connection = connect(&peer);
    assert_eq!(codes(connection.execute("EXEC p", (), None)), code("08S01", 10054));
    assert_eq!(codes(connection.execute("EXEC p", (), None)), code("IMC06", 0));
    assert!(connection.is_dead().unwrap());
    assert_eq!(peer.logins().len(), 1);
}

#[test]
fn without_connect_retries_the_driver_offers_no_session_recovery() {
    let peer = Peer::script(|_| Reply::default()).session_recovery().start();
    let string = format!("{}ConnectRetryCount=0;", peer.connection_string());
    let connection =
        environment().unwrap().connect_with_connection_string(&string, ConnectionOptions::default()).unwrap();
    assert!(!peer.logins()[0].offers_recovery());
    cut_and_wait(&peer);
    assert_eq!(codes(connection.execute("EXEC p", (), None)), code("08S01", 10054));
    assert_eq!(peer.logins().len(), 1);
}

#[test]
fn committing_on_a_dead_connection_in_autocommit_mode_looks_like_success() {
    let peer = Peer::start(|_| Reply::cut_before());
    let connection = connect(&peer);
    assert!(connection.execute("EXEC p", (), None).is_err());
    assert!(connection.commit().is_ok());
}

#[test]
fn a_fatal_error_is_reported_though_the_connection_is_cut() {
    let killed = ServerMessage::error(596, "Cannot continue the execution because the session is in the kill state.");
    let answer = Answer::new().abort(&killed.class(21));
    let peer = Peer::start(move |_| Reply::cut_after(answer.clone()));
    let connection = connect(&peer);
    assert_eq!(codes(connection.execute("EXEC p", (), None)), code("HY000", 596));
}

#[test]
fn a_peer_that_returns_on_its_port_is_found_again() {
    let mut first = Peer::start(|_| Reply::default());
    let port = first.port();
    let connection = connect(&first);
    first.stop();
    assert!(connection.execute("EXEC p", (), None).is_err());

    let second = Peer::script(|_| Reply::default()).port(port).start();
    assert!(connect(&second).execute("EXEC p", (), None).is_ok());
}

/// The class itself is not to be had from it. What it says of classes 17 and 18 is what it says of 16.
#[test]
fn the_state_of_an_error_without_one_of_its_own_shows_class_19_and_up() {
    for class in 11..=25 {
        let peer = Peer::start(move |request| match request.sql() {
            "EXEC p" => Reply::error(&ServerMessage::error(777_777, "x").class(class)),
            _ => Reply::default(),
        });
        let connection = connect(&peer);
        let state = if class >= 19 { "HY000" } else { "42000" };
        assert_eq!(codes(connection.execute("EXEC p", (), None)), code(state, 777_777), "class {class}");
        assert_eq!(connection.is_dead().unwrap(), class >= 20, "class {class}");
    }
}
