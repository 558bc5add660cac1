//! `limit`: how many items of a key are in work at once, and how many of it begin in a time.

use super::at::At;
use super::keys::Kind::{OptionalName, Own};
use super::keys::{self, Key, key, or};
use crate::description::{LimitSpec, QueueSpec, TiersSpec};
use crate::error::Result;
use crate::item::{LIMIT_COUNT, Rate};
use serde_json::{Value, json};

pub(super) static LIMIT: [Key<LimitSpec>; 5] = [
    or(
        "the queue as a whole",
        key(
            "by",
            OptionalName(|limit| &mut limit.by),
            "The column whose values are the keys: an `integer`, `bigint`, `boolean`, `guid`, or `text` of at most 300 characters, \
             not secret.",
        ),
    ),
    or(
        "no limit",
        key(
            "at_once",
            Own("1 to 1000000, or `{ from, <value> = 1 to 1000000, ... }`", at_once, |limit| {
                limit.at_once.map(|count| json!(count)).or_else(|| limit.tiers.as_ref().map(tiers_written))
            }),
            "How many items of a key are in work at once; with `from`, by that column of the item of the key that is due first: \
             `{ from = \"Plan\", free = 1, pro = 10 }`. Any other value has the smallest number. Only of the first limit with `by`.",
        ),
    ),
    or(
        "each as one",
        key(
            "weight",
            OptionalName(|limit| &mut limit.weight),
            "An `integer` or `bigint` column, not secret, that says as how many an item counts for `at_once`: less than 1 and NULL as one, more \
             than the limit as all of it. Only with `by`.",
        ),
    ),
    or(
        "no limit",
        key(
            "rate",
            Own(
                "starts/period: `\"60/1m\"`; the period from `1ms` to `1d`",
                |at, limit| rate(at).map(|rate| limit.rate = Some(rate)),
                |limit| limit.rate.map(|rate| json!(rate.to_string())),
            ),
            "How many items of a key start in a time.",
        ),
    ),
    or(
        "the starts of `rate`",
        key(
            "burst",
            Own(
                "1 to 1000000",
                |at, limit| count(at).map(|count| limit.burst = Some(count)),
                |limit| limit.burst.map(|count| json!(count)),
            ),
            "How many of them may start together after a rest.",
        ),
    ),
];

/// A limit of nothing, as reading begins.
pub(super) fn start() -> LimitSpec {
    LimitSpec { by: None, at_once: None, tiers: None, weight: None, rate: None, burst: None }
}

/// Reads `limit`.
pub(super) fn read(at: &At<'_>, spec: &mut QueueSpec) -> Result<()> {
    let limit = |at: &At<'_>| {
        let mut limit = start();
        keys::read(at, &LIMIT, &mut limit).map(|_| limit)
    };
    spec.limits = at.list(0)?.iter().map(limit).collect::<Result<_>>()?;
    Ok(())
}

/// Writes it.
pub(super) fn written(spec: &QueueSpec) -> Option<Value> {
    let written = || spec.limits.iter().map(|limit| keys::write(&LIMIT, limit, &start())).collect();
    (!spec.limits.is_empty()).then(written)
}

fn at_once(at: &At<'_>, limit: &mut LimitSpec) -> Result<()> {
    if !at.is_table() {
        limit.at_once = Some(count(at)?);
        return Ok(());
    }
    let members = at.members()?;
    let (from, numbers): (Vec<_>, Vec<_>) = members.into_iter().partition(|(name, _)| *name == "from");
    let Some((_, from)) = from.into_iter().next() else {
        return Err(at.refuse("needs \"from\", the column that says which number holds"));
    };
    let number = |(value, at): (&str, At<'_>)| Ok((value.to_owned(), count(&at)?));
    limit.tiers =
        Some(TiersSpec { from: from.identifier()?, numbers: numbers.into_iter().map(number).collect::<Result<_>>()? });
    Ok(())
}

fn tiers_written(tiers: &TiersSpec) -> Value {
    let from = ("from".to_owned(), json!(tiers.from.as_str()));
    let numbers = tiers.numbers.iter().map(|(value, number)| (value.clone(), json!(number)));
    Value::Object([from].into_iter().chain(numbers).collect())
}

fn count(at: &At<'_>) -> Result<u32> {
    at.integer(*LIMIT_COUNT.start() as i32..=*LIMIT_COUNT.end() as i32).map(|count| count as u32)
}

fn rate(at: &At<'_>) -> Result<Rate> {
    let rate = at.text().ok().and_then(|text| text.parse().ok());
    rate.ok_or_else(|| at.wrong(Rate::FORM))
}
