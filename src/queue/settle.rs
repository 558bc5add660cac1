//! Settles claims: in parts, on the queue's connections or the caller's.

use super::attached;
use super::claim;
use super::follow;
use super::inner::QueueInner;
use super::settle_part::{count, settle_part};
use crate::calls::{Answers, MAX_ITEMS, Sessions, Settling, check_size, in_parts, settle_within, settlements_to_json};
use crate::error::Result;
use crate::item::{Batch, Outcome, Settlement};
use crate::metrics::CallKind;

impl QueueInner {
    /// Settles `settlements` and, with `max` above 0, claims that many items in the same commit as the last of them.
    pub(crate) fn settle(
        &self,
        settlements: &[Settlement<'_>],
        operation: Option<&str>,
        max: i32,
        answers: Answers,
    ) -> Result<(Vec<Outcome>, Batch)> {
        self.settle_on(self, settlements, operation, max, answers)
    }

    /// The same on sessions that may give up sooner.
    pub(crate) fn settle_on(
        &self,
        on: &dyn Sessions,
        settlements: &[Settlement<'_>],
        operation: Option<&str>,
        max: i32,
        answers: Answers,
    ) -> Result<(Vec<Outcome>, Batch)> {
        if max > 0 {
            self.refuse_attached()?;
            self.leave_lifeline()?;
        }
        if settlements.is_empty() {
            let claims = max > 0 && !self.interrupt.is_set();
            return Ok((Vec::new(), if claims { claim::look(self, max)? } else { Batch::default() }));
        }
        // All settlements are checked before the first is sent.
        let size = MAX_ITEMS as usize;
        let json =
            settlements.chunks(size).enumerate().map(|(i, part)| settlements_to_json(&self.terms, part, i * size));
        let json: Vec<_> = json.collect::<Result<_>>()?;
        let followers = settlements.chunks(size).enumerate().map(|(i, part)| follow::read(self, part, i * size));
        let followers: Vec<_> = followers.collect::<Result<_>>()?;
        let texts = |one: &Settlement<'_>| [one.set, one.response, one.error].into_iter().flatten().map(str::len).sum();
        let sizes = settlements.iter().map(texts).enumerate();
        sizes.into_iter().try_for_each(|(i, bytes)| check_size(self.terms.most_item_bytes, i, bytes))?;
        let mut batch = Batch::default();
        let outcomes = in_parts(self.terms.dialect, settlements, operation, self.attached.is_none(), |part| {
            let (json, followers) = (json[part.number].as_str(), followers[part.number].as_ref());
            if self.attached.is_some() {
                let operation = operation.is_some().then_some(&part.operation);
                let outcomes = within(self, part.items, json, operation.map(|operation| operation.id.as_str()))?;
                followers.map_or(Ok(()), |followers| followers.put_within(self, &outcomes, operation))?;
                return Ok(outcomes);
            }
            let max = if part.is_last && !self.interrupt.is_set() { max } else { 0 };
            let wakes = self.process.polls.wakes(&self.terms.kinds.key);
            let what = Settling { settlements: part.items, json, operation: &part.operation, answers, max, recover: 0 };
            let settled = settle_part(self, on, &what, followers)?;
            batch = match settled.claimed {
                Some(claimed) => claim::counted(self, claimed, wakes),
                None => claimed_after(self, max),
            };
            Ok(settled.outcomes)
        })?;
        if self.attached.is_none() {
            self.process.ends.ring();
        }
        // The claim of the last part only ended items.
        let batch = if batch.calls_for_another() { claimed_after(self, max) } else { batch };
        Ok((outcomes, batch))
    }
}

/// Claims in a call of its own, after a settle that could not.
fn claimed_after(queue: &QueueInner, max: i32) -> Batch {
    unless_failed(if max > 0 { claim::look(queue, max) } else { Ok(Batch::default()) })
}

/// The items of a claim after a settle. The caller gets the settle's outcomes in any case: another claim finds the items that this one
/// could not take.
pub(super) fn unless_failed(batch: Result<Batch>) -> Batch {
    batch.unwrap_or_else(|error| {
        log::warn!("nothing was claimed after a settle: {error}");
        Batch::default()
    })
}

/// Makes up to [`MAX_ITEMS`] settlements inside the caller's transaction. Wakes no waiter: they are not committed.
fn within(
    queue: &QueueInner,
    settlements: &[Settlement<'_>],
    json: &str,
    identity: Option<&str>,
) -> Result<Vec<Outcome>> {
    let own = attached::calls(queue)?;
    let outcomes = settle_within(&queue.terms, own, settlements, json, identity, |text, params| {
        attached::call(queue, CallKind::Settle, text, params)
    })?;
    count(queue, settlements, &outcomes);
    Ok(outcomes)
}
