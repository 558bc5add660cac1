//! What the engine and its workers ask of a queue besides what every caller may: whose turn it is, and what is to be kept up.

use super::keeper::{Keeping, LeaseHolder};
use super::settle::Telling;
use super::wake::Watcher;
use super::{Queue, claim, retention, settle};
use crate::error::{Error, Result};
use crate::item::{Batch, Lease, Outcome, Settlement};
use crate::metrics::Ledger;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How a worker on this queue is to claim ahead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pacing {
    /// How many threads call the database.
    pub(crate) lanes: u32,
    /// The most items that wait for a handler.
    pub(crate) ahead: usize,
    /// How long an item may wait for one.
    pub(crate) hold: Duration,
}

impl Queue {
    /// What this process does with the queue.
    pub(crate) fn ledger(&self) -> &Arc<Ledger> {
        &self.0.ledger
    }

    /// How a worker on this queue is to claim ahead.
    pub(crate) fn pacing(&self) -> Pacing {
        self.0.pacing
    }

    /// The most bytes of an item's values.
    pub(crate) fn most_item_bytes(&self) -> usize {
        self.0.most_item_bytes
    }

    /// How long a call is tried again whose error may pass.
    pub(crate) fn retry_budget(&self) -> Duration {
        self.0.retry.budget()
    }

    /// How this handle was called off, if it was: [`ErrorKind::Interrupted`] or [`ErrorKind::Closed`].
    pub(crate) fn called_off(&self) -> Option<Error> {
        claim::unless_called_off(&self.0).err()
    }

    /// [`Queue::settle_and_claim`], or with a `max` of 0 [`Queue::settle`]. The tokens of what is Completed are not told: nobody
    /// goes on with them.
    pub(crate) fn end_and_claim(
        &self,
        settlements: &[Settlement<'_>],
        operation: Option<&str>,
        max: u32,
    ) -> Result<(Vec<Outcome>, Batch)> {
        settle::settle(&self.0, settlements, operation, max, Telling::OfOthers)
    }

    /// [`Queue::renew`], for who knows which of the leases are held still, and counts what is lost.
    pub(super) fn renew_held(&self, leases: &[Lease<'_>]) -> Result<Vec<Outcome>> {
        settle::renew(&self.0, leases)
    }

    /// How long a queue that was found empty is left alone at most.
    pub(crate) fn poll_interval(&self) -> Duration {
        self.0.poll_interval
    }

    /// Whether it is the caller's turn to look at the queue, of all in this process that wait for it; else when to ask
    /// again.
    pub(crate) fn turn(&self) -> Result<(), Instant> {
        self.0.signal.turn(&self.0.kinds.key, self.0.poll_interval)
    }

    /// Whether it is the caller's turn to delete what is over, of all in this process, in a moment when there is nothing else to
    /// do; else when to ask again. `None` for a queue that keeps all.
    pub(crate) fn turn_to_retain(&self) -> Option<Result<(), Instant>> {
        retention::turn(&self.0, Duration::ZERO)
    }

    /// The same although there is other work: it has been due for a whole interval, or somebody has begun and there is more. A
    /// queue that is never idle must not grow for ever.
    pub(crate) fn must_retain(&self) -> bool {
        retention::turn(&self.0, self.0.retention_interval) == Some(Ok(()))
    }

    /// Whether somebody of this process is to delete what is over now, or after a pause since there is more.
    pub(crate) fn is_retention_pending(&self) -> bool {
        retention::is_pending(&self.0)
    }

    /// Deletes some of what is over, by who has the turn; nothing once the handle is called off.
    pub(crate) fn retain_some(&self) -> Result<()> {
        retention::bite(&self.0)
    }

    /// Has `watcher` told when it may be worth while to ask for a turn.
    pub(crate) fn watched_by(&self, watcher: Weak<dyn Watcher>) {
        self.0.signal.watch(watcher);
    }

    /// Has the leases of `holder` renewed every `interval`, for as long as it is there. `None` for a queue that keeps no
    /// leases.
    pub(crate) fn keep(&self, holder: Weak<dyn LeaseHolder>, interval: Duration) -> Result<Option<Keeping>> {
        if !self.0.backend.keeps_leases() {
            return Ok(None);
        }
        self.0.keeper.keep(self, holder, interval).map(Some)
    }
}
