//! How far items are: reports of those who work on them, and looks at them.

use super::answers;
use super::count::check_count;
use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::description::put_key;
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{MAX_ITEMS, Outcome, Progress, ProgressReport, Rows, Value, kept_percent, kept_text};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells, Session};
use serde_json::json;

/// Keeps `reports`, at most [`MAX_ITEMS`] in a call; `make` makes each call.
pub(crate) fn report(
    terms: &CallTerms,
    calls: &Calls,
    reports: &[ProgressReport<'_>],
    make: impl Fn(&mut dyn FnMut(&mut Session) -> Result<Rows>) -> Result<Rows>,
) -> Result<Vec<Outcome>> {
    let call = calls.report.as_ref().ok_or_else(|| unsupported(terms))?;
    let mut outcomes = Vec::with_capacity(reports.len());
    for part in reports.chunks(MAX_ITEMS as usize) {
        let items = part.iter().map(|report| one_to_json(terms, report)).collect::<Result<Vec<_>>>()?;
        let items = format!("[{}]", items.join(","));
        let params = [Param::Text(&terms.worker), Param::Text(&items)];
        let rows = make(&mut |session| session.call(call, &params, ReadCells::Answers))?;
        outcomes.extend(answers::outcomes(&rows, part.len())?);
    }
    Ok(outcomes)
}

/// An element of the array that the procedure reads.
fn one_to_json(terms: &CallTerms, report: &ProgressReport<'_>) -> Result<String> {
    terms.check_key(report.key)?;
    let mut out = String::from("{\"key\":");
    put_key(&mut out, terms.key_form(), report.key).map_err(|why| Error::new(ErrorKind::InvalidItem, why))?;
    let (percent, text) = (kept_percent(report.percent), report.text.and_then(kept_text));
    let more = json!({"token": report.token, "attempt": report.attempt, "percent": percent, "text": text}).to_string();
    Ok(out + "," + more.trim_start_matches('{'))
}

/// The error of a queue whose description has no `progress`.
pub(crate) fn unsupported(terms: &CallTerms) -> Error {
    let message =
        format!("the description of queue {} lacks \"progress = true\": its items report no progress", terms.queue());
    Error::new(ErrorKind::Unsupported, message)
}

pub(crate) fn progress(on: &dyn Sessions, terms: &CallTerms, calls: &Calls, keys: &[&str]) -> Result<Vec<Progress>> {
    let Some(call) = calls.progress.as_ref().filter(|_| !keys.is_empty()) else { return Ok(Vec::new()) };
    check_count("the number of keys", u32::try_from(keys.len()).unwrap_or(u32::MAX))?;
    let keys = keys.iter().map(|key| terms.check_key(key)).collect::<Result<Vec<_>>>()?;
    let keys = json!(keys).to_string();
    let params = [Param::Text(&keys)];
    let rows =
        on.ask(CallKind::Progress, YieldsTo::Closing, |session| session.call(call, &params, ReadCells::Times))?;
    (0..rows.len()).map(|row| one(terms, &rows, row)).collect()
}

fn one(terms: &CallTerms, rows: &Rows, row: usize) -> Result<Progress> {
    let text = |column| if let Value::Text(text) = rows.value(row, column) { Some(text.to_owned()) } else { None };
    let percent = if let Value::Integer(percent) = rows.value(row, 1) { i32::try_from(percent).ok() } else { None };
    match (text(0), text(3)) {
        (Some(key), Some(reported)) => Ok(Progress { key: terms.key_of(key), percent, text: text(2), reported }),
        _ => Err(Error::new(ErrorKind::Protocol, "the server returned a malformed progress")),
    }
}
