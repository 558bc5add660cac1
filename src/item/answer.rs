//! What the database says about one item of a call.

use super::ItemState;
use std::str::FromStr;

/// The answer for one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Done.
    Ok,
    /// The worker does not hold the item any more: its lease ran out and the item was given back, or an operator took
    /// it. The item is untouched.
    LeaseLost,
    /// The token is not the item's any more: somebody changed it since. The item is untouched.
    Conflict,
    /// The item's state does not allow it. The item is untouched.
    IllegalTransition,
    /// No item has this key.
    NotFound,
    /// The same work is in the queue already: nothing was enqueued, or redriven.
    Duplicate,
}

impl FromStr for Answer {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Ok(match word {
            "OK" => Self::Ok,
            "LEASE_LOST" => Self::LeaseLost,
            "CONFLICT" => Self::Conflict,
            "ILLEGAL_TRANSITION" => Self::IllegalTransition,
            "NOT_FOUND" => Self::NotFound,
            "DUPLICATE" => Self::Duplicate,
            _ => return Err(()),
        })
    }
}

/// The answer for one item of a settle, step or renewal, with the item as it is then. A settle that is repeated with its operation
/// is answered as the first time, whatever others have made of the item since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What came of it.
    pub answer: Answer,
    /// The state the item is in then; `None` when it was not found. After [`Answer::Ok`] it can be Failed although
    /// another was asked for: then its attempts are spent.
    pub state: Option<ItemState>,
    /// The item's token then: the one to carry on with after a step. Empty when the item was not found, or is somebody else's since.
    pub token: String,
    /// The item's attempt number then.
    pub attempt: i32,
}
