//! Claim, call and settle in one transaction.

use super::call::{Handler, HandlerResult};
use super::outcome::{ClaimedItem, TransactionEnd, Undone, Worked};
use crate::calls::{ClaimResult, claim_within, settle_one_within, settlements_to_json};
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Answer, Batch, Outcome};
use crate::queue::{QueueInner, end_of_undeliverable, reason_of_undeliverable};
use crate::session::Session;

/// A handler at work on the items of a queue.
pub(super) struct TransactionWork<'a> {
    pub(super) queue: &'a QueueInner,
    pub(super) handler: &'a Handler,
}

impl TransactionWork<'_> {
    /// One claim, call and settle. Returns the error of the claim or of the commit.
    pub(super) fn transaction(&self, session: &mut Session) -> Result<TransactionEnd> {
        let terms = &self.queue.terms;
        let (mut taken, mut may_be_done) = (None, false);
        let result = session.transaction(|session| {
            let batch = self.claim(session)?;
            let Some(item) = batch.get(0) else { return Ok(Err(batch.calls_for_another())) };
            let claim =
                ClaimedItem { key: item.key().to_owned(), token: item.token().to_owned(), attempt: item.attempt() };
            taken = Some(claim.clone());
            let result = self.handler.call(session, &item, &terms.worker)?.checked(&terms.spec).map_err(|why| {
                Error::new(ErrorKind::Database, format!("what {} gave: {why}", self.handler.name()))
            })?;
            let outcome = self.settle(session, &claim, &result)?;
            may_be_done = true;
            if outcome.answer != Answer::Ok {
                let message = format!(
                    "{} left the item unsettled: it asked for {}, and the answer is {:?}; it must neither commit, roll back nor \
                     settle its item itself",
                    self.handler.name(),
                    result.status,
                    outcome.answer
                );
                return Err(Error::new(ErrorKind::Database, message));
            }
            Ok(Ok(Worked { key: claim.key, attempt: claim.attempt, state: outcome.state, error: result.error }))
        });
        match (result, taken) {
            (Ok(Err(did_others)), _) => Ok(if did_others { TransactionEnd::Others } else { TransactionEnd::Empty }),
            (Ok(Ok(worked)), _) => Ok(TransactionEnd::Done(worked)),
            (Err(error), Some(_)) if is_nobodys(error.kind()) => Err(error),
            (Err(error), Some(taken)) => Ok(TransactionEnd::Undone(Undone { taken, error, may_be_done })),
            (Err(error), None) => Err(error),
        }
    }

    /// Claims one item in the open transaction, and ends it there if it is undeliverable.
    fn claim(&self, session: &mut Session) -> Result<Batch> {
        let queue = self.queue;
        let (polls, kinds) = (&queue.process.polls, &queue.terms.kinds.key);
        let wakes = polls.wakes(kinds);
        let claimed = claim_within(session, &queue.terms, calls(queue)?)?;
        for item in &claimed.undeliverable {
            let reason = reason_of_undeliverable(queue, item);
            let json = settlements_to_json(&queue.terms, &[end_of_undeliverable(item, &reason)], 0)?;
            settle_one_within(session, &queue.terms, calls(queue)?, &json)?;
        }
        Ok(match claimed.found {
            ClaimResult::Items(batch) => {
                queue.took();
                batch
            }
            ClaimResult::Others => Batch::behind_others(),
            ClaimResult::Nothing(due) => {
                polls.found_nothing(kinds, wakes, due);
                Batch::default()
            }
            ClaimResult::Unknown => Batch::default(),
        })
    }

    /// Settles the item in the open transaction.
    pub(super) fn settle(&self, session: &mut Session, taken: &ClaimedItem, result: &HandlerResult) -> Result<Outcome> {
        let queue = self.queue;
        let items = result.to_json(&taken.key, &taken.token, taken.attempt, queue.terms.key_form())?;
        settle_one_within(session, &queue.terms, calls(queue)?, &items)
    }
}

pub(super) fn calls(queue: &QueueInner) -> Result<&Calls> {
    queue.backend.calls("be worked on by a procedure", "they commit by themselves")
}

/// Whether no item caused the error, which would cost each an attempt: the set-up is wrong.
fn is_nobodys(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PermissionDenied
            | ErrorKind::SchemaMismatch
            | ErrorKind::InvalidConfig
            | ErrorKind::Storage
            | ErrorKind::Closed
            | ErrorKind::Forked
    )
}
