//! Schedules: their list, a planned time that has come, and changes.

use super::sessions::{Ask, Sessions, YieldsTo};
use crate::catalog::{flag, number, optional_text, text};
use crate::dialect::ScheduleCalls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Missed, Overlap, Schedule, utc_text};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells, Session};
use serde_json::value::RawValue;
use std::time::{Duration, UNIX_EPOCH};

/// The schedules of a queue, and the server's time in milliseconds since 1970.
pub(crate) struct ScheduleList {
    pub(crate) schedules: Vec<Schedule>,
    pub(crate) now_ms: i64,
}

/// A change as the procedure takes it.
#[derive(Default)]
pub(crate) struct ScheduleSet<'a> {
    pub(crate) cron: Option<&'a str>,
    pub(crate) zone: Option<&'a str>,
    pub(crate) items: Option<&'a str>,
    pub(crate) missed: Option<Missed>,
    pub(crate) overlap: Option<Overlap>,
    pub(crate) enabled: Option<bool>,
    pub(crate) remove: bool,
}

/// Lists them, the next to fire first: all, or the first `most` of those that fire.
pub(crate) fn list(session: &mut Session, calls: &ScheduleCalls, most: Option<i32>) -> Result<ScheduleList> {
    let rows = session.call(&calls.list, &[Param::OptionalInteger(most)], ReadCells::Table)?;
    let schedule = |row| Schedule {
        name: text(&rows, row, 0),
        cron: text(&rows, row, 1),
        zone: text(&rows, row, 2),
        item: item_of(&text(&rows, row, 3)),
        missed: Missed::ALL.into_iter().find(|word| word.as_str() == text(&rows, row, 4)).unwrap_or_default(),
        overlap: Overlap::ALL.into_iter().find(|word| word.as_str() == text(&rows, row, 5)).unwrap_or_default(),
        described: flag(&rows, row, 6),
        enabled: flag(&rows, row, 7),
        next_at: number(&rows, row, 8),
        last_at: number(&rows, row, 9),
        fired_at: number(&rows, row, 10),
        last_key: optional_text(&rows, row, 11),
        last_answer: optional_text(&rows, row, 12),
        late_ms: number(&rows, row, 8).zip(number(&rows, row, 13)).map(|(next, now)| (now - next * 1000).max(0)),
        words: None,
        upcoming: Vec::new(),
        problem: None,
    };
    let schedules: Vec<_> = (0..rows.len()).map(schedule).collect();
    let now_ms = if rows.is_empty() { None } else { number(&rows, 0, 13) };
    Ok(ScheduleList { schedules, now_ms: now_ms.unwrap_or(0) })
}

/// The item in an array of one.
fn item_of(items: &str) -> String {
    let items: Vec<Box<RawValue>> = serde_json::from_str(items).unwrap_or_default();
    items.first().map(|item| item.get().to_owned()).unwrap_or_default()
}

/// Moves a schedule from one planned time to the next, and with `adds` puts its item in: the answer, and the item's key. With no next
/// time it puts the item in now. One try: the next look finds the planned time moved, or not.
pub(crate) fn fire(
    session: &mut Session,
    calls: &ScheduleCalls,
    name: &str,
    (was, next): (Option<i64>, Option<i64>),
    adds: bool,
) -> Result<(String, Option<String>)> {
    let (was, next) = (was.map(time), next.map(time));
    let params = [
        Param::Text(name),
        Param::OptionalText(was.as_deref()),
        Param::OptionalText(next.as_deref()),
        Param::Integer(adds.into()),
    ];
    let rows = session.call(&calls.fire, &params, ReadCells::Table)?;
    if rows.is_empty() {
        return Err(Error::new(ErrorKind::Protocol, "the server gave no answer about a schedule"));
    }
    Ok((text(&rows, 0, 0), optional_text(&rows, 0, 1)))
}

/// Makes, changes or removes a schedule: the answer.
pub(crate) fn set(on: &dyn Sessions, calls: &ScheduleCalls, name: &str, change: &ScheduleSet<'_>) -> Result<String> {
    let params = [
        Param::Text(name),
        Param::OptionalText(change.cron),
        Param::OptionalText(change.zone),
        Param::OptionalText(change.items),
        Param::OptionalText(change.missed.map(Missed::as_str)),
        Param::OptionalText(change.overlap.map(Overlap::as_str)),
        Param::OptionalInteger(change.enabled.map(i32::from)),
        Param::Integer(change.remove.into()),
    ];
    on.ask(CallKind::Schedules, YieldsTo::Closing, |session| {
        let rows = session.call(&calls.set, &params, ReadCells::Table)?;
        Ok(if rows.is_empty() { String::new() } else { text(&rows, 0, 0) })
    })
}

/// A time as both servers read it.
fn time(seconds: i64) -> String {
    utc_text(UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs()))
}
