//! The C layer: the exported functions, called as C calls them.
#![allow(unsafe_code, reason = "calling C functions is what this file is for")]

use super::{Api, Problem, Taken};
use crate::fixture::Settings;
use readpast::ffi::*;
use readpast::item::{
    Action, After, Answer, ColumnType, ItemRef, ItemState, Lease, NewItem, OnFailed, Outcome, QueueStats, Receipt,
    Settlement, StepCounts,
};
use serde_json::{Value, json};
use std::{
    ffi::{CStr, CString, c_char},
    ptr,
    time::Duration,
};

struct CQueue(readpast_queue);

pub fn open(settings: &Settings, queue: &str) -> Result<Box<dyn Api>, Problem> {
    let config = readpast_config_new();
    for (key, value) in settings.pairs() {
        let (key, value) = (text(key), text(value));
        // SAFETY: both are text that outlives the call.
        checked(|err| unsafe { readpast_config_set(config, key.as_ptr(), value.as_ptr(), err) })?;
    }
    let name = text(queue);
    let mut handle = readpast_queue { id: 0 };
    // SAFETY: the name is text, the handle a place for one.
    let opened = checked(|err| unsafe { readpast_queue_open(config, name.as_ptr(), &mut handle, err) });
    readpast_config_free(config);
    opened.map(|_| Box::new(CQueue(handle)) as Box<dyn Api>)
}

pub fn metrics() -> String {
    let mut handle = readpast_text { id: 0 };
    // SAFETY: the handle is a place for one.
    checked(|err| unsafe { readpast_metrics(&mut handle, err) }).unwrap();
    taken_text(handle)
}

/// The text of a call, which is freed.
fn taken_text(handle: readpast_text) -> String {
    let text = read(readpast_text_get(handle)).unwrap();
    readpast_text_free(handle);
    text
}

/// A whole number of an answer.
fn number<N: TryFrom<i64, Error: std::fmt::Debug>>(value: &Value) -> N {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no number")).try_into().unwrap()
}

/// C cannot take a text with NULs at all; an unused character stands in, so that the refusal is the library's.
fn text(text: &str) -> CString {
    CString::new(text).unwrap_or_else(|_| panic!("C text cannot hold {text:?}"))
}

fn optional(given: Option<&str>) -> Option<CString> {
    given.map(text)
}

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

fn read(text: *const c_char) -> Option<String> {
    // SAFETY: what the library lends is NULL or ends in NUL.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned())
}

fn fixed(text: &[c_char]) -> String {
    read(text.as_ptr()).unwrap()
}

fn receipt(receipts: readpast_receipts, index: i32) -> Receipt {
    let mut receipt = readpast_receipt {
        struct_size: size_of::<readpast_receipt>(),
        key: ptr::null(),
        token: ptr::null(),
        answer: -1,
        reserved: 0,
    };
    // SAFETY: the place can be written.
    let status = unsafe { readpast_receipts_get(receipts, index, &mut receipt, ptr::null_mut()) };
    assert_eq!(status, READPAST_OK);
    Receipt {
        key: read(receipt.key).unwrap(),
        token: read(receipt.token).unwrap(),
        duplicate: receipt.answer == READPAST_DUPLICATE,
    }
}

/// Makes a call and turns a failure, or an interruption, into a problem.
fn checked(call: impl FnOnce(*mut readpast_error) -> readpast_status) -> Result<readpast_status, Problem> {
    let mut error = readpast_error { id: 7 };
    let status = call(&mut error);
    if status == READPAST_INTERRUPTED {
        return Err(problem_of(status, error));
    }
    if status >= 0 {
        assert_eq!(error.id, 0, "no error object without a failure");
        return Ok(status);
    }
    assert_eq!(readpast_error_status(error), status);
    let problem = problem_of(status, error);
    readpast_error_free(error);
    assert_eq!(readpast_error_message(error), ptr::null(), "it is gone");
    Err(problem)
}

fn problem_of(status: readpast_status, error: readpast_error) -> Problem {
    // READPAST_INVALID_ITEM is InvalidItem.
    let name = read(readpast_status_name(status)).unwrap();
    let words = name.trim_start_matches("READPAST_").split('_');
    let kind = words.map(|word| format!("{}{}", &word[..1], word[1..].to_ascii_lowercase())).collect();
    Problem {
        kind,
        message: read(readpast_error_message(error)).unwrap_or_default(),
        sqlstate: read(readpast_error_sqlstate(error)),
        native_code: readpast_error_native_code(error),
        operation: read(readpast_error_operation(error)),
    }
}

