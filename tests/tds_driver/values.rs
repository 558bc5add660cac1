//! Values of every type on their way out of the database.

use odbc_api::sys::Timestamp;
use odbc_api::{Bit, Cursor, Nullable};

use super::connect;
use support::tds_peer::{Answer, Peer, Reply, Type, Value};

#[test]
fn every_type_arrives() {
    let peer = Peer::start(|_| {
        let columns = [
            ("int", Type::Int),
            ("bigint", Type::BigInt),
            ("bit", Type::Bit),
            ("nvarchar", Type::NVarChar(40)),
            ("datetime2", Type::DateTime2(7)),
            ("varbinary", Type::VarBinaryMax),
            ("uniqueidentifier", Type::Uuid),
            ("float", Type::Float),
            ("decimal", Type::Decimal { precision: 9, scale: 2 }),
        ];
        let uuid = *b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xAA\xBB\xCC\xDD\xEE\xFF";
        let row = [
            Value::from(-7),
            Value::from(i64::MAX),
            Value::from(true),
            Value::from("naïve 😀"),
            Value::datetime2("2026-02-28 23:59:59.1234567"),
            Value::from(vec![0, 1, 255]),
            Value::Uuid(uuid),
            Value::from(0.5),
            Value::Decimal(-1250),
        ];
        Answer::new().columns(columns).row(row).into()
    });
    let connection = connect(&peer);
    let mut cursor = connection.execute("SELECT everything", (), None).unwrap().unwrap();
    let mut row = cursor.next_row().unwrap().unwrap();

    let (mut int, mut bigint, mut bit, mut float) = (0_i32, 0_i64, Bit(0), 0_f64);
    let (mut wide, mut at, mut bytes, mut text) = (Vec::new(), Timestamp::default(), Vec::new(), Vec::new());
    row.get_data(1, &mut int).unwrap();
    row.get_data(2, &mut bigint).unwrap();
    row.get_data(3, &mut bit).unwrap();
    assert!(row.get_wide_text(4, &mut wide).unwrap());
    row.get_data(5, &mut at).unwrap();
    assert!(row.get_binary(6, &mut bytes).unwrap());
    assert!(row.get_text(7, &mut text).unwrap());
    row.get_data(8, &mut float).unwrap();
    assert_eq!((int, bigint, bit.as_bool(), float), (-7, i64::MAX, true, 0.5));
    assert_eq!(String::from_utf16(&wide).unwrap(), "naïve 😀");
    assert_eq!((at.year, at.month, at.day, at.hour, at.minute, at.second), (2026, 2, 28, 23, 59, 59));
    assert_eq!(at.fraction, 123_456_700, "nanoseconds");
    assert_eq!(bytes, [0, 1, 255]);
    assert_eq!(text, b"00112233-4455-6677-8899-AABBCCDDEEFF");

    text.clear();
    assert!(row.get_text(9, &mut text).unwrap());
    assert_eq!(text, b"-12.50");
}

#[test]
fn null_of_every_type_is_null() {
    let types = [
        Type::Int,
        Type::BigInt,
        Type::Bit,
        Type::NVarChar(40),
        Type::NVarCharMax,
        Type::DateTime2(7),
        Type::VarBinaryMax,
        Type::Uuid,
        Type::Float,
        Type::Decimal { precision: 9, scale: 2 },
    ];
    let peer =
        Peer::start(move |_| Answer::new().columns(types.map(|t| ("c", t))).row(types.map(|_| Value::Null)).into());
    let connection = connect(&peer);
    let mut cursor = connection.execute("SELECT nothing", (), None).unwrap().unwrap();
    let mut row = cursor.next_row().unwrap().unwrap();

    let mut int = Nullable::new(1_i32);
    row.get_data(1, &mut int).unwrap();
    assert_eq!(int.into_opt(), None);
    for column in 2..=types.len() as u16 {
        assert!(!row.get_wide_text(column, &mut Vec::new()).unwrap(), "column {column}");
    }
}

#[test]
fn a_mebibyte_of_text_arrives_whole() {
    let text = "payload 😀 ".repeat(1024 * 1024 / 22);
    let sent = text.clone();
    let peer = Peer::start(move |_| Answer::new().scalar("payload", Type::NVarCharMax, sent.as_str()).into());
    let connection = connect(&peer);
    let mut cursor = connection.execute("SELECT payload", (), None).unwrap().unwrap();
    let mut row = cursor.next_row().unwrap().unwrap();

    let mut wide = Vec::new();
    assert!(row.get_wide_text(1, &mut wide).unwrap());
    assert!(String::from_utf16(&wide).unwrap() == text, "the text is not the one sent");
}

#[test]
fn an_empty_text_is_not_null() {
    let peer = Peer::start(|_| {
        let columns = [("n", Type::NVarChar(10)), ("max", Type::NVarCharMax)];
        Answer::new().columns(columns).row([Value::from(""), Value::from("")]).into()
    });
    let connection = connect(&peer);
    let mut cursor = connection.execute("SELECT ''", (), None).unwrap().unwrap();
    let mut row = cursor.next_row().unwrap().unwrap();

    for column in 1..=2 {
        let mut wide = Vec::new();
        assert!(row.get_wide_text(column, &mut wide).unwrap());
        assert!(wide.is_empty());
    }
}

#[test]
fn the_peer_says_nothing_of_its_own() {
    let peer = Peer::start(|_| Reply::default());
    assert!(connect(&peer).execute("SET NOCOUNT ON", (), None).unwrap().is_none());
}
