//! `retention`: how long ended items stay.

use super::at::At;
use crate::description::{QueueSpec, RetentionSpec};
use crate::error::Result;
use serde_json::{Map, Value, json};

/// The units of days, hours, minutes and seconds, and their seconds.
const UNITS: [(char, i32); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

/// Reads `retention`: by state, and of the attempts.
pub(super) fn read(at: &At<'_>, spec: &mut QueueSpec) -> Result<()> {
    let keys: Vec<_> = RetentionSpec::KEYS.iter().map(|(key, _)| *key).chain([RetentionSpec::HISTORY]).collect();
    let given = at.table(&keys)?;
    let rule =
        |(key, state): &(&str, _)| Some(age(&given.get(key)?).map(|seconds| RetentionSpec { state: *state, seconds }));
    spec.retention = RetentionSpec::KEYS.iter().filter_map(rule).collect::<Result<_>>()?;
    spec.attempt_retention = given.get(RetentionSpec::HISTORY).map(|at| age(&at)).transpose()?;
    Ok(())
}

/// Writes it.
pub(super) fn written(spec: &QueueSpec) -> Option<Value> {
    let rules = spec.retention.iter().filter_map(|rule| Some((rule.key()?, rule.seconds)));
    let rules = rules.chain(spec.attempt_retention.map(|age| (RetentionSpec::HISTORY, age)));
    let rules: Map<_, _> = rules.map(|(key, age)| (key.to_owned(), json!(in_units(age)))).collect();
    spec.deletes_what_is_over().then_some(Value::Object(rules))
}

/// `30d`, `12h`, `90m`, `45s`.
fn age(at: &At<'_>) -> Result<i32> {
    let read = |text: &str| {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let (_, seconds) = UNITS.iter().find(|(name, _)| unit.starts_with(*name))?;
        let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse::<i32>().ok().filter(|_| plain)?.checked_mul(*seconds)
    };
    read(at.text()?).ok_or_else(|| at.wrong("a whole number and s, m, h or d, like \"30d\", 20000d at most"))
}

/// The same, in the largest unit without a rest.
fn in_units(seconds: i32) -> String {
    let (name, unit) = UNITS.into_iter().find(|(_, unit)| seconds % unit == 0).unwrap_or(('s', 1));
    format!("{}{name}", seconds / unit)
}
