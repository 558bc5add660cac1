//! The engine's answer before the work on an item.

/// Whether a handler may begin an item that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "an item that does not begin is not to be worked on, nor ended"]
pub enum Begin {
    /// It begins: work on it, and end it.
    Ok,
    /// It does not: it was lost, or it began before, has ended, or was released.
    Lost,
    /// It does not: the worker is stopping, and has released it without spending an attempt.
    Stopping,
}
