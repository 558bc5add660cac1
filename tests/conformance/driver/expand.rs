//! Puts variables into what a scenario sends, and writes out what it abbreviates.

use super::pattern::Variables;
use serde_json::Value;

/// `$name` becomes the variable's value, `{"$repeat": [text, n]}` text, `{"$concat": [..]}` text, and
/// `{"$times": [n, value]}` an array. A name that nothing was captured under is a mistake in the scenario.
pub fn expand(value: &Value, variables: &Variables) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix('$') {
            Some(name) if !name.starts_with('$') => {
                variables.get(name).unwrap_or_else(|| panic!("nothing was captured as ${name}")).clone()
            }
            Some(literal) => Value::String(literal.to_owned()),
            None => value.clone(),
        },
        Value::Array(elements) => elements.iter().map(|element| expand(element, variables)).collect(),
        Value::Object(members) => match members.iter().next() {
            Some((operator, operand)) if members.len() == 1 && operator.starts_with('$') => {
                abbreviation(operator, operand, variables).unwrap_or_else(|| inside(value, variables))
            }
            _ => inside(value, variables),
        },
        _ => value.clone(),
    }
}

/// In an expectation only abbreviations are written out: its `$name` are the pattern's to compare or capture.
pub fn expand_pattern(value: &Value, variables: &Variables) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(|element| expand_pattern(element, variables)).collect(),
        Value::Object(members) => {
            let only = if members.len() == 1 { members.iter().next() } else { None };
            let written_out = only.and_then(|(operator, operand)| abbreviation(operator, operand, variables));
            written_out.unwrap_or_else(|| {
                members.iter().map(|(key, member)| (key.clone(), expand_pattern(member, variables))).collect()
            })
        }
        _ => value.clone(),
    }
}

fn inside(value: &Value, variables: &Variables) -> Value {
    let members = value.as_object().into_iter().flatten();
    members.map(|(key, member)| (key.clone(), expand(member, variables))).collect()
}

fn abbreviation(operator: &str, operand: &Value, variables: &Variables) -> Option<Value> {
    let part = |index: usize| expand(&operand[index], variables);
    let count = |index: usize| operand[index].as_u64().unwrap_or_else(|| panic!("{operator}: no count in {operand}"));
    Some(match operator {
        "$repeat" => part(0).as_str().expect("$repeat takes a text").repeat(count(1) as usize).into(),
        "$times" => vec![part(1); count(0) as usize].into(),
        "$concat" => {
            let parts = operand.as_array().expect("$concat takes an array");
            let texts = parts.iter().map(|part| match expand(part, variables) {
                Value::String(text) => text,
                other => other.to_string(),
            });
            texts.collect::<String>().into()
        }
        _ => return None,
    })
}
