//! Actions on items, as numbers.

use super::args::Field;
use super::failure::CallFailure;
use crate::item::Action;

/// Completes it.
pub const READPAST_ACTION_COMPLETE: i32 = 1;
/// Completes it partially: done as far as it could be.
pub const READPAST_ACTION_COMPLETE_PARTIALLY: i32 = 2;
/// Fails it for good.
pub const READPAST_ACTION_FAIL: i32 = 3;
/// Tries it again when due, since this attempt failed. The item becomes Failed when its attempts are spent.
pub const READPAST_ACTION_RETRY: i32 = 4;
/// Releases it unworked: it is Pending again, and this attempt does not count. From a worker's handler it is due after
/// `poll.interval_ms` at the earliest.
pub const READPAST_ACTION_RELEASE: i32 = 5;
/// Cancels it.
pub const READPAST_ACTION_CANCEL: i32 = 6;
/// Pauses it until it is resumed.
pub const READPAST_ACTION_PAUSE: i32 = 7;
/// Makes a paused item, or one that waits for its next attempt, Pending again.
pub const READPAST_ACTION_RESUME: i32 = 8;
/// Stops it for good; a worker that holds it loses its lease.
pub const READPAST_ACTION_TERMINATE: i32 = 9;
/// Records progress and keeps the claim; the lease starts anew.
pub const READPAST_ACTION_STEP: i32 = 10;

/// The action of a number from C.
pub(super) fn read(name: Field, action: i32) -> Result<Action, CallFailure> {
    known(action).ok_or_else(|| CallFailure::argument(format!("{name} is {action}; it must be a READPAST_ACTION_")))
}

/// The same, if the number names one.
pub(super) fn known(action: i32) -> Option<Action> {
    Some(match action {
        READPAST_ACTION_COMPLETE => Action::Complete,
        READPAST_ACTION_COMPLETE_PARTIALLY => Action::CompletePartially,
        READPAST_ACTION_FAIL => Action::Fail,
        READPAST_ACTION_RETRY => Action::Retry,
        READPAST_ACTION_RELEASE => Action::Release,
        READPAST_ACTION_CANCEL => Action::Cancel,
        READPAST_ACTION_PAUSE => Action::Pause,
        READPAST_ACTION_RESUME => Action::Resume,
        READPAST_ACTION_TERMINATE => Action::Terminate,
        READPAST_ACTION_STEP => Action::Step,
        _ => return None,
    })
}

/// The number of an action.
pub(super) fn number(action: Action) -> i32 {
    match action {
        Action::Complete => READPAST_ACTION_COMPLETE,
        Action::CompletePartially => READPAST_ACTION_COMPLETE_PARTIALLY,
        Action::Fail => READPAST_ACTION_FAIL,
        Action::Retry => READPAST_ACTION_RETRY,
        Action::Release => READPAST_ACTION_RELEASE,
        Action::Cancel => READPAST_ACTION_CANCEL,
        Action::Pause => READPAST_ACTION_PAUSE,
        Action::Resume => READPAST_ACTION_RESUME,
        Action::Terminate => READPAST_ACTION_TERMINATE,
        Action::Step => READPAST_ACTION_STEP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_and_back_is_the_same() {
        let known: Vec<_> = (-1..100).filter_map(|at| known(at).map(|action| (at, number(action)))).collect();
        assert_eq!(known.len(), 10);
        assert!(known.iter().all(|(there, back)| there == back));
    }
}
