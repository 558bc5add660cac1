//! What a claim took whose answer was lost on the way: the claim leaves its number with the items, and who tries again asks for
//! those first. What nobody asks for comes back when its lease is over.

use super::interrupt::YieldsTo;
use super::operation::leaves_open;
use super::{Inner, claim, claiming};
use crate::dialect::Calls;
use crate::error::Result;
use crate::item::{Batch, Rows};
use crate::metrics::Call;
use crate::session::{Param, Session};
use std::sync::Arc;
use uuid::Uuid;

/// The tries of one claim.
#[derive(Default)]
pub(super) struct Tries {
    /// The number of the try before, if it may have claimed.
    lost: Option<i64>,
}

impl Tries {
    /// One try: what the try before has claimed, or what `claim` does under a number of its own. Had each the same number, the one
    /// before, when it commits late, would add to what a third one finds, which may then be too much.
    pub(super) fn make(
        &mut self,
        queue: &Inner,
        calls: &Calls,
        session: &mut Session,
        claim: impl FnOnce(&mut Session, Option<i64>) -> Result<Rows>,
    ) -> Result<Rows> {
        let Some(statement) = &calls.claimed else { return claim(session, None) };
        if let Some(number) = self.lost {
            match look(queue, session, statement, number) {
                Ok(rows) if rows.is_empty() && !rows.has_withheld() => {}
                Ok(rows) => {
                    log::info!("queue {}: a claim is found whose answer was lost", queue.spec.queue.as_str());
                    return Ok(rows);
                }
                Err(error) if error.kind().is_transient() => return Err(error),
                Err(error) => left_to_its_lease(queue, &error),
            }
            self.lost = None;
        }
        let number = number_of(&Uuid::now_v7().to_string());
        claim(session, Some(number)).inspect_err(|error| self.lost = leaves_open(error).then_some(number))
    }
}

/// What a settle of the same call claimed that is repeated now. It is known what was settled, whatever comes of this.
pub(super) fn claimed_with_a_settle(queue: &Inner, calls: &Calls, number: i64, wakes: u64) -> Option<Batch> {
    let statement = calls.claimed.as_ref()?;
    let found = queue
        .with_session_yielding(Call::Claim, YieldsTo::Interrupts, |session| look(queue, session, statement, number));
    let found = found.and_then(|rows| {
        let any = !rows.is_empty() || rows.has_withheld();
        any.then(|| claim::claimed(queue, rows, 0, wakes)).transpose()
    });
    found.inspect_err(|error| left_to_its_lease(queue, error)).ok().flatten()
}

fn look(queue: &Inner, session: &mut Session, statement: &Arc<str>, number: i64) -> Result<Rows> {
    claiming(queue, session, statement, &[Param::Text(&queue.worker), Param::OptionalLong(Some(number))])
}

fn left_to_its_lease(queue: &Inner, error: &crate::error::Error) {
    log::warn!(
        "queue {}: what a claim took whose answer was lost is left to its lease: {error}",
        queue.spec.queue.as_str()
    );
}

/// The number of a claim, from what it or the call that it is a part of is recognized by: above zero, and no other's.
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
