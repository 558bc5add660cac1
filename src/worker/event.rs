//! What a worker tells about itself.

use crate::error::Error;
use crate::item::{Batch, Outcome, Settlement};
use std::time::Duration;

/// Something that happened in a worker; see [`Worker::observe`](super::Worker::observe).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Items were claimed. Their handlers have not begun.
    #[non_exhaustive]
    Claimed {
        /// The items.
        batch: &'a Batch,
    },
    /// Items were settled: handled, given back, or a step recorded. An answer other than
    /// [`Answer::Ok`](crate::Answer::Ok) means that the item was not ours any more.
    #[non_exhaustive]
    Settled {
        /// What was asked for.
        settlements: &'a [Settlement<'a>],
        /// What came of each, in the same order.
        outcomes: &'a [Outcome],
        /// How many items were claimed in the same round trip; their own event follows.
        claimed: usize,
        /// How long the call took that was answered.
        took: Duration,
    },
    /// A call failed in a way that may pass. It is made again in a while.
    #[non_exhaustive]
    Trouble {
        /// Why it failed.
        error: &'a Error,
    },
}
