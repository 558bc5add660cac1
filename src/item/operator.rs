//! Actions of operators on items that no worker has to hold.

use super::{Filter, ItemState};
use crate::error::{Error, ErrorKind, Result};

/// An action of an operator on items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperatorVerb {
    /// Items that wait for their next attempt become due now.
    Retry,
    /// Ended items start again, with all their attempts.
    Redrive,
    /// Items are cancelled for good.
    Cancel,
    /// Items wait until a resume.
    Pause,
    /// Paused items become Pending.
    Resume,
    /// Finished items are deleted.
    Purge,
}

impl OperatorVerb {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Retry, Self::Redrive, Self::Cancel, Self::Pause, Self::Resume, Self::Purge];

    /// Its word, as the command and the record have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Redrive => "redrive",
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Purge => "purge",
        }
    }

    /// The same for items on which it is done.
    #[must_use]
    pub fn done(self) -> &'static str {
        match self {
            Self::Retry => "retried",
            Self::Redrive => "redriven",
            Self::Cancel => "cancelled",
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Purge => "purged",
        }
    }

    /// The states of the chosen items by default. Items that a worker holds are touched only on request.
    #[must_use]
    pub fn states(self) -> &'static [ItemState] {
        use ItemState::{Cancelled, Completed, Error, Failed, PartiallyCompleted, Paused, Pending, Terminated};
        match self {
            Self::Retry => &[Error],
            Self::Redrive => &[Failed],
            Self::Cancel => &[Pending, Error, Paused],
            Self::Pause => &[Pending, Error],
            Self::Resume => &[Paused],
            Self::Purge => &[Completed, PartiallyCompleted, Cancelled, Terminated],
        }
    }

    /// The filter as this action means it, for every caller. One without states means those of [`states`](Self::states). Items that
    /// are named by key are meant in any state, and each has its outcome; but a purge has none, and a key does not name the state.
    #[must_use]
    pub fn narrow(self, mut filter: Filter) -> Filter {
        if filter.states.is_empty() && (filter.keys.is_none() || self == Self::Purge) {
            filter.states = self.states().to_vec();
        }
        filter
    }

    /// The states in which it is possible; items in any other stay as they are.
    #[must_use]
    pub fn takes(self, state: ItemState) -> bool {
        use ItemState::{Cancelled, Error, Failed, PartiallyCompleted, Paused, Pending, Processing, Terminated};
        match self {
            Self::Retry => state == Error,
            Self::Resume => state == Paused,
            Self::Pause => matches!(state, Pending | Processing | Error),
            Self::Cancel => matches!(state, Pending | Processing | Error | Paused | Failed),
            Self::Redrive => matches!(state, Failed | Cancelled | Terminated | PartiallyCompleted | Error | Paused),
            Self::Purge => state.is_finished(),
        }
    }
}

impl std::str::FromStr for OperatorVerb {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|verb| verb.word() == word).ok_or_else(|| {
            let words = Self::ALL.map(Self::word).join(", ");
            Error::new(ErrorKind::InvalidArgument, format!("there is no action {word:?} on items; there are {words}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_means_the_same_for_every_caller() {
        for verb in OperatorVerb::ALL {
            assert_eq!(verb.narrow(Filter::default()).states, verb.states(), "{verb:?}");
            let named = Filter::of_states([ItemState::Processing]);
            assert_eq!(verb.narrow(named.clone()), named, "{verb:?}");
            let by_key = if verb == OperatorVerb::Purge { verb.states() } else { &[] };
            assert_eq!(verb.narrow(Filter::of_keys(["a"])).states, by_key, "{verb:?}");
        }
    }
}
