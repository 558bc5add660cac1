//! What can be done with an item, as numbers.

use super::args::Field;
use super::failure::Failure;
use crate::item::{Action, Settlement};

/// Done.
pub const READPAST_ACTION_COMPLETE: i32 = 1;
/// Done as far as it could be.
pub const READPAST_ACTION_COMPLETE_PARTIALLY: i32 = 2;
/// Give up for good.
pub const READPAST_ACTION_FAIL: i32 = 3;
/// This attempt failed: try again when due. The item becomes Failed when its attempts are spent.
pub const READPAST_ACTION_RETRY: i32 = 4;
/// Give the item back unworked: it is Pending again, and this attempt does not count.
pub const READPAST_ACTION_RELEASE: i32 = 5;
/// Call it off.
pub const READPAST_ACTION_CANCEL: i32 = 6;
/// Set it aside.
pub const READPAST_ACTION_PAUSE: i32 = 7;
/// Let a paused item, or one that waits for its next attempt, be picked up again.
pub const READPAST_ACTION_RESUME: i32 = 8;
/// Stop it for good; a worker that holds it finds its lease lost.
pub const READPAST_ACTION_TERMINATE: i32 = 9;
/// Record progress and keep the claim; the lease starts anew.
pub const READPAST_ACTION_STEP: i32 = 10;

/// The action of a number from C.
pub(super) fn read(name: Field, action: i32) -> Result<Action, Failure> {
    Ok(match action {
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
        _ => return Err(Failure::argument(format!("{name} is {action}; it must be a READPAST_ACTION_"))),
    })
}

/// Whether all of these are ends of a claim; a worker's item ends in one of them.
pub(super) fn ends(settlements: &[Settlement<'_>]) -> Result<(), Failure> {
    let other = settlements.iter().position(|settlement| matches!(settlement.action, Action::Step | Action::Resume));
    match other {
        None => Ok(()),
        Some(i) => Err(Failure::argument(format!(
            "{} does not end an item; record a step with readpast_worker_step",
            Field("settlements", i, "action")
        ))),
    }
}
