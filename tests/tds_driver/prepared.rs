//! Which calls `SQLPrepare`, `SQLExecute` and `SQLExecDirect` become, and what parameters become.

use odbc_api::parameter::{VarWCharBox, WithDataType};
use odbc_api::sys::Timestamp;
use odbc_api::{BindParamDesc, Bit, DataType, IntoParameter, ResultSetMetadata};

use super::{code, codes, connect};
use support::tds_peer::{Answer, Call, Peer, Reply, Type, Value};

fn kinds(peer: &Peer) -> Vec<&'static str> {
    peer.requests().iter().map(|request| request.kind()).collect()
}

#[test]
fn preparing_sends_nothing_before_the_first_execution() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    drop(connection.prepare("EXEC p @a = ?").unwrap());
    assert!(peer.requests().is_empty());
}

#[test]
fn parameters_bound_once_are_prepared_once() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    let mut prepared = connection.prepare("EXEC p @a = ?").unwrap();
    let mut bound = prepared.column_inserter(1, [BindParamDesc::i32(false)]).unwrap();
    bound.set_num_rows(1);
    for value in [1, 2] {
        bound.column_mut(0).as_slice::<i32>().unwrap()[0] = value;
        bound.execute().unwrap();
    }
    drop(bound);
    drop(prepared);

    let requests = peer.requests();
    assert_eq!(kinds(&peer), ["sp_prepexec", "sp_execute", "sp_unprepare"]);
    assert_eq!(requests[0].sql(), "EXEC p @a = @P1");
    assert_eq!(requests[1].sql(), "EXEC p @a = @P1");
    assert_eq!(requests[0].values(), [Value::Int(1)]);
    assert_eq!(requests[1].values(), [Value::Int(2)]);
}

/// The calls travel in one message, behind an `sp_prepare` of its own.
#[test]
fn an_array_of_parameters_is_a_call_for_each_of_its_rows() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    let mut prepared = connection.prepare("EXEC p @a = ?").unwrap();
    let mut bound = prepared.column_inserter(3, [BindParamDesc::i32(false)]).unwrap();
    bound.set_num_rows(3);
    bound.column_mut(0).as_slice::<i32>().unwrap()[..3].copy_from_slice(&[1, 2, 3]);
    bound.execute().unwrap();

    let values: Vec<Value> = peer.requests().iter().flat_map(|request| request.values()).collect();
    assert_eq!(values, [Value::Int(1), Value::Int(2), Value::Int(3)]);
    assert_eq!(kinds(&peer), ["sp_prepare", "sp_execute", "sp_execute", "sp_execute"]);
}

/// `Prepared::execute` resets the parameters before it binds them, and that makes the driver
/// prepare again: one round trip all the same, but the handle is used only once.
#[test]
fn parameters_bound_anew_are_prepared_anew() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    let mut prepared = connection.prepare("EXEC p @a = ?").unwrap();
    prepared.execute(&1).unwrap();
    prepared.execute(&2).unwrap();

    assert_eq!(kinds(&peer), ["sp_prepexec", "sp_prepexec"]);
    assert!(matches!(peer.requests()[1].call, Call::PrepExec { replaced: Some(1), .. }));
}

#[test]
fn without_parameters_a_prepared_statement_is_executed_by_its_handle() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    let mut prepared = connection.prepare("EXEC p").unwrap();
    prepared.execute(()).unwrap();
    prepared.execute(()).unwrap();
    assert_eq!(kinds(&peer), ["sp_prepexec", "sp_execute"]);
}

#[test]
fn executing_directly_is_a_batch_or_sp_executesql() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    connection.execute("EXEC p", (), None).unwrap();
    connection.execute("EXEC p @a = ?", &1, None).unwrap();
    let transcript = peer.transcript();
    assert_eq!(transcript[0], ("batch", "EXEC p".to_owned()));
    assert_eq!(transcript[1], ("sp_executesql", "EXEC p @a = @P1".to_owned()));
}

#[test]
fn a_call_escape_is_a_call_by_name() {
    let peer = Peer::start(|_| Reply::default());
    connect(&peer).execute("{CALL rp.claim (?)}", &1, None).unwrap();
    let requests = peer.requests();
    assert_eq!((requests[0].kind(), requests[0].sql()), ("procedure", "rp.claim"));
    assert_eq!(requests[0].values(), [Value::Int(1)]);
}

#[test]
fn parameters_keep_type_and_value() {
    let peer = Peer::start(|_| Reply::default());
    let at = Timestamp { year: 2026, month: 12, day: 31, hour: 1, minute: 2, second: 3, fraction: 123_456_700 };
    let parameters = (
        &7_i32,
        &None::<i64>.into_parameter(),
        &Bit(1),
        &"naïve 😀".into_parameter(),
        &WithDataType { value: at, data_type: DataType::Timestamp { precision: 7 } },
        &[1_u8, 2, 255][..].into_parameter(),
    );
    connect(&peer).execute("EXEC p ?, ?, ?, ?, ?, ?", parameters, None).unwrap();

    let requests = peer.requests();
    let types: Vec<Type> = requests[0].params().iter().map(|param| param.sql_type).collect();
    let expected_types =
        [Type::Int, Type::BigInt, Type::Bit, Type::NVarChar(8), Type::DateTime2(7), Type::VarBinary(3)];
    assert_eq!(types, expected_types);
    let expected_values = [
        Value::from(7),
        Value::Null,
        Value::from(true),
        Value::from("naïve 😀"),
        Value::datetime2("2026-12-31 01:02:03.1234567"),
        Value::from(vec![1, 2, 255]),
    ];
    assert_eq!(requests[0].values(), expected_values);
}

/// `odbc-api` declares text by its length, and text over 4000 code units as the retired `ntext`; only
/// a declared type is the same for every value.
#[test]
fn long_values_are_max_types_only_if_declared_so() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);
    let text = "😀".repeat(5000);
    let declared = |value: &str| WithDataType {
        value: VarWCharBox::from_str_slice(value),
        data_type: DataType::WVarchar { length: None },
    };
    let bytes = vec![7_u8; 9000];
    let parameters = (
        &text.as_str().into_parameter(),
        &declared(&text),
        &declared("short"),
        &WithDataType { value: bytes.as_slice().into_parameter(), data_type: DataType::Varbinary { length: None } },
    );
    connection.execute("EXEC p ?, ?, ?, ?", parameters, None).unwrap();

    let requests = peer.requests();
    let types: Vec<Type> = requests[0].params().iter().map(|param| param.sql_type).collect();
    let expected = [Type::NText, Type::NVarCharMax, Type::NVarCharMax, Type::VarBinaryMax];
    assert_eq!(types, expected);
    let expected = [text.as_str().into(), text.as_str().into(), "short".into(), bytes.clone().into()];
    assert_eq!(requests[0].values(), expected);

    let undeclared = connection.execute("EXEC p ?", &bytes.as_slice().into_parameter(), None);
    assert_eq!(codes(undeclared), code("HY104", 0), "more than 8000 bytes have to be declared");
}

#[test]
fn asking_for_columns_before_executing_costs_a_round_trip() {
    let peer = Peer::start(|request| match request.call {
        Call::Prepare { .. } => Answer::new().columns([("n", Type::Int)]).into(),
        _ => Reply::default(),
    });
    let connection = connect(&peer);
    let mut prepared = connection.prepare("SELECT n FROM t").unwrap();
    assert_eq!(prepared.num_result_cols().unwrap(), 1);
    assert_eq!(kinds(&peer), ["sp_prepare"]);
}
