//! Pauses of a queue and of its types: begun, ended, listed.

use super::record::{ask, stem};
use super::sessions::Sessions;
use super::terms::CallTerms;
use crate::catalog::{number, optional_text, text};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Pause, PauseEnd, Rows};
use crate::metrics::CallKind;
use crate::session::Param;

/// Pauses the queue, or one type.
pub(crate) fn pause(
    on: &dyn Sessions,
    terms: &CallTerms,
    kind: Option<&str>,
    end: PauseEnd,
    who: &str,
    reason: Option<&str>,
) -> Result<()> {
    let queue = stem(terms);
    let (until, for_ms) = end.written();
    let params = [
        Param::Text(&queue),
        Param::OptionalText(kind),
        Param::OptionalText(until.as_deref()),
        Param::OptionalLong(for_ms),
        Param::Text(who),
        Param::OptionalText(reason),
    ];
    let refused = |error: Error| match terms.dialect.refuses_argument(&error) {
        true => Error::new(ErrorKind::InvalidArgument, error.message().to_owned()),
        false => error,
    };
    ask(on, terms, CallKind::Pauses, "pause_begin", &params).map(drop).map_err(refused)
}

/// Resumes the queue, or one type: whether it was paused.
pub(crate) fn resume(on: &dyn Sessions, terms: &CallTerms, kind: Option<&str>) -> Result<bool> {
    let queue = stem(terms);
    let rows = ask(on, terms, CallKind::Pauses, "pause_end", &[Param::Text(&queue), Param::OptionalText(kind)])?;
    Ok(number(&rows, 0, 0) == Some(1))
}

/// The pauses in force, that of all of the queue first.
pub(crate) fn pauses(on: &dyn Sessions, terms: &CallTerms) -> Result<Vec<Pause>> {
    let queue = stem(terms);
    ask(on, terms, CallKind::Pauses, "pauses", &[Param::Text(&queue)]).map(|rows| pauses_of(&rows))
}

/// The pauses that the rows of the call are.
pub(crate) fn pauses_of(rows: &Rows) -> Vec<Pause> {
    let pause = |row| {
        let people = [3, 4].map(|column| text(rows, row, column));
        let since = number(rows, row, 1).unwrap_or(0);
        Pause::new(&text(rows, row, 0), since, number(rows, row, 2), people, optional_text(rows, row, 5))
    };
    (0..rows.len()).map(pause).collect()
}
