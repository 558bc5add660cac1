//! Asks why an item is not being worked on.

use super::inner::QueueInner;
use super::{find, trend};
use crate::calls::{self, clock, head_of_group};
use crate::error::{ErrorKind, Result};
use crate::item::{Filter, Item, ItemState, Life, Limit, NEVER_MS, Standing, Value, Wait, Why, far_utc_ms, utc_ms};
use crate::metrics::CallKind;
use serde_json::json;

/// The keys that are shown of items in work.
const SHOWN: u32 = 3;

/// The most waiting items that are counted: beyond that the count only says "many".
const LOOK: u32 = 10_000;

pub(super) fn why(queue: &QueueInner, key: &str) -> Result<Option<Why>> {
    let found = find::find(queue, &Filter::of_keys([key]), None, 1)?;
    let Some(item) = found.get(0) else { return Ok(None) };
    let Some(state) = item.state() else { return Ok(None) };
    let now_ms = clock(queue, CallKind::Why)?;
    let why = reason(queue, &item, state, now_ms)?;
    let column = queue.terms.spec.expires.as_ref().filter(|_| !state.is_finished() && state != ItemState::Processing);
    let at = match column.and_then(|column| item.value_of(column.as_str())) {
        Some(Value::Text(at)) => at,
        _ => return Ok(Some(why)),
    };
    let is_over = far_utc_ms(at).zip(now_ms).is_some_and(|(at, now)| at <= now);
    Ok(Some(Why::Expires { at: at.to_owned(), is_over, why: Box::new(why) }))
}

fn reason(queue: &QueueInner, item: &Item<'_>, state: ItemState, now_ms: Option<i64>) -> Result<Why> {
    let from_now = |time: Option<&str>| Some(time.and_then(far_utc_ms)? - now_ms?);
    let mut standing = Standing {
        state,
        attempt: item.attempt(),
        due_ms: from_now(item.due()),
        owner: item.life(Life::Owner),
        lease_ms: from_now(item.lease_until()),
        changed_ms: from_now(item.life(Life::Token)).map(|ms| -ms),
        blocked_by: None,
        after: &[],
        refused: None,
        pause: None,
        limit: None,
        in_its_place: &[],
        stats: None,
    };
    let waits = waits(queue, &standing, item.key())?;
    standing.after = &waits;
    // The rest costs the server more, and matters only for an item that is due or orphaned.
    if !standing.is_due() && !standing.is_left() {
        return Ok(standing.why());
    }
    let pauses = if standing.is_due() { queue.pauses()? } else { Vec::new() };
    standing.pause = pauses.iter().find(|pause| pause.holds(item.kind()));
    if standing.pause.is_some() {
        return Ok(standing.why());
    }
    let watched = match trend::watch(queue, if standing.is_due() { LOOK } else { 1 }) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
        watched => Some(watched?),
    };
    let mut refused = watched.iter().flat_map(|watched| &watched.refused);
    let refused = refused.find(|refused| is_same(&refused.key, item.key()));
    standing.refused = refused.map(|refused| (refused.reason.as_str(), refused.again_ms.unwrap_or(0)));
    if standing.refused.is_some() || standing.is_left() {
        return Ok(standing.why());
    }
    let own = queue.backend.own();
    let head = own.map_or(Ok(None), |own| head_of_group(queue, &queue.terms, own, item))?;
    if let Some((by, state)) = &head {
        standing.blocked_by = Some((by, *state));
        return Ok(standing.why());
    }
    let limit = queue.holds(item)?;
    standing.limit = limit.as_ref();
    let in_its_place = limit.as_ref().map_or(Ok(Vec::new()), |limit| in_work(queue, limit, item))?;
    standing.in_its_place = &in_its_place;
    standing.stats = watched.as_ref().map(|watched| &watched.stats);
    Ok(standing.why())
}

/// The items for which one waits that is never due without them.
fn waits(queue: &QueueInner, standing: &Standing<'_>, key: &str) -> Result<Vec<Wait>> {
    let never = standing.due_ms.is_some_and(|ms| ms > NEVER_MS);
    let Some(own) = queue.backend.own().filter(|_| never && !standing.state.is_finished()) else {
        return Ok(Vec::new());
    };
    match calls::waits(queue, &queue.terms, own, key) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Vec::new()),
        waits => Ok(waits?.into_iter().filter(|wait| wait.is_parent).collect()),
    }
}

/// The keys of some items that take the room of a limit which is full, by a look of bounded cost.
fn in_work(queue: &QueueInner, limit: &Limit, item: &Item<'_>) -> Result<Vec<String>> {
    if limit.is_paused() || limit.at_once.is_none_or(|most| limit.in_work < most) {
        return Ok(Vec::new());
    }
    let value = limit.by.as_ref().and_then(|by| item.value_of(by).zip(Some(by)));
    let value = value.map(|(value, by)| match value {
        Value::Integer(number) => (by.clone(), json!(number).to_string()),
        Value::Boolean(value) => (by.clone(), json!(value).to_string()),
        Value::Text(text) => (by.clone(), json!(text).to_string()),
        _ => (by.clone(), String::new()),
    });
    let filter = Filter { columns: value.into_iter().collect(), ..Filter::of_states([ItemState::Processing]) };
    match find::look(queue, &filter, None, SHOWN, LOOK) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Vec::new()),
        found => found.map(|(found, _)| found.iter().map(|item| item.key().to_owned()).collect()),
    }
}

/// Whether two keys are equal: the server may write a time with more or fewer digits.
fn is_same(one: &str, other: &str) -> bool {
    let digits = |key: &str| key.trim_end_matches('Z').trim_end_matches('0').replace(' ', "T");
    let time = one.rsplit('/').next().unwrap_or(one);
    one == other || (utc_ms(time).is_some() && digits(one) == digits(other))
}
