//! Answers: what a call returned, in the protocol's words.

use readpast::item::{ColumnType, Value as Cell};
use readpast::{Answer, Batch, Error, ErrorKind, Item, ItemState, Outcome, Receipt};
use serde_json::{Map, Value, json};

/// Why there is no answer in the usual form.
pub enum Failure {
    /// The library's error.
    Error(Error),
    /// An outcome to be expected, with what else there is to say.
    Outcome(&'static str, Value),
    /// The driver asks for an object that it has freed, or never made. (In Rust no such call can be written.)
    Gone(String),
    /// No such verb.
    UnknownVerb,
}

impl Failure {
    pub fn gone(name: &str) -> Self {
        Self::Gone(format!("there is nothing called {name:?}, or it was freed"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

pub type Result = std::result::Result<Value, Failure>;

/// The response to a request.
pub fn answer(result: Result) -> Value {
    match result {
        Ok(fields) => with_status("READPAST_OK", fields),
        Err(Failure::Outcome(status, fields)) => with_status(status, fields),
        Err(Failure::Error(error)) if error.kind() == ErrorKind::Interrupted => {
            json!({"status": status_of(error.kind())})
        }
        Err(Failure::Error(error)) => json!({"status": status_of(error.kind()), "error": {
            "message": error.message(), "sqlstate": error.sqlstate(), "native_code": error.native_code(),
            "retryable": error.is_retryable(), "operation": error.operation(),
        }}),
        Err(Failure::Gone(message)) => json!({"status": "READPAST_INVALID_HANDLE", "error": {
            "message": message, "sqlstate": null, "native_code": 0, "retryable": false, "operation": null,
        }}),
        Err(Failure::UnknownVerb) => json!({"status": "UNSUPPORTED"}),
    }
}

fn with_status(status: &str, fields: Value) -> Value {
    let mut whole = Map::from_iter([("status".to_owned(), status.into())]);
    if let Value::Object(fields) = fields {
        whole.extend(fields);
    }
    whole.into()
}

/// The status that C has for this kind: its name in capitals, but for one that C has a better word for.
fn status_of(kind: ErrorKind) -> String {
    if kind == ErrorKind::Unsupported {
        return "READPAST_NOT_PROVIDED".to_owned();
    }
    format!("READPAST_{}", in_capitals(&format!("{kind:?}")))
}

/// `LeaseLost` as `LEASE_LOST`.
fn in_capitals(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_uppercase());
    }
    out
}

fn answer_name(answer: Answer) -> String {
    format!("READPAST_{}", in_capitals(&format!("{answer:?}")))
}

fn state_name(state: Option<ItemState>) -> String {
    state.map_or("NONE".to_owned(), |state| in_capitals(state.as_str()))
}

/// The outcomes, under the status of the first that is not OK.
pub fn outcomes(outcomes: &[Outcome], mut fields: Map<String, Value>) -> Result {
    let listed = outcomes.iter().map(|outcome| {
        let state = state_name(outcome.state);
        json!({"answer": answer_name(outcome.answer), "state": state, "attempt": outcome.attempt, "token": outcome.token})
    });
    fields.insert("outcomes".to_owned(), listed.collect());
    let first = outcomes.iter().map(|outcome| outcome.answer).find(|answer| *answer != Answer::Ok);
    match first {
        None => Ok(fields.into()),
        Some(answer) => Err(Failure::Outcome(refusal(answer), fields.into())),
    }
}

fn refusal(answer: Answer) -> &'static str {
    match answer {
        Answer::Ok => "READPAST_OK",
        Answer::LeaseLost => "READPAST_LEASE_LOST",
        Answer::Conflict => "READPAST_CONFLICT",
        Answer::IllegalTransition => "READPAST_ILLEGAL_TRANSITION",
        Answer::NotFound => "READPAST_NOT_FOUND",
        Answer::Duplicate => "READPAST_DUPLICATE",
    }
}

/// The receipts of items to enqueue.
pub fn receipts(enqueued: &[Receipt]) -> Result {
    let answer = |duplicate| refusal(if duplicate { Answer::Duplicate } else { Answer::Ok });
    let listed =
        enqueued.iter().map(|one| json!({"key": one.key, "token": one.token, "answer": answer(one.duplicate)}));
    let fields = json!({"receipts": listed.collect::<Value>()});
    if enqueued.iter().any(|one| one.duplicate) {
        return Err(Failure::Outcome("READPAST_DUPLICATE", fields));
    }
    Ok(fields)
}

/// The items of a batch; none is an outcome of its own.
pub fn items(batch: &Batch) -> Result {
    if batch.is_empty() { Err(Failure::Outcome("READPAST_EMPTY", Value::Null)) } else { Ok(item_fields(batch).into()) }
}

/// The items of a batch, if any.
pub fn item_fields(batch: &Batch) -> Map<String, Value> {
    Map::from_iter([("items".to_owned(), batch.iter().map(|one| item(&one)).collect())])
}

fn item(item: &Item<'_>) -> Value {
    let columns: Map<_, _> = item
        .columns()
        .iter()
        .filter_map(|column| {
            let found = item.value_of(&column.name)?;
            Some((column.name.clone(), value(column.kind, found)))
        })
        .collect();
    let json: Value = serde_json::from_str(&item.to_json()).expect("it is JSON");
    json!({"key": item.key(), "token": item.token(), "attempt": item.attempt(), "columns": columns, "json": json,
        "state": state_name(item.state()), "type": item.kind(), "step": item.step(), "due": item.due(),
        "enqueued": item.enqueued(), "lease_until": item.lease_until(),
        "traceparent": item.traceparent(), "tracestate": item.tracestate()})
}

/// A value with its type.
pub fn value(kind: ColumnType, value: Cell<'_>) -> Value {
    let value = match value {
        Cell::Null => Value::Null,
        Cell::Boolean(value) => value.into(),
        Cell::Integer(value) => value.into(),
        Cell::Float(value) => value.into(),
        Cell::Text(value) => value.into(),
        Cell::Binary(value) => value.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
    };
    json!({"type": in_capitals(&format!("{kind:?}")), "value": value})
}
