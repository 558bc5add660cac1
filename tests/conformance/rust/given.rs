//! Requests: what the driver sent, as the crate's types.

use readpast::item::{After, OnFailed};
use readpast::{Action, Config, Error, Filter, Lease, NewItem, Settlement};
use serde_json::Value;
use std::time::Duration;

/// A text that the protocol demands.
pub fn text<'a>(request: &'a Value, name: &str) -> &'a str {
    request[name].as_str().unwrap_or_else(|| panic!("{name:?} is a text in {request}"))
}

/// A number that the protocol demands.
pub fn number(request: &Value, name: &str) -> u32 {
    let number = request[name].as_u64().and_then(|number| u32::try_from(number).ok());
    number.unwrap_or_else(|| panic!("{name:?} is a number in {request}"))
}

/// A time that the protocol demands, in milliseconds.
pub fn duration(request: &Value, name: &str) -> Duration {
    Duration::from_millis(number(request, name).into())
}

fn list<'a>(request: &'a Value, name: &str) -> &'a [Value] {
    request[name].as_array().unwrap_or_else(|| panic!("{name:?} is an array in {request}"))
}

pub fn config(request: &Value) -> Result<Config, Error> {
    let mut config = Config::new();
    for (key, value) in request["settings"].as_object().into_iter().flatten() {
        config.set(key, value.as_str().unwrap_or_else(|| panic!("the setting {key} is a text")))?;
    }
    Ok(config)
}

pub fn new_items(request: &Value) -> Vec<NewItem> {
    let text = |item: &Value, name: &str| item[name].as_str().map(str::to_owned);
    let item = |item: &Value| NewItem {
        kind: text(item, "type"),
        step: text(item, "step"),
        delay_ms: item["delay_ms"].as_i64(),
        due: text(item, "due"),
        columns: item["columns"].as_object().cloned().unwrap_or_default().into(),
        traceparent: text(item, "traceparent"),
        tracestate: text(item, "tracestate"),
        after: item.get("after").map(|after| After::read_list(&after.to_string()).unwrap()).unwrap_or_default(),
        on_failed: text(item, "on_failed").map(|word| OnFailed::read(&word).unwrap()).unwrap_or_default(),
    };
    list(request, "items").iter().map(item).collect()
}

/// The values of a settlement, as JSON: the columns to set, and the items that follow.
pub struct Values {
    pub set: Option<String>,
    pub then: Option<String>,
}

/// Those of the settlements of a request.
pub fn values(request: &Value) -> Vec<Values> {
    list(request, "settlements").iter().map(values_of).collect()
}

/// The same of one, or of a handler's line.
pub fn values_of(given: &Value) -> Values {
    let json = |name| Some(&given[name]).filter(|value| !value.is_null()).map(Value::to_string);
    Values { set: json("set"), then: json("then") }
}

pub fn settlements<'a>(request: &'a Value, values: &'a [Values]) -> Vec<Settlement<'a>> {
    list(request, "settlements").iter().zip(values).map(|(given, values)| settlement(given, values)).collect()
}

fn settlement<'a>(given: &'a Value, values: &'a Values) -> Settlement<'a> {
    Settlement {
        set: values.set.as_deref(),
        then: values.then.as_deref(),
        attempt: attempt(given),
        step: given["step"].as_str(),
        response: given["response"].as_str(),
        error: given["error"].as_str(),
        delay_ms: given["delay_ms"].as_i64(),
        due: given["due"].as_str(),
        ..Settlement::control(text(given, "key"), given["token"].as_str(), action(text(given, "action")))
    }
}

fn attempt(given: &Value) -> i32 {
    given["attempt"].as_i64().map_or(0, |attempt| i32::try_from(attempt).expect("attempts are few"))
}

fn action(name: &str) -> Action {
    match name {
        "COMPLETE" => Action::Complete,
        "COMPLETE_PARTIALLY" => Action::CompletePartially,
        "FAIL" => Action::Fail,
        "RETRY" => Action::Retry,
        "RELEASE" => Action::Release,
        "CANCEL" => Action::Cancel,
        "PAUSE" => Action::Pause,
        "RESUME" => Action::Resume,
        "TERMINATE" => Action::Terminate,
        "STEP" => Action::Step,
        other => panic!("there is no action {other:?}"),
    }
}

pub fn leases(request: &Value) -> Vec<Lease<'_>> {
    list(request, "leases").iter().map(|given| Lease { key: text(given, "key"), attempt: attempt(given) }).collect()
}

pub fn filter(request: &Value) -> Result<Filter, Error> {
    match &request["filter"] {
        Value::Null => Ok(Filter::default()),
        filter => Filter::from_json(&filter.to_string()),
    }
}
