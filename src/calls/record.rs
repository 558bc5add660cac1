//! The records that the database keeps: actions of operators, workers, the figures of each minute.

use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::catalog::{number, optional_text, text};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{ItemState, Minute, OperatorAction, RegisteredWorker, Rows, Watched, text_of_us, time_of_ms};
use crate::metrics::CallKind;
use crate::session::{Param, Session};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

/// An action to record.
pub(crate) struct NewAction<'a> {
    pub(crate) verb: &'a str,
    pub(crate) who: &'a str,
    pub(crate) filter: Option<&'a str>,
    /// Running, Done or Failed.
    pub(crate) state: &'a str,
    pub(crate) expected: Option<i64>,
    pub(crate) done: i64,
    pub(crate) refused: i64,
    pub(crate) result: Option<&'a str>,
}

/// A step of an action on many items.
#[derive(Default)]
pub(crate) struct ActionStep<'a> {
    /// The holder; `None` asks for a cancel.
    pub(crate) owner: Option<&'a str>,
    pub(crate) lease_ms: i32,
    pub(crate) done: i64,
    pub(crate) refused: i64,
    pub(crate) place: Option<&'a str>,
    /// The end, if it is one.
    pub(crate) state: Option<&'a str>,
    pub(crate) result: Option<&'a str>,
}

/// Records an action; its number. It is not tried again: it might be recorded twice.
pub(crate) fn note(session: &mut Session, terms: &CallTerms, action: &NewAction<'_>) -> Result<i64> {
    let queue = stem(terms);
    let params = [
        Param::Text(&queue),
        Param::Text(action.verb),
        Param::Text(action.who),
        Param::OptionalText(action.filter),
        Param::Text(action.state),
        Param::OptionalLong(action.expected),
        Param::OptionalLong(Some(action.done)),
        Param::OptionalLong(Some(action.refused)),
        Param::OptionalText(action.result),
    ];
    let rows = run(session, terms, "action_note", &params)?;
    number(&rows, 0, 0).ok_or_else(|| Error::new(ErrorKind::Protocol, "the server gave no number of an action"))
}

/// Makes a step of an action; its state, or `None` where it has ended or another process holds it.
pub(crate) fn step(
    session: &mut Session,
    terms: &CallTerms,
    number: i64,
    step: &ActionStep<'_>,
) -> Result<Option<String>> {
    let params = [
        Param::OptionalLong(Some(number)),
        Param::OptionalText(step.owner),
        Param::Integer(step.lease_ms),
        Param::OptionalLong(Some(step.done)),
        Param::OptionalLong(Some(step.refused)),
        Param::OptionalText(step.place),
        Param::OptionalText(step.state),
        Param::OptionalText(step.result),
    ];
    let rows = run(session, terms, "action_step", &params)?;
    Ok(optional_text(&rows, 0, 0))
}

/// The newest actions: of the queue or of all, of one number, below a number.
pub(crate) fn actions(
    on: &dyn Sessions,
    terms: &CallTerms,
    of_queue: bool,
    number: Option<i64>,
    below: Option<i64>,
    most: i32,
) -> Result<Vec<OperatorAction>> {
    let queue = of_queue.then(|| stem(terms));
    let params = [
        Param::OptionalText(queue.as_deref()),
        Param::OptionalLong(number),
        Param::OptionalLong(below),
        Param::Integer(most),
    ];
    let rows = ask(on, terms, CallKind::Actions, "actions", &params)?;
    Ok((0..rows.len()).map(|row| action(&rows, row)).collect())
}

/// Whether this very record of arrived items is there: by the session, in its transaction.
pub(crate) fn has_arrived(session: &mut Session, terms: &CallTerms, record: &str) -> Result<bool> {
    let queue = stem(terms);
    let params = [Param::Text(&queue), Param::Text(record)];
    Ok(!run(session, terms, "action_arrived", &params)?.is_empty())
}

/// The actions on many items that no process is at work on, and the records of items on their way, each with its verb.
pub(crate) fn open(on: &dyn Sessions, terms: &CallTerms) -> Result<Vec<(i64, String)>> {
    let queue = stem(terms);
    let rows = ask(on, terms, CallKind::Actions, "actions_open", &[Param::Text(&queue)])?;
    Ok((0..rows.len()).filter_map(|row| number(&rows, row, 0).zip(optional_text(&rows, row, 1))).collect())
}

/// A worker that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeenWorker {
    /// Its queue, as in the rows of the schema.
    queue: String,
    worker: String,
    /// How long its lock may be free; 0: no session of it has one.
    grace_ms: i64,
}

impl SeenWorker {
    pub(crate) fn of(terms: &CallTerms, grace_ms: i64) -> Self {
        Self { queue: stem(terms), worker: terms.worker.clone(), grace_ms }
    }
}

/// The session takes the lock of its worker.
pub(crate) fn take_lifeline(session: &mut Session, terms: &CallTerms) -> Result<()> {
    run(session, terms, "lifeline", &[Param::Text(&stem(terms)), Param::Text(&terms.worker)]).map(drop)
}

