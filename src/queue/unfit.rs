//! Items that were claimed and cannot be handed out: each is ended by itself, so that it neither ends its worker nor is
//! claimed again for ever, and the others of its claim are worked on.

use super::{Inner, settle};
use crate::error::ErrorKind;
use crate::item::{Action, Answer, Settlement, Unfit, Withheld};

/// Ends the claims of `withheld`. What cannot be ended now, its lease gives back.
pub(super) fn end(queue: &Inner, withheld: &[Withheld]) {
    if withheld.is_empty() {
        return;
    }
    let most = queue.most_item_bytes;
    let too_large = format!(
        "the item has more than {most} bytes, the most that this worker takes (setting \"item.max_bytes\"); raise it and redrive \
         the item"
    );
    let settlements: Vec<_> = withheld
        .iter()
        .map(|item| {
            let (action, error) = match item.why {
                // No attempt of a worker like this one would end otherwise.
                Unfit::TooLarge => (Action::Fail, too_large.as_str()),
                // Another attempt, or another worker, may have it.
                Unfit::NoMemory => (Action::Retry, "the worker had not the memory to take the item"),
            };
            log::warn!("item {} of queue {} is not handed out: {error}", item.key, queue.spec.queue);
            Settlement {
                attempt: item.attempt,
                error: Some(error),
                ..Settlement::control(&item.key, Some(&item.token), action)
            }
        })
        .collect();
    let ended =
        settle::settle(queue, &settlements, None, 0, settle::Telling::OfAll).or_else(|error| match error.kind() {
            // Procedures that somebody wrote by hand may have nowhere to put the reason.
            ErrorKind::Unsupported => {
                let bare: Vec<_> = settlements.iter().map(|each| Settlement { error: None, ..each.clone() }).collect();
                settle::settle(queue, &bare, None, 0, settle::Telling::OfAll)
            }
            _ => Err(error),
        });
    match ended {
        Ok((outcomes, _)) => {
            for (item, outcome) in withheld.iter().zip(&outcomes).filter(|(_, outcome)| outcome.answer != Answer::Ok) {
                log::warn!("the claim of item {} could not be ended: {:?}", item.key, outcome.answer);
            }
        }
        Err(error) => log::warn!("the claims of items that are not handed out could not be ended: {error}"),
    }
}
