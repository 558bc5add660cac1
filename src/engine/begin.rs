//! The engine's answer before the work on an item.

/// Whether a handler may begin an item that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "an item that does not begin is not to be worked on, nor ended"]
pub enum Begin {
    /// It begins: work on it, and end it.
    Ok,
    /// It does not: it was found lost, or it began before, has ended, or was given back.
    Lost,
    /// It does not: the worker is stopping, and has given it back, without spending an attempt.
    Stopping,
}
