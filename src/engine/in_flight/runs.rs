//! Runs of handlers that may last only so long.

use super::taken::TakenItem;
use super::{ClaimName, InFlight};
use crate::item::{Action, Batch, Verdict};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The runs that a limit holds for, in the order in which they began. A run that has ended stays in the list for a while.
#[derive(Default)]
pub(super) struct Runs {
    /// `None`: there is no limit, and the list is empty.
    longest: Option<Duration>,
    begun: VecDeque<(ClaimName, Instant)>,
    /// Those that have lasted too long, until they end.
    overran: Vec<ClaimName>,
}

impl InFlight {
    /// No items, whose handlers may run for `longest`.
    pub(in crate::engine) fn with_longest_run(longest: Option<Duration>) -> Self {
        Self { runs: Runs { longest, ..Runs::default() }, ..Self::default() }
    }

    /// Notes that a run has begun.
    pub(super) fn run_begins(&mut self, claim: &ClaimName, now: Instant) {
        if self.runs.longest.is_none() {
            return;
        }
        // Ended runs behind one that lasts would gather.
        if self.runs.begun.len() > 2 * self.taken.len() + 64 {
            let taken = &self.taken;
            self.runs.begun.retain(|(claim, began)| taken.get(claim).is_some_and(|taken| runs_since(taken, *began)));
        }
        self.runs.begun.push_back((claim.clone(), now));
    }

    /// When the first run has lasted too long.
    pub(in crate::engine) fn overrun_at(&self) -> Option<Instant> {
        let longest = self.runs.longest?;
        let runs = |(claim, began): &&(ClaimName, Instant)| {
            self.taken.get(claim).is_some_and(|taken| runs_since(taken, *began))
        };
        self.runs.begun.iter().find(runs).map(|(_, began)| *began + longest)
    }

    /// Marks the items whose handlers have run for too long, and returns them: to those they are lost, and their leases are not renewed.
    pub(in crate::engine) fn overrun(&mut self, now: Instant) -> Vec<Batch> {
        let Some(longest) = self.runs.longest else { return Vec::new() };
        let mut overrun = Vec::new();
        while self.runs.begun.front().is_some_and(|(_, began)| *began + longest <= now) {
            let Some((claim, began)) = self.runs.begun.pop_front() else { break };
            if let Some(taken) = self.taken.get_mut(&claim).filter(|taken| runs_since(taken, began)) {
                taken.overran = true;
                overrun.push(taken.item.clone());
                self.runs.overran.push(claim);
            }
        }
        overrun
    }

    /// Marks the items as lost that have run for too long, and that a claim has brought anew: their leases ran out. Returns them.
    pub(super) fn lose_overrun(&mut self, batch: &Batch) -> Vec<Batch> {
        let is_anew = |(key, _): &&ClaimName| batch.iter().any(|item| item.key() == key.as_str());
        let again: Vec<_> = self.runs.overran.iter().filter(is_anew).cloned().collect();
        let lost = again.iter().filter_map(|claim| {
            let taken = self.taken.get_mut(claim).filter(|taken| !taken.lost)?;
            taken.lost = true;
            Some(taken.item.clone())
        });
        lost.collect()
    }

    /// Notes that an item has left.
    pub(super) fn run_ends(&mut self, claim: &ClaimName) {
        self.runs.overran.retain(|overran| overran != claim);
    }

    #[cfg(test)]
    pub(super) fn runs_kept(&self) -> usize {
        self.runs.begun.len()
    }

    /// The verdict of a handler that has run for too long: it was cancelled, and must not give back the attempt.
    pub(super) fn spent(&self, verdict: Verdict) -> Verdict {
        match (verdict.action(), self.runs.longest) {
            (Action::Release, Some(longest)) => {
                let ms = longest.as_millis();
                Verdict::retry(format!("the handler ran for more than {ms} ms (worker.max_run_ms) and was cancelled"))
            }
            _ => verdict,
        }
    }
}

/// Whether a handler has worked on it since then, and was not cancelled.
fn runs_since(taken: &TakenItem, began: Instant) -> bool {
    taken.began == began && !taken.is_idle() && !taken.lost && !taken.abandoned && !taken.overran
}
