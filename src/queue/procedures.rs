//! A queue behind procedures that somebody wrote by hand: `Next_` and `Modify_` in the shape of readpast's first document.
//! They know neither worker nor lease nor operation, and take one item a call; what follows from that is said where it
//! happens.

mod claim;
mod enqueue;
mod judge;
mod settle;
mod text;

pub(super) use self::{
    claim::ask,
    enqueue::enqueue,
    settle::settle,
    text::{call, invoke},
};

use super::Inner;
use crate::catalog::{self, Meaning, Parameter, Shape};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{ItemState, Outcome, QueueStats, Rows, Value};
use crate::metrics::Call;
use crate::session::{Param, Session};
use crate::spec::{ProceduresSpec, QueueSpec};
use crate::sync::Mutex;
use std::collections::VecDeque;

/// What a handle knows of the queue's procedures.
pub(super) struct Procedures {
    dialect: Dialect,
    shape: Shape,
    next: String,
    modify: String,
    add: Option<String>,
    /// The parts of calls that did not come to their end, by their operation: a repetition goes on where it stopped.
    done: Mutex<VecDeque<(String, Done)>>,
}

/// What of a call was done.
#[derive(Clone)]
enum Done {
    Settled(Vec<Outcome>),
    Enqueued(Vec<crate::item::Receipt>),
}

/// How many calls are remembered that did not come to their end.
const REMEMBERED: usize = 64;

impl Procedures {
    /// Asks the catalog, and puts the statements together.
    pub(super) fn open(session: &mut Session, spec: &QueueSpec, procedures: &ProceduresSpec) -> Result<Self> {
        let dialect = session.dialect();
        let shape = catalog::shape(session, spec, procedures)?;
        let add = shape.add.as_ref().map(|add| text::call(dialect, add, procedures.local_time)).transpose()?;
        Ok(Self {
            dialect,
            next: text::call(dialect, &shape.next, procedures.local_time)?,
            modify: text::modify(dialect, &shape, procedures.local_time)?,
            add,
            shape,
            done: Mutex::default(),
        })
    }

    /// The items with these keys, as the view shows them, in whatever order.
    fn look(&self, session: &mut Session, keys: &[&str]) -> Result<Rows> {
        let query = text::look(self.dialect, &self.shape, keys.len())?;
        let params: Vec<_> = keys.iter().map(|key| Param::Text(key)).collect();
        session.execute(&query, &params)
    }

    fn remember(&self, operation: &str, done: Done) {
        let mut all = self.done.lock();
        all.retain(|(known, _)| known != operation);
        if all.len() == REMEMBERED {
            all.pop_front();
        }
        all.push_back((operation.to_owned(), done));
    }

    fn recall(&self, operation: &str) -> Option<Done> {
        let mut all = self.done.lock();
        let place = all.iter().position(|(known, _)| known == operation)?;
        all.remove(place).map(|(_, done)| done)
    }
}

/// Figures: how many items the view shows in each state. It does not tell more.
pub(super) fn stats(queue: &Inner, theirs: &Procedures) -> Result<QueueStats> {
    let column = |name: &str| theirs.shape.view.columns.iter().find(|column| catalog::bare(&column.name) == name);
    let Some(status) = column("status") else {
        return Err(unsupported("count items", "their view has no column Status"));
    };
    let query = text::counts(theirs.dialect, &theirs.shape, status)?;
    let rows = queue.with_session(Call::Stats, |session| session.execute(&query, &[]))?;
    let mut stats = QueueStats::default();
    for row in 0..rows.len() {
        if let (Value::Text(state), Value::Integer(count)) = (rows.value(row, 0), rows.value(row, 1)) {
            stats.record(&format!("count.{}", state.trim_end()), Some(count));
        }
    }
    Ok(stats)
}

/// The error of a call that such procedures have nothing for.
pub(super) fn unsupported(what: &str, why: &str) -> Error {
    let message =
        format!("hand-written procedures cannot {what}: {why}; adopt their table instead, or do it in the database");
    Error::new(ErrorKind::Unsupported, message)
}

/// A cell as text, in the form in which it is sent back.
pub(super) fn cell(rows: &Rows, row: usize, column: usize) -> Option<String> {
    match rows.value(row, column) {
        Value::Null => None,
        Value::Text(text) => Some(text.to_owned()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(value) => Some(u8::from(value).to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Binary(bytes) => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
    }
}

/// The place of a result's column by what it is called.
pub(super) fn place(rows: &Rows, name: &str) -> Option<usize> {
    let wanted = catalog::bare(name);
    rows.columns().iter().position(|column| catalog::bare(&column.name) == wanted)
}

/// What a row shows of an item.
struct Seen {
    state: Option<ItemState>,
    token: String,
    attempt: i32,
    step: Option<String>,
    response: Option<String>,
    error: Option<String>,
}

impl Seen {
    fn read(shape: &Shape, rows: &Rows, row: usize) -> Self {
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
pub(super) fn params<'a>(
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

/// Whether the procedure itself raised this: with a number of a user's, with RAISERROR and a number that no message was
/// added for (18054), or in PostgreSQL with a SQLSTATE of nobody else's.
fn raised_by_procedure(dialect: Dialect, error: &Error) -> bool {
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
pub(super) fn own_results(dialect: Dialect, results: &[Rows]) -> &[Rows] {
    match dialect {
        Dialect::SqlServer => results.get(1..results.len().saturating_sub(1)).unwrap_or_default(),
        Dialect::Postgres => results,
    }
}

/// What the last row of the last result says, of a T-SQL batch: the procedure's RETURN.
pub(super) fn returned(dialect: Dialect, results: &[Rows]) -> i64 {
    match results.last().map(|rows| rows.value(0, 0)) {
        Some(Value::Integer(returned)) if dialect == Dialect::SqlServer => returned,
        _ => 0,
    }
}
