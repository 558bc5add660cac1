//! Settlements: a caller's actions on items.

use super::ItemState;

/// The ways to end a claim, to keep it while recording progress, or, as an operator, to steer an item that no worker holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Done.
    Complete,
    /// Partially done.
    CompletePartially,
    /// Give up for good.
    Fail,
    /// This attempt failed: try again when due. Becomes Failed when the attempts are spent.
    Retry,
    /// Release the item unworked: it is Pending again, and this attempt does not count.
    Release,
    /// Cancel it.
    Cancel,
    /// Pause it.
    Pause,
    /// Let a paused item, or one waiting for its next attempt, be picked up again.
    Resume,
    /// Stop it for good; a worker that holds it loses its lease.
    Terminate,
    /// Record progress and keep the claim; the lease starts anew.
    Step,
}

impl Action {
    /// The state that it leads to.
    #[must_use]
    pub fn target(self) -> ItemState {
        match self {
            Self::Complete => ItemState::Completed,
            Self::CompletePartially => ItemState::PartiallyCompleted,
            Self::Fail => ItemState::Failed,
            Self::Retry => ItemState::Error,
            Self::Release | Self::Resume => ItemState::Pending,
            Self::Cancel => ItemState::Cancelled,
            Self::Pause => ItemState::Paused,
            Self::Terminate => ItemState::Terminated,
            Self::Step => ItemState::Processing,
        }
    }

    /// Whether it ends a worker's claim.
    pub(crate) fn ends_a_claim(self) -> bool {
        !matches!(self, Self::Step | Self::Resume)
    }
}

/// One item of a settle. The fence is `token`, `attempt` and the worker of the queue handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement<'a> {
    /// The item's key.
    pub key: &'a str,
    /// The token the item had when the caller last saw it. Required with an attempt; without one, `None` accepts any token.
    pub token: Option<&'a str>,
    /// The attempt of the claim; 0 steers an item as an operator, without holding its lease.
    pub attempt: i32,
    /// The action.
    pub action: Action,
    /// The step to record; `None` keeps the present one.
    pub step: Option<&'a str>,
    /// The response to record; `None` keeps the present one.
    pub response: Option<&'a str>,
    /// The error to record; `None` keeps the present one.
    pub error: Option<&'a str>,
    /// When the item is due again, in milliseconds from now on the server's clock. Not together with `due`.
    pub delay_ms: Option<i64>,
    /// When the item is due again, a UTC time like `2026-11-21T08:30:00Z`.
    pub due: Option<&'a str>,
    /// Values for the item's own columns, written in the same commit: a JSON object in the form in which an item is enqueued
    /// ([`NewItem::columns`](super::NewItem::columns)), with a nested object for each subtype. A column that is left out keeps
    /// its value. [`Columns::to_json`](super::Columns::to_json) makes such a text.
    pub set: Option<&'a str>,
    /// Items that follow, put in with the same commit where the answer is [`Answer::Ok`](super::Answer::Ok): a JSON array of up to
    /// 1,000 objects, each with `columns` and, where wanted, `queue` (another of the schema), `type`, `step`, `due` or `delay_ms`.
    /// A repetition of the settle adds nothing. [`Verdict::then`](super::Verdict::then) makes such a text.
    pub then: Option<&'a str>,
}

/// A change of items that wait, which stay in their state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Edit<'a> {
    /// Values for the items' own columns, as in [`Settlement::set`].
    pub set: Option<&'a str>,
    /// When they are due, in milliseconds from now on the server's clock. Not together with `due`.
    pub delay_ms: Option<i64>,
    /// When they are due, a UTC time like `2026-11-21T08:30:00Z`.
    pub due: Option<&'a str>,
}

impl<'a> Settlement<'a> {
    /// `action` for a claimed item.
    #[must_use]
    pub fn new(item: &super::Item<'a>, action: Action) -> Self {
        Self {
            key: item.key(),
            token: Some(item.token()),
            attempt: item.attempt(),
            action,
            step: None,
            response: None,
            error: None,
            delay_ms: None,
            due: None,
            set: None,
            then: None,
        }
    }

    /// `action` for an item that the caller does not hold, as an operator.
    #[must_use]
    pub fn control(key: &'a str, token: Option<&'a str>, action: Action) -> Self {
        Self {
            key,
            token,
            attempt: 0,
            action,
            step: None,
            response: None,
            error: None,
            delay_ms: None,
            due: None,
            set: None,
            then: None,
        }
    }
}
