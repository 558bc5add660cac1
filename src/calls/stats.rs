//! Figures.

use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{FigureRow, OfType, QueueStats, StepCounts, Value, Watched};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};

pub(crate) fn stats(on: &dyn Sessions, terms: &CallTerms, calls: &Calls) -> Result<QueueStats> {
    let rows =
        on.ask(CallKind::Stats, YieldsTo::Closing, |session| session.call(&calls.stats, &[], ReadCells::Table))?;
    // A step or type without items has no row.
    let steps = terms.spec.steps.iter().map(|step| StepCounts { step: step.clone(), ..StepCounts::default() });
    let mut stats = QueueStats { steps: steps.collect(), ..QueueStats::default() };
    for row in 0..rows.len() {
        let value = match rows.value(row, 1) {
            Value::Integer(value) => Some(value),
            _ => None,
        };
        if let Value::Text(name) = rows.value(row, 0) {
            stats.record(name, value);
        }
    }
    Ok(stats)
}

/// The most rows of a look that the procedure takes.
const MOST: u32 = 1_000_000;

/// Checks the rows of a look, from 1 on.
pub(crate) fn check_most(most: u32) -> Result<i32> {
    i32::try_from(most).ok().filter(|_| (1..=MOST).contains(&most)).ok_or_else(|| {
        let message = format!("the rows of a look must be from 1 to {MOST}, and not {most}");
        Error::new(ErrorKind::InvalidArgument, message)
    })
}

pub(crate) fn watch(on: &dyn Sessions, terms: &CallTerms, calls: &Calls, most: i32) -> Result<Watched> {
    let params = [Param::Integer(most)];
    let rows =
        on.ask(CallKind::Watch, YieldsTo::Closing, |session| session.call(&calls.watch, &params, ReadCells::Table))?;
    let text = |row, column| if let Value::Text(text) = rows.value(row, column) { text } else { "" };
    let number = |row, column| if let Value::Integer(number) = rows.value(row, column) { Some(number) } else { None };
    // A step or type without items has no row.
    let types = if terms.spec.types.len() > 1 { terms.spec.types.as_slice() } else { &[] };
    let types = types.iter().map(|name| OfType { name: name.clone(), ..OfType::default() });
    let mut watched = Watched { types: types.collect(), ..Watched::default() };
    for row in 0..rows.len() {
        // A pause has a type there.
        let key = text(row, 5).to_owned();
        let key = if text(row, 0) == "pause" { key } else { terms.key_of(key) };
        watched.record(&FigureRow {
            name: text(row, 0),
            value: number(row, 1),
            capped: rows.value(row, 2) == Value::Boolean(true),
            ms: number(row, 3),
            detail: text(row, 4),
            key: &key,
        });
    }
    Ok(watched.conclude())
}
