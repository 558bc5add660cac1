//! The settings of a queue, and the checks of what it relies on.

use super::question::{Field, Question, boolean, number, text};
use crate::calls::QueueSetting;
use crate::config::Config;
use crate::doctor;
use crate::error::Result;
use crate::finding::{Finding, Severity};
use crate::install::{self, Installed};
use serde_json::{Value, json};

pub(super) static SETTINGS: Question = Question {
    name: "settings",
    meaning: "The settings that the queue's procedures read from AppSettings at each call.",
    arguments: &[],
    answer: &[&[
        text("settings[].name", "`maxAttempts` or `leaseMs`"),
        text("settings[].param", "its name in the table"),
        number("settings[].value", "the value that counts"),
        text("settings[].by", "the table that has it, or `description`"),
        number("settings[].described", "the value in the description"),
        text("settings[].place", "the only place of several that has it so; null: all").or_none(),
    ]],
    run: |queue, _| Ok(json!({"settings": queue.settings()?.iter().map(setting).collect::<Vec<_>>()}).to_string()),
};

const ONE: &[Field] = &[
    text("name", "its name"),
    text("param", "its name in the table"),
    number("value", "the value that counts now"),
    text("by", "the table that has it, or `description`"),
    number("described", "the value in the description"),
    text("place", "the only place of several that has it so; null: all").or_none(),
];

pub(super) static SET: Question = Question {
    name: "set",
    meaning: "Sets a setting, or removes it, so that the description counts again. It holds for all processes, from their next \
              call on.",
    arguments: &[
        text("name", "`maxAttempts` or `leaseMs`"),
        number("value", "a whole number; null removes the setting").or_none(),
    ],
    answer: &[ONE],
    run: |queue, given| {
        let name = given.needed_text("name")?;
        let value = given.number("value", i32::MIN.into()..=i32::MAX.into())?;
        queue.set_setting(&name, value.and_then(|value| i32::try_from(value).ok()))?;
        let settings = queue.settings()?;
        Ok(settings.iter().find(|setting| setting.name == name).map(setting).unwrap_or_default().to_string())
    },
};

pub(super) static DOCTOR: Question = Question {
    name: "doctor",
    meaning: "Checks all that the queue relies on: driver, server and its settings, clock, rights, objects, table, indexes and \
              procedures. It changes nothing, and takes a connection of its own.",
    arguments: &[],
    answer: &[&[
        text("findings[].check", "the check"),
        text("findings[].severity", "`ok`, `warning` or `error`"),
        text("findings[].object", "what it is about"),
        text("findings[].what", "what was found"),
        text("findings[].remedy", "what to do about it; empty when nothing is"),
        number("errors", "how many are errors"),
        number("warnings", "how many are warnings"),
    ]],
    run: |queue, _| Ok(doctor(&doctor::check(queue.config()?, Some(queue.name()))?).to_string()),
};

/// The members of each element of a list of queues.
pub const LISTED: &[Field] = &[
    text("queue", "its name"),
    text("schema", "the schema of the list"),
    boolean("own", "true when the items are in a table of readpast's own, which a drop drops with them"),
    text(
        "table",
        "the table of its items with its schema, as the catalog has it; null where hand-written procedures hide it",
    )
    .or_none(),
    text("description", "its description, a text that is JSON itself"),
];

/// The queues that are installed in the schema that `config` names, as a JSON array.
///
/// # Errors
/// As [`install::installed`].
pub fn list(config: &Config) -> Result<String> {
    let (schema, queues) = (config.schema()?, install::installed(config)?);
    Ok(queues.iter().map(|queue| installed(schema.as_str(), queue)).collect::<Value>().to_string())
}

/// A queue of the list.
#[must_use]
pub fn installed(schema: &str, queue: &Installed) -> Value {
    json!({
        "queue": queue.queue, "schema": schema, "own": queue.own, "table": queue.table.as_ref().map(ToString::to_string),
        "description": queue.description,
    })
}

/// A setting.
#[must_use]
pub fn setting(setting: &QueueSetting) -> Value {
    let (value, by) = match setting.value {
        Some(value) => (value, setting.table.as_str()),
        None => (setting.described, "description"),
    };
    json!({
        "name": setting.name, "param": setting.param, "value": value, "by": by, "described": setting.described,
        "place": setting.place,
    })
}

/// The answer of `doctor`.
#[must_use]
pub fn doctor(found: &[Finding]) -> Value {
    let count = |severity| found.iter().filter(|finding| finding.severity == severity).count();
    json!({"findings": findings(found), "errors": count(Severity::Error), "warnings": count(Severity::Warning)})
}

/// Findings, each an object.
#[must_use]
pub fn findings(findings: &[Finding]) -> Value {
    let document = |finding: &Finding| {
        json!({
            "check": finding.check,
            "severity": finding.severity.as_str(),
            "object": finding.object,
            "what": finding.what,
            "remedy": finding.remedy,
        })
    };
    findings.iter().map(document).collect()
}
