//! Calls of the procedures as people make them, for what the library does not say or show.

use readpast::item::{Rows, Value};
use support::fixture::Given;

/// Claims as `worker`; `recover` is 0, 1 or 2. The answer's rows.
pub fn claim(given: &Given, worker: &str, max: i32, recover: i32) -> Rows {
    let procedure = procedure(given, "Next_", "_Set_trx");
    let call = if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @Worker = N'{worker}', @Max = {max}, @Recover = {recover}")
    } else {
        format!("SELECT * FROM {procedure}('{worker}', {max}, recover_ => {recover})")
    };
    given.session().execute(&call, &[]).unwrap()
}

/// Claims as `worker` under a number of the claim's own, for an hour.
pub fn claim_numbered(given: &Given, worker: &str, max: i32, number: i64) -> Rows {
    let procedure = procedure(given, "Next_", "_Set_trx");
    let call = if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @Worker = N'{worker}', @Max = {max}, @LeaseMs = 3600000, @Claim = {number}")
    } else {
        format!("SELECT * FROM {procedure}('{worker}', {max}, 3600000, claim_ => {number})")
    };
    given.session().execute(&call, &[]).unwrap()
}

/// The items that `worker` holds by the claim of that number.
pub fn claimed(given: &Given, worker: &str, number: i64) -> Rows {
    let procedure = procedure(given, "Claimed_", "");
    let call = if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @Worker = N'{worker}', @Claim = {number}")
    } else {
        format!("SELECT * FROM {procedure}('{worker}', {number})")
    };
    given.session().execute(&call, &[]).unwrap()
}

/// Claims one item by the procedure for that: its row, or none.
pub fn next(given: &Given) -> Rows {
    let procedure = procedure(given, "Next_", "_trx");
    let call = if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @Worker = N'w'")
    } else {
        format!("SELECT * FROM {procedure}('w')")
    };
    given.session().execute(&call, &[]).unwrap()
}

/// The name of a procedure of the queue, qualified.
pub fn procedure(given: &Given, before: &str, after: &str) -> String {
    if given.server.is_sql_server() {
        format!("[readpast].[{before}{}{after}]", given.queue)
    } else {
        let stem = readpast::ident::QueueName::new(&given.queue).unwrap().snake_case();
        format!("readpast.\"{}{stem}{}\"", before.to_lowercase(), after.to_lowercase())
    }
}

/// A cell as text.
pub fn cell(rows: &Rows, row: usize, column: usize) -> String {
    match rows.value(row, column) {
        Value::Text(text) => text.to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Null => "NULL".to_owned(),
        other => format!("{other:?}"),
    }
}
