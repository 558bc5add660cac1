//! Values of the server, as the core reads them: nothing is cut, rounded or confused.

use super::{all, item, put, take};
use readpast::item::{Action, ColumnType, Value};
use support::scripted::ledger::{answer_column_types, cells};
use support::scripted::server::{Fault, Server};
use support::tds_peer::{Answer, Type, Value as Sent};

const KEY: &str = "2026-11-21T08:30:00.1234567";
const TOKEN: &str = "9999-12-31T23:59:59.9999999";

/// An answer that hands out one item with these columns.
fn handing_out(columns: &[(&'static str, Type)], values: Vec<Sent>) -> Answer {
    let row = cells("CLAIMED", None, KEY, TOKEN, 1, "Processing").into_iter().chain(values);
    Answer::new().columns(answer_column_types().into_iter().chain(columns.iter().copied())).row(row)
}

/// Claims what `answer` hands out.
fn claim(server: &Server, answer: Answer) -> readpast::item::Batch {
    let queue = server.open(&[]);
    server.fault("[Next_Job", Fault::Instead(answer.into()));
    take(&queue, 1)
}

#[test]
fn seven_digits_of_a_second_go_out_and_come_back() {
    let server = Server::start();
    let batch = claim(&server, handing_out(&[("P", Type::Int)], vec![1.into()]));
    let item = batch.get(0).unwrap();
    assert_eq!((item.key(), item.token()), (KEY, TOKEN));

    // The peer's settle finds the item by its key and its token: both must be what they were, digit by digit.
    let queue = server.open(&[]);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    let outcomes = queue.settle(&all(&batch, Action::Step), None).unwrap();
    assert_eq!(outcomes[0].token, "2026-11-21T08:30:00.1234570");
    assert_eq!(server.ledger().settled, ["2026-11-21T08:30:00.1234567"]);
}

#[test]
fn every_column_type_has_its_value() {
    let columns = [
        ("Tiny", Type::TinyInt),
        ("Small", Type::SmallInt),
        ("Whole", Type::Int),
        ("Big", Type::BigInt),
        ("Flag", Type::Bit),
        ("Ratio", Type::Float),
        ("Price", Type::Decimal { precision: 38, scale: 10 }),
        ("Half", Type::Decimal { precision: 9, scale: 2 }),
        ("Debt", Type::Decimal { precision: 9, scale: 2 }),
        ("Narrow", Type::VarChar(20)),
        ("Wide", Type::NVarChar(20)),
        ("Long", Type::VarCharMax),
        ("Bytes", Type::VarBinary(9)),
        ("Blob", Type::VarBinaryMax),
        ("Seen", Type::DateTime2(3)),
        ("Tag", Type::Uuid),
    ];
    let digits = 12_345_678_901_234_567_890_123_456_789_012_345_678_i128;
    let sent = vec![
        255.into(),
        (-32768).into(),
        i32::MIN.into(),
        i64::MAX.into(),
        true.into(),
        (-0.5).into(),
        Sent::Decimal(-digits),
        Sent::Decimal(50),
        Sent::Decimal(-5),
        "narrow".into(),
        "w\u{ef}d\u{1f642}".into(),
        "long".into(),
        vec![0_u8, 255].into(),
        vec![7_u8; 5000].into(),
        Sent::datetime2("0001-01-01 00:00:00.999"),
        Sent::Uuid([0xd6, 0x51, 0x33, 0x12, 0x4d, 0xcc, 0x4c, 0x44, 0xb0, 0x44, 0x08, 0xb9, 0x82, 0x57, 0x03, 0x7c]),
    ];
    let batch = claim(&Server::start(), handing_out(&columns, sent));

    let got = batch.get(0).unwrap();
    let blob = vec![7_u8; 5000];
    for (name, kind, value) in [
        ("Tiny", ColumnType::Integer, Value::Integer(255)),
        ("Small", ColumnType::Integer, Value::Integer(-32768)),
        ("Whole", ColumnType::Integer, Value::Integer(i32::MIN.into())),
        ("Big", ColumnType::Integer, Value::Integer(i64::MAX)),
        ("Flag", ColumnType::Boolean, Value::Boolean(true)),
        ("Ratio", ColumnType::Float, Value::Float(-0.5)),
        ("Price", ColumnType::Decimal, Value::Text("-1234567890123456789012345678.9012345678")),
        // The driver leaves the zero out.
        ("Half", ColumnType::Decimal, Value::Text("0.50")),
        ("Debt", ColumnType::Decimal, Value::Text("-0.05")),
        ("Narrow", ColumnType::Text, Value::Text("narrow")),
        ("Wide", ColumnType::Text, Value::Text("w\u{ef}d\u{1f642}")),
        ("Long", ColumnType::Text, Value::Text("long")),
        ("Bytes", ColumnType::Binary, Value::Binary(&[0, 255])),
        ("Blob", ColumnType::Binary, Value::Binary(&blob)),
        ("Seen", ColumnType::Timestamp, Value::Text("0001-01-01T00:00:00.9990000")),
        ("Tag", ColumnType::Guid, Value::Text("D6513312-4DCC-4C44-B044-08B98257037C")),
    ] {
        assert_eq!(got.value_of(name), Some(value), "{name}");
        assert_eq!(batch.columns().iter().find(|column| column.name == name).unwrap().kind, kind, "{name}");
    }
}

#[test]
fn null_is_not_empty() {
    let types =
        [Type::Int, Type::Bit, Type::Float, Type::NVarCharMax, Type::VarBinaryMax, Type::DateTime2(7), Type::Uuid];
    let columns: Vec<_> = ["A", "B", "C", "D", "E", "F", "G"].into_iter().zip(types).collect();
    let with_empty: Vec<_> =
        columns.iter().copied().chain([("Text", Type::NVarCharMax), ("Raw", Type::VarBinary(9))]).collect();
    let values = vec![Sent::Null; 7].into_iter().chain(["".into(), Vec::<u8>::new().into()]).collect();
    let batch = claim(&Server::start(), handing_out(&with_empty, values));

    let item = batch.get(0).unwrap();
    for (name, _) in columns {
        assert_eq!(item.value_of(name), Some(Value::Null), "{name}");
    }
    assert_eq!(item.value_of("Text"), Some(Value::Text("")));
    assert_eq!(item.value_of("Raw"), Some(Value::Binary(&[])));
}

#[test]
fn a_megabyte_of_text_beyond_the_basic_plane_travels_both_ways() {
    let long = "\u{1f642}\u{43f}x".repeat(1 << 17);
    let server = Server::start();
    let queue = server.open(&[]);
    queue.enqueue(&[item(&long), item("short")], None).unwrap();
    assert!(server.ledger().items[0].payload == long, "it arrived as it was");

    let batch = take(&queue, 2);
    assert!(batch.get(0).unwrap().value_of("Payload") == Some(Value::Text(&long)), "and it came back as it was");
    assert_eq!(batch.get(1).unwrap().value_of("Payload"), Some(Value::Text("short")));
}

/// Lengths around the first read of a long value, where a wrong measure would cut or double something.
#[test]
fn text_of_every_length_around_the_buffers_is_whole() {
    let server = Server::start();
    let queue = server.open(&[]);
    let texts: Vec<String> = (1020..1030).chain(2044..2050).map(|n| "a".repeat(n - 2) + "\u{1f642}").collect();
    put(&queue, &texts.iter().map(String::as_str).collect::<Vec<_>>());
    for (item, text) in take(&queue, 100).iter().zip(&texts) {
        assert_eq!(item.value_of("Payload"), Some(Value::Text(text)));
    }
}
