//! Ending claims, and keeping them.

use super::backend::Backend;
use super::enqueue::check_size;
use super::operation::{Attempts, Operation, in_parts};
use super::{Inner, MAX_ITEMS, answered, answers, attached, claim, claiming, lost, procedures};
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Action, Answer, Batch, ItemState, Lease, Outcome, Rows, Settlement};
use crate::metrics::Call;
use crate::session::{Attached, Param};
use crate::spec::{QueueSpec, check_set, check_step, check_text, put_due, put_key};
use serde_json::{Map, json};
use std::sync::Arc;
use std::time::Duration;

/// Of which items the server is to say what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// Of each.
    OfAll,
    /// Where the server can leave them out, not of those that are Completed now, which are nearly all. Their tokens are not known
    /// then; what a row costs to send and to read is saved.
    OfOthers,
}

/// Settles `settlements` and, with `max` above 0, claims that many items in the same commit as the last of them.
pub(super) fn settle(
    queue: &Inner,
    settlements: &[Settlement<'_>],
    operation: Option<&str>,
    max: u32,
    telling: Telling,
) -> Result<(Vec<Outcome>, Batch)> {
    if queue.attached.is_some() && max > 0 {
        return Err(attached::refused());
    }
    if settlements.is_empty() {
        let claims = max > 0 && !queue.interrupt.is_set();
        return Ok((Vec::new(), if claims { claim::now(queue, max)? } else { Batch::default() }));
    }
    // All of them, before the first is sent.
    let size = MAX_ITEMS as usize;
    let json = settlements.chunks(size).enumerate().map(|(i, part)| to_json(&queue.spec, part, i * size));
    let json: Vec<_> = json.collect::<Result<_>>()?;
    let texts = |one: &Settlement<'_>| [one.set, one.response, one.error].into_iter().flatten().map(str::len).sum();
    let sizes = settlements.iter().map(texts).enumerate();
    sizes.into_iter().try_for_each(|(i, bytes)| check_size(queue.most_item_bytes, i, bytes))?;
    let mut batch = Batch::default();
    let outcomes = in_parts(queue.dialect, settlements, operation, queue.attached.is_none(), |part| {
        let max = if part.is_last { max } else { 0 };
        if let (Some(connection), Backend::Ours(calls, _)) = (&queue.attached, &queue.backend) {
            let identity = operation.is_some().then_some(part.operation.id.as_str());
            let outcomes = within(queue, calls, connection, part.items, &json[part.number], identity)?;
            counted(queue, part.items, &outcomes);
            return Ok(outcomes);
        }
        let (outcomes, claimed) = one_part(queue, part.items, &json[part.number], &part.operation, max, telling)?;
        batch = claimed;
        Ok(outcomes)
    })?;
    // The claim in it only ended items.
    let batch = if batch.calls_for_another() { claimed_after(queue, max.cast_signed()) } else { batch };
    Ok((outcomes, batch))
}

/// Up to [`MAX_ITEMS`] settlements, in one transaction.
fn one_part(
    queue: &Inner,
    settlements: &[Settlement<'_>],
    items: &str,
    operation: &Operation,
    max: u32,
    telling: Telling,
) -> Result<(Vec<Outcome>, Batch)> {
    let claims = max > 0 && !queue.interrupt.is_set();
    let max = if claims { max.cast_signed() } else { 0 };
    let (outcomes, batch) = match &queue.backend {
        Backend::Ours(calls, None) => match in_one_call(queue, calls, settlements, items, operation, max, telling) {
            // The claim may be what the table refuses, and the settlements are undone with it.
            Err(error) if max > 0 && queue.dialect.may_be_refusal(&error) => {
                let (outcomes, _) = in_one_call(queue, calls, settlements, items, operation, 0, telling)?;
                (outcomes, claimed_after(queue, max))
            }
            answered => answered?,
        },
        Backend::Ours(calls, Some(_)) => {
            let (outcomes, _) = in_one_call(queue, calls, settlements, items, operation, 0, telling)?;
            (outcomes, claimed_after(queue, max))
        }
        Backend::Procedures(theirs) => {
            let outcomes = procedures::settle(queue, theirs, settlements, operation)?;
            (outcomes, claimed_after(queue, max))
        }
    };
    counted(queue, settlements, &outcomes);
    wake_for(queue, settlements, &outcomes);
    Ok((outcomes, batch))
}

/// Another call, after a settle that cannot claim. What was settled is told in any case: another claim finds what this one
/// could not take.
fn claimed_after(queue: &Inner, max: i32) -> Batch {
    let batch = if max > 0 { claim::now(queue, max.unsigned_abs()) } else { Ok(Batch::default()) };
    batch.unwrap_or_else(|error| {
        log::warn!("nothing was claimed after a settle: {error}");
        Batch::default()
    })
}

/// What was settled, and what was claimed with it.
fn in_one_call(
    queue: &Inner,
    calls: &Calls,
    settlements: &[Settlement<'_>],
    items: &str,
    operation: &Operation,
    max: i32,
    telling: Telling,
) -> Result<(Vec<Outcome>, Batch)> {
    let claims = max > 0;
    let recover = if claims { queue.signal.recovery(queue.recover_interval) } else { 0 };
    let mut params = vec![Param::Text(&operation.id), Param::Text(&queue.worker), Param::Text(items)];
    let number = claims.then(|| lost::number_of(&operation.id));
    params.extend(claim::terms(queue, max, Some(recover), number));

    let wakes = queue.signal.wakes(&queue.kinds.key);
    let call = if claims { Call::SettleAndClaim } else { Call::Settle };
    let mut attempts = Attempts::default();
    let statement = if telling == Telling::OfAll { &calls.settle } else { &calls.settle_tersely };
    let result = queue.with_session(call, |session| attempts.note(claiming(queue, session, statement, &params)));
    let rows = attempts.conclude(operation, result)?;
    let (outcomes, told) = match telling {
        Telling::OfAll => (answers::outcomes_of(&rows, settlements)?, settlements.len()),
        Telling::OfOthers => answers::outcomes_of_others(&rows, settlements)?,
    };
    if rows.len() > told || rows.has_withheld() {
        return Ok((outcomes, claim::claimed(queue, rows, told, wakes)?));
    }
    // A repeated call answers for the settled items only.
    let batch = number.and_then(|number| lost::claimed_with_a_settle(queue, calls, number, wakes));
    Ok((outcomes, batch.unwrap_or_default()))
}

/// Up to [`MAX_ITEMS`] settlements inside the transaction of the connection's owner. Nobody is woken for what is not committed.
fn within(
    queue: &Inner,
    calls: &Calls,
    connection: &Attached,
    settlements: &[Settlement<'_>],
    items: &str,
    identity: Option<&str>,
) -> Result<Vec<Outcome>> {
    let mut params = vec![Param::OptionalText(identity), Param::Text(&queue.worker), Param::Text(items)];
    params.extend(claim::terms(queue, 0, Some(0), None));
    let rows =
        queue.ledger.time(Call::Settle, || attached::call(queue, calls, connection, &calls.settle_within, &params))?;
    answers::outcomes_of(&rows, settlements)
}

pub(super) fn renew(queue: &Inner, leases: &[Lease<'_>]) -> Result<Vec<Outcome>> {
    renew_by(queue, leases, |call, params| queue.with_session(Call::Renew, |session| answered(session, call, params)))
}

/// The same once, on the connection that is kept for it, within `limit`.
pub(super) fn renew_within(queue: &Inner, leases: &[Lease<'_>], limit: Duration) -> Result<Vec<Outcome>> {
    renew_by(queue, leases, |call, params| queue.once_to_renew(limit, |session| answered(session, call, params)))
}

fn renew_by(
    queue: &Inner,
    leases: &[Lease<'_>],
    make: impl Fn(&Arc<str>, &[Param<'_>]) -> Result<Rows>,
) -> Result<Vec<Outcome>> {
    let calls = queue.backend.ours("renew a lease", "they keep none: an item is its worker's for ever")?;
    let mut outcomes = Vec::with_capacity(leases.len());
    for leases in leases.chunks(MAX_ITEMS as usize) {
        let items = leases_to_json(queue.spec.has_composite_key(), leases)?;
        let params = [Param::Text(&queue.worker), Param::Text(&items), Param::OptionalInteger(queue.lease_ms)];
        let rows = make(&calls.renew, &params)?;
        outcomes.extend(answers::outcomes(&rows, leases.len())?);
    }
    Ok(outcomes)
}

/// The array that the procedure reads.
fn leases_to_json(composite: bool, leases: &[Lease<'_>]) -> Result<String> {
    let mut out = String::from("[");
    for (i, lease) in leases.iter().enumerate() {
        out.push_str(if i > 0 { ",{\"key\":" } else { "{\"key\":" });
        put_key(&mut out, composite, lease.key)
            .map_err(|why| Error::new(ErrorKind::InvalidArgument, format!("item {i}: {why}")))?;
        out.push_str(&format!(",\"attempt\":{}}}", lease.attempt));
    }
    out.push(']');
    Ok(out)
}

/// An item of a claim that is not settled was lost; one that an operator meant was just refused.
fn counted(queue: &Inner, settlements: &[Settlement<'_>], outcomes: &[Outcome]) {
    queue.ledger.settles(outcomes, |i| settlements.get(i).is_some_and(|settlement| settlement.attempt > 0));
}

/// What was made due again wakes those who wait for it.
fn wake_for(queue: &Inner, settlements: &[Settlement<'_>], outcomes: &[Outcome]) {
    let due_again = settlements.iter().zip(outcomes).filter(|(_, outcome)| {
        outcome.answer == Answer::Ok && matches!(outcome.state, Some(ItemState::Pending | ItemState::Error))
    });
    match due_again.map(|(settlement, _)| settlement.delay_ms.unwrap_or(0)).min() {
        Some(0) => queue.signal.wake(),
        Some(soonest) => queue.signal.wake_in(Duration::from_millis(soonest.unsigned_abs())),
        // What is finished lets the next one of its group go.
        None if queue.spec.order.group.is_some() => queue.signal.wake(),
        None => {}
    }
}

/// The array that the procedure reads. Mistakes count the items from `first` on.
pub(super) fn to_json(spec: &QueueSpec, settlements: &[Settlement<'_>], first: usize) -> Result<String> {
    let composite = spec.has_composite_key();
    let mut out = String::with_capacity(settlements.len() * 128 + 2);
    out.push('[');
    for (i, settlement) in settlements.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_json(&mut out, composite, spec, settlement)
            .and_then(|()| write_set(&mut out, spec, settlement))
            .map_err(|error| error.in_context(format_args!("item {}", first + i)))?;
        out.push('}');
    }
    out.push(']');
    Ok(out)
}

/// Whether `settlement` can be sent to a queue of this description.
pub(crate) fn check(spec: &QueueSpec, settlement: &Settlement<'_>) -> Result<()> {
    let mut out = String::new();
    write_json(&mut out, false, spec, settlement)?;
    write_set(&mut out, spec, settlement)
}

/// Appends one element but for its end and what it sets, or says what is wrong with it. What every settlement has is written
/// straight into the text, since workers do little else.
fn write_json(out: &mut String, composite: bool, spec: &QueueSpec, settlement: &Settlement<'_>) -> Result<()> {
    let refused = |why: String| Error::new(ErrorKind::InvalidArgument, why);
    let refuse = |why: &str| Err(refused(why.to_owned()));
    // A table that keeps no token shows none for an item that nobody has touched yet.
    let token = settlement.token.filter(|token| !token.is_empty());
    match (token, settlement.attempt) {
        _ if settlement.key.is_empty() => return refuse("the key is empty; take it from the claimed item"),
        (None, 1..) => return refuse("a claimed item is settled with its token; take it from the item"),
        (_, ..=-1) => return Err(refused(format!("the attempt {} is negative", settlement.attempt))),
        _ => {}
    }
    out.push_str("{\"key\":");
    put_key(out, composite, settlement.key).map_err(refused)?;
    out.push_str(",\"token\":");
    match token {
        Some(token) => put_key(out, false, token).map_err(refused)?,
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

/// Appends what an element sets, as it was written.
fn write_set(out: &mut String, spec: &QueueSpec, settlement: &Settlement<'_>) -> Result<()> {
    let Some(set) = settlement.set else { return Ok(()) };
    let completes = settlement.action == Action::Complete;
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
    fn what_is_set_travels_as_it_is_written() {
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
        let text = leases_to_json(true, &[Lease { key, attempt: 2 }, Lease { key: "[]", attempt: 1 }]).unwrap();
        assert_eq!(text, r#"[{"key":["a \"b\" \u00e9\\", 12345678901234567890],"attempt":2},{"key":[],"attempt":1}]"#);
        for wrong in ["a", "\"a\"", "[\"a\"", "[\"a\"],1", "{}"] {
            let error = to_json(&spec(COMPOSITE), &[Settlement::control(wrong, None, Action::Pause)], 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().starts_with("item 0: the key") && error.message().contains("array"), "{error}");
        }
    }
}
