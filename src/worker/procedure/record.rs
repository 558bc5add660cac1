//! Records a failed attempt: its transaction is undone with the claim, so another one claims the item again and writes the
//! reason.

use super::call::HandlerResult;
use super::outcome::{ClaimedItem, Undone, Worked};
use super::transaction::TransactionWork;
use crate::calls::{Ask, YieldsTo};
use crate::error::{Result, cut};
use crate::item::{Answer, ItemState, Outcome};
use crate::metrics::CallKind;
use crate::session::Session;

/// Makes the item an Error, or Failed when its attempts are spent, unless another worker has it meanwhile.
pub(super) fn record(work: &TransactionWork<'_>, undone: Undone) -> Result<Worked> {
    let queue = work.queue;
    let error = cut(undone.error.message().to_owned());
    let mut written = None;
    let state = queue.ask(CallKind::Work, YieldsTo::Closing, |session| {
        session.transaction(|session| once(work, session, &undone, &error, &mut written))
    })?;
    queue.process.polls.wake();
    let ClaimedItem { key, attempt, .. } = undone.taken;
    Ok(Worked { key, attempt, state, error: Some(error) })
}

/// Records it once. The first call locks the row, so its answer holds for the others. `written` is the state that an earlier try
/// has written, whose commit may have come about although its answer was lost.
fn once(
    work: &TransactionWork<'_>,
    session: &mut Session,
    undone: &Undone,
    error: &str,
    written: &mut Option<(Option<ItemState>, i32)>,
) -> Result<Option<ItemState>> {
    let taken = &undone.taken;
    let failed = HandlerResult::failed(error);
    // It is still as it was claimed: the procedure has committed, or the commit whose answer was lost was done.
    let found = work.settle(session, taken, &failed)?;
    if found.answer == Answer::Ok {
        *written = Some((found.state, found.attempt));
        return Ok(found.state);
    }
    if found.state.is_some() && *written == Some((found.state, found.attempt)) {
        return Ok(found.state);
    }
    let waits = matches!(found.state, Some(ItemState::Pending | ItemState::Error));
    if !waits || found.attempt != taken.attempt - 1 {
        // It is done after all, or another worker's, who may have done it.
        return Ok(found.state.filter(|state| undone.may_be_done && *state == ItemState::Completed));
    }
    let waiting = ClaimedItem { key: taken.key.clone(), token: found.token, attempt: 0 };
    let again = work.settle(session, &waiting, &HandlerResult::taken())?;
    if again.answer != Answer::Ok || again.state != Some(ItemState::Processing) {
        return Ok(again.state);
    }
    let Outcome { token, attempt, .. } = again;
    let ended = work.settle(session, &ClaimedItem { key: taken.key.clone(), token, attempt }, &failed)?;
    *written = Some((ended.state, ended.attempt));
    Ok(ended.state)
}
