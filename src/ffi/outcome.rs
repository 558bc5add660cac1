//! `readpast_outcome`: the outcome of an item.

use super::sized::{OutStructs, Versioned};
use super::status::{READPAST_OK, of_answer, readpast_status};
use super::text;
use crate::item::{ItemState, Outcome};
use std::ffi::c_char;

/// The item was not found, so it has no state.
pub const READPAST_STATE_NONE: i32 = 0;
/// Waits for a worker.
pub const READPAST_STATE_PENDING: i32 = 1;
/// A worker holds its lease.
pub const READPAST_STATE_PROCESSING: i32 = 2;
/// An attempt failed; it will be tried again when it is due.
pub const READPAST_STATE_ERROR: i32 = 3;
/// Attempts are spent, or the item's action was to fail. Final.
pub const READPAST_STATE_FAILED: i32 = 4;
/// Done. Final.
pub const READPAST_STATE_COMPLETED: i32 = 5;
/// Cancelled before it was done. Final.
pub const READPAST_STATE_CANCELLED: i32 = 6;
/// Paused until an operator resumes it.
pub const READPAST_STATE_PAUSED: i32 = 7;
/// Stopped by an operator. Final.
pub const READPAST_STATE_TERMINATED: i32 = 8;
/// Done as far as it could be. Final.
pub const READPAST_STATE_PARTIALLY_COMPLETED: i32 = 9;

/// The outcome for an item, and its state then; a settle that is repeated with its operation returns the first outcome, whatever
/// has become of the item since. Initialise the first of an array with `READPAST_OUTCOME_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_outcome {
    /// The size of this struct.
    pub struct_size: usize,
    /// `READPAST_OK`, `READPAST_LEASE_LOST`, `READPAST_CONFLICT`, `READPAST_ILLEGAL_TRANSITION`, `READPAST_NOT_FOUND` or,
    /// when redriven work is in the queue again, `READPAST_DUPLICATE`.
    pub answer: readpast_status,
    /// The item's state then: a `READPAST_STATE_`. It can be Failed although another was asked for and the answer is
    /// `READPAST_OK`: then its attempts are spent.
    pub state: i32,
    /// The item's attempt number.
    pub attempt: i32,
    /// 0.
    pub reserved: i32,
    /// The item's token then, to go on with after a step. Empty when the item was not found, or has another holder since. It is a
    /// time (at most 35 bytes), a number or a GUID; opening a queue refuses hand-written procedures with a longer text for a
    /// token.
    pub token: [c_char; 40],
}

// SAFETY: numbers only, the size first.
unsafe impl Versioned for readpast_outcome {
    const INIT: &'static str = "READPAST_OUTCOME_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Writes the outcomes, and returns the first answer that is not `READPAST_OK`.
pub(super) fn write_outcomes(places: OutStructs<readpast_outcome>, outcomes: &[Outcome]) -> readpast_status {
    places.fill(outcomes.iter().map(c_outcome));
    outcomes
        .iter()
        .map(|outcome| of_answer(outcome.answer))
        .find(|answer| *answer != READPAST_OK)
        .unwrap_or(READPAST_OK)
}

fn c_outcome(outcome: &Outcome) -> readpast_outcome {
    readpast_outcome {
        struct_size: 0,
        answer: of_answer(outcome.answer),
        state: state(outcome.state),
        attempt: outcome.attempt,
        reserved: 0,
        token: text::fixed_text(&outcome.token),
    }
}

/// The number of a state.
pub(super) fn state(state: Option<ItemState>) -> i32 {
    match state {
        None => READPAST_STATE_NONE,
        Some(ItemState::Pending) => READPAST_STATE_PENDING,
        Some(ItemState::Processing) => READPAST_STATE_PROCESSING,
        Some(ItemState::Error) => READPAST_STATE_ERROR,
        Some(ItemState::Failed) => READPAST_STATE_FAILED,
        Some(ItemState::Completed) => READPAST_STATE_COMPLETED,
        Some(ItemState::Cancelled) => READPAST_STATE_CANCELLED,
        Some(ItemState::Paused) => READPAST_STATE_PAUSED,
        Some(ItemState::Terminated) => READPAST_STATE_TERMINATED,
        Some(ItemState::PartiallyCompleted) => READPAST_STATE_PARTIALLY_COMPLETED,
    }
}
