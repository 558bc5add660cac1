//! The states of an item and the legal ways between them, as `QueueStatus` and `QueueTransition` hold them in the database. The
//! database decides; this is the same table for callers that ask without a round trip, and a test compares the two cell by cell.

use std::{fmt, str::FromStr};

/// The state of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemState {
    /// Waits for a worker.
    Pending,
    /// A worker holds its lease.
    Processing,
    /// An attempt failed; it will be tried again when it is due.
    Error,
    /// Attempts are spent, or the item's action was to fail. Final.
    Failed,
    /// Done. Final.
    Completed,
    /// Cancelled before it was done. Final.
    Cancelled,
    /// Paused until an operator resumes it.
    Paused,
    /// Stopped by an operator. Final.
    Terminated,
    /// Partially done. Final.
    PartiallyCompleted,
}

impl ItemState {
    /// All states, in the order of the vocabulary table.
    pub const ALL: [Self; 9] = [
        Self::Pending,
        Self::Processing,
        Self::Error,
        Self::Failed,
        Self::Completed,
        Self::Cancelled,
        Self::Paused,
        Self::Terminated,
        Self::PartiallyCompleted,
    ];

    /// The word in the status column.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Processing => "Processing",
            Self::Error => "Error",
            Self::Failed => "Failed",
            Self::Completed => "Completed",
            Self::Cancelled => "Cancelled",
            Self::Paused => "Paused",
            Self::Terminated => "Terminated",
            Self::PartiallyCompleted => "PartiallyCompleted",
        }
    }

    /// Whether it can be picked up for processing (`QueueIsProcessable_fn`). A claim takes Pending and Error by itself;
    /// Paused only when it is asked for by key.
    #[must_use]
    pub fn is_processable(self) -> bool {
        matches!(self, Self::Pending | Self::Paused | Self::Error)
    }

    /// Whether it is final (`QueueIsFinished_fn`).
    #[must_use]
    pub fn is_finished(self) -> bool {
        !matches!(self, Self::Pending | Self::Processing | Self::Error | Self::Paused)
    }

    /// Whether a worker can write response and error data to it (`QueueIsEditable_fn`).
    #[must_use]
    pub fn is_editable(self) -> bool {
        !matches!(self, Self::Cancelled | Self::Paused | Self::Terminated | Self::Completed | Self::PartiallyCompleted)
    }

    /// Whether an action may lead an item in this state to `next`. Its attempts decide whether it becomes `next` or Failed.
    #[must_use]
    pub fn can_become(self, next: Self) -> bool {
        match self {
            // A claim ends in any way; Processing to Processing is a step.
            Self::Processing => true,
            Self::Pending => {
                matches!(next, Self::Processing | Self::Failed | Self::Cancelled | Self::Paused | Self::Terminated)
            }
            Self::Error => matches!(
                next,
                Self::Processing | Self::Pending | Self::Failed | Self::Cancelled | Self::Paused | Self::Terminated
            ),
            Self::Paused => {
                matches!(next, Self::Processing | Self::Pending | Self::Failed | Self::Cancelled | Self::Terminated)
            }
            // A person gives it up, or it goes on in another queue.
            Self::Failed => next == Self::Cancelled,
            Self::Completed | Self::Cancelled | Self::Terminated | Self::PartiallyCompleted => false,
        }
    }
}

impl fmt::Display for ItemState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ItemState {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|state| state.as_str() == word).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_states_stay_and_unfinished_ones_can_fail() {
        for from in ItemState::ALL {
            let ways_out = ItemState::ALL.into_iter().filter(|to| from.can_become(*to)).count();
            let may_end_again = from == ItemState::Failed;
            assert_eq!(ways_out == 0, from.is_finished() && !may_end_again, "{from}");
            assert_eq!(from.can_become(ItemState::Failed), !from.is_finished(), "{from}");
        }
    }

    #[test]
    fn only_processable_items_start_processing() {
        for from in ItemState::ALL {
            let starts = from != ItemState::Processing && from.can_become(ItemState::Processing);
            assert_eq!(starts, from.is_processable(), "{from}");
        }
    }

    #[test]
    fn words_round_trip() {
        for state in ItemState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert!("pending".parse::<ItemState>().is_err());
    }
}
