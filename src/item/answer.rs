//! The database's answer for one item of a call.

use super::ItemState;
use std::str::FromStr;

/// The answer for one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Done.
    Ok,
    /// The worker does not hold the item any more: its lease ran out and another worker may have it, or an operator took it. The
    /// item is untouched.
    LeaseLost,
    /// The token is not the item's any more: another call changed the item since. The item is untouched.
    Conflict,
    /// The item's state does not allow it. The item is untouched.
    IllegalTransition,
    /// No item has this key.
    NotFound,
    /// The same work is in the queue already: nothing was enqueued, or redriven.
    Duplicate,
}

impl Answer {
    const ALL: [Self; 6] =
        [Self::Ok, Self::LeaseLost, Self::Conflict, Self::IllegalTransition, Self::NotFound, Self::Duplicate];

    /// The word in the answers of procedures and questions.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::LeaseLost => "LEASE_LOST",
            Self::Conflict => "CONFLICT",
            Self::IllegalTransition => "ILLEGAL_TRANSITION",
            Self::NotFound => "NOT_FOUND",
            Self::Duplicate => "DUPLICATE",
        }
    }
}

impl FromStr for Answer {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|answer| answer.as_str() == word).ok_or(())
    }
}

/// The answer for one item of a settle, step or renewal, with the item as it is then. A settle that is repeated with its
/// operation returns the first answer, whatever has become of the item since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The answer.
    pub answer: Answer,
    /// The state of the item then; `None` when it was not found. After [`Answer::Ok`] it can be Failed although the action was
    /// another: then its attempts are spent.
    pub state: Option<ItemState>,
    /// The item's token then: the one to go on with after a step. Empty when the item was not found, or has another holder since.
    pub token: String,
    /// The item's attempt number then.
    pub attempt: i32,
}
