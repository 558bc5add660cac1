//! What operators do: look for items, let them be worked on again, clear finished ones away.

use super::backend::Backend;
use super::interrupt::YieldsTo;
use super::operation::{Attempts, in_parts};
use super::{Inner, answered, answers, check_count, claim};
use crate::dialect::{Calls, Dialect};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Answer, Batch, Filter, ItemRef, Outcome, Rows, Value};
use crate::metrics::Call;
use crate::pool::closed;
use crate::session::{Param, Shape};
use crate::spec::put_key;
use serde_json::json;

pub(super) fn find(queue: &Inner, filter: &Filter, after: Option<&str>, max: u32) -> Result<Batch> {
    let (calls, filter, max) = sought(queue, filter, after, max)?;
    let params = [Param::Text(&filter), Param::Text(after.unwrap_or_default()), max, Param::OptionalInteger(None)];
    let rows = queue.with_session(Call::Find, |session| answered(session, &calls.find, &params))?;
    Ok(found(queue, rows))
}

pub(super) fn look(
    queue: &Inner,
    filter: &Filter,
    after: Option<&str>,
    max: u32,
    most: u32,
) -> Result<(Batch, Option<String>)> {
    let most = i32::try_from(most).ok().filter(|most| *most > 0).ok_or_else(|| {
        let message = format!("the number of items to look at is {most}; it is from 1 to {}", i32::MAX);
        Error::new(ErrorKind::InvalidArgument, message)
    })?;
    let (calls, filter, max) = sought(queue, filter, after, max)?;
    let params = [Param::Text(&filter), Param::Text(after.unwrap_or_default()), max, Param::Integer(most)];
    // The end is in a result of its own on SQL Server, and nowhere else.
    let mut results = queue.with_session(Call::Find, |session| match session.dialect() {
        Dialect::SqlServer => session.results(&calls.find, &params),
        Dialect::Postgres => Ok(vec![answered(session, &calls.find, &params)?]),
    })?;
    let further = results.last_mut().and_then(Rows::take_further);
    let rows = results.into_iter().next().unwrap_or_default();
    Ok((found(queue, rows), further))
}

/// What a call that looks for items is given.
fn sought<'a>(
    queue: &'a Inner,
    filter: &Filter,
    after: Option<&str>,
    max: u32,
) -> Result<(&'a Calls, String, Param<'static>)> {
    let max = check_count("the number of items to find", max as usize)?;
    let calls = queue.backend.ours("look for items", "they have no procedure for it; the view shows them")?;
    check_keys(queue, filter)?;
    if after == Some("") {
        return Err(Error::new(ErrorKind::InvalidArgument, "the key to go on after is empty; leave it out"));
    }
    after.map(|key| queue.spec.check_key(key)).transpose()?;
    Ok((calls, filter.to_json(queue.spec.has_composite_key())?, Param::Integer(max)))
}

fn found(queue: &Inner, rows: Rows) -> Batch {
    if rows.is_empty() { Batch::default() } else { queue.hand_out(rows, 0) }
}

pub(super) fn redrive(queue: &Inner, items: &[ItemRef<'_>], operation: Option<&str>) -> Result<Vec<Outcome>> {
    let calls = queue
        .backend
        .ours("redrive items", "they have no procedure for it, and their Modify_ lets nothing finished begin again")?;
    if let Some(i) = items.iter().position(|item| item.key.is_empty()) {
        return Err(Error::new(ErrorKind::InvalidArgument, format!("item {i}: the key is empty")));
    }
    for (i, item) in items.iter().enumerate() {
        queue.spec.check_key(item.key).map_err(|error| error.in_context(format!("item {i}")))?;
    }
    in_parts(queue.dialect, items, operation, true, |part| {
        let json = to_json(queue, part.items)?;
        let params = [Param::Text(&part.operation.id), Param::Text(&json)];
        let mut attempts = Attempts::default();
        let result =
            queue.with_session(Call::Redrive, |session| attempts.note(answered(session, &calls.redrive, &params)));
        let outcomes = answers::outcomes(&attempts.conclude(&part.operation, result)?, part.items.len())?;
        if outcomes.iter().any(|outcome| outcome.answer == Answer::Ok) {
            queue.signal.wake();
        }
        Ok(outcomes)
    })
}

pub(super) fn purge(queue: &Inner, filter: &Filter, max: u32) -> Result<u64> {
    let max = check_count("the number of items to purge", max as usize)?;
    let calls = queue.backend.ours("purge items", "they have no procedure for it")?;
    if let Some(state) = filter.states.iter().find(|state| !state.is_finished()) {
        let message =
            format!("only finished items can be purged, and {state} ones are not; cancel or terminate them first");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    check_keys(queue, filter)?;
    let filter = filter.to_json(queue.spec.has_composite_key())?;
    let params = [Param::Text(&filter), Param::Integer(max)];
    let rows = queue.with_session(Call::Purge, |session| session.call(&calls.purge, &params, Shape::Table))?;
    count(&rows)
}

pub(super) fn retain(queue: &Inner, max: u32, yields_to: YieldsTo) -> Result<u64> {
    let max = check_count("the number of items to delete", max as usize)?;
    let Backend::Ours(calls, _) = &queue.backend else { return Ok(0) };
    let Some(retain) = &calls.retain else { return Ok(0) };
    // A little less: who asks once in an interval is not to be refused for some milliseconds, which would cost a whole one.
    let interval = queue.retention_interval - queue.retention_interval / 8;
    let interval = i32::try_from(interval.as_millis()).unwrap_or(i32::MAX);
    let params = [Param::Integer(interval), Param::Integer(max)];
    if queue.attached.is_some() {
        return Err(super::attached::refused());
    }
    if queue.pool.is_closed() {
        return Err(closed());
    }
    // Once: it has time until the next interval, and whoever calls has other work.
    let mut session = queue.pool.acquire().inspect_err(|error| queue.ledger.failed(error.kind()))?;
    if yields_to == YieldsTo::Interrupts {
        // It may have waited long for the connection.
        claim::unless_called_off(queue)?;
    }
    count(&queue.ledger.time(Call::Retain, || session.call(retain, &params, Shape::Table))?)
}

/// How many items were deleted.
fn count(rows: &Rows) -> Result<u64> {
    match rows.value(0, 1) {
        Value::Integer(purged) => Ok(u64::try_from(purged).unwrap_or(0)),
        other => Err(Error::new(ErrorKind::Protocol, format!("the server answered a purge with {other:?}"))),
    }
}

/// The array that the procedure reads.
fn to_json(queue: &Inner, items: &[ItemRef<'_>]) -> Result<String> {
    let mut out = String::from("[");
    for (i, item) in items.iter().enumerate() {
        out.push_str(if i > 0 { ",{\"key\":" } else { "{\"key\":" });
        put_key(&mut out, queue.spec.has_composite_key(), item.key)
            .map_err(|why| Error::new(ErrorKind::InvalidArgument, why))?;
        out.push_str(&format!(",\"token\":{}}}", json!(item.token.filter(|token| !token.is_empty()))));
    }
    out.push(']');
    Ok(out)
}

/// What cannot be a key is told by its name; an empty one the filter refuses itself.
fn check_keys(queue: &Inner, filter: &Filter) -> Result<()> {
    let mut keys = filter.keys.iter().flatten().filter(|key| !key.is_empty());
    keys.try_for_each(|key| queue.spec.check_key(key))
}
