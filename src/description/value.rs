//! Checks values: whether a column, a step, a text or a time takes them. The rules are the same for new items and settlements.

use super::{ColumnKind, ColumnSpec, QueueSpec};
use crate::error::Excerpt;
use crate::ident::{FoundName, did_you_mean, find_name};
use crate::item::{Columns, from_base64, normalize_utc};
use serde_json::{Map, Value, json};

/// The longest delay the servers' time arithmetic takes in one step: `i32::MAX` seconds.
pub(crate) const MAX_DELAY_MS: i64 = i32::MAX as i64 * 1000;

pub(super) fn put_object(out: &mut String, members: &[(String, String)]) {
    out.push('{');
    for (i, (name, value)) in members.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&json!(name).to_string());
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
}

/// Adds a delay or a due time to an element to be sent, or returns its mistake.
pub(crate) fn put_due(out: &mut Map<String, Value>, delay_ms: Option<i64>, due: Option<&str>) -> Result<(), String> {
    match (delay_ms, due) {
        (None, None) => {}
        (Some(_), Some(_)) => return Err("give a delay or a due time, not both".to_owned()),
        (Some(delay), None) if (0..=MAX_DELAY_MS).contains(&delay) => {
            out.insert("delay_ms".to_owned(), json!(delay));
        }
        (Some(delay), None) => return Err(format!("the delay of {delay} ms is not from 0 to {MAX_DELAY_MS}")),
        (None, Some(due)) => {
            let time = normalize_utc(due)
                .ok_or_else(|| format!("the due time {} is not a UTC time like 2026-11-21T08:30:00Z", Excerpt(due)))?;
            out.insert("due".to_owned(), json!(time));
        }
    }
    Ok(())
}

/// Checks a step against the `steps` of a queue; without any, every step will do.
pub(crate) fn check_step(steps: &[String], step: &str) -> Result<(), String> {
    check_text(step, Some(60)).map_err(|why| format!("the step {why}"))?;
    if steps.is_empty() || steps.iter().any(|known| known == step) {
        return Ok(());
    }
    Err(format!("the step {} is none of the queue's, which has {steps:?}", Excerpt(step)))
}

/// Checks that text can be stored: no U+0000, and not more UTF-16 units than `most`.
pub(crate) fn check_text(text: &str, most: Option<usize>) -> Result<(), String> {
    if text.contains('\0') {
        return Err("contains U+0000, which neither server stores in text".to_owned());
    }
    match most {
        Some(most) if text.encode_utf16().count() > most => {
            Err(format!("is {} characters long; {most} are the most", text.encode_utf16().count()))
        }
        _ => Ok(()),
    }
}

/// The given values, each with the place of its name among `names`, of which the first `open` may be given; `prefix` stands
/// before names in errors.
pub(super) fn by_place<'a>(
    spec: &QueueSpec,
    names: &[&str],
    open: usize,
    prefix: &str,
    given: &'a Columns,
) -> Result<Vec<(usize, &'a str)>, String> {
    let mut out: Vec<(usize, &str)> = Vec::new();
    let mut taken: Vec<Option<&str>> = vec![None; names.len()];
    for (name, value) in given.iter() {
        let column = format!("{prefix}{name}");
        let place = match find_name(name, names.iter().copied()) {
            FoundName::One(place) => place,
            FoundName::Many => {
                let column = Excerpt(&column);
                return Err(format!("column {column}: queue {} has several that differ in case alone", spec.queue));
            }
            FoundName::None => {
                let names = &names[..open];
                let near = did_you_mean(name, names.iter().copied());
                let names = names.join(", ");
                let column = Excerpt(&column);
                return Err(format!("queue {} has no column {column}{near}; it has {names}", spec.queue));
            }
        };
        if let Some(other) = taken[place].replace(name) {
            return Err(format!("column {:?} is given twice, as {other:?} and {name:?}", names[place]));
        }
        out.push((place, value));
    }
    Ok(out)
}

pub(super) fn column_of(column: &ColumnSpec, prefix: &str, json: &str) -> Result<(String, String), String> {
    let name = column.name.as_str();
    match column_value(column.kind, json) {
        Ok(value) => Ok((name.to_owned(), value)),
        Err(why) => Err(format!("column {:?} ({}) {why}", format!("{prefix}{name}"), column.kind)),
    }
}

/// The value in the form to be sent, or its mistake.
pub(crate) fn column_value(kind: ColumnKind, json: &str) -> Result<String, String> {
    let wrong = || Err(format!("does not take {}", shown(json)));
    let value: Value = serde_json::from_str(json).map_err(|error| format!("does not take {}: {error}", shown(json)))?;
    let as_given = || Ok(json.to_owned());
    match (kind, &value) {
        (_, Value::Null) => as_given(),
        (ColumnKind::Text(length), Value::String(text)) => {
            check_text(text, length.map(usize::from)).map(|()| json.to_owned())
        }
        (ColumnKind::Integer, Value::Number(number)) => match number.as_i64() {
            Some(number) if i32::try_from(number).is_ok() => as_given(),
            _ => wrong(),
        },
        (ColumnKind::BigInteger, Value::Number(number)) if number.as_i64().is_some() => as_given(),
        (ColumnKind::Boolean, Value::Bool(_)) | (ColumnKind::Float, Value::Number(_)) => as_given(),
        // Decimals may come as text, since a JSON number of many digits rarely survives its reader.
        (ColumnKind::Decimal(precision, scale), Value::String(_) | Value::Number(_)) => {
            let text = value.as_str().unwrap_or(json);
            if is_decimal(text, precision.into(), scale.into()) { Ok(json!(text).to_string()) } else { wrong() }
        }
        (ColumnKind::Timestamp, Value::String(text)) => {
            normalize_utc(text).map_or_else(wrong, |time| Ok(json!(time).to_string()))
        }
        (ColumnKind::Date, Value::String(text)) if !text.contains([':', 'T', ' ']) => match normalize_utc(text) {
            Some(time) => Ok(json!(time[..10]).to_string()),
            None => wrong(),
        },
        (ColumnKind::Guid, Value::String(text)) if is_guid(text) => as_given(),
        (ColumnKind::Binary(most), Value::String(text)) => match (from_base64(text), most) {
            (Some(bytes), Some(most)) if bytes.len() > most.into() => {
                Err(format!("is {} bytes long; {most} are the most", bytes.len()))
            }
            (Some(_), _) => as_given(),
            (None, _) => Err(format!("takes bytes as base64, not {}", shown(json))),
        },
        // The text is sent as it was written, so that its numbers keep their digits.
        (ColumnKind::Json, Value::Object(_) | Value::Array(_)) => {
            if has_nul(&value) {
                return Err("contains U+0000, which neither server stores in text".to_owned());
            }
            as_given()
        }
        _ => wrong(),
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

fn is_decimal(text: &str, precision: usize, scale: usize) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    !whole.is_empty()
        && all_digits(whole)
        && all_digits(fraction)
        && whole.trim_start_matches('0').len() + scale <= precision
        && fraction.len() <= scale
}

fn is_guid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// A value for a message, cut short.
pub(super) fn shown(json: &str) -> String {
    match json.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &json[..end]),
        None => json.to_owned(),
    }
}
