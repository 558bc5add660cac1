//! Taken items: with a handler, or with a thread that will begin them.

use super::{ClaimName, EndedItem, InFlight, claim, claim_of, token_of};
use crate::item::{Batch, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// An item that was taken, and has not ended.
pub(super) struct TakenItem {
    pub(super) item: Batch,
    pub(super) claimed: Instant,
    /// When its handler began: with the take, unless the caller reports it.
    pub(super) began: Instant,
    /// Whether the caller has reported its begin.
    pub(super) has_begun: bool,
    /// Whether the caller reports begins for this batch. Such a caller begins each item, so an item that has not begun is idle.
    pub(super) is_reported: Arc<AtomicBool>,
    /// The token that a step has set.
    pub(super) token: Option<String>,
    /// Whether the worker has lost it.
    pub(super) lost: bool,
    /// Calls under way that record a step of it: nobody knows its token until they answer.
    pub(super) steps: u32,
    /// Whether the worker was abandoned: the item is given back, and its handler's end comes too late.
    pub(super) abandoned: bool,
    /// Whether its handler has run for too long: its lease is not renewed.
    pub(super) overran: bool,
}

/// An item with a report, as it is now.
pub(in crate::engine) enum Reporter {
    /// Its token.
    Holds(String),
    /// A step of it is under way, and its token unknown.
    Steps,
    /// It has ended, or is lost.
    Gone,
}

impl TakenItem {
    /// Whether no handler works on it.
    pub(super) fn is_idle(&self) -> bool {
        !self.has_begun && self.is_reported.load(Ordering::Relaxed)
    }

    /// Whether its lease is to be renewed.
    pub(super) fn is_kept(&self) -> bool {
        !self.lost && !self.overran
    }
}

impl InFlight {
    /// Adds the items of a batch that is handed out.
    pub(super) fn add_taken(&mut self, batch: &Batch, claimed: Instant, now: Instant) {
        let is_reported = Arc::new(AtomicBool::new(false));
        for item in (0..batch.len()).map(|index| batch.part(index, 1)) {
            let (claim, is_reported) = (claim_of(&item), Arc::clone(&is_reported));
            let taken = TakenItem {
                item,
                claimed,
                began: now,
                has_begun: false,
                is_reported,
                token: None,
                lost: false,
                steps: 0,
                abandoned: false,
                overran: false,
            };
            self.run_begins(&claim, now);
            self.taken.insert(claim, taken);
        }
    }

    /// Begins an item. `false`: it is lost, and leaves, or there is none that has not begun.
    pub(in crate::engine) fn begin(&mut self, claim: &ClaimName, now: Instant) -> bool {
        let Some(taken) = self.taken.get_mut(claim).filter(|taken| !taken.has_begun) else { return false };
        taken.is_reported.store(true, Ordering::Relaxed);
        if taken.lost {
            self.leave(claim);
            return false;
        }
        (taken.has_begun, taken.began) = (true, now);
        self.run_begins(claim, now);
        true
    }

    /// The caller of this item's batch reports when it begins each.
    pub(in crate::engine) fn is_reported(&self, claim: &ClaimName) {
        if let Some(taken) = self.taken.get(claim) {
            taken.is_reported.store(true, Ordering::Relaxed);
        }
    }

    /// Releases an item that may not begin, and all others that have not begun.
    pub(in crate::engine) fn begin_none(&mut self, claim: &ClaimName) {
        self.is_reported(claim);
        self.give_back_taken();
    }

    /// Releases, as `release` says, the items of `batch` that have not begun. A later claim of the same name has another token.
    pub(in crate::engine) fn give_back(&mut self, batch: &Batch, release: &Verdict) {
        for item in batch.iter() {
            let claim = claim(&item);
            let is_meant = |taken: &&TakenItem| !taken.has_begun && token_of(&taken.item) == item.token();
            if self.taken.get(&claim).filter(is_meant).is_some() {
                self.release(&claim, release.clone());
            }
        }
    }

    /// Releases taken items that have not begun. A caller that reports no begin may work on all its items.
    pub(super) fn give_back_taken(&mut self) {
        let idle = self.taken.iter().filter(|(_, taken)| taken.is_idle());
        let idle: Vec<_> = idle.map(|(claim, _)| claim.clone()).collect();
        idle.iter().for_each(|claim| self.release(claim, Verdict::release()));
    }

    /// Gives up waiting for the handlers of all taken items, and returns those items. They stay in flight until
    /// [`InFlight::give_back_abandoned`].
    pub(in crate::engine) fn abandon_taken(&mut self) -> Vec<Batch> {
        self.give_back_taken();
        let left = self.taken.values_mut().filter(|taken| !taken.abandoned);
        let abandoned = left.map(|taken| {
            taken.abandoned = true;
            (!taken.lost).then(|| taken.item.clone())
        });
        abandoned.flatten().collect()
    }

    /// Releases abandoned items; one whose step is under way follows when that has answered.
    pub(in crate::engine) fn give_back_abandoned(&mut self) {
        let free = self.taken.iter().filter(|(_, taken)| taken.abandoned && taken.steps == 0);
        let free: Vec<_> = free.map(|(claim, _)| claim.clone()).collect();
        free.iter().for_each(|claim| self.release(claim, Verdict::release()));
    }

    fn release(&mut self, claim: &ClaimName, release: Verdict) {
        if let Some(TakenItem { item, token, lost: false, .. }) = self.leave(claim) {
            self.ended.push_back(EndedItem { token, ..EndedItem::new(item, release) });
        }
    }

    /// Removes a taken item.
    pub(super) fn leave(&mut self, claim: &ClaimName) -> Option<TakenItem> {
        self.proving.retain(|(proving, _)| proving != claim);
        self.run_ends(claim);
        self.taken.remove(claim)
    }

    /// Begins to record a step of an item that was taken, and returns its token; [`InFlight::stepped`] follows.
    pub(in crate::engine) fn begin_step(&mut self, claim: &ClaimName) -> Option<String> {
        let taken = self.taken.get_mut(claim).filter(|taken| !taken.abandoned)?;
        taken.steps += 1;
        Some(taken.token.clone().unwrap_or_else(|| token_of(&taken.item).to_owned()))
    }

    /// Ends the recording of a step, and keeps the token that it has set. The item is being worked on, begun or not.
    pub(in crate::engine) fn stepped(&mut self, claim: &ClaimName, token: Option<String>) {
        let Some(taken) = self.taken.get_mut(claim) else { return };
        taken.steps = taken.steps.saturating_sub(1);
        if token.is_some() {
            (taken.has_begun, taken.token) = (true, token);
        }
        self.give_back_abandoned();
    }

    /// When a taken item that a handler still has was claimed.
    pub(in crate::engine) fn claimed_at(&self, claim: &ClaimName) -> Option<Instant> {
        self.taken.get(claim).filter(|taken| !taken.lost && !taken.abandoned).map(|taken| taken.claimed)
    }

    /// The present state, for its report, of an item that was claimed at this time.
    pub(in crate::engine) fn reporter(&self, claim: &ClaimName, claimed: Instant) -> Reporter {
        let is_same = |taken: &&TakenItem| taken.claimed == claimed && !taken.lost && !taken.abandoned;
        match self.taken.get(claim).filter(is_same) {
            None => Reporter::Gone,
            Some(taken) if taken.steps > 0 => Reporter::Steps,
            Some(taken) => Reporter::Holds(taken.token.clone().unwrap_or_else(|| token_of(&taken.item).to_owned())),
        }
    }

    /// Whether a taken item is lost to its handler: gone, abandoned, or worked on for too long; an item that is not in flight is.
    pub(in crate::engine) fn is_lost(&self, claim: &ClaimName) -> bool {
        self.ends_in_vain(claim) || self.taken.get(claim).is_some_and(|taken| taken.overran)
    }

    /// Whether the result of a taken item is of no effect. Of one that was worked on for too long it is, while the lease lasts.
    pub(in crate::engine) fn ends_in_vain(&self, claim: &ClaimName) -> bool {
        self.taken.get(claim).is_none_or(|taken| taken.lost || taken.abandoned)
    }

    #[cfg(test)]
    pub(in crate::engine) fn is_taken(&self, claim: &ClaimName) -> bool {
        self.taken.contains_key(claim)
    }

    /// Marks a taken item as lost, and returns it if that is new. An item claimed after `asked` is another.
    pub(in crate::engine) fn lose_taken(&mut self, name: &ClaimName, asked: Instant) -> Option<Batch> {
        let taken = self.taken.get_mut(name).filter(|taken| !taken.lost && taken.claimed <= asked)?;
        taken.lost = true;
        Some(taken.item.clone())
    }

    /// Forgets all taken items when no thread is left to end them: the leases run out.
    pub(in crate::engine) fn forget_taken(&mut self) {
        self.taken.clear();
        self.proving.clear();
    }
}
