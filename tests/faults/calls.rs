//! The requests of the core: each capability is one call of one procedure by name, in one request.

use super::{all, item, put, take};
use readpast::item::{Action, Lease, Settlement};
use std::time::Duration;
use support::scripted::server::Server;
use support::tds_peer::{Call, Param, Request, Type, Value};

/// Name and parameters of a call by name.
fn procedure(request: &Request) -> (&str, &[Param]) {
    match &request.call {
        Call::Procedure { name, params } => (name, params),
        other => panic!("not a call by name: {other:?}"),
    }
}

/// The only request since there were `before` of them.
fn only_request(server: &Server, before: usize) -> Request {
    let mut requests = server.peer.requests().split_off(before);
    assert_eq!(requests.len(), 1, "{requests:#?}");
    requests.remove(0)
}

fn assert_call(request: &Request, name: &str, values: &[Value]) {
    let (called, params) = procedure(request);
    assert_eq!(called, name);
    assert_eq!(request.values(), values);
    for param in params {
        // The only values that may be NULL are the time of a lease and the number of a claim.
        let is_number = matches!(param.value, Value::Int(_) | Value::Null);
        let expected: &[Type] = if is_number { &[Type::Int, Type::BigInt] } else { &[Type::NVarCharMax] };
        assert!(expected.contains(&param.sql_type), "{param:?}");
        assert!(!param.output && param.name.is_empty(), "{param:?}");
    }
    assert!(!request.reset && request.transaction == 0, "{request:?}");
}

fn json(value: &Value) -> serde_json::Value {
    serde_json::from_str(value.as_str().unwrap()).unwrap()
}

#[test]
fn opening_makes_the_session_safe_and_looks_the_queue_up() {
    let server = Server::start();
    let _queue = server.open(&[("lock.timeout_ms", "1234"), ("application", "billing")]);

    let login = &server.peer.logins()[0];
    assert_eq!((login.application.as_str(), login.offers_recovery()), ("billing", false));
    let requests = server.peer.requests();
    assert_eq!(requests.len(), 2, "{:#?}", server.peer.transcript());
    let settings = requests[0].sql();
    for part in [
        "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;",
        "SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;",
        "SET NOCOUNT, XACT_ABORT ON;",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;",
        "SET LOCK_TIMEOUT 1234;",
    ] {
        assert!(settings.contains(part), "{part} is missing in {settings}");
    }
    assert_eq!(requests[0].kind(), "batch");
    assert_eq!((requests[1].kind(), requests[1].sql()), ("procedure", "[readpast].[QueueCatalog]"));
}

#[test]
fn enqueueing_is_one_call() {
    let server = Server::start();
    let queue = server.open(&[]);
    let before = server.peer.requests().len();
    let operation = "d6513312-4dcc-4c44-b044-08b98257037c";
    let enqueued = queue.enqueue(&[item("\u{1f642}"), item("b")], Some(operation)).unwrap();

    let request = only_request(&server, before);
    let items = request.values()[1].clone();
    assert_call(&request, "[readpast].[Add_Job_Set_trx]", &[operation.into(), items.clone()]);
    let expected = serde_json::json!([{"columns": {"Payload": "\u{1f642}"}}, {"columns": {"Payload": "b"}}]);
    assert_eq!(json(&items), expected);
    assert_eq!(enqueued[0].key, "2026-11-21T08:30:00.1234567");
    assert_eq!(enqueued[1].token, "2026-11-21T08:30:00.1234570");
}

#[test]
fn claiming_is_one_call() {
    let server = Server::start();
    let queue = server.open(&[("lease.ms", "7000")]);
    // Unless somebody did in seven eighths of the hour that is set; this process asks again after an eighth.
    let mut numbers = Vec::new();
    for recover in [3_150_000, 0] {
        put(&queue, &["a"]);
        let before = server.peer.requests().len();
        take(&queue, 5);
        let request = only_request(&server, before);
        let number = request.values()[4].clone();
        numbers.push(number.as_int().unwrap());
        let values = ["w\u{1f642}".into(), 5.into(), 7000.into(), recover.into(), number];
        assert_call(&request, "[readpast].[Next_Job_Set_trx]", &values);
    }
    assert!(numbers[0] > 0 && numbers[1] > 0 && numbers[0] != numbers[1], "each its own");
}

