//! Events that a worker reports about itself.

use crate::error::Error;
use crate::item::{Action, Batch, Outcome, Settlement};
use std::time::Duration;

/// Something that happened in a worker.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Items were claimed. Their handlers have not begun.
    #[non_exhaustive]
    Claimed {
        /// The items.
        batch: &'a Batch,
    },
    /// Items were settled: handled, or released. An answer other than [`Answer::Ok`](crate::Answer::Ok) means that this worker
    /// had lost the item.
    #[non_exhaustive]
    Settled {
        /// The settlements of the call.
        settlements: &'a [Settlement<'a>],
        /// The outcome of each, in the same order. The token of a Completed item may be empty: no call needs it.
        outcomes: &'a [Outcome],
        /// How many items were claimed in the same round trip; their own event follows.
        claimed: usize,
        /// How long the answered call took.
        took: Duration,
    },
    /// The worker lost an item in flight: its lease ran out, or an operator took it.
    #[non_exhaustive]
    Lost {
        /// Its key.
        key: &'a str,
        /// The attempt of the lost claim.
        attempt: i32,
        /// The item's token as it was claimed, by which this claim differs from another of the same attempt: a release does not count
        /// an attempt.
        token: &'a str,
    },
    /// An item was given back, without spending its attempt, although its handler had not ended: the worker was abandoned
    /// ([`Engine::abandon`](crate::Engine::abandon)). [`Event::Settled`] follows.
    #[non_exhaustive]
    Abandoned {
        /// Its key.
        key: &'a str,
        /// The attempt of the claim.
        attempt: i32,
    },
    /// The library or the database refused a value of a handler's result. The settlement leaves it out, and the item's error says
    /// so.
    #[non_exhaustive]
    Refused {
        /// The item's key.
        key: &'a str,
        /// The attempt of the claim.
        attempt: i32,
        /// The action of the settlement.
        action: Action,
        /// The values that were left out, by name and length: `response of 31 characters, delay`.
        left_out: &'a str,
        /// Why they were refused.
        error: &'a Error,
    },
    /// A constraint or a trigger of the item's table refused its claim, or its recovery. The queue sets it aside for a while, and
    /// tries again.
    #[non_exhaustive]
    SetAside {
        /// Its key; `None` for an item of a type that this login may not see.
        key: Option<&'a str>,
        /// How often that has happened.
        times: i64,
        /// Whether the table refused a recovery, and not a claim.
        by_recovery: bool,
        /// The server's words.
        reason: &'a str,
        /// The event's log line.
        line: &'a str,
    },
    /// A call failed with a transient error. The worker repeats it after a pause.
    #[non_exhaustive]
    Trouble {
        /// The call that failed: `settle`.
        doing: &'a str,
        /// Why it failed.
        error: &'a Error,
    },
}
