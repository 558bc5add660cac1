//! What a worker logs of single items. What is in an item, and what handlers say, is nobody's business: it is told by kind
//! and length. `bindings/README.md` has the list that all languages keep to.

use super::hand::Claim;
use crate::error::Error;
use crate::item::{Outcome, Settlement};

/// A part of what a handler gave was refused.
pub(super) fn refused(settlement: &Settlement<'_>, refusal: &Error) {
    let Settlement { key, attempt, action, .. } = settlement;
    let texts = [("step", settlement.step), ("response", settlement.response), ("error", settlement.error)];
    let mut given: Vec<_> = texts
        .iter()
        .filter_map(|(name, text)| text.map(|text| format!("{name} of {} characters", text.chars().count())))
        .collect();
    given.extend(settlement.delay_ms.map(|_| "delay".to_owned()));
    given.extend(settlement.due.map(|_| "due".to_owned()));
    let given = given.join(", ");
    log::warn!(
        "item {key}, attempt {attempt}: what the handler gave ({given}) was refused, and is left out of its {action:?}: \
         {refusal}; shorten or correct it, or widen its column"
    );
}

/// The database answered that the item is not ours.
pub(super) fn not_settled(settlement: &Settlement<'_>, outcome: &Outcome) {
    let Settlement { key, attempt, action, .. } = settlement;
    let (answer, now) = (outcome.answer, outcome.state);
    let now = now.map_or_else(|| "not there".to_owned(), |state| state.to_string());
    log::warn!(
        "item {key}, attempt {attempt} could not be settled as {action:?} ({answer:?}): it is {now} now, and left to whoever \
         has it"
    );
}

/// A renewal found that the item is not ours.
pub(super) fn lost((key, attempt): &Claim) {
    log::warn!("item {key}, attempt {attempt} was lost: its lease ran out, or an operator took it");
}
