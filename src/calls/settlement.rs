//! A settlement in the JSON of the procedures.

use super::terms::CallTerms;
use crate::description::{QueueSpec, Storage, check_set, check_step, check_text, put_due, put_key};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Action, KeyForm, Settlement, read_followers};
use serde_json::{Map, json};

/// The reason why no items follow a settlement of such a queue.
const NO_FOLLOWERS: &str =
    "no items can follow in the same commit: procedures that were written by hand commit by themselves";

/// The array that the procedure reads. Errors count the items from `first` on.
pub(crate) fn to_json(terms: &CallTerms, settlements: &[Settlement<'_>], first: usize) -> Result<String> {
    written(&terms.spec, terms.key_form(), settlements, first)
}

fn written(spec: &QueueSpec, form: KeyForm<'_>, settlements: &[Settlement<'_>], first: usize) -> Result<String> {
    let mut out = String::with_capacity(settlements.len() * 128 + 2);
    out.push('[');
    for (i, settlement) in settlements.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_json(&mut out, form, spec, settlement)
            .and_then(|()| write_set(&mut out, spec, settlement.action == Action::Complete, settlement.set))
            .map_err(|error| error.in_context(format_args!("item {}", first + i)))?;
        out.push('}');
    }
    out.push(']');
    Ok(out)
}

/// Checks that `settlement` can be sent to a queue of this description.
pub(crate) fn check(spec: &QueueSpec, settlement: &Settlement<'_>) -> Result<()> {
    let mut out = String::new();
    write_json(&mut out, KeyForm::PLAIN, spec, settlement)?;
    write_set(&mut out, spec, settlement.action == Action::Complete, settlement.set)?;
    check_then(spec, settlement)
}

/// Checks the form of the items that follow; only their queues know more.
fn check_then(spec: &QueueSpec, settlement: &Settlement<'_>) -> Result<()> {
    let Some(then) = settlement.then else { return Ok(()) };
    if matches!(spec.storage, Storage::Procedures(_)) {
        return Err(Error::new(ErrorKind::Unsupported, NO_FOLLOWERS));
    }
    read_followers(then).map(drop).map_err(|why| Error::new(ErrorKind::InvalidItem, why))
}

/// Appends one element but for its end and its `set`, or returns its mistake. Members of every settlement are written straight
/// into the text, since workers do little else.
fn write_json(out: &mut String, form: KeyForm<'_>, spec: &QueueSpec, settlement: &Settlement<'_>) -> Result<()> {
    let refused = |why: String| Error::new(ErrorKind::InvalidArgument, why);
    let refuse = |why: &str| Err(refused(why.to_owned()));
    // A table without a token column shows none for an item that was never changed.
    let token = settlement.token.filter(|token| !token.is_empty());
    match (token, settlement.attempt) {
        _ if settlement.key.is_empty() => return refuse("the key is empty; take it from the claimed item"),
        (None, 1..) => return refuse("a claimed item is settled with its token; take it from the item"),
        (_, ..=-1) => return Err(refused(format!("the attempt {} is negative", settlement.attempt))),
        _ => {}
    }
    out.push_str("{\"key\":");
    put_key(out, form, settlement.key).map_err(refused)?;
    out.push_str(",\"token\":");
    match token {
        Some(token) => put_key(out, KeyForm::PLAIN, token).map_err(refused)?,
        None => out.push_str("null"),
    }
    out.push_str(&format!(",\"attempt\":{},\"status\":\"{}\"", settlement.attempt, settlement.action.target()));

    let mut more = Map::new();
    if settlement.action == Action::Release {
        more.insert("release".to_owned(), json!(true));
    }
    if let Some(step) = settlement.step {
        check_step(&spec.steps, step).map_err(refused)?;
        more.insert("step".to_owned(), json!(step));
    }
    for (name, text) in [("response", settlement.response), ("error", settlement.error)] {
        if let Some(text) = text {
            check_text(text, None).map_err(|why| refused(format!("the {name} {why}")))?;
            more.insert(name.to_owned(), json!(text));
        }
    }
    put_due(&mut more, settlement.delay_ms, settlement.due).map_err(refused)?;
    for (name, value) in &more {
        out.push_str(&format!(",\"{name}\":{value}"));
    }
    Ok(())
}

