//! The settings of a queue that its procedures read from AppSettings at each call: they override the description, and changing
//! one needs no install.

use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::description::{ATTEMPTS, LEASE_MS, QueueSpec};
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Value, agreed};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};
use std::ops::RangeInclusive;

/// A setting of a queue in the table AppSettings, or in the one that its description names in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSetting {
    /// Its name: `maxAttempts`, `leaseMs`.
    pub name: &'static str,
    /// Its name in the table: `notification.maxAttempts`.
    pub param: String,
    /// The table: `AppSettings`, or the one that the description names in `table.settings`.
    pub table: String,
    /// The value in the table; `None` where there is none.
    pub value: Option<i32>,
    /// The value in the description, which holds then.
    pub described: i32,
    /// The only place that has it so; `None`: all places of the queue.
    pub place: Option<String>,
}

impl QueueSetting {
    /// The settings of several places.
    pub(crate) fn of_places(each: &[(&str, Vec<Self>)]) -> Vec<Self> {
        let agree = |there: &[&Self]| there.iter().all(|of| *of == there[0]);
        agreed(each, |of| of.name, agree, |there| there[0].clone(), |of, place| of.place = Some(place.to_owned()))
    }
}

/// A setting that the procedures know: its name, its range, and its value in a description.
struct KnownSetting {
    name: &'static str,
    range: RangeInclusive<i32>,
    described: fn(&QueueSpec) -> i32,
}

const KNOWN: [KnownSetting; 2] = [
    KnownSetting { name: "maxAttempts", range: ATTEMPTS, described: |spec| spec.max_attempts },
    KnownSetting { name: "leaseMs", range: LEASE_MS, described: |spec| spec.lease.ms },
];

/// The settings of the queue, one after the other.
pub(crate) fn settings(on: &dyn Sessions, terms: &CallTerms, calls: &Calls) -> Result<Vec<QueueSetting>> {
    let read = |known: &KnownSetting| {
        let param = param(terms, known);
        let params = [Param::Text(&param)];
        let rows = on.ask(CallKind::Settings, YieldsTo::Closing, |session| {
            session.call(&calls.setting, &params, ReadCells::Table)
        })?;
        let value = match (!rows.is_empty()).then(|| rows.value(0, 0)) {
            None => None,
            Some(Value::Integer(value)) => i32::try_from(value).ok(),
            Some(other) => {
                return Err(Error::new(ErrorKind::Protocol, format!("the setting {param} is {other:?}")));
            }
        };
        Ok(QueueSetting {
            name: known.name,
            param,
            table: table(terms),
            value,
            described: (known.described)(&terms.spec),
            place: None,
        })
    };
    KNOWN.iter().map(read).collect()
}

pub(crate) fn set_setting(
    on: &dyn Sessions,
    terms: &CallTerms,
    calls: &Calls,
    name: &str,
    value: Option<i32>,
) -> Result<()> {
    let refused = |message| Error::new(ErrorKind::InvalidArgument, message);
    let Some(known) = KNOWN.iter().find(|known| known.name == name) else {
        let names = KNOWN.map(|known| known.name).join(" and ");
        return Err(refused(format!("there is no setting {name:?} of a queue; there are {names}")));
    };
    let (least, most) = (known.range.start(), known.range.end());
    if let Some(value) = value.filter(|value| !known.range.contains(value)) {
        return Err(refused(format!("{name} is a whole number from {least} to {most}, not {value}")));
    }
    let param = param(terms, known);
    let params = [Param::Text(&param), Param::OptionalInteger(value)];
    on.ask(CallKind::Settings, YieldsTo::Closing, |session| match &calls.hold_setting {
        None => session.execute(&calls.set_setting, &params).map(drop),
        Some(hold) => session.transaction(|session| {
            session.execute(hold, &[])?;
            session.execute(&calls.set_setting, &params).map(drop)
        }),
    })
}

/// The table of the settings.
fn table(terms: &CallTerms) -> String {
    let Some(theirs) = terms.spec.settings_table() else { return "AppSettings".to_owned() };
    format!("{}.{}", terms.dialect.schema_of(theirs.schema.as_ref()).as_str(), theirs.name.as_str())
}

fn param(terms: &CallTerms, known: &KnownSetting) -> String {
    format!("{}.{}", terms.spec.settings, known.name)
}
