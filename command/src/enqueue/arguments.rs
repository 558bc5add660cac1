//! Items from the command line, and the defaults of items.

use super::Args;
use crate::columns::columns;
use crate::failure::{Failure, Result, usage};
use readpast::item::{After, Columns, OnFailed};
use readpast::{Error, NewItem, QueueSpec};
use serde_json::Value;
use std::env;

/// The defaults of items.
pub struct Defaults {
    kind: Option<String>,
    step: Option<String>,
    due: Option<String>,
    delay_ms: Option<i64>,
    after: Vec<After>,
    on_failed: OnFailed,
}

impl Defaults {
    pub fn new(args: &Args) -> Result<Self> {
        let delay = args.delay.map(|delay| i64::try_from(delay.as_millis()));
        Ok(Self {
            kind: args.kind.clone(),
            step: args.step.clone(),
            due: args.due.clone(),
            delay_ms: delay.transpose().map_err(|_| usage("--delay is too long"))?,
            after: args.after.iter().map(|key| After::Key(key.clone())).collect(),
            on_failed: args.on_failed.unwrap_or_default(),
        })
    }

    /// An item of these columns.
    fn item(&self, columns: Columns) -> NewItem {
        NewItem {
            kind: self.kind.clone(),
            step: self.step.clone(),
            due: self.due.clone(),
            delay_ms: self.delay_ms,
            columns,
            // OpenTelemetry's variables for a process that another one starts.
            traceparent: env::var("TRACEPARENT").ok(),
            tracestate: env::var("TRACESTATE").ok(),
            after: self.after.clone(),
            on_failed: self.on_failed,
        }
    }

    /// An item from JSON: its columns, or an object with `columns` and other members.
    pub fn parse(&self, json: &str) -> std::result::Result<NewItem, String> {
        let value: Value = serde_json::from_str(json).map_err(|error| format!("this is not JSON: {error}"))?;
        let Value::Object(object) = value else {
            return Err("an item is a JSON object, like {\"Column\": \"value\"}".to_owned());
        };
        // Parsed anew, since a `Value` does not keep all digits of a number.
        let columns = |json: &str| Columns::from_json(json).map_err(|error| error.message().to_owned());
        let all = columns(json)?;
        let columns = match all.get("columns") {
            Some(inner) if object["columns"].is_object() => columns(inner)?,
            _ => return Ok(self.item(all)),
        };
        let mut item = self.item(columns);
        let state = object.get("tracestate").and_then(Value::as_str).map(str::to_owned);
        for (key, value) in object {
            let text = || value.as_str().map(str::to_owned).ok_or_else(|| format!("{key:?} must be text"));
            match key.as_str() {
                "columns" => {}
                _ if value.is_null() => {}
                "type" => item.kind = Some(text()?),
                "step" => item.step = Some(text()?),
                "due" => (item.due, item.delay_ms) = (Some(text()?), None),
                "delay_ms" => {
                    let delay = value.as_i64().ok_or("\"delay_ms\" must be a whole number")?;
                    (item.due, item.delay_ms) = (None, Some(delay));
                }
                "after" => item.after = After::read_list(&value.to_string())?,
                "on_failed" => item.on_failed = OnFailed::read(&text()?)?,
                // The two belong together: the process's own is not left beside another's.
                "traceparent" => (item.traceparent, item.tracestate) = (Some(text()?), state.clone()),
                "tracestate" => {}
                _ => {
                    return Err(format!(
                        "there is no {key:?} beside \"columns\"; there are type, step, due, delay_ms, after, on_failed, \
                         traceparent and tracestate"
                    ));
                }
            }
        }
        Ok(item)
    }
}

/// The items of the arguments, all of them checked.
pub fn items(spec: &QueueSpec, args: &Args, defaults: &Defaults) -> Result<Vec<NewItem>> {
    let items = if args.item.is_empty() {
        vec![defaults.item(columns(spec, &args.columns)?)]
    } else {
        let parse = |json: &String| defaults.parse(json).map_err(|why| usage(format!("--item: {why}")));
        args.item.iter().map(parse).collect::<Result<_>>()?
    };
    for item in &items {
        spec.check_item(item).map_err(|error| with_option(error, &args.columns))?;
    }
    Ok(items)
}

/// The error about an unknown column, which may be meant for an option.
fn with_option(error: Error, arguments: &[String]) -> Failure {
    let names = arguments.iter().filter_map(|argument| argument.split_once('=')).map(|(name, _)| name);
    let remedy = names.map(|name| name.trim_end_matches(':').to_ascii_lowercase()).find_map(|name| {
        Some(match name.as_str() {
            "type" => "--type gives an item its type",
            "step" => "--step gives an item its step",
            "due" | "due_at" | "dueat" => "--due and --delay say when an item is due",
            "delay" | "delay_ms" => "--delay says when an item is due",
            _ => return None,
        })
    });
    match remedy {
        Some(remedy) if error.message().contains(" has no column ") => Failure::Remedied(error, remedy),
        _ => error.into(),
    }
}
