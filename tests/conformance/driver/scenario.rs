//! Reads the scenarios.

use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

/// Where a scenario runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Postgres,
    SqlServer,
    /// The scripted peer behind the Microsoft driver, which fails where the scenario wants it to.
    Scripted,
}

impl Place {
    pub const ALL: [Self; 3] = [Self::Postgres, Self::SqlServer, Self::Scripted];

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::SqlServer => "sqlserver",
            Self::Scripted => "scripted",
        }
    }
}

/// One scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// `topic/name`.
    pub name: String,
    pub places: Vec<Place>,
    /// The description of the queue that is installed before it begins; `None`: nothing is installed.
    pub queue: Option<Value>,
    /// Settings of every `open` and `install`, unless the step has others.
    pub settings: Map<String, Value>,
    pub steps: Vec<Value>,
    /// Whether Windows has what it takes.
    pub on_windows: bool,
}

/// All scenarios of a folder, in the order of their names.
pub fn load(folder: &Path) -> Vec<Scenario> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut scenarios: Vec<Scenario> = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let topic = file.file_stem().unwrap().to_str().unwrap();
        let listed: Vec<Value> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for value in listed {
            let scenario = read(topic, value);
            assert!(scenarios.iter().all(|other| other.name != scenario.name), "{} is there twice", scenario.name);
            scenarios.push(scenario);
        }
    }
    scenarios
}

/// A misspelt member would silently test nothing, so unknown ones are refused.
fn read(topic: &str, value: Value) -> Scenario {
    let Value::Object(mut members) = value else { panic!("{topic}: a scenario is an object, not {value}") };
    let name = match members.remove("name") {
        Some(Value::String(name)) => format!("{topic}/{name}"),
        other => panic!("{topic}: a scenario's name is a text, not {other:?}"),
    };
    let places = match members.remove("places") {
        None => vec![Place::Postgres, Place::SqlServer],
        Some(Value::Array(names)) => names.iter().map(|given| place(&name, given)).collect(),
        Some(other) => panic!("{name}: places are an array, not {other}"),
    };
    let queue = members.remove("queue").unwrap_or_else(|| json!({"queue": "Work", "backoff": "none"}));
    let settings = match members.remove("settings") {
        None => Map::new(),
        Some(Value::Object(settings)) => settings,
        Some(other) => panic!("{name}: settings are an object, not {other}"),
    };
    let steps = match members.remove("steps") {
        Some(Value::Array(steps)) if !steps.is_empty() => steps,
        other => panic!("{name}: steps are an array, not {other:?}"),
    };
    members.remove("note");
    let on_windows = match members.remove("windows") {
        None => true,
        Some(Value::Bool(false)) => false,
        Some(other) => panic!("{name}: \"windows\" can only be false, not {other}"),
    };
    assert!(members.is_empty(), "{name}: unknown members: {members:?}");
    for step in &steps {
        let kinds = ["do", "driver"].iter().filter(|kind| step.get(kind).is_some_and(Value::is_string)).count();
        assert_eq!(kinds, 1, "{name}: a step has either \"do\" or \"driver\": {step}");
    }
    Scenario { name, places, queue: (!queue.is_null()).then_some(queue), settings, steps, on_windows }
}

fn place(scenario: &str, name: &Value) -> Place {
    let known = Place::ALL.into_iter().find(|place| name.as_str() == Some(place.name()));
    known.unwrap_or_else(|| panic!("{scenario}: there is no place {name}"))
}