#[test]
fn settling_is_one_call_that_carries_the_fence() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    let before = server.peer.requests().len();
    let settlement =
        Settlement { response: Some("\u{43f}"), ..Settlement::new(&batch.get(0).unwrap(), Action::Complete) };
    queue.settle(&[settlement], None).unwrap();

    let request = only_request(&server, before);
    let values = request.values();
    let expected =
        [values[0].clone(), "w\u{1f642}".into(), values[2].clone(), 0.into(), Value::Null, 0.into(), Value::Null];
    assert_call(&request, "[readpast].[Modify_Job_Set_trx]", &expected);
    assert_eq!(values[0].as_str().unwrap().len(), 36, "a GUID of the library's own making");
    let expected = serde_json::json!([{
        "key": "2026-11-21T08:30:00.1234567", "token": "2026-11-21T08:30:00.1234569", "attempt": 1,
        "status": "Completed", "response": "\u{43f}",
    }]);
    assert_eq!(json(&values[2]), expected);
}

#[test]
fn settling_and_claiming_are_one_call_together() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a", "b"]);
    let batch = take(&queue, 1);
    let before = server.peer.requests().len();
    let (outcomes, next) = queue.settle_and_claim(&all(&batch, Action::Complete), None, 3).unwrap();

    let request = only_request(&server, before);
    let values = request.values();
    assert!(values[6].as_int().is_some_and(|number| number > 0));
    let (operation, items, number) = (values[0].clone(), values[2].clone(), values[6].clone());
    let expected = [operation, "w\u{1f642}".into(), items, 3.into(), Value::Null, 0.into(), number];
    assert_call(&request, "[readpast].[Modify_Job_Set_trx]", &expected);
    assert_eq!((outcomes.len(), next.len()), (1, 1));
    assert_eq!(next.get(0).unwrap().value_of("Payload"), Some(readpast::item::Value::Text("b")));
}

#[test]
fn renewing_recovering_and_counting_are_one_call_each() {
    let server = Server::start();
    let queue = server.open(&[("lease.ms", "7000")]);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    let before = server.peer.requests().len();
    queue.renew(&[Lease::from(batch.get(0).unwrap())]).unwrap();
    let request = only_request(&server, before);
    let items = request.values()[1].clone();
    assert_call(&request, "[readpast].[Renew_Job_Set_trx]", &["w\u{1f642}".into(), items.clone(), 7000.into()]);
    assert_eq!(json(&items), serde_json::json!([{"key": "2026-11-21T08:30:00.1234567", "attempt": 1}]));

    queue.recover(9).unwrap();
    assert_call(&only_request(&server, before + 1), "[readpast].[Recover_Job_trx]", &[9.into(), 1.into()]);
    queue.stats().unwrap();
    assert_call(&only_request(&server, before + 2), "[readpast].[Stats_Job]", &[]);
}

#[test]
fn a_connection_is_used_again_and_nothing_is_asked_twice() {
    let server = Server::start();
    let queue = server.open(&[]);
    let before = server.peer.requests().len();
    for _ in 0..3 {
        put(&queue, &["a"]);
        let batch = take(&queue, 1);
        queue.settle(&all(&batch, Action::Complete), None).unwrap();
        queue.stats().unwrap();
    }
    let kinds: Vec<_> = server.peer.requests()[before..].iter().map(Request::kind).collect();
    assert_eq!(kinds, ["procedure"; 12]);
    assert_eq!(server.peer.logins().len(), 1);
}

/// The clock that counts is the server's: nothing that the core sends can be a time of this machine.
#[test]
fn no_time_of_the_client_is_sent() {
    let server = Server::start();
    let queue = server.open(&[]);
    queue.enqueue(&[readpast::item::NewItem { delay_ms: Some(5), ..item("a") }], None).unwrap();
    let batch = queue.claim(1, Duration::from_millis(1)).unwrap();
    queue.settle(&[Settlement { delay_ms: Some(5), ..all(&batch, Action::Retry).remove(0) }], None).unwrap();
    let held = take(&queue, 1);
    queue.renew(&[Lease::from(held.get(0).unwrap())]).unwrap();
    queue.recover(1).unwrap();

    for request in server.peer.requests() {
        let is_claim = request.kind() == "procedure" && procedure(&request).0.contains("[Next_Job");
        for (place, value) in request.values().into_iter().enumerate() {
            match value {
                // The number of a claim is drawn.
                Value::Int(_) if is_claim && place == 4 => {}
                // Keys and tokens are the server's own; its scripted clock stands within this second.
                Value::Text(text) => assert!(!holds_a_date(&text.replace("2026-11-21T08:30:00.", "")), "{text}"),
                Value::Int(number) => assert!(number < 1_000_000_000, "a time since 1970? {number}"),
                // A lease as the queue says.
                Value::Null => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Whether `2026-11-21` or the like stands in the text.
fn holds_a_date(text: &str) -> bool {
    text.as_bytes().windows(10).any(|window| {
        window.iter().enumerate().all(|(i, byte)| if i == 4 || i == 7 { *byte == b'-' } else { byte.is_ascii_digit() })
    })
}
