//! `readpast_queue_figures`: figures for each step, type or attempt, as a batch.

use super::answer::answer;
use super::args;
use super::batch::readpast_batch;
use super::claim;
use super::error::readpast_error;
use super::failure::CallFailure;
use super::handle::Handle;
use super::out::OutParameter;
use super::queue::readpast_queue;
use super::status::readpast_status;
use crate::error::Excerpt;
use crate::item::{Batch, Cell, Column, ColumnType, ItemState, Rows, answer_column};
use crate::queue::Queue;
use std::ffi::c_char;
use std::time::Duration;

/// The rows of a bounded look at the queue.
const MOST: u32 = 10_000;

/// The longest pause between two looks.
const LONGEST_MS: u64 = 600_000;

/// A figure, or a text.
enum FigureValue {
    Number(Option<i64>),
    Is(bool),
    Text(Option<String>),
}

/// Figures for each step, type or attempt, as a batch that is read like one of items. Each figure is in a column of its own,
/// which is NULL if the figure is not known; the key is the step, type or attempt.
///
/// `of` names them:
/// - "steps": for each step that the description lists, and an empty one for items at none of them: `Step`, and how many items
///   are in each state, by its name (`Pending`, `Processing` ...). Counted, as by `readpast_queue_stats`.
/// - "types": for each type, if the queue has more than one: `Type`, `Waiting`, `Due`, `OldestDueMs`, `InFlight`, `EndedPerHour`,
///   `ArrivalsLastHour`, `ClaimedMeanMs`, `WorkersNeeded`, and `Capped`, true if there may be more. From a bounded look.
/// - "trend": one row for the queue: `ArrivalsPerHour`, `EndedPerHour`, `Depth`, `DepthInAnHour`, `WorkersNeeded`,
///   `WorkersToCatchUp`, `Counted`, false if they are an estimate, and `WindowMs`, for how long the rates were observed.
///   `DepthInAnHour` is NULL until that is ten minutes, and so are rates that are counted. From a bounded look. One look at a
///   queue that deletes completed items cannot count how many end. "trend 5000" (1 to 600000 ms) looks at such a queue twice,
///   5000 ms apart, and takes that much longer; it looks at any other queue once.
/// - "attempts": for each ended attempt at the item `key`, the oldest first, if the description has `attempts.history`:
///   `AttemptNum`, `Worker`, `StartedAt`, `EndedAt`, `Outcome`, `Step`, `Response`, `Error`.
///
/// `key` is only for "attempts", and NULL for the others.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`. The texts are copied.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` has at least one row.
/// - `READPAST_EMPTY`: there is none; `*batch` is null.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken; the message names it.
/// - `READPAST_INTERRUPTED`: between two looks, by `readpast_queue_interrupt`.
/// - any failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_figures(
    queue: readpast_queue,
    of: *const c_char,
    key: *const c_char,
    batch: *mut readpast_batch,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let place = OutParameter::new("batch", batch)?;
            let of = args::text("of", of)?;
            let key = args::optional_text("key", key)?;
            let queue = queue.get()?;
            if key.is_some() != (of == "attempts") {
                return Err(CallFailure::argument("key is given for \"attempts\", and NULL for all others"));
            }
            claim::put(place, figures(&queue, of, key.unwrap_or_default())?)
        })
    }
}

