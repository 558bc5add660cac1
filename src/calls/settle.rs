//! Settles, with a claim of the next items in the same commit.

use super::answers;
use super::claim::{self, Claimed};
use super::lost;
use super::operation::{Attempts, Operation};
use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::dialect::Calls;
use crate::error::Result;
use crate::item::{Outcome, Rows, Settlement};
use crate::metrics::CallKind;
use crate::session::{Param, Session};
use std::sync::Arc;

/// The outcomes that the server is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// All of them.
    All,
    /// Those that are not Completed now, where the server can leave out the others, which are nearly all. Their tokens are
    /// unknown then; the missing rows cost nothing to send and to read.
    OthersOnly,
}

/// The answer to a settle.
pub(crate) struct SettleAnswer {
    pub(crate) outcomes: Vec<Outcome>,
    /// `None`: no claim was made with it.
    pub(crate) claimed: Option<Claimed>,
}

/// A settle to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Settling<'a> {
    pub(crate) settlements: &'a [Settlement<'a>],
    /// The same as the procedure reads them.
    pub(crate) json: &'a str,
    pub(crate) operation: &'a Operation,
    pub(crate) answers: Answers,
    /// Items to claim, at most.
    pub(crate) max: i32,
    /// The parameter of a recovery, with a claim.
    pub(crate) recover: i32,
}

impl Settling<'_> {
    pub(crate) fn without_claim(self) -> Self {
        Self { max: 0, recover: 0, ..self }
    }
}

/// Settles in a transaction of its own.
pub(crate) fn settle(on: &dyn Sessions, terms: &CallTerms, calls: &Calls, what: &Settling<'_>) -> Result<SettleAnswer> {
    let number = (what.max > 0).then(|| lost::number_within(&what.operation.id));
    let mut params = vec![Param::Text(&what.operation.id), Param::Text(&terms.worker), Param::Text(what.json)];
    params.extend(terms.of_claim(what.max, Some(what.recover), number));
    let (call, statement) = match (what.max > 0, what.answers) {
        (true, Answers::All) => (CallKind::SettleAndClaim, &calls.settle),
        (true, Answers::OthersOnly) => (CallKind::SettleAndClaim, &calls.settle_tersely),
        (false, Answers::All) => (CallKind::Settle, &calls.settle),
        (false, Answers::OthersOnly) => (CallKind::Settle, &calls.settle_tersely),
    };
    let mut attempts = Attempts::default();
    let result = on.ask(call, YieldsTo::Closing, |session| attempts.note(terms.claiming(session, statement, &params)));
    let rows = attempts.conclude(what.operation, result)?;
    let (outcomes, answered) = match what.answers {
        Answers::All => (answers::outcomes_of(&rows, what.settlements)?, what.settlements.len()),
        Answers::OthersOnly => answers::outcomes_of_others(&rows, what.settlements)?,
    };
    let has_more = rows.len() > answered || rows.has_undeliverable();
    let claimed = match number {
        None => None,
        Some(_) if has_more => Some(claim::read(terms, rows, answered)?),
        Some(_) if calls.claimed.is_none() => Some(Claimed::default()),
        // A repeated call answers for the settled items only; their outcome is known, whatever the claim returns.
        Some(number) => {
            let before = on.ask(CallKind::Claim, YieldsTo::Interrupts, |session| {
                lost::claimed_before(session, terms, calls, number)
            });
            let before = before.inspect_err(|error| lost::left_to_its_lease(terms, error));
            Some(before.ok().flatten().unwrap_or_default())
        }
    };
    Ok(SettleAnswer { outcomes, claimed })
}

/// Settles inside the open transaction; `make` makes the call. It has no identity unless the caller gave one.
pub(crate) fn settle_within(
    terms: &CallTerms,
    calls: &Calls,
    settlements: &[Settlement<'_>],
    json: &str,
    identity: Option<&str>,
    make: impl FnOnce(&Arc<str>, &[Param<'_>]) -> Result<Rows>,
) -> Result<Vec<Outcome>> {
    let params = within(terms, identity, json, 0);
    answers::outcomes_of(&make(&calls.settle_within, &params)?, settlements)
}

/// Claims one item inside the open transaction.
pub(crate) fn claim_within(session: &mut Session, terms: &CallTerms, calls: &Calls) -> Result<Claimed> {
    claim::read(terms, terms.claiming(session, &calls.settle_within, &within(terms, None, "[]", 1))?, 0)
}

/// The outcome of the one item that `json` settles in the open transaction.
pub(crate) fn settle_one_within(
    session: &mut Session,
    terms: &CallTerms,
    calls: &Calls,
    json: &str,
) -> Result<Outcome> {
    let rows = terms.claiming(session, &calls.settle_within, &within(terms, None, json, 0))?;
    answers::outcomes(&rows, 1).map(|mut outcomes| outcomes.remove(0))
}

fn within<'a>(terms: &'a CallTerms, identity: Option<&'a str>, json: &'a str, max: i32) -> Vec<Param<'a>> {
    let mut params = vec![Param::OptionalText(identity), Param::Text(&terms.worker), Param::Text(json)];
    params.extend(terms.of_claim(max, Some(0), None));
    params
}
