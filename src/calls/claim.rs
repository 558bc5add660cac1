//! Claims.

use super::answers;
use super::recover::Recovered;
use super::refused::{self, RefusedItem};
use super::terms::CallTerms;
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Batch, CLAIMED_ALONE, Rows, Undeliverable};
use crate::session::{Param, Session};
use std::time::Duration;

/// The answer to a claim.
#[derive(Default)]
pub(crate) struct Claimed {
    pub(crate) found: ClaimResult,
    /// Items that were claimed and are undeliverable: too large, say.
    pub(crate) undeliverable: Vec<Undeliverable>,
    /// Items that their table refused to have claimed, or recovered.
    pub(crate) refused: Vec<RefusedItem>,
    /// Items of dead workers that an earlier call of its own recovered.
    pub(crate) recovered: u32,
}

#[derive(Default)]
pub(crate) enum ClaimResult {
    Items(Batch),
    /// The claim only ended undeliverable items; those behind them may be due.
    Others,
    /// Nothing is due, or until then.
    Nothing(Option<Duration>),
    /// The answer leaves it open: a waiting caller is to ask again.
    #[default]
    Unknown,
}

impl Claimed {
    /// No item is known to be due.
    pub(crate) fn nothing() -> Self {
        Self { found: ClaimResult::Nothing(None), ..Self::default() }
    }

    /// The same, with the recovery that came before it in a call of its own.
    pub(crate) fn after(mut self, recovered: Recovered) -> Self {
        self.recovered += recovered.count;
        self.refused.splice(..0, recovered.refused);
        self
    }
}

/// Claims up to `max` items under this number, and recovers as `recover` says.
pub(crate) fn claim(
    session: &mut Session,
    terms: &CallTerms,
    calls: &Calls,
    max: i32,
    recover: i32,
    number: Option<i64>,
) -> Result<Claimed> {
    let params: Vec<_> =
        [Param::Text(&terms.worker)].into_iter().chain(terms.of_claim(max, Some(recover), number)).collect();
    read(terms, terms.claiming(session, &calls.claim, &params)?, 0)
}

/// The same around items that their table refuses to have claimed.
pub(crate) fn claim_apart(
    session: &mut Session,
    terms: &CallTerms,
    calls: &Calls,
    max: i32,
    number: Option<i64>,
) -> Result<Claimed> {
    let params: Vec<_> = [Param::Text(&terms.worker)].into_iter().chain(terms.of_claim(max, None, number)).collect();
    read(terms, terms.claiming(session, &calls.claim_apart, &params)?, 0)
}

/// The answer in `rows` from row `first` on.
pub(crate) fn read(terms: &CallTerms, mut rows: Rows, first: usize) -> Result<Claimed> {
    let undeliverable = rows.take_undeliverable();
    let (refused, first) = refused::read(&rows, first);
    let is_over = rows.len() == first;
    let found = match (!is_over).then(|| answers::word(&rows, first)) {
        None if !undeliverable.is_empty() => ClaimResult::Others,
        Some("CLAIMED" | CLAIMED_ALONE) => ClaimResult::Items(terms.batch(rows, first)),
        Some("EMPTY") => match answers::due_ms(&rows, first) {
            Some(0) => ClaimResult::Others,
            due => ClaimResult::Nothing(due.map(Duration::from_millis)),
        },
        other => {
            return Err(Error::new(ErrorKind::Protocol, format!("the server answered a claim with {other:?}")));
        }
    };
    Ok(Claimed { found, undeliverable, refused, recovered: 0 })
}
