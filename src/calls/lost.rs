//! A claim whose answer was lost on the way: it has left its number with the items, and the next try asks for those first. Items
//! that nobody asks for come back when their lease is over.

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
    /// The number of the try before, if it may have claimed.
    lost: Option<i64>,
}

impl Tries {
    /// One try: what the try before has claimed, or what `claim` does under a number of its own. Had each the same number, the one
    /// before, when it commits late, would add to what a third one finds, which may then be too much.
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
                    log::info!("queue {}: a claim is found whose answer was lost", terms.queue());
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

/// The items that the claim of this number took and still holds.
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

/// The number of the claim in the call of this identity, which a repetition has too. The identity may be the caller's, and any part of
/// it the same in many.
pub(super) fn number_within(operation: &str) -> i64 {
    number_of(Uuid::new_v5(&Uuid::NAMESPACE_OID, operation.as_bytes()))
}

/// The number of a claim, from what was drawn for it: above zero, and no other's. The random part of it is the lower half.
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
