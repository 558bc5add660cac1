//! Renews the leases of a batch for a program that claims and settles by itself. A [`Worker`](super::Worker) needs none.

use crate::error::{Error, ErrorKind, Result};
use crate::item::Batch;
use crate::queue::Queue;
use crate::shared::{LeaseHolder, Renewals};
use crate::sync::Mutex;
use std::{
    fmt,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// Renews the leases of a batch. Any thread may use it. Dropping it ends the renewals. One thread for each queue handle does the
/// work for all renewals.
pub struct Renewal {
    claims: Arc<Claims>,
    /// `None` for a queue that keeps no leases.
    _keeping: Option<Renewals>,
}

#[derive(Debug, Default)]
struct Claims(Mutex<RenewalState>);

#[derive(Debug, Default)]
struct RenewalState {
    /// Key and attempt of each item still held.
    held: Vec<(String, i32)>,
    lost: Vec<String>,
}

impl Renewal {
    /// Renews the leases of all items of `batch` every `interval` until they are released, or more often: no later than
    /// after a third of the lease that they were claimed with ([`Batch::lease`]), which leaves room for two failures.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the interval is zero or the batch is empty; [`ErrorKind::Unavailable`] when the
    /// system has no thread left.
    pub fn start(queue: &Queue, batch: &Batch, interval: Duration) -> Result<Self> {
        if interval.is_zero() || batch.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "a renewal needs an interval above zero and items"));
        }
        let interval = batch.lease().map_or(interval, |lease| interval.min(lease / 3));
        let held = batch.iter().map(|item| (item.key().to_owned(), item.attempt())).collect();
        let claims = Arc::new(Claims(Mutex::new(RenewalState { held, lost: Vec::new() })));
        let renewals = queue.one()?.renew_leases(Arc::downgrade(&claims) as Weak<dyn LeaseHolder>, interval)?;
        Ok(Self { claims, _keeping: renewals })
    }

    /// Ends the renewal of one item; call it when settling it. `false` when it was not being renewed any more.
    pub fn release(&self, key: &str) -> bool {
        let mut state = self.claims.0.lock();
        let before = state.held.len();
        state.held.retain(|(held, _)| held != key);
        state.held.len() < before
    }

    /// The keys of the lost items: further work on them is in vain, and the database will refuse to settle them.
    #[must_use]
    pub fn lost(&self) -> Vec<String> {
        self.claims.0.lock().lost.clone()
    }

    /// Whether this item is lost.
    #[must_use]
    pub fn has_lost(&self, key: &str) -> bool {
        self.claims.0.lock().lost.iter().any(|lost| lost == key)
    }

    /// Ends the renewals. Waits a moment for one that is under way.
    pub fn stop(self) {
        drop(self);
    }
}

impl LeaseHolder for Claims {
    fn held(&self) -> Vec<(String, i32)> {
        self.0.lock().held.clone()
    }

    fn lost(&self, claims: &[(String, i32)], _asked: Instant) -> usize {
        let mut state = self.0.lock();
        let known = state.lost.len();
        for claim in claims {
            // An item that was released meanwhile has been settled, which is why it is not held any more.
            let before = state.held.len();
            state.held.retain(|held| held != claim);
            if state.held.len() < before {
                state.lost.push(claim.0.clone());
            }
        }
        state.lost.len() - known
    }
}

impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewal").field("claims", &self.claims).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_settled_during_a_renewal_is_not_lost() {
        let claims = ["settled", "taken", "kept"].map(|key| (key.to_owned(), 1));
        let held = Claims(Mutex::new(RenewalState { held: claims.to_vec(), lost: Vec::new() }));
        held.0.lock().held.remove(0);
        assert_eq!(held.lost(&claims[..2], Instant::now()), 1);
        assert_eq!(held.lost(&claims[..2], Instant::now()), 0, "reported once");
        assert_eq!((held.held(), held.0.lock().lost.clone()), (claims[2..].to_vec(), vec!["taken".to_owned()]));
    }
}
