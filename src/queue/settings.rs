//! The settings of a queue that its procedures read from AppSettings at each call: they count above the description, and
//! changing one needs no install.

use super::Inner;
use crate::error::{Error, ErrorKind, Result};
use crate::item::Value;
use crate::metrics::Call;
use crate::session::{Param, Shape};
use crate::spec::{ATTEMPTS, LEASE_MS, QueueSpec};
use std::ops::RangeInclusive;

/// A setting of a queue in the table AppSettings, or in the one that its description names in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// What it is called here: `maxAttempts`, `leaseMs`.
    pub name: &'static str,
    /// What it is called in the table: `notification.maxAttempts`.
    pub param: String,
    /// The table: `AppSettings`, or what the description names in `table.settings`.
    pub table: String,
    /// What the table says; `None` where it says nothing.
    pub value: Option<i32>,
    /// What counts then: what the description says.
    pub described: i32,
}

/// One that the procedures know: its name, what it may be, and where it stands in a description.
struct Known {
    name: &'static str,
    range: RangeInclusive<i32>,
    described: fn(&QueueSpec) -> i32,
}

const KNOWN: [Known; 2] = [
    Known { name: "maxAttempts", range: ATTEMPTS, described: |spec| spec.max_attempts },
    Known { name: "leaseMs", range: LEASE_MS, described: |spec| spec.lease.ms },
];

pub(super) fn list(queue: &Inner) -> Result<Vec<Setting>> {
    let calls = queue.backend.ours("tell its settings", "they read what they read")?;
    let read = |known: &Known| {
        let param = param(queue, known);
        let rows = queue.with_session(Call::Settings, |session| {
            session.call(&calls.setting, &[Param::Text(&param)], Shape::Table)
        })?;
        let value = match (!rows.is_empty()).then(|| rows.value(0, 0)) {
            None => None,
            Some(Value::Integer(value)) => i32::try_from(value).ok(),
            Some(other) => {
                return Err(Error::new(ErrorKind::Protocol, format!("the setting {param} is {other:?}")));
            }
        };
        Ok(Setting { name: known.name, param, table: table(queue), value, described: (known.described)(&queue.spec) })
    };
    KNOWN.iter().map(read).collect()
}

pub(super) fn set(queue: &Inner, name: &str, value: Option<i32>) -> Result<()> {
    let calls = queue.backend.ours("set its settings", "they read what they read")?;
    let refused = |message| Error::new(ErrorKind::InvalidArgument, message);
    let Some(known) = KNOWN.iter().find(|known| known.name == name) else {
        let names = KNOWN.map(|known| known.name).join(" and ");
        return Err(refused(format!("there is no setting {name:?} of a queue; there are {names}")));
    };
    let (least, most) = (known.range.start(), known.range.end());
    if let Some(value) = value.filter(|value| !known.range.contains(value)) {
        return Err(refused(format!("{name} is a whole number from {least} to {most}, not {value}")));
    }
    let param = param(queue, known);
    let params = [Param::Text(&param), Param::OptionalInteger(value)];
    queue.with_session(Call::Settings, |session| match &calls.hold_setting {
        None => session.execute(&calls.set_setting, &params),
        Some(hold) => session.transaction(|session| {
            session.execute(hold, &[])?;
            session.execute(&calls.set_setting, &params)
        }),
    })?;
    Ok(())
}

/// The table that the settings stand in.
fn table(queue: &Inner) -> String {
    let Some(theirs) = queue.spec.settings_table() else { return "AppSettings".to_owned() };
    format!("{}.{}", queue.dialect.schema_of(theirs.schema.as_ref()).as_str(), theirs.name.as_str())
}

fn param(queue: &Inner, known: &Known) -> String {
    format!("{}.{}", queue.spec.settings, known.name)
}
