//! Claims whose answer was lost: the claim has marked its items with its number, and the next try asks for those first. Other
//! marked items come back when their lease is over.

use super::claim::{self, Claimed};
use super::operation::leaves_open;
use super::terms::CallTerms;
use crate::dialect::Calls;
use crate::error::{Error, Result};
use crate::session::{Param, Session};
use uuid::Uuid;

/// The tries of one claim.
#[derive(Default)]
pub(crate) struct Tries {
    /// The number of the last try, if it may have claimed.
    lost: Option<i64>,
}

impl Tries {
    /// One try: the items of the last try, or a claim under a new number. With one number for all, a try that commits late would
    /// add to the items of the next but one, which may then be too many.
    pub(crate) fn make(
        &mut self,
        session: &mut Session,
        terms: &CallTerms,
        calls: &Calls,
        claim: impl FnOnce(&mut Session, Option<i64>) -> Result<Claimed>,
    ) -> Result<Claimed> {
        if calls.claimed.is_none() {
            return claim(session, None);
        }
        if let Some(number) = self.lost {
            match claimed_before(session, terms, calls, number) {
                Ok(None) => {}
                Ok(Some(claimed)) => {
                    log::info!("queue {}: found a claim whose answer was lost", terms.queue());
                    return Ok(claimed);
                }
                Err(error) if error.kind().is_transient() => return Err(error),
                Err(error) => left_to_its_lease(terms, &error),
            }
            self.lost = None;
        }
        let number = number_of(Uuid::now_v7());
        claim(session, Some(number)).inspect_err(|error| self.lost = leaves_open(error).then_some(number))
    }
}

/// The items that the claim of this number claimed and still holds.
pub(super) fn claimed_before(
    session: &mut Session,
    terms: &CallTerms,
    calls: &Calls,
    number: i64,
) -> Result<Option<Claimed>> {
    let Some(statement) = &calls.claimed else { return Ok(None) };
    let params = [Param::Text(&terms.worker), Param::OptionalLong(Some(number))];
    let rows = terms.claiming(session, statement, &params)?;
    let any = !rows.is_empty() || rows.has_undeliverable();
    any.then(|| claim::read(terms, rows, 0)).transpose()
}

pub(super) fn left_to_its_lease(terms: &CallTerms, error: &Error) {
    log::warn!("queue {}: a claim whose answer was lost is left to its lease: {error}", terms.queue());
}

/// The number of the claim in the call of this identity, which a repetition shares. The identity may be the caller's, whose calls
/// may have parts of it in common.
pub(super) fn number_within(operation: &str) -> i64 {
    number_of(Uuid::new_v5(&Uuid::NAMESPACE_OID, operation.as_bytes()))
}

/// A unique number of a claim, from random bits: above zero. The lower half is random.
fn number_of(drawn: Uuid) -> i64 {
    let (_, low) = drawn.as_u64_pair();
    (low.cast_signed() & i64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_claim_has_a_number_of_its_own_and_keeps_it() {
        let drawn: Vec<_> = (0..10_000).map(|_| Uuid::now_v7()).collect();
        let alone = drawn.iter().map(|drawn| number_of(*drawn));
        let within = drawn.iter().map(|drawn| number_within(&drawn.to_string()));
        let numbers: BTreeSet<_> = alone.chain(within).collect();
        assert_eq!(numbers.len(), 2 * drawn.len());
        assert!(numbers.iter().all(|number| *number > 0));
        let operation = drawn[0].to_string();
        assert_eq!(number_within(&operation), number_within(&operation));
    }
}
