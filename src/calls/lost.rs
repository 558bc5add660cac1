//! A claim whose answer was lost on the way: it has left its number with the items, and the next try asks for those first. Items
//! that nobody asks for come back when their lease is over.

use super::claim::{self, Claimed};
use super::operation::leaves_open;
use super::terms::Terms;
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
        terms: &Terms,
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
        let number = number_of(&Uuid::now_v7().to_string());
        claim(session, Some(number)).inspect_err(|error| self.lost = leaves_open(error).then_some(number))
    }
}

/// The items that the claim of this number took and still holds.
pub(super) fn claimed_before(
    session: &mut Session,
    terms: &Terms,
    calls: &Calls,
    number: i64,
) -> Result<Option<Claimed>> {
    let Some(statement) = &calls.claimed else { return Ok(None) };
    let params = [Param::Text(&terms.worker), Param::OptionalLong(Some(number))];
    let rows = terms.claiming(session, statement, &params)?;
    let any = !rows.is_empty() || rows.has_withheld();
    any.then(|| claim::read(terms, rows, 0)).transpose()
}

pub(super) fn left_to_its_lease(terms: &Terms, error: &Error) {
    log::warn!("queue {}: a claim whose answer was lost is left to its lease: {error}", terms.queue());
}

/// The number of a claim, made of the identity of its call: above zero, and no other's.
pub(super) fn number_of(identity: &str) -> i64 {
    let drawn = Uuid::new_v5(&Uuid::NAMESPACE_OID, identity.as_bytes());
    let (_, low) = drawn.as_u64_pair();
    low.cast_signed().saturating_abs().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_claim_has_a_number_of_its_own_and_keeps_it() {
        let identities: Vec<_> = (0..10_000).map(|_| Uuid::now_v7().to_string()).collect();
        let numbers: BTreeSet<_> = identities.iter().map(|identity| number_of(identity)).collect();
        assert_eq!(numbers.len(), identities.len());
        assert!(numbers.iter().all(|number| *number > 0));
        assert_eq!(number_of(&identities[0]), number_of(&identities[0]));
    }
}
