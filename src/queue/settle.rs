//! Ending claims, and keeping them.

use super::operation::{Attempts, identity};
use super::{Inner, answered, answers, check_count, claim};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Action, Answer, Batch, ItemState, Lease, Outcome, Settlement};
use crate::session::Param;
use crate::spec::{check_text, put_due};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Settles `settlements` and, with `max` above 0, claims that many items in the same commit.
pub(super) fn settle(
    queue: &Inner,
    settlements: &[Settlement<'_>],
    operation: Option<&str>,
    max: u32,
) -> Result<(Vec<Outcome>, Batch)> {
    check_count("the number of items to settle", settlements.len())?;
    let claims = max > 0 && !queue.interrupt.is_set();
    let max = if claims { max.cast_signed() } else { 0 };
    let items: Vec<_> = settlements.iter().enumerate().map(|(i, s)| to_json(i, s)).collect::<Result<_>>()?;
    let items = Value::Array(items).to_string();
    let operation = identity(operation)?;
    let recover = i32::from(claims && queue.signal.recovery_is_due(queue.recover_interval));
    let params = [
        Param::Text(&operation),
        Param::Text(&queue.worker),
        Param::Text(&items),
        Param::Integer(max),
        Param::Integer(queue.lease_ms),
        Param::Integer(recover),
    ];

    let wakes = queue.signal.wakes();
    let mut attempts = Attempts::default();
    let result = queue.with_session(|session| attempts.note(answered(session, &queue.calls.settle, &params)));
    let rows = attempts.conclude(&operation, result)?;
    let outcomes = answers::outcomes(&rows, settlements.len())?;
    // A repeated call answers for the settled items only: what its first attempt claimed is left to the lease.
    let batch = if rows.len() > settlements.len() {
        claim::claimed(queue, rows, settlements.len(), wakes)?
    } else {
        Batch::default()
    };
    wake_for(queue, settlements, &outcomes);
    Ok((outcomes, batch))
}

pub(super) fn renew(queue: &Inner, leases: &[Lease<'_>]) -> Result<Vec<Outcome>> {
    check_count("the number of leases to renew", leases.len())?;
    let items: Vec<_> = leases.iter().map(|lease| json!({"key": lease.key, "attempt": lease.attempt})).collect();
    let items = Value::Array(items).to_string();
    let params = [Param::Text(&queue.worker), Param::Text(&items), Param::Integer(queue.lease_ms)];
    let rows = queue.with_session(|session| answered(session, &queue.calls.renew, &params))?;
    answers::outcomes(&rows, leases.len())
}

/// What was made due again wakes those who wait for it.
fn wake_for(queue: &Inner, settlements: &[Settlement<'_>], outcomes: &[Outcome]) {
    let due_again = settlements.iter().zip(outcomes).filter(|(_, outcome)| {
        outcome.answer == Answer::Ok && matches!(outcome.state, Some(ItemState::Pending | ItemState::Error))
    });
    match due_again.map(|(settlement, _)| settlement.delay_ms.unwrap_or(0)).min() {
        Some(0) => queue.signal.wake(),
        Some(soonest) => queue.signal.wake_in(Duration::from_millis(soonest.unsigned_abs())),
        None => {}
    }
}

/// One element of the array that the procedure reads, or what is wrong with it.
fn to_json(index: usize, settlement: &Settlement<'_>) -> Result<Value> {
    let refuse = |why: String| Error::new(ErrorKind::InvalidArgument, format!("item {index}: {why}"));
    let mut out = Map::new();
    if settlement.key.is_empty() {
        return Err(refuse("the key is empty; take it from the claimed item".to_owned()));
    }
    out.insert("key".to_owned(), json!(settlement.key));
    match (settlement.token, settlement.attempt) {
        (None, 1..) => {
            return Err(refuse("a claimed item is settled with its token; take it from the item".to_owned()));
        }
        (_, ..=-1) => return Err(refuse(format!("the attempt {} is negative", settlement.attempt))),
        (token, attempt) => {
            out.insert("token".to_owned(), json!(token));
            out.insert("attempt".to_owned(), json!(attempt));
        }
    }
    out.insert("status".to_owned(), json!(settlement.action.target().as_str()));
    if settlement.action == Action::Release {
        out.insert("release".to_owned(), json!(true));
    }
    let texts = [
        ("step", settlement.step, Some(60)),
        ("response", settlement.response, None),
        ("error", settlement.error, None),
    ];
    for (name, text, most) in texts {
        if let Some(text) = text {
            check_text(text, most).map_err(|why| refuse(format!("the {name} {why}")))?;
            out.insert(name.to_owned(), json!(text));
        }
    }
    put_due(&mut out, settlement.delay_ms, settlement.due).map_err(refuse)?;
    Ok(Value::Object(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named_before_anything_is_sent() {
        let good = Settlement { attempt: 1, ..Settlement::control("k", Some("t"), Action::Complete) };
        for (settlement, part) in [
            (Settlement { key: "", ..good.clone() }, "key"),
            (Settlement { token: None, ..good.clone() }, "token"),
            (Settlement { attempt: -1, ..good.clone() }, "-1"),
            (Settlement { error: Some("a\0"), ..good.clone() }, "error contains U+0000"),
            (Settlement { delay_ms: Some(-5), ..good.clone() }, "-5"),
            (Settlement { due: Some("soon"), ..good.clone() }, "soon"),
            (Settlement { due: Some("2026-01-01"), delay_ms: Some(1), ..good.clone() }, "not both"),
        ] {
            let error = to_json(3, &settlement).unwrap_err();
            assert!(error.message().starts_with("item 3:") && error.message().contains(part), "{error}");
        }
        assert_eq!(
            to_json(0, &Settlement { action: Action::Release, ..good }).unwrap(),
            json!({"key": "k", "token": "t", "attempt": 1, "status": "Pending", "release": true})
        );
    }
}
