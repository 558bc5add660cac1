//! Figures.

use super::Inner;
use super::backend::Backend;
use super::claim::unless_called_off;
use super::interrupt::YieldsTo;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Figure, OfType, QueueStats, StepCounts, Trend, Value, Watched};
use crate::metrics::Call;
use crate::session::{Param, Shape};
use std::time::{Duration, Instant};

pub(super) fn stats(queue: &Inner) -> Result<QueueStats> {
    let calls = match &queue.backend {
        Backend::Ours(calls, _) => calls,
        Backend::Procedures(theirs) => return super::procedures::stats(queue, theirs),
    };
    let rows = queue.with_session(Call::Stats, |session| session.call(&calls.stats, &[], Shape::Table))?;
    // Where nothing is, no row says so.
    let steps = queue.spec.steps.iter().map(|step| StepCounts { step: step.clone(), ..StepCounts::default() });
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

pub(super) fn watch(queue: &Inner, most: u32) -> Result<Watched> {
    let Some(most) = i32::try_from(most).ok().filter(|_| (1..=MOST).contains(&most)) else {
        let message = format!("the rows of a look must be from 1 to {MOST}, and not {most}");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    let calls = match &queue.backend {
        Backend::Ours(calls, _) => calls,
        Backend::Procedures(theirs) => return Ok(super::procedures::stats(queue, theirs)?.into()),
    };
    let rows =
        queue.with_session(Call::Watch, |session| session.call(&calls.watch, &[Param::Integer(most)], Shape::Table))?;
    let text = |row, column| if let Value::Text(text) = rows.value(row, column) { text } else { "" };
    let number = |row, column| if let Value::Integer(number) = rows.value(row, column) { Some(number) } else { None };
    // Where nothing is, no row says so.
    let types = if queue.spec.types.len() > 1 { queue.spec.types.as_slice() } else { &[] };
    let types = types.iter().map(|name| OfType { name: name.clone(), ..OfType::default() });
    let mut watched = Watched { types: types.collect(), ..Watched::default() };
    for row in 0..rows.len() {
        watched.record(&Figure {
            name: text(row, 0),
            value: number(row, 1),
            capped: rows.value(row, 2) == Value::Boolean(true),
            ms: number(row, 3),
            detail: text(row, 4),
            key: text(row, 5),
        });
    }
    Ok(watched.conclude())
}

pub(super) fn trend(queue: &Inner, most: u32, apart: Duration) -> Result<(Watched, Trend)> {
    let (first, begun) = (watch(queue, most)?, Instant::now());
    let alone = first.trend(None);
    if alone.counted || apart.is_zero() {
        return Ok((first, alone));
    }
    // What is completed leaves the table: how many they were shows in what is left.
    if queue.interrupt.wait(apart, YieldsTo::Interrupts) {
        unless_called_off(queue)?;
    }
    let (second, ago) = (watch(queue, most)?, begun.elapsed());
    let trend = second.trend(Some((&first, ago)));
    Ok((second, trend))
}