fn figures(queue: &Queue, of: &str, key: &str) -> Result<Batch, CallFailure> {
    use ColumnType::{Boolean, Integer, Text, Timestamp};
    let table = match of {
        "steps" => {
            let states = ItemState::ALL.map(|state| (state.as_str(), Integer));
            let columns = [("Step", Text)].into_iter().chain(states).collect();
            let row = |step: crate::item::StepCounts| {
                let counts = ItemState::ALL.map(|state| FigureValue::Number(Some(step.count(state))));
                let values = [FigureValue::Text(Some(step.step.clone()))].into_iter().chain(counts).collect();
                (step.step, values)
            };
            rows(columns, queue.stats()?.steps.into_iter().map(row))
        }
        "types" => {
            let counts =
                ["Waiting", "Due", "OldestDueMs", "InFlight", "EndedPerHour", "ArrivalsLastHour", "ClaimedMeanMs"];
            let columns = [("Type", Text)].into_iter().chain(counts.map(|name| (name, Integer)));
            let columns = columns.chain([("WorkersNeeded", Integer), ("Capped", Boolean)]).collect();
            let row = |of: crate::item::OfType| {
                let values = vec![
                    FigureValue::Text(Some(of.name.clone())),
                    FigureValue::Number(Some(of.waiting)),
                    FigureValue::Number(Some(of.due)),
                    FigureValue::Number(of.oldest_due_ms),
                    FigureValue::Number(Some(of.in_flight)),
                    FigureValue::Number(of.ended_per_hour),
                    FigureValue::Number(of.arrivals_last_hour),
                    FigureValue::Number(of.claimed_mean_ms),
                    FigureValue::Number(of.workers_needed),
                    FigureValue::Is(of.capped),
                ];
                (of.name, values)
            };
            rows(columns, queue.watch(MOST)?.types.into_iter().map(row))
        }
        trend if trend.split(' ').next() == Some("trend") => {
            let apart = apart(trend)?;
            let names =
                ["ArrivalsPerHour", "EndedPerHour", "Depth", "DepthInAnHour", "WorkersNeeded", "WorkersToCatchUp"];
            let columns = names
                .map(|name| (name, Integer))
                .into_iter()
                .chain([("Counted", Boolean), ("WindowMs", Integer)])
                .collect();
            let (_, trend) = queue.trend(MOST, apart)?;
            let values = vec![
                FigureValue::Number(trend.arrivals_per_hour),
                FigureValue::Number(trend.ended_per_hour),
                FigureValue::Number(Some(trend.depth)),
                FigureValue::Number(trend.depth_in_an_hour),
                FigureValue::Number(trend.workers_needed),
                FigureValue::Number(trend.workers_to_catch_up),
                FigureValue::Is(trend.counted),
                FigureValue::Number(trend.window_ms),
            ];
            rows(columns, [(queue.name().to_owned(), values)].into_iter())
        }
        "attempts" => {
            let texts = [("Outcome", Text), ("Step", Text), ("Response", Text), ("Error", Text)];
            let columns = [("AttemptNum", Integer), ("Worker", Text), ("StartedAt", Timestamp), ("EndedAt", Timestamp)];
            let row = |attempt: crate::item::Attempt| {
                let values = vec![
                    FigureValue::Number(Some(attempt.number.into())),
                    FigureValue::Text(attempt.worker),
                    FigureValue::Text(attempt.started),
                    FigureValue::Text(Some(attempt.ended)),
                    FigureValue::Text(Some(attempt.outcome.as_str().to_owned())),
                    FigureValue::Text(attempt.step),
                    FigureValue::Text(attempt.response),
                    FigureValue::Text(attempt.error),
                ];
                (key.to_owned(), values)
            };
            rows(columns.into_iter().chain(texts).collect(), queue.attempts(key)?.into_iter().map(row))
        }
        other => {
            let known = "\"steps\", \"types\", \"trend\", \"trend MS\" and \"attempts\"";
            return Err(CallFailure::argument(format!(
                "there are no figures of {}; there are those of {known}",
                Excerpt(other)
            )));
        }
    };
    Ok(Batch::new(table, 0))
}

/// The pause between the two looks of a trend; zero by default.
fn apart(of: &str) -> Result<Duration, CallFailure> {
    let Some((_, ms)) = of.split_once(' ') else { return Ok(Duration::ZERO) };
    let ms = ms.parse().ok().filter(|ms| (1..=LONGEST_MS).contains(ms)).ok_or_else(|| {
        CallFailure::argument(format!(
            "{of:?}: after \"trend \" stands how many milliseconds two looks are apart, from 1 to {LONGEST_MS}"
        ))
    })?;
    Ok(Duration::from_millis(ms))
}

/// The rows of a batch: the step, type or attempt stands in place of a key.
fn rows(columns: Vec<(&'static str, ColumnType)>, figures: impl Iterator<Item = (String, Vec<FigureValue>)>) -> Rows {
    let answers = (0..answer_column::COUNT).map(|_| ("", ColumnType::Text));
    let column = |(name, kind): (&str, ColumnType)| Column { name: name.to_owned(), kind };
    let columns: Vec<_> = answers.chain(columns).map(column).collect();
    let mut rows = Rows::new(columns.into());
    for (key, values) in figures {
        for place in 0..answer_column::COUNT {
            match place {
                answer_column::KEY => rows.push_text(|text| text.push_str(&key)),
                answer_column::TOKEN => rows.push_text(|_| ()),
                answer_column::ATTEMPT => rows.push(Cell::Integer(0)),
                _ => rows.push(Cell::Null),
            }
        }
        for value in values {
            match value {
                FigureValue::Number(Some(number)) => rows.push(Cell::Integer(number)),
                FigureValue::Is(is) => rows.push(Cell::Boolean(is)),
                FigureValue::Text(Some(value)) => rows.push_text(|text| text.push_str(&value)),
                FigureValue::Number(None) | FigureValue::Text(None) => rows.push(Cell::Null),
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_says_how_far_apart_its_looks_are() {
        for (of, ms) in [("trend", 0), ("trend 1", 1), ("trend 600000", LONGEST_MS)] {
            assert!(apart(of).is_ok_and(|apart| apart == Duration::from_millis(ms)), "{of}");
        }
        for of in ["trend ", "trend 0", "trend 600001", "trend -1", "trend 5s", "trend 1 2"] {
            assert!(apart(of).is_err(), "{of}");
        }
    }
}
