//! Directives: a command's instructions beyond its exit status.

use readpast::Action;
use readpast::item::without_half_pairs;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The most bytes of a directive.
pub const LONGEST: usize = 262_144;

/// The instructions.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Directive {
    pub action: Option<Action>,
    pub step: Option<String>,
    pub response: Option<String>,
    pub error: Option<String>,
    pub delay_ms: Option<i64>,
    pub due: Option<String>,
    /// A JSON object.
    pub set: Option<String>,
    /// A JSON array of items that follow.
    pub then: Option<String>,
    /// Whether half of a surrogate pair in it was replaced.
    pub is_mended: bool,
}

/// Reads a directive from a JSON object.
///
/// # Errors
/// Why it is none: an unreadable directive must never count as success.
pub fn of(text: &str) -> Result<Directive, String> {
    let mended = without_half_pairs(text);
    let text = mended.as_deref().unwrap_or(text);
    let no_json = |error| format!("it is not JSON: {error}");
    let value: Value = serde_json::from_str(text).map_err(no_json)?;
    let members = value.as_object().ok_or("it must be an object")?;
    let mut directive = members_of(members)?;
    directive.is_mended = mended.is_some();
    // Kept as they were written, so that numbers keep their digits.
    let raw: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(no_json)?;
    let kept = |name: &str| raw.get(name).map(|value| value.get()).filter(|value| *value != "null").map(str::to_owned);
    (directive.set, directive.then) = (kept("set"), kept("then"));
    Ok(directive)
}

/// Bytes as text.
///
/// # Errors
/// Where they are not UTF-8.
pub fn utf8(text: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(text).map_err(|error| {
        let byte = text.get(error.valid_up_to()).copied().unwrap_or_default();
        format!("it is not UTF-8 (byte {byte:#04x} after {} others)", error.valid_up_to())
    })
}

fn members_of(members: &Map<String, Value>) -> Result<Directive, String> {
    let mut directive = Directive::default();
    for (key, value) in members {
        let text = || value.as_str().map(str::to_owned).ok_or_else(|| format!("{key:?} must be text"));
        match key.as_str() {
            _ if value.is_null() => {}
            "action" => directive.action = Some(action(&text()?)?),
            "step" => directive.step = Some(text()?),
            // Any JSON will do for a response.
            "response" => directive.response = Some(text().unwrap_or_else(|_| value.to_string())),
            "error" => directive.error = Some(text()?),
            "due" => directive.due = Some(text()?),
            "set" if value.is_object() => {}
            "then" if value.is_array() => {}
            "then" => return Err("\"then\" must be an array of the items that follow".to_owned()),
            "set" => return Err("\"set\" must be an object of the item's columns".to_owned()),
            "delay_ms" => directive.delay_ms = Some(value.as_i64().ok_or("\"delay_ms\" must be a whole number")?),
            _ => return Err(format!("there is no {key:?}")),
        }
    }
    Ok(directive)
}

fn action(word: &str) -> Result<Action, String> {
    Ok(match word {
        "complete" => Action::Complete,
        "complete_partially" => Action::CompletePartially,
        "fail" => Action::Fail,
        "retry" => Action::Retry,
        "release" => Action::Release,
        "cancel" => Action::Cancel,
        "pause" => Action::Pause,
        "terminate" => Action::Terminate,
        _ => return Err(format!("there is no action {word:?}")),
    })
}
