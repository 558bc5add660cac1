//! Quarantine: a worker's care with items of dead workers, which may have killed them. One at a time begins, and no other is claimed
//! until it has proven harmless.

use super::EngineState;
use std::time::{Duration, Instant};

/// Items of dead workers, which may have killed them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Quarantine {
    /// None is in flight.
    None,
    /// One waits until all others in flight are begun or settled.
    Draining,
    /// One is begun, and counts as dangerous until then.
    Proving(Instant),
}

impl Quarantine {
    /// A claim counts as an attempt: a quarantined item that ends the process would cost an attempt of each item claimed
    /// meanwhile, again and again.
    pub(in crate::engine) fn bars_claims(self) -> bool {
        self != Self::None
    }
}

impl EngineState {
    pub(in crate::engine) fn quarantine(&self, now: Instant) -> Quarantine {
        match self.in_flight.unproven_until(self.proof()) {
            Some(at) if at > now => Quarantine::Proving(at),
            _ if self.in_flight.quarantined_waits() => Quarantine::Draining,
            _ => Quarantine::None,
        }
    }

    /// When the quarantine of claims and takers ends by time.
    pub(in crate::engine) fn quarantine_ends(&self, now: Instant) -> Option<Instant> {
        let proven = match self.quarantine(now) {
            Quarantine::Proving(at) => Some(at),
            _ => None,
        };
        let cautious = self.cautious_until.filter(|until| *until > now && self.overlap.claiming() > 0);
        proven.into_iter().chain(cautious).min()
    }

    /// How long a quarantined item runs before the next may begin.
    pub(super) fn proof(&self) -> Duration {
        self.lease / 3
    }

    /// Whether only one fetcher may claim at a time. Two could bring a quarantined item each, and a released one loses its mark
    /// without having begun. A dead worker's items come back together, and a new worker does not know how many follow.
    pub(in crate::engine) fn is_cautious(&self, now: Instant) -> bool {
        self.tallies.claimed == 0 || self.cautious_until.is_some_and(|until| until > now)
    }

    pub(super) fn may_begin_quarantined(&self, now: Instant) -> bool {
        self.overlap.claiming() == 0 && self.in_flight.may_begin_quarantined(self.proof(), now)
    }

    pub(super) fn quarantine_hold(&self) -> Duration {
        self.prefetch.hold().max(self.proof() * 2)
    }
}
