//! Undeliverable items: claimed, but impossible to hand out. Each is ended by itself, so that it neither ends its worker nor is
//! claimed for ever, and the others of its claim are delivered.

use super::inner::QueueInner;
use super::settle_part::settle_part;
use crate::calls::{Answers, Settling, in_parts, settlements_to_json};
use crate::error::{ErrorKind, Result};
use crate::item::{Action, Answer, Outcome, Settlement, Undeliverable, UndeliverableReason};

/// Ends the claims of `undeliverable`. The lease returns an item that cannot be ended now.
pub(super) fn end(queue: &QueueInner, undeliverable: &[Undeliverable]) {
    if undeliverable.is_empty() {
        return;
    }
    let reasons: Vec<_> = undeliverable.iter().map(|item| reason(queue, item)).collect();
    let settlements: Vec<_> =
        undeliverable.iter().zip(&reasons).map(|(item, reason)| settlement(item, reason)).collect();
    let ended = settle(queue, &settlements).or_else(|error| match error.kind() {
        // Hand-written procedures may have no column for the reason.
        ErrorKind::Unsupported => {
            let bare: Vec<_> = settlements.iter().map(|each| Settlement { error: None, ..each.clone() }).collect();
            settle(queue, &bare)
        }
        _ => Err(error),
    });
    match ended {
        Ok(outcomes) => {
            for (item, outcome) in
                undeliverable.iter().zip(&outcomes).filter(|(_, outcome)| outcome.answer != Answer::Ok)
            {
                log::warn!("the claim of item {} could not be ended: {:?}", item.key, outcome.answer);
            }
        }
        Err(error) => log::warn!("the claims of undeliverable items could not be ended: {error}"),
    }
}

/// The reason, for the log.
pub(crate) fn reason(queue: &QueueInner, item: &Undeliverable) -> String {
    let most = queue.terms.most_item_bytes;
    let reason = match item.why {
        UndeliverableReason::TooLarge => format!(
            "the item has more than {most} bytes, the most that this worker takes (setting \"item.max_bytes\"); raise it and \
             redrive the item"
        ),
        UndeliverableReason::NoMemory => "the worker lacked the memory for the item".to_owned(),
    };
    log::warn!("item {} of queue {} is undeliverable: {reason}", item.key, queue.terms.queue());
    reason
}

/// The end of its claim.
pub(crate) fn settlement<'a>(item: &'a Undeliverable, reason: &'a str) -> Settlement<'a> {
    let action = match item.why {
        // Every worker like this one would fail at it.
        UndeliverableReason::TooLarge => Action::Fail,
        // Another attempt, or another worker, may have the memory.
        UndeliverableReason::NoMemory => Action::Retry,
    };
    let control = Settlement::control(&item.key, Some(&item.token), action);
    Settlement { attempt: item.attempt, error: Some(reason), ..control }
}

fn settle(queue: &QueueInner, settlements: &[Settlement<'_>]) -> Result<Vec<Outcome>> {
    let json = settlements_to_json(&queue.terms, settlements, 0)?;
    // One part: a claim takes no more items than a call does.
    in_parts(queue.terms.dialect, settlements, None, true, |part| {
        let (operation, answers) = (&part.operation, Answers::All);
        let what = Settling { settlements: part.items, json: &json, operation, answers, max: 0, recover: 0 };
        Ok(settle_part(queue, queue, &what, None)?.outcomes)
    })
}
