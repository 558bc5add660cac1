//! Edits: items that wait get other values or another due time, and stay in their state.

use super::answers;
use super::operation::{Attempts, Operation, in_parts};
use super::sessions::{Ask, Sessions, YieldsTo};
use super::settlement::write_set;
use super::terms::CallTerms;
use crate::description::{QueueSpec, put_due, put_key};
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Edit, ItemRef, Outcome};
use crate::metrics::CallKind;
use crate::session::Param;
use serde_json::{Map, json};

/// Edits items, each in the same way. `learn` gets the outcomes of each part as soon as it has committed.
pub(crate) fn edit(
    on: &dyn Sessions,
    terms: &CallTerms,
    calls: &Calls,
    items: &[ItemRef<'_>],
    edit: &Edit<'_>,
    operation: Option<&str>,
    learn: impl Fn(&[Outcome]),
) -> Result<Vec<Outcome>> {
    let members = members(&terms.spec, edit)?;
    for (i, item) in items.iter().enumerate() {
        let key = if item.key.is_empty() { Err(refuse("the key is empty".to_owned())) } else { Ok(item.key) };
        key.and_then(|key| terms.check_key(key).map(drop)).map_err(|error| error.in_context(format!("item {i}")))?;
    }
    in_parts(terms.dialect, items, operation, true, |part| {
        let outcomes = one_part(on, terms, calls, &to_json(terms, part.items, &members)?, &part.operation)?;
        let outcomes = answers::outcomes(&outcomes, part.items.len())?;
        learn(&outcomes);
        Ok(outcomes)
    })
}

fn one_part(
    on: &dyn Sessions,
    terms: &CallTerms,
    calls: &Calls,
    json: &str,
    operation: &Operation,
) -> Result<crate::item::Rows> {
    let mut params = vec![Param::Text(&operation.id), Param::Text(&terms.worker), Param::Text(json)];
    params.extend(terms.of_claim(0, Some(0), None));
    let mut attempts = Attempts::default();
    let result = on.ask(CallKind::Settle, YieldsTo::Closing, |session| {
        attempts.note(terms.claiming(session, &calls.settle, &params))
    });
    attempts.conclude(operation, result)
}

/// The members that all elements have: the due time and the values.
fn members(spec: &QueueSpec, edit: &Edit<'_>) -> Result<String> {
    let mut due = Map::new();
    put_due(&mut due, edit.delay_ms, edit.due).map_err(refuse)?;
    let mut out = String::new();
    for (name, value) in &due {
        out.push_str(&format!(",\"{name}\":{value}"));
    }
    write_set(&mut out, spec, false, edit.set)?;
    if out.is_empty() {
        return Err(refuse("an edit needs a value to set or a due time".to_owned()));
    }
    Ok(out)
}

/// The array that the procedure reads: without a status, an item keeps the one that it has.
fn to_json(terms: &CallTerms, items: &[ItemRef<'_>], members: &str) -> Result<String> {
    let mut out = String::from("[");
    for (i, item) in items.iter().enumerate() {
        out.push_str(if i > 0 { ",{\"key\":" } else { "{\"key\":" });
        put_key(&mut out, terms.key_form(), item.key).map_err(refuse)?;
        out.push_str(&format!(
            ",\"token\":{},\"attempt\":0{members}}}",
            json!(item.token.filter(|token| !token.is_empty()))
        ));
    }
    out.push(']');
    Ok(out)
}

fn refuse(why: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, why)
}
