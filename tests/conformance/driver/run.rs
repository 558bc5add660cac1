//! Runs one scenario in one language.

use super::adapter::{Adapter, Program};
use super::expand::{expand, expand_pattern};
use super::pattern::{self, Variables, brief};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a step with `repeat` is repeated.
const PATIENCE: Duration = Duration::from_secs(600);

/// The part of a scenario's surroundings that its steps see.
pub trait Surroundings {
    /// The values captured so far.
    fn variables(&mut self) -> &mut Variables;
    /// One of readpast's own columns, as the server spells it.
    fn spell(&self, column: &str) -> String;
    /// The settings of an `open` or `install`, completed.
    fn complete(&self, settings: &Value) -> Value;
    /// Does what a step with `driver` says. An answer is to be compared with the step's expectation.
    fn act(&mut self, what: &str, step: &Value) -> Result<Option<Value>, String>;
}

/// Runs the steps. The error says which of them went wrong and how.
pub fn run(
    steps: &[Value],
    program: &Program,
    surroundings: &mut dyn Surroundings,
    complaints: &Path,
) -> Result<(), String> {
    let mut run = Run { program, surroundings, complaints, adapters: BTreeMap::new() };
    for (index, step) in steps.iter().enumerate() {
        let step = spell(step, run.surroundings);
        if let Err(wrong) = run.step(&step) {
            let said: Vec<_> = run.adapters.values_mut().map(Adapter::complaints).collect();
            let said = said.first().filter(|said| !said.is_empty());
            let said = said.map(|said| format!("\n  standard error:\n{said}")).unwrap_or_default();
            return Err(format!("step {}: {wrong}{said}", index + 1));
        }
    }
    // Only one that still runs can be asked to end; the others were killed by the scenario.
    run.adapters.into_values().try_for_each(|adapter| adapter.finish().map_err(|wrong| format!("at the end: {wrong}")))
}

/// `#Status` is the column `Status`, or `status`, depending on the server.
fn spell(value: &Value, surroundings: &dyn Surroundings) -> Value {
    let respelt = |text: &str| text.strip_prefix('#').map_or_else(|| text.to_owned(), |name| surroundings.spell(name));
    match value {
        Value::String(text) => respelt(text).into(),
        Value::Array(elements) => elements.iter().map(|element| spell(element, surroundings)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, member)| (respelt(key), spell(member, surroundings))).collect()
        }
        _ => value.clone(),
    }
}

struct Run<'a> {
    program: &'a Program,
    surroundings: &'a mut dyn Surroundings,
    complaints: &'a Path,
    adapters: BTreeMap<String, Adapter>,
}

impl Run<'_> {
    fn step(&mut self, step: &Value) -> Result<(), String> {
        match (step["do"].as_str(), step["driver"].as_str()) {
            (Some(verb), None) => self.ask(verb, step),
            (None, Some("kill")) => {
                let name = step["adapter"].as_str().unwrap_or("main");
                self.adapters.remove(name).expect("only a running adapter can be killed").kill();
                Ok(())
            }
            (None, Some(what)) => {
                let step = expand_step(step, self.surroundings.variables());
                let answer = self.surroundings.act(what, &step).map_err(|wrong| format!("{what}: {wrong}"))?;
                let Some(answer) = answer else { return Ok(()) };
                pattern::matches(&step["expect"], &answer, self.surroundings.variables())
                    .map_err(|wrong| format!("{what}: {wrong}"))
            }
            _ => panic!("a step has either \"do\" or \"driver\": {step}"),
        }
    }

    /// Sends a request, once or, with `repeat`, again and again until its answer is the expected one.
    fn ask(&mut self, verb: &str, step: &Value) -> Result<(), String> {
        let request = self.request(verb, step);
        let expected = expectation(step, self.surroundings.variables());
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.adapter(step)?.ask(&request).map_err(|wrong| format!("{verb}: {wrong}"))?;
            let mut variables = self.surroundings.variables().clone();
            let result = check_shape(&answer).and_then(|()| pattern::matches(&expected, &answer, &mut variables));
            match result {
                Ok(()) => {
                    *self.surroundings.variables() = variables;
                    return Ok(());
                }
                Err(_) if step["repeat"] == true && Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(wrong) => {
                    let (request, answer) = (brief(&request), brief(&answer));
                    return Err(format!("{verb}: {wrong}\n  request: {request}\n  answer:  {answer}"));
                }
            }
        }
    }

    fn request(&mut self, verb: &str, step: &Value) -> Value {
        let mut request = step.as_object().expect("a step is an object").clone();
        for driver_word in ["expect", "adapter", "repeat", "note"] {
            request.remove(driver_word);
        }
        let mut request = expand(&request.into(), self.surroundings.variables());
        if matches!(verb, "open" | "install") {
            request["settings"] = self.surroundings.complete(&request["settings"]);
        }
        if verb == "open" && request.get("name").is_none() {
            request["name"] = self.surroundings.variables()["queue"].clone();
        }
        // Most scenarios have one queue handle, which need not be named in each of their steps.
        let needs_queue = !matches!(verb, "hello" | "install" | "value" | "await" | "describe" | "free")
            && !matches!(verb, "renewal_release" | "renewal_lost");
        if needs_queue && request.get("queue").is_none() {
            request["queue"] = "q".into();
        }
        request
    }

    /// The adapter that the step names, started if need be.
    fn adapter(&mut self, step: &Value) -> Result<&mut Adapter, String> {
        let name = step["adapter"].as_str().unwrap_or("main");
        if !self.adapters.contains_key(name) {
            self.adapters.insert(name.to_owned(), Adapter::start(self.program, self.complaints)?);
        }
        Ok(self.adapters.get_mut(name).expect("it was started"))
    }
}

