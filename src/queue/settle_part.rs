//! Settles as many items as one transaction takes, counts them, and wakes the waiters for items that are due again.

use super::follow::Followers;
use super::inner::QueueInner;
use crate::calls::{Sessions, SettleAnswer, Settling};
use crate::error::Result;
use crate::item::{Answer, ItemState, Outcome, Settlement};

/// Settles, and claims in the same call if the backend can and nothing follows. The caller handles the claim's answer.
pub(super) fn settle_part(
    queue: &QueueInner,
    on: &dyn Sessions,
    what: &Settling<'_>,
    followers: Option<&Followers>,
) -> Result<SettleAnswer> {
    let recover = if what.max > 0 { queue.process.polls.recovery(queue.recover_interval) } else { 0 };
    let what = Settling { recover, ..*what };
    let settled = match followers {
        Some(followers) => followers.settle(queue, on, &what)?,
        None => queue.backend.settle(on, &queue.terms, &what)?,
    };
    count(queue, what.settlements, &settled.outcomes);
    wake_for(queue, what.settlements, &settled.outcomes);
    Ok(settled)
}

/// Counts an item of a claim that is not settled as lost; an operator's as refused.
pub(super) fn count(queue: &QueueInner, settlements: &[Settlement<'_>], outcomes: &[Outcome]) {
    queue.counters.settles(outcomes, |i| settlements.get(i).is_some_and(|settlement| settlement.attempt > 0));
}

/// Wakes waiters for items that are due again.
fn wake_for(queue: &QueueInner, settlements: &[Settlement<'_>], outcomes: &[Outcome]) {
    let polls = &queue.process.polls;
    let due_again = settlements.iter().zip(outcomes).filter(|(_, outcome)| {
        outcome.answer == Answer::Ok && matches!(outcome.state, Some(ItemState::Pending | ItemState::Error))
    });
    let soonest = due_again.map(|(settlement, _)| settlement.delay_ms.unwrap_or(0)).min();
    if let Some(soonest) = soonest {
        polls.due_in(soonest);
    }
    // An item that is finished lets the next one of its group go, and one that is not in work any more gives its room back.
    let spec = &queue.terms.spec;
    if !spec.limits.is_empty() || (spec.takes_turns() && soonest.is_none()) {
        polls.wake();
    }
}