/// Makes sure that the session lives.
pub(crate) fn prove(session: &mut Session, terms: &CallTerms) -> Result<()> {
    run(session, terms, "prove", &[]).map(drop)
}

/// Reports that these workers of the process are there.
pub(crate) fn seen(session: &mut Session, terms: &CallTerms, workers: &BTreeSet<SeenWorker>, host: &str) -> Result<()> {
    let member = |seen: &SeenWorker| json!({"queue": seen.queue, "worker": seen.worker, "grace": seen.grace_ms});
    let workers = workers.iter().map(member).collect::<Value>().to_string();
    let params = [
        Param::Text(&workers),
        Param::Text(host),
        Param::OptionalLong(Some(i64::from(std::process::id()))),
        Param::Text(env!("CARGO_PKG_VERSION")),
    ];
    run(session, terms, "workers_seen", &params).map(drop)
}

/// The workers in the registry, those that reported last first.
pub(crate) fn workers(on: &dyn Sessions, terms: &CallTerms) -> Result<Vec<RegisteredWorker>> {
    let queue = stem(terms);
    let rows = ask(on, terms, CallKind::Workers, "workers", &[Param::Text(&queue)])?;
    let worker = |row| RegisteredWorker {
        worker: text(&rows, row, 0),
        host: text(&rows, row, 1),
        process: number(&rows, row, 2).unwrap_or(0),
        version: text(&rows, row, 3),
        started_at: text_of_us(number(&rows, row, 4).unwrap_or(0)),
        seen_at: text_of_us(number(&rows, row, 5).unwrap_or(0)),
        seen_ms: number(&rows, row, 6).unwrap_or(0).max(0),
    };
    Ok((0..rows.len()).map(worker).collect())
}

/// Keeps these figures as those of this minute, each of a queue by its name in names of objects; without figures it asks whether no
/// process keeps them. The places of those that were kept, or are to be.
pub(crate) fn keep_minutes(
    session: &mut Session,
    terms: &CallTerms,
    minutes: &[(&str, Option<&Watched>)],
) -> Result<Vec<usize>> {
    let member = |(queue, watched): &(&str, Option<&Watched>)| match watched {
        None => json!({"queue": queue}),
        Some(watched) => json!({
            "queue": queue, "due": watched.stats.due, "oldest_ms": watched.stats.oldest_due_ms,
            "in_flight": watched.stats.count(ItemState::Processing), "failed": watched.stats.count(ItemState::Failed),
            "ended": watched.ended_per_minute,
        }),
    };
    let minutes = minutes.iter().map(member).collect::<Value>().to_string();
    let rows = run(session, terms, "minute_keep", &[Param::Text(&minutes)])?;
    Ok((0..rows.len()).filter_map(|row| number(&rows, row, 0).and_then(|place| usize::try_from(place).ok())).collect())
}

/// The minutes after `since`, the oldest first.
pub(crate) fn minutes(on: &dyn Sessions, terms: &CallTerms, since: SystemTime) -> Result<Vec<Minute>> {
    let queue = stem(terms);
    let since = since.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0));
    let params = [Param::Text(&queue), Param::OptionalLong(Some(since))];
    let rows = ask(on, terms, CallKind::Minutes, "minutes", &params)?;
    let minute = |row| Minute {
        at: time_of_ms(number(&rows, row, 0).unwrap_or(0)),
        due: number(&rows, row, 1).unwrap_or(0),
        oldest_ms: number(&rows, row, 2),
        in_flight: number(&rows, row, 3).unwrap_or(0),
        failed: number(&rows, row, 4).unwrap_or(0),
        ended: number(&rows, row, 5).unwrap_or(0),
    };
    Ok((0..rows.len()).map(minute).collect())
}

/// The queue's name in its rows.
pub(crate) fn stem(terms: &CallTerms) -> String {
    terms.dialect.queue_stem(&terms.spec.queue)
}

fn run(session: &mut Session, terms: &CallTerms, name: &str, params: &[Param<'_>]) -> Result<Rows> {
    session.execute(&terms.dialect.schema_call(name, &terms.schema)?, params)
}

pub(super) fn ask(
    on: &dyn Sessions,
    terms: &CallTerms,
    call: CallKind,
    name: &str,
    params: &[Param<'_>],
) -> Result<Rows> {
    on.ask(call, YieldsTo::Closing, |session| run(session, terms, name, params))
}

fn action(rows: &Rows, row: usize) -> OperatorAction {
    OperatorAction {
        number: number(rows, row, 0).unwrap_or(0),
        queue: text(rows, row, 1),
        verb: text(rows, row, 2),
        who: text(rows, row, 3),
        login: text(rows, row, 4),
        filter: optional_text(rows, row, 5),
        state: text(rows, row, 6),
        begun_at: text_of_us(number(rows, row, 7).unwrap_or(0)),
        ended_at: number(rows, row, 8).map(text_of_us),
        expected: number(rows, row, 9),
        done: number(rows, row, 10).unwrap_or(0),
        refused: number(rows, row, 11).unwrap_or(0),
        place: optional_text(rows, row, 12),
        result: optional_text(rows, row, 13),
        is_held: number(rows, row, 14) == Some(1),
    }
}