/// Appends the values that an element sets, as they were written.
pub(super) fn write_set(out: &mut String, spec: &QueueSpec, completes: bool, set: Option<&str>) -> Result<()> {
    let Some(set) = set else { return Ok(()) };
    let set = check_set(spec, completes, set).map_err(|why| Error::new(ErrorKind::InvalidItem, why))?;
    if let Some(set) = set {
        out.push_str(",\"set\":");
        out.push_str(&set);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPOSITE: &str = r#", "table": {"name": "t", "key": ["a", {"name": "b", "source": "producer"}],
        "status": {"column": "s", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}"#;

    fn to_json(spec: &QueueSpec, settlements: &[Settlement<'_>], first: usize) -> Result<String> {
        written(spec, KeyForm { composite: spec.has_composite_key(), prefix: None }, settlements, first)
    }

    fn spec(more: &str) -> QueueSpec {
        QueueSpec::from_json(&format!(r#"{{"queue": "Q", "columns": [], "steps": ["one", "two"]{more}}}"#)).unwrap()
    }

    #[test]
    fn mistakes_are_named_before_anything_is_sent() {
        let good = Settlement { attempt: 1, ..Settlement::control("k", Some("t"), Action::Complete) };
        for (settlement, part) in [
            (Settlement { key: "", ..good.clone() }, "key"),
            (Settlement { token: None, ..good.clone() }, "token"),
            (Settlement { attempt: -1, ..good.clone() }, "-1"),
            (Settlement { step: Some("three"), ..good.clone() }, "the step \"three\" is none of the queue's"),
            (Settlement { error: Some("a\0"), ..good.clone() }, "error contains U+0000"),
            (Settlement { delay_ms: Some(-5), ..good.clone() }, "-5"),
            (Settlement { due: Some("soon"), ..good.clone() }, "soon"),
            (Settlement { due: Some("2026-01-01"), delay_ms: Some(1), ..good.clone() }, "not both"),
            (Settlement { set: Some("{\"Nope\": 1}"), ..good.clone() }, "no column \"Nope\""),
        ] {
            let of_values = settlement.set.is_some();
            let error = to_json(&spec(""), &[good.clone(), settlement], 1000).unwrap_err();
            let kind = if of_values { ErrorKind::InvalidItem } else { ErrorKind::InvalidArgument };
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().starts_with("item 1001:") && error.message().contains(part), "{error}");
        }
    }

    #[test]
    fn the_procedure_gets_json() {
        let control = Settlement::control("\"\\\n\u{1f600}", None, Action::Pause);
        let claimed = Settlement {
            attempt: 1,
            error: Some("\"no\""),
            delay_ms: Some(5),
            ..Settlement::control("k", Some("t"), Action::Release)
        };
        let text = to_json(&spec(""), &[control, claimed], 0).unwrap();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            json!([
                {"key": "\"\\\n\u{1f600}", "token": null, "attempt": 0, "status": "Paused"},
                {
                    "key": "k", "token": "t", "attempt": 1, "status": "Pending", "release": true, "error": "\"no\"",
                    "delay_ms": 5
                },
            ])
        );
    }

    #[test]
    fn set_travels_as_it_is_written() {
        let columns = r#"{"queue": "Q", "columns": [{"name": "Body", "type": "json"}]}"#;
        let spec = QueueSpec::from_json(columns).unwrap();
        let set = Settlement { set: Some(r#"{"body": {"b":1.10}}"#), ..Settlement::control("k", None, Action::Fail) };
        let none = Settlement { set: Some("{}"), ..set.clone() };
        let head = r#"{"key":"k","token":null,"attempt":0,"status":"Failed""#;
        let text = to_json(&spec, &[set, none], 0).unwrap();
        assert_eq!(text, format!(r#"[{head},"set":{{"Body":{{"b":1.10}}}}}},{head}}}]"#));
    }

    #[test]
    fn a_key_of_many_columns_travels_as_an_array() {
        let key = r#"["a \"b\" \u00e9\\", 12345678901234567890]"#;
        let text = to_json(&spec(COMPOSITE), &[Settlement::control(key, None, Action::Pause)], 0).unwrap();
        assert_eq!(
            text,
            r#"[{"key":["a \"b\" \u00e9\\", 12345678901234567890],"token":null,"attempt":0,"status":"Paused"}]"#
        );
        for wrong in ["a", "\"a\"", "[\"a\"", "[\"a\"],1", "{}"] {
            let error = to_json(&spec(COMPOSITE), &[Settlement::control(wrong, None, Action::Pause)], 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().starts_with("item 0: the key") && error.message().contains("array"), "{error}");
        }
    }
}
