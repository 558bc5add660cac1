//! The item in the environment of the command.

use crate::child_environment::COLUMN;
use readpast::description::Storage;
use readpast::{Item, Queue, Value};
use std::collections::BTreeMap;

/// Longer values would come near the system's limit for one variable; the whole item is on standard input.
const MAX_VALUE: usize = 32 * 1024;

/// The limit of all variables together, for the same reason.
const MAX_ALL: usize = 256 * 1024;

/// The variables of `item`.
pub fn of(queue: &Queue, item: &Item<'_>) -> BTreeMap<String, String> {
    let first = |names: &[&str]| names.iter().find_map(|name| item.value_of(name)).and_then(text).unwrap_or_default();
    let kind = match &queue.spec().storage {
        Storage::Table(table) => table.lifecycle.kind.as_ref().map(|name| first(&[name.as_str()])).unwrap_or_default(),
        _ => first(&["Type"]),
    };
    let mut variables = BTreeMap::from([
        ("READPAST_QUEUE".to_owned(), queue.name().to_owned()),
        ("READPAST_WORKER".to_owned(), queue.worker().to_owned()),
        ("READPAST_KEY".to_owned(), item.key().to_owned()),
        ("READPAST_TOKEN".to_owned(), item.token().to_owned()),
        ("READPAST_ATTEMPT".to_owned(), item.attempt().to_string()),
        ("READPAST_TYPE".to_owned(), kind),
        ("READPAST_STEP".to_owned(), first(&["Step", "ItemStep", "item_step"])),
    ]);
    // OpenTelemetry's variables for a started process.
    let trace = [("TRACEPARENT", item.traceparent()), ("TRACESTATE", item.tracestate())];
    variables.extend(trace.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))));
    let mut room = MAX_ALL;
    for (index, column) in item.columns().iter().enumerate() {
        let Some(value) = item.value(index).filter(is_short).and_then(text) else { continue };
        let name = format!("{COLUMN}{}", variable(&column.name));
        if value.len() + name.len() <= room && !value.contains('\0') {
            room -= value.len() + name.len();
            variables.insert(name, value);
        }
    }
    variables
}

/// Whether a value is short enough to copy: the memory may be too short for a large one.
fn is_short(value: &Value<'_>) -> bool {
    match value {
        Value::Text(value) => value.len() <= MAX_VALUE,
        Value::Binary(value) => value.len() <= MAX_VALUE / 2,
        _ => true,
    }
}

/// A column's name as the name of a variable.
fn variable(column: &str) -> String {
    column.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

fn text(value: Value<'_>) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(value) => value.to_owned(),
        Value::Binary(value) => value.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_variables() {
        assert_eq!(variable("order_id"), "ORDER_ID");
        assert_eq!(variable("Straße 1"), "STRA_E_1");
    }

    #[test]
    fn long_values_are_found_before_they_are_copied() {
        let (most, more) = ("x".repeat(MAX_VALUE), "x".repeat(MAX_VALUE + 1));
        assert!(is_short(&Value::Text(&most)) && !is_short(&Value::Text(&more)));
        // A byte has two digits there.
        let half = MAX_VALUE / 2;
        assert!(is_short(&Value::Binary(&most.as_bytes()[..half])));
        assert!(!is_short(&Value::Binary(&most.as_bytes()[..=half])));
    }
}
