//! Whether an answer is the expected one. A pattern is JSON that describes JSON: see "Patterns" in the README.

use super::expand::expand;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The values captured so far, and those that the driver defines.
pub type Variables = BTreeMap<String, Value>;

/// Compares, and captures into `variables`. The error says where the two part, and how.
pub fn matches(pattern: &Value, answer: &Value, variables: &mut Variables) -> Result<(), String> {
    at("", pattern, Some(answer), variables)
}

fn at(place: &str, pattern: &Value, answer: Option<&Value>, variables: &mut Variables) -> Result<(), String> {
    if let Value::String(text) = pattern
        && let Some(name) = text.strip_prefix('$')
    {
        return reference(place, name, answer, variables);
    }
    if let Value::Object(members) = pattern
        && members.keys().any(|key| key.starts_with('$'))
    {
        return members
            .iter()
            .try_for_each(|(operator, operand)| operate(place, operator, operand, members, answer, variables));
    }
    let Some(answer) = answer else { return Err(format!("{}: missing, not {pattern}", name_of(place))) };
    match (pattern, answer) {
        (Value::Object(expected), Value::Object(_)) => expected.iter().try_for_each(|(key, pattern)| {
            let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
            at(&place, pattern, answer.get(key), variables)
        }),
        (Value::Array(expected), Value::Array(found)) => {
            if expected.len() != found.len() {
                return Err(format!("{}: {} elements, not {}", name_of(place), found.len(), expected.len()));
            }
            expected.iter().zip(found).enumerate().try_for_each(|(index, (pattern, element))| {
                at(&format!("{place}[{index}]"), pattern, Some(element), variables)
            })
        }
        _ if equal(pattern, answer) => Ok(()),
        _ => Err(format!("{}: {}, not {}", name_of(place), brief(answer), brief(pattern))),
    }
}

/// `$any`, `$missing`, `$$text` for the text `$text`, or a variable: compared when it is known, else captured.
fn reference(place: &str, name: &str, answer: Option<&Value>, variables: &mut Variables) -> Result<(), String> {
    if name == "missing" {
        return match answer {
            None => Ok(()),
            Some(answer) => Err(format!("{}: {}, not missing", name_of(place), brief(answer))),
        };
    }
    let Some(answer) = answer else { return Err(format!("{}: missing", name_of(place))) };
    if name == "any" {
        return Ok(());
    }
    let expected = match name.strip_prefix('$') {
        Some(_) => Value::String(name.to_owned()),
        None => variables.entry(name.to_owned()).or_insert_with(|| answer.clone()).clone(),
    };
    if equal(&expected, answer) {
        return Ok(());
    }
    Err(format!("{}: {}, not {} (${name})", name_of(place), brief(answer), brief(&expected)))
}

/// One operator of an object like `{"$min": 1, "$max": 5}`; all of them must hold.
fn operate(
    place: &str,
    operator: &str,
    operand: &Value,
    all: &Map<String, Value>,
    answer: Option<&Value>,
    variables: &mut Variables,
) -> Result<(), String> {
    let Some(found) = answer else { return Err(format!("{}: missing", name_of(place))) };
    let wrong = |what: &str| Err(format!("{}: {} {what} {}", name_of(place), brief(found), brief(operand)));
    let (number, text) = (found.as_f64(), found.as_str());
    let texts = || parts(&expand(operand, variables));
    let held = |holds: bool, what: &str| if holds { Ok(()) } else { wrong(what) };
    match operator {
        "$min" => held(number.is_some_and(|number| number >= expect_number(operand)), "is not at least"),
        "$max" => held(number.is_some_and(|number| number <= expect_number(operand)), "is not at most"),
        "$starts" => held(text.is_some_and(|text| text.starts_with(expect_text(operand))), "does not start with"),
        "$contains" => texts().iter().try_for_each(|part| {
            let holds = text.is_some_and(|text| text.to_lowercase().contains(&part.to_lowercase()));
            if holds { Ok(()) } else { Err(format!("{}: {} does not contain {part:?}", name_of(place), brief(found))) }
        }),
        "$lacks" => texts().iter().try_for_each(|part| {
            let holds = text.is_some_and(|text| !text.contains(part.as_str()));
            if holds { Ok(()) } else { Err(format!("{}: {} contains {part:?}", name_of(place), brief(found))) }
        }),
        "$length" => held(text.map(|text| text.chars().count()) == index(operand), "has not the length"),
        "$one_of" => {
            let choices = operand.as_array().expect("$one_of takes an array");
            held(choices.iter().any(|choice| at(place, choice, answer, variables).is_ok()), "is none of")
        }
        "$not" => held(at(place, operand, answer, &mut variables.clone()).is_err(), "is, but must not be,"),
        "$is" => at(place, operand, answer, variables),
        "$as" => {
            variables.insert(expect_text(operand).to_owned(), found.clone());
            Ok(())
        }
        "$each" => {
            let Some(elements) = found.as_array() else { return wrong("is not an array of") };
            elements.iter().enumerate().try_for_each(|(index, element)| {
                // The name of one element does not hold for the next.
                at(&format!("{place}[{index}]"), operand, Some(element), &mut variables.clone())
            })
        }
        "$count" => held(found.as_array().map(Vec::len) == index(operand), "has not the count"),
        "$unordered" => unordered(place, operand, found, variables),
        _ => panic!("{operator} is no operator of a pattern: {all:?}"),
    }
}

/// As many elements as patterns, and each pattern fits one that no earlier pattern took.
fn unordered(place: &str, patterns: &Value, found: &Value, variables: &mut Variables) -> Result<(), String> {
    let patterns = patterns.as_array().expect("$unordered takes an array");
    let Some(elements) = found.as_array() else { return Err(format!("{}: not an array", name_of(place))) };
    if elements.len() != patterns.len() {
        return Err(format!("{}: {} elements, not {}", name_of(place), elements.len(), patterns.len()));
    }
    let mut left: Vec<_> = elements.iter().collect();
    for pattern in patterns {
        let fitting = left.iter().position(|element| {
            let mut captured = variables.clone();
            let fits = at(place, pattern, Some(element), &mut captured).is_ok();
            if fits {
                *variables = captured;
            }
            fits
        });
        match fitting {
            Some(index) => drop(left.remove(index)),
            None => return Err(format!("{}: no element is {}", name_of(place), brief(pattern))),
        }
    }
    Ok(())
}

/// Equal as JSON; numbers by their value, so that 1 and 1.0 are the same, but text is never a number.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => one == other,
    }
}

fn parts(operand: &Value) -> Vec<String> {
    match operand {
        Value::Array(parts) => parts.iter().map(|part| expect_text(part).to_owned()).collect(),
        one => vec![expect_text(one).to_owned()],
    }
}

fn expect_text(operand: &Value) -> &str {
    operand.as_str().unwrap_or_else(|| panic!("not a text: {operand}"))
}

fn expect_number(operand: &Value) -> f64 {
    operand.as_f64().unwrap_or_else(|| panic!("not a number: {operand}"))
}

fn index(operand: &Value) -> Option<usize> {
    Some(operand.as_u64().unwrap_or_else(|| panic!("not a count: {operand}")) as usize)
}

fn name_of(place: &str) -> &str {
    if place.is_empty() { "the answer" } else { place }
}

/// JSON that fits a line: long texts are cut.
pub fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(400) {
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}
