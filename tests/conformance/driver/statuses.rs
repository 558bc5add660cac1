//! No status of the header is left out of the scenarios.

use super::scenario::Scenario;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Those that no caller of a binding can bring about. For them it has to do that their names are known.
const NOT_PROVOKED: [&str; 4] = [
    // A binding does not hand out freed handles, nor structs of a newer header.
    "READPAST_INVALID_HANDLE",
    "READPAST_UNSUPPORTED",
    // A million handles, and a bug.
    "READPAST_EXHAUSTED",
    "READPAST_PANIC",
];

/// The statuses that the header defines: those constants that are no action, state, type, event or version.
pub fn in_header(header: &str) -> BTreeMap<String, i64> {
    let statuses = header.lines().filter_map(|line| {
        let mut words = line.strip_prefix("#define ")?.split_whitespace();
        let (name, value) = (words.next()?, words.next()?);
        let value = value.parse().ok()?;
        let of_others = [
            "READPAST_ACTION_",
            "READPAST_STATE_",
            "READPAST_TYPE_",
            "READPAST_EVENT_",
            "READPAST_VERSION_",
            "READPAST_ABI",
            "READPAST_LOG_",
        ];
        (!of_others.iter().any(|prefix| name.starts_with(prefix))).then(|| (name.to_owned(), value))
    });
    statuses.collect()
}

/// The statuses that no scenario expects of a call, or whose name none asks for.
pub fn missing(header: &str, scenarios: &[Scenario]) -> BTreeSet<String> {
    let (mut expected, mut described) = (BTreeSet::from(["READPAST_OK".to_owned()]), BTreeMap::new());
    for step in scenarios.iter().flat_map(|scenario| &scenario.steps) {
        if step["do"] == "describe" {
            let name = step["expect"]["name"].as_str().unwrap_or_default();
            described.insert(name.to_owned(), step["status"].as_i64());
        } else if let Some(value) = step.get("expect") {
            collect(value, &mut expected);
        }
    }
    let all = in_header(header);
    assert!(all.len() > 30, "the header was not understood: {all:?}");
    let is_missing = |(name, value): &(String, i64)| {
        let is_provoked = expected.contains(name) || NOT_PROVOKED.contains(&name.as_str());
        !is_provoked || described.get(name) != Some(&Some(*value))
    };
    all.into_iter().filter(is_missing).map(|(name, _)| name).collect()
}

/// The texts of an expectation at `status` and `answer`.
fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, found)),
        Value::Object(members) => {
            for (key, member) in members {
                match member {
                    Value::String(text) if key == "status" || key == "answer" => drop(found.insert(text.clone())),
                    _ => collect(member, found),
                }
            }
        }
        _ => {}
    }
}
