//! Actions of a fetcher.

/// Work of a fetcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FetcherAction {
    /// Release all that has not begun. Needs no call.
    HandBack { gaps: u64 },
    /// Release items that have waited for a handler too long. Needs no call.
    GiveBack,
    /// Mark items whose handlers have run for too long. Needs no call.
    Overrun,
    /// Settle the ended items, and claim up to `room` items in the same call.
    Settle { room: usize },
    /// Claim up to `room` items, when it is this worker's turn to look at the queue.
    Claim { room: usize },
    /// The same although the queue is believed empty: a worker that stops by itself trusts only the server.
    MakeSure { room: usize },
    /// Delete some expired items, when it is this worker's turn; `must`: although there is other work.
    Clean { must: bool },
    /// Put in the items of schedules whose time has come, when it is this worker's turn.
    Fire,
}