/// Without one, the call is to succeed.
fn expectation(step: &Value, variables: &Variables) -> Value {
    let mut expected = match step.get("expect") {
        Some(expected) => expand_pattern(expected, variables),
        None => Value::Object(Map::new()),
    };
    if expected.get("status").is_none() {
        expected["status"] = "READPAST_OK".into();
    }
    expected
}

/// A driver's step with its variables in it; its expectation is left as it is.
fn expand_step(step: &Value, variables: &Variables) -> Value {
    let members = step.as_object().expect("a step is an object").iter();
    let members = members.map(|(key, value)| {
        let value = match key.as_str() {
            "expect" | "value" => expand_pattern(value, variables),
            _ => expand(value, variables),
        };
        (key.clone(), value)
    });
    members.collect()
}

/// Rules for every answer: a failure explains itself, and nothing else does.
fn check_shape(answer: &Value) -> Result<(), String> {
    let status = answer["status"].as_str().ok_or("there is no status")?;
    let expected_outcomes = [
        "READPAST_OK",
        "READPAST_EMPTY",
        "READPAST_LEASE_LOST",
        "READPAST_CONFLICT",
        "READPAST_ILLEGAL_TRANSITION",
        "READPAST_NOT_FOUND",
        "READPAST_INTERRUPTED",
        "READPAST_DUPLICATE",
    ];
    if expected_outcomes.contains(&status) {
        return match answer.get("error") {
            None => Ok(()),
            Some(error) => Err(format!("an outcome to be expected has no error, not {error}")),
        };
    }
    // A child process returns the status to its parent and nothing else.
    if status == "READPAST_FORKED" && answer.get("error").is_none() {
        return Ok(());
    }
    if status == "UNSUPPORTED" {
        return Err("the adapter does not know this verb".to_owned());
    }
    let retryable = [
        "READPAST_UNREACHABLE",
        "READPAST_CONNECTION_LOST",
        "READPAST_TIMED_OUT",
        "READPAST_DEADLOCK",
        "READPAST_UNAVAILABLE",
        "READPAST_OUTCOME_UNKNOWN",
        "READPAST_POOL_TIMEOUT",
    ];
    let state = json!({"$one_of": [null, {"$length": 5}]});
    let operation = if status == "READPAST_OUTCOME_UNKNOWN" { json!({"$length": 36}) } else { Value::Null };
    let pattern = json!({"error": {
        "message": {"$not": ""}, "sqlstate": state, "native_code": {"$min": -2_147_483_648_i64},
        "retryable": retryable.contains(&status), "operation": operation,
    }});
    pattern::matches(&pattern, answer, &mut Variables::new())
}
