//! `retention`: how long ended items stay.

use super::at::{At, KnownKeys};
use crate::description::RetentionSpec;
use crate::error::Result;

/// The units of days, hours, minutes and seconds, and their seconds.
const UNITS: [(char, i32); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

pub(super) fn retention(spec: &KnownKeys<'_>) -> Result<Vec<RetentionSpec>> {
    let Some(given) = given(spec)? else { return Ok(Vec::new()) };
    let rule =
        |(key, state): &(&str, _)| Some(age(&given.get(key)?).map(|seconds| RetentionSpec { state: *state, seconds }));
    RetentionSpec::KEYS.iter().filter_map(rule).collect()
}

/// `retention.history`: of the attempts.
pub(super) fn attempts(spec: &KnownKeys<'_>) -> Result<Option<i32>> {
    let Some(given) = given(spec)? else { return Ok(None) };
    given.get(RetentionSpec::HISTORY).map(|at| age(&at)).transpose()
}

fn given<'a>(spec: &KnownKeys<'a>) -> Result<Option<KnownKeys<'a>>> {
    let keys: Vec<_> = RetentionSpec::KEYS.iter().map(|(key, _)| *key).chain([RetentionSpec::HISTORY]).collect();
    spec.get("retention").map(|at| at.table(&keys)).transpose()
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
pub(super) fn written(seconds: i32) -> String {
    let (name, unit) = UNITS.into_iter().find(|(_, unit)| seconds % unit == 0).unwrap_or(('s', 1));
    format!("{}{name}", seconds / unit)
}
