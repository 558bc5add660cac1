//! The parameters of hand-written procedures, and their results.

use crate::catalog::{self, Meaning, Parameter, QueueShape};
use crate::dialect::Dialect;
use crate::error::Error;
use crate::item::{ItemState, Rows, Value};
use crate::session::Param;

/// A cell as text, in the form in which it is sent back.
pub(in crate::backend) fn cell(rows: &Rows, row: usize, column: usize) -> Option<String> {
    match rows.value(row, column) {
        Value::Null => None,
        Value::Text(text) => Some(text.to_owned()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(value) => Some(u8::from(value).to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Binary(bytes) => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
    }
}

/// The place of a result's column by its name.
pub(in crate::backend) fn place(rows: &Rows, name: &str) -> Option<usize> {
    let wanted = catalog::bare(name);
    rows.columns().iter().position(|column| catalog::bare(&column.name) == wanted)
}

/// An item, as a row shows it.
pub(super) struct SeenItem {
    pub(super) state: Option<ItemState>,
    pub(super) token: String,
    pub(super) attempt: i32,
    pub(super) step: Option<String>,
    pub(super) response: Option<String>,
    pub(super) error: Option<String>,
}

impl SeenItem {
    pub(super) fn read(shape: &QueueShape, rows: &Rows, row: usize) -> Self {
        let text = |name: &str| place(rows, name).and_then(|column| cell(rows, row, column));
        Self {
            state: text("Status").and_then(|state| state.trim_end().parse().ok()),
            token: text(&shape.token.name).unwrap_or_default(),
            attempt: text("AttemptNum").and_then(|attempt| attempt.parse().ok()).unwrap_or(0),
            step: text("Step"),
            response: text("Response"),
            error: text("Error"),
        }
    }
}

/// The parameters of a call, in the order of its markers.
pub(in crate::backend) fn params<'a>(
    arguments: &[(Parameter, Meaning)],
    dialect: Dialect,
    value: impl Fn(Meaning) -> Option<&'a str>,
    due: (Option<&'a str>, Option<&'a str>),
) -> Vec<Param<'a>> {
    let mut params = Vec::new();
    let due_params = [Param::OptionalText(due.0), Param::OptionalText(due.1)];
    // T-SQL declares the two before all others.
    if dialect == Dialect::SqlServer && arguments.iter().any(|(_, meaning)| *meaning == Meaning::Due) {
        params.extend(due_params);
    }
    for (_, meaning) in arguments {
        match meaning {
            Meaning::Due if dialect == Dialect::Postgres => params.extend(due_params),
            Meaning::Due => {}
            meaning => params.push(Param::OptionalText(value(*meaning))),
        }
    }
    params
}

/// Whether the procedure itself raised this error: with a number of a user's, with RAISERROR and a number without a message
/// (18054), or in PostgreSQL with a SQLSTATE that the server does not use.
pub(super) fn raised_by_procedure(dialect: Dialect, error: &Error) -> bool {
    match dialect {
        Dialect::SqlServer => {
            error.native_code() >= 50_000 && error.native_code() < 33_000_000 || error.native_code() == 18_054
        }
        Dialect::Postgres => error.sqlstate().is_some_and(|state| {
            let class = &state[..state.len().min(2)];
            class == "P0" || (class >= "I" && !["IM", "XX"].contains(&class))
        }),
    }
}

/// The procedure's own results: in T-SQL between the one that begins the batch and the one that ends it.
pub(crate) fn own_results(dialect: Dialect, results: &[Rows]) -> &[Rows] {
    match dialect {
        Dialect::SqlServer => results.get(1..results.len().saturating_sub(1)).unwrap_or_default(),
        Dialect::Postgres => results,
    }
}

/// The procedure's RETURN, which the last row of a T-SQL batch holds.
pub(in crate::backend) fn returned(dialect: Dialect, results: &[Rows]) -> i64 {
    match results.last().map(|rows| rows.value(0, 0)) {
        Some(Value::Integer(returned)) if dialect == Dialect::SqlServer => returned,
        _ => 0,
    }
}
