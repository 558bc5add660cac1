//! What a worker tells about itself.

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
    /// Items were settled: handled, or given back. An answer other than [`Answer::Ok`](crate::Answer::Ok) means that the
    /// item was not ours any more.
    #[non_exhaustive]
    Settled {
        /// What was asked for.
        settlements: &'a [Settlement<'a>],
        /// What came of each, in the same order. The token of what is Completed may be empty: nobody goes on with it.
        outcomes: &'a [Outcome],
        /// How many items were claimed in the same round trip; their own event follows.
        claimed: usize,
        /// How long the call took that was answered.
        took: Duration,
    },
    /// An item in hand was found not to be ours any more: its lease ran out, or an operator took it.
    #[non_exhaustive]
    Lost {
        /// Its key.
        key: &'a str,
        /// The attempt of the claim that was lost.
        attempt: i32,
        /// The item's token as it was claimed, which tells this claim from another of the same attempt: a release gives the
        /// attempt back.
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
    /// What a handler gave was refused, by the library or the database. It is left out, and the item's error says so.
    #[non_exhaustive]
    Refused {
        /// The item's key.
        key: &'a str,
        /// The attempt of the claim.
        attempt: i32,
        /// What the item is settled as.
        action: Action,
        /// What was left out, by name and length: `response of 31 characters, delay`.
        left_out: &'a str,
        /// What was wrong with it.
        error: &'a Error,
    },
    /// The item's table has refused to have it claimed, or given back by a recovery: a constraint or a trigger. It is left aside for
    /// a while, and tried again.
    #[non_exhaustive]
    SetAside {
        /// Its key; `None` for an item of a type that this login may not see.
        key: Option<&'a str>,
        /// How often that was so by now.
        times: i64,
        /// Whether a recovery was refused, and not a claim.
        by_recovery: bool,
        /// The server's words.
        reason: &'a str,
        /// The line that a log has of it.
        line: &'a str,
    },
    /// A call failed in a way that may pass. It is made again in a while.
    #[non_exhaustive]
    Trouble {
        /// What cannot be done: `settle`.
        doing: &'a str,
        /// Why it failed.
        error: &'a Error,
    },
}
