//! Query timeouts: the driver sends an attention and waits for its acknowledgement.

use std::time::{Duration, Instant};

use odbc_api::Cursor;

use super::{code, codes, connect};
use support::tds_peer::{Answer, Event, Peer, Reply, Type};

#[test]
fn a_query_timeout_cancels_the_request_and_keeps_the_connection() {
    let peer = Peer::start(|request| match request.sql() {
        "WAITFOR" => Reply::silence(),
        _ => Reply::default(),
    });
    let connection = connect(&peer);
    let start = Instant::now();
    assert_eq!(codes(connection.execute("WAITFOR", (), Some(1))), code("HYT00", 0));

    assert!(start.elapsed() >= Duration::from_secs(1));
    let attention = |event: &Event| matches!(event, Event::Attention { pending: true, .. });
    assert!(peer.events().iter().any(attention));
    assert!(!connection.is_dead().unwrap());
    assert!(connection.execute("EXEC p", (), None).is_ok());
}

#[test]
fn a_prepared_call_times_out_the_same_way() {
    let peer = Peer::start(|_| Reply::silence());
    let connection = connect(&peer);
    let mut prepared = connection.prepare("EXEC p @a = ?").unwrap();
    prepared.set_query_timeout_sec(1).unwrap();
    assert_eq!(codes(prepared.execute(&1)), code("HYT00", 0));
    assert_eq!(peer.attentions(), 1);
}

#[test]
fn an_answer_in_time_needs_no_attention() {
    let peer = Peer::start(|_| Reply::default().after(Duration::from_millis(200)));
    let start = Instant::now();
    connect(&peer).execute("WAITFOR", (), Some(60)).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert_eq!(peer.attentions(), 0);
}

#[test]
fn an_answer_that_comes_too_late_is_never_sent() {
    let peer = Peer::start(|request| match request.sql() {
        "WAITFOR" => Reply::default().after(Duration::from_secs(60)),
        _ => Reply::default(),
    });
    let connection = connect(&peer);
    assert_eq!(codes(connection.execute("WAITFOR", (), Some(1))), code("HYT00", 0));
    assert!(connection.execute("EXEC p", (), None).is_ok());
}

#[test]
fn rows_that_stop_coming_time_out_while_fetching() {
    let peer = Peer::start(|request| match request.sql() {
        "SELECT" => Reply::stall_after(Answer::new().columns([("n", Type::Int)]).row([1.into()])),
        _ => Reply::default(),
    });
    let connection = connect(&peer);
    // A busy machine may not get to the row in a second, but not each time.
    let has_come = (0..60).find_map(|_| {
        let before = peer.attentions();
        let mut cursor = connection.execute("SELECT", (), Some(1)).ok()??;
        let has_come = matches!(cursor.next_row(), Ok(Some(_)));
        has_come.then_some((cursor, before))
    });
    let (mut cursor, before) = has_come.expect("the row comes");
    assert_eq!(codes(cursor.next_row()), code("HYT00", 0));
    drop(cursor);
    assert_eq!(peer.attentions(), before + 1);
    assert!(connection.execute("EXEC p", (), None).is_ok());
}

/// Left alone, the driver gives up after four minutes (twice 120 s), with HYT00 and a dead connection.
#[test]
fn the_query_timeout_does_not_bound_the_wait_for_a_deaf_server() {
    let peer = Peer::start(|_| Reply::deaf());
    let connection = connect(&peer);
    let start = Instant::now();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            let attention = |event: &Event| matches!(event, Event::Attention { .. });
            peer.wait_until("the attention", |events| events.iter().any(attention));
            std::thread::sleep(Duration::from_secs(1));
            peer.cut_all();
        });
        codes(connection.execute("WAITFOR", (), Some(1)))
    });
    assert_eq!(outcome, code("08S01", 10054));
    assert!(start.elapsed() >= Duration::from_secs(2));
    assert!(connection.is_dead().unwrap());
}