fn taken(batch: readpast_batch) -> Vec<Taken> {
    let columns: Vec<_> = (0..readpast_batch_column_count(batch))
        .map(|i| {
            let mut column = readpast_column {
                struct_size: size_of::<readpast_column>(),
                name: ptr::null(),
                r#type: 0,
                reserved: 0,
            };
            // SAFETY: the struct has its own size.
            checked(|err| unsafe { readpast_batch_column(batch, i, &mut column, err) }).unwrap();
            (read(column.name).unwrap(), column_type(column.r#type))
        })
        .collect();
    let items = (0..readpast_batch_count(batch)).map(|i| {
        let mut item = readpast_item {
            struct_size: size_of::<readpast_item>(),
            key: ptr::null(),
            token: ptr::null(),
            attempt: 0,
            column_count: 0,
            state: 0,
            reserved: 0,
            r#type: ptr::null(),
            step: ptr::null(),
            due: ptr::null(),
            enqueued: ptr::null(),
            lease_until: ptr::null(),
        };
        // SAFETY: the struct has its own size.
        checked(|err| unsafe { readpast_batch_item(batch, i, &mut item, err) }).unwrap();
        assert_eq!(item.column_count as usize, columns.len());
        let text = read(readpast_batch_json(batch, i)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (name, kind) in &columns {
            assert_eq!(value_by_name(batch, i, name, *kind), json[name], "{name}");
        }
        Taken {
            key: read(item.key).unwrap(),
            token: read(item.token).unwrap(),
            attempt: item.attempt,
            columns: columns.clone(),
            json,
            text,
        }
    });
    let items = items.collect();
    readpast_batch_free(batch);
    items
}

/// The value as the view struct gives it, in the form that the JSON has.
fn value_by_name(batch: readpast_batch, item: i32, name: &str, kind: ColumnType) -> serde_json::Value {
    let name = text(name);
    let mut value = readpast_value {
        struct_size: size_of::<readpast_value>(),
        r#type: 0,
        is_null: 0,
        integer: 0,
        number: 0.0,
        text: ptr::null(),
        bytes: ptr::null(),
        length: 0,
    };
    // SAFETY: the name is text, the struct has its own size.
    checked(|err| unsafe { readpast_batch_value_by_name(batch, item, name.as_ptr(), &mut value, err) }).unwrap();
    assert_eq!(column_type(value.r#type), kind);
    if value.is_null != 0 {
        return serde_json::Value::Null;
    }
    match kind {
        ColumnType::Boolean => (value.integer != 0).into(),
        ColumnType::Integer => value.integer.into(),
        ColumnType::Float => value.number.into(),
        ColumnType::Binary => {
            // As the rust layer's JSON has them.
            let bytes = if value.length == 0 {
                &[][..]
            } else {
                // SAFETY: the batch lends so many bytes, and is there for the while.
                unsafe { std::slice::from_raw_parts(value.bytes, value.length) }
            };
            super::base64(bytes).into()
        }
        _ => {
            let text = read(value.text).unwrap();
            assert_eq!(text.len(), value.length);
            // A value of such a column that is no JSON is text.
            let document = if kind == ColumnType::Json { serde_json::from_str(&text).ok() } else { None };
            document.unwrap_or_else(|| text.into())
        }
    }
}

fn column_type(code: i32) -> ColumnType {
    match code {
        READPAST_TYPE_BOOLEAN => ColumnType::Boolean,
        READPAST_TYPE_INTEGER => ColumnType::Integer,
        READPAST_TYPE_FLOAT => ColumnType::Float,
        READPAST_TYPE_DECIMAL => ColumnType::Decimal,
        READPAST_TYPE_TEXT => ColumnType::Text,
        READPAST_TYPE_BINARY => ColumnType::Binary,
        READPAST_TYPE_JSON => ColumnType::Json,
        READPAST_TYPE_TIMESTAMP => ColumnType::Timestamp,
        READPAST_TYPE_DATE => ColumnType::Date,
        READPAST_TYPE_GUID => ColumnType::Guid,
        other => panic!("type {other}"),
    }
}

fn action(action: Action) -> i32 {
    match action {
        Action::Complete => READPAST_ACTION_COMPLETE,
        Action::CompletePartially => READPAST_ACTION_COMPLETE_PARTIALLY,
        Action::Fail => READPAST_ACTION_FAIL,
        Action::Retry => READPAST_ACTION_RETRY,
        Action::Release => READPAST_ACTION_RELEASE,
        Action::Cancel => READPAST_ACTION_CANCEL,
        Action::Pause => READPAST_ACTION_PAUSE,
        Action::Resume => READPAST_ACTION_RESUME,
        Action::Terminate => READPAST_ACTION_TERMINATE,
        Action::Step => READPAST_ACTION_STEP,
    }
}

/// Settlements as C structs, with the texts they point to.
struct Settlements {
    structs: Vec<readpast_settlement>,
    _texts: Vec<[Option<CString>; 8]>,
}

impl Settlements {
    fn new(settlements: &[Settlement<'_>]) -> Self {
        let texts: Vec<[Option<CString>; 8]> = settlements
            .iter()
            .map(|s| [Some(s.key), s.token, s.step, s.response, s.error, s.due, s.set, s.then].map(optional))
            .collect();
        let structs = settlements
            .iter()
            .zip(&texts)
            .map(|(settlement, [key, token, step, response, error, due, set, then])| readpast_settlement {
                struct_size: size_of::<readpast_settlement>(),
                key: pointer(key),
                token: pointer(token),
                attempt: settlement.attempt,
                action: action(settlement.action),
                step: pointer(step),
                response: pointer(response),
                error: pointer(error),
                delay_ms: settlement.delay_ms.unwrap_or(-1),
                due: pointer(due),
                step_length: 0,
                response_length: 0,
                error_length: 0,
                due_length: 0,
                set_json: pointer(set),
                set_json_length: 0,
                then_json: pointer(then),
                then_json_length: 0,
            })
            .collect();
        Self { structs, _texts: texts }
    }
}

fn empty_outcomes(count: usize) -> Vec<readpast_outcome> {
    let empty = readpast_outcome {
        struct_size: size_of::<readpast_outcome>(),
        answer: 0,
        state: 0,
        attempt: 0,
        reserved: 0,
        token: [0; 40],
    };
    vec![empty; count]
}

/// The outcomes, once it is sure that the call's status is the first answer that is not OK.
fn outcomes(status: readpast_status, outcomes: &[readpast_outcome]) -> Vec<Outcome> {
    let first = outcomes.iter().map(|outcome| outcome.answer).find(|answer| *answer != READPAST_OK);
    assert_eq!(status, first.unwrap_or(READPAST_OK));
    outcomes
        .iter()
        .map(|outcome| Outcome {
            answer: match outcome.answer {
                READPAST_OK => Answer::Ok,
                READPAST_LEASE_LOST => Answer::LeaseLost,
                READPAST_CONFLICT => Answer::Conflict,
                READPAST_ILLEGAL_TRANSITION => Answer::IllegalTransition,
                READPAST_NOT_FOUND => Answer::NotFound,
                READPAST_DUPLICATE => Answer::Duplicate,
                other => panic!("answer {other}"),
            },
            state: (outcome.state != READPAST_STATE_NONE).then(|| ItemState::ALL[outcome.state as usize - 1]),
            token: fixed(&outcome.token),
            attempt: outcome.attempt,
        })
        .collect()
}

impl Drop for CQueue {
    fn drop(&mut self) {
        readpast_queue_free(self.0);
    }
}

impl Api for CQueue {
    fn worker(&self) -> String {
        read(readpast_queue_worker(self.0)).unwrap()
    }

    fn enqueue(&self, items: &[NewItem], operation: Option<&str>) -> Result<Vec<Receipt>, Problem> {
        let texts: Vec<[Option<CString>; 7]> = items
            .iter()
            .map(|item| {
                let columns = item.columns.to_json();
                let (parent, state) = (item.traceparent.as_deref(), item.tracestate.as_deref());
                let after = (!item.after.is_empty()).then(|| After::list_json(&item.after));
                let (kind, step, due) = (item.kind.as_deref(), item.step.as_deref(), item.due.as_deref());
                [kind, step, due, Some(columns.as_str()), parent, state, after.as_deref()].map(optional)
            })
            .collect();
        let structs: Vec<_> = items
            .iter()
            .zip(&texts)
            .map(|(item, [kind, step, due, columns, parent, state, after])| readpast_new_item {
                struct_size: size_of::<readpast_new_item>(),
                r#type: pointer(kind),
                step: pointer(step),
                delay_ms: item.delay_ms.unwrap_or(-1),
                due: pointer(due),
                columns_json: pointer(columns),
                traceparent: pointer(parent),
                tracestate: pointer(state),
                after_json: pointer(after),
                on_failed: match item.on_failed {
                    OnFailed::Fail => ptr::null(),
                    OnFailed::Run => c"run".as_ptr(),
                    OnFailed::Wait => c"wait".as_ptr(),
                },
            })
            .collect();
        let mut receipts = readpast_receipts { id: 7 };
        let (operation, count) = (optional(operation), structs.len() as i32);
        // SAFETY: an array of `count`, whose structs tell their size; texts outlive the call.
        let status = checked(|err| unsafe {
            readpast_queue_enqueue(self.0, structs.as_ptr(), count, pointer(&operation), &mut receipts, err)
        })?;
        let enqueued: Vec<_> = (0..readpast_receipts_count(receipts)).map(|i| receipt(receipts, i)).collect();
        readpast_receipts_free(receipts);
        assert_eq!(status == READPAST_DUPLICATE, enqueued.iter().any(|one| one.duplicate));
        Ok(enqueued)
    }

    fn claim(&self, max: u32, wait: Duration) -> Result<Vec<Taken>, Problem> {
        let mut batch = readpast_batch { id: 7 };
        // SAFETY: a place for a handle.
        let status = checked(|err| unsafe {
            readpast_queue_claim(self.0, max as i32, wait.as_millis() as i64, &mut batch, err)
        })?;
        assert_eq!((status == READPAST_EMPTY), batch.id == 0);
        Ok(taken(batch))
    }

    fn settle(&self, settlements: &[Settlement<'_>], operation: Option<&str>) -> Result<Vec<Outcome>, Problem> {
        let given = Settlements::new(settlements);
        let mut answers = empty_outcomes(settlements.len());
        let (operation, count) = (optional(operation), settlements.len() as i32);
        // SAFETY: arrays of `count`, whose structs tell their size; texts outlive the call.
        let status = checked(|err| unsafe {
            readpast_queue_settle(self.0, given.structs.as_ptr(), count, pointer(&operation), answers.as_mut_ptr(), err)
        })?;
        Ok(outcomes(status, &answers))
    }

    fn settle_and_claim(
        &self,
        settlements: &[Settlement<'_>],
        max: u32,
    ) -> Result<(Vec<Outcome>, Vec<Taken>), Problem> {
        let given = Settlements::new(settlements);
        let mut answers = empty_outcomes(settlements.len());
        let mut batch = readpast_batch { id: 7 };
        let count = settlements.len() as i32;
        // SAFETY: arrays of `count`, whose structs tell their size; texts outlive the call; a place for a handle.
        let status = checked(|err| unsafe {
            let (given, answers) = (given.structs.as_ptr(), answers.as_mut_ptr());
            readpast_queue_settle_and_claim(self.0, given, count, ptr::null(), max as i32, answers, &mut batch, err)
        })?;
        Ok((outcomes(status, &answers), taken(batch)))
    }

    fn renew(&self, leases: &[Lease<'_>]) -> Result<Vec<Outcome>, Problem> {
        let keys: Vec<_> = leases.iter().map(|lease| text(lease.key)).collect();
        let structs: Vec<_> = leases
            .iter()
            .zip(&keys)
            .map(|(lease, key)| readpast_lease {
                struct_size: size_of::<readpast_lease>(),
                key: key.as_ptr(),
                attempt: lease.attempt,
                reserved: 0,
            })
            .collect();
        let mut answers = empty_outcomes(leases.len());
        let count = structs.len() as i32;
        // SAFETY: arrays of `count`, whose structs tell their size; texts outlive the call.
        let status =
            checked(|err| unsafe { readpast_queue_renew(self.0, structs.as_ptr(), count, answers.as_mut_ptr(), err) })?;
        Ok(outcomes(status, &answers))
    }

    fn recover(&self, max: u32) -> Result<u32, Problem> {
        Ok(number(&self.ask("recover", &json!({"max": max}).to_string())?["recovered"]))
    }

    fn find(&self, filter: &str, after: Option<&str>, max: u32) -> Result<Vec<Taken>, Problem> {
        let (filter, after) = (text(filter), optional(after));
        let mut batch = readpast_batch { id: 7 };
        // SAFETY: texts outlive the call; a place for a handle.
        let status = checked(|err| unsafe {
            readpast_queue_find(self.0, filter.as_ptr(), pointer(&after), max as i32, &mut batch, err)
        })?;
        assert_eq!((status == READPAST_EMPTY), batch.id == 0);
        Ok(taken(batch))
    }

    fn redrive(&self, items: &[ItemRef<'_>], operation: Option<&str>) -> Result<Vec<Outcome>, Problem> {
        let items: Vec<_> = items.iter().map(|item| json!({"key": item.key, "token": item.token})).collect();
        let answer = self.ask("redrive", &json!({"items": items, "operation": operation}).to_string())?;
        let outcome = |of: &Value| Outcome {
            answer: of["answer"].as_str().unwrap().parse().unwrap(),
            state: of["state"].as_str().map(|state| state.parse().unwrap()),
            token: of["token"].as_str().unwrap().to_owned(),
            attempt: number(&of["attempt"]),
        };
        Ok(answer["outcomes"].as_array().unwrap().iter().map(outcome).collect())
    }

    fn purge(&self, filter: &str, max: u32) -> Result<u64, Problem> {
        Ok(number(&self.ask("purge", &format!("{{\"filter\": {filter}, \"max\": {max}}}"))?["purged"]))
    }

    fn stats(&self) -> Result<QueueStats, Problem> {
        let answer = self.ask("stats", "{}")?;
        let counts = |of: &Value| ItemState::ALL.map(|state| number(&of[state.as_str()]));
        let percentiles = |of: &Value| ["p50", "p90", "p99"].map(|name| of[name].as_i64());
        let step =
            |of: &Value| StepCounts { step: of["step"].as_str().unwrap().to_owned(), counts: counts(&of["counts"]) };
        Ok(QueueStats {
            counts: counts(&answer["counts"]),
            due: number(&answer["due"]),
            oldest_due_ms: answer["oldest_due_ms"].as_i64(),
            expired: number(&answer["expired"]),
            sample: number(&answer["sample"]),
            wait_ms: percentiles(&answer["wait_ms"]),
            claimed_ms: percentiles(&answer["claimed_ms"]),
            wait_mean_ms: answer["wait_mean_ms"].as_i64(),
            claimed_mean_ms: answer["claimed_mean_ms"].as_i64(),
            arrivals_last_hour: answer["arrivals_last_hour"].as_i64(),
            claimed: number(&answer["claimed"]),
            workers_needed: answer["workers_needed"].as_i64(),
            steps: answer["steps"].as_array().unwrap().iter().map(step).collect(),
        })
    }

    fn ask(&self, what: &str, arguments: &str) -> Result<Value, Problem> {
        let (what, arguments) = (text(what), text(arguments));
        let mut answer = readpast_text { id: 7 };
        // SAFETY: texts outlive the call; a place for a handle.
        checked(|err| unsafe { readpast_queue_ask(self.0, what.as_ptr(), arguments.as_ptr(), &mut answer, err) })?;
        Ok(serde_json::from_str(&taken_text(answer)).unwrap())
    }

    fn share(&self) -> Box<dyn Api> {
        let mut shared = readpast_queue { id: 7 };
        // SAFETY: the place can be written.
        checked(|err| unsafe { readpast_queue_share(self.0, &mut shared, err) }).unwrap();
        Box::new(CQueue(shared))
    }

    fn interrupt(&self) {
        // SAFETY: no pointers.
        checked(|err| unsafe { readpast_queue_interrupt(self.0, err) }).unwrap();
    }

    fn resume(&self) {
        // SAFETY: no pointers.
        checked(|err| unsafe { readpast_queue_resume(self.0, err) }).unwrap();
    }

    fn close(&self, patience: Duration) -> Result<(), Problem> {
        let patience = patience.as_millis() as i64;
        // SAFETY: no pointers.
        checked(|err| unsafe { readpast_queue_close(self.0, patience, err) }).map(drop)
    }
}
