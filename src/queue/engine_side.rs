//! What the engine and its workers ask of a queue besides what every caller may: whose turn it is, and what is to be kept up.

use super::keeper::{Keeping, LeaseHolder};
use super::retention::RetentionDue;
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
    /// The most bytes of them.
    pub(crate) ahead_bytes: usize,
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

    /// [`Queue::claim`] without a wait. Only with `makes_sure` it recovers before it reports that nothing is due: a worker that stays
    /// learns of dead workers' items in its turn.
    pub(crate) fn look_for_items(&self, max: u32, makes_sure: bool) -> Result<Batch> {
        claim::claim(&self.0, max, Duration::ZERO, makes_sure)
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

    /// [`Queue::renew`] for the keeper, who tries again itself and counts what is lost: one try, within `limit`.
    pub(super) fn renew_held(&self, leases: &[Lease<'_>], limit: Duration) -> Result<Vec<Outcome>> {
        settle::renew_within(&self.0, leases, limit)
    }

    /// How long a queue that was found empty is left alone at most.
    pub(crate) fn poll_interval(&self) -> Duration {
        self.0.poll_interval
    }

    /// Takes the turn to look at the queue, of all in this process that wait for it; `false`: not before [`Queue::quiet_until`].
    pub(crate) fn turn(&self) -> bool {
        self.0.signal.take_turn(&self.0.kinds.key, self.0.poll_interval)
    }

    /// When the next turn to look at the queue comes. `None`: now.
    pub(crate) fn quiet_until(&self) -> Option<Instant> {
        self.0.signal.quiet_until(&self.0.kinds.key, self.0.poll_interval)
    }

    /// When deleting what is over is due in this process. `None` for a queue that keeps all.
    pub(crate) fn retention_due(&self) -> Option<RetentionDue> {
        retention::due(&self.0)
    }

    /// Takes the turn to delete what is over, of all in this process, if it is due; with `must` only if it is due although there is
    /// other work: a queue that is never idle must not grow for ever.
    pub(crate) fn turn_to_retain(&self, must: bool) -> bool {
        retention::take_turn(&self.0, must)
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
