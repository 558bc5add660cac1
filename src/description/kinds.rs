//! The kinds of items to which a claim can be limited: types, and steps.

use super::{ClaimBySpec, QueueSpec};

/// A search for due items of some kinds, with an index that begins with their columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KindSearch {
    pub(crate) kind: bool,
    pub(crate) step: bool,
}

impl QueueSpec {
    /// Whether even a claim that names no kind searches by types, of which the caller may not see all.
    pub(crate) fn is_always_by_type(&self) -> bool {
        self.is_own() && self.roles.own_types_only
    }

    /// The searches, the more particular first.
    pub(crate) fn kind_searches(&self) -> Vec<KindSearch> {
        let always = self.is_always_by_type();
        let by = |kind, step| KindSearch { kind, step };
        match self.claim_by {
            ClaimBySpec { step: true, .. } if always => vec![by(true, true), by(true, false)],
            _ if always => vec![by(true, false)],
            ClaimBySpec { kind: false, step: false } => Vec::new(),
            ClaimBySpec { kind, step } => vec![by(kind, step)],
        }
    }

    /// Whether claims can name types.
    pub(crate) fn asks_types(&self) -> bool {
        self.kind_searches().iter().any(|search| search.kind)
    }

    /// Whether claims can name steps.
    pub(crate) fn asks_steps(&self) -> bool {
        self.kind_searches().iter().any(|search| search.step)
    }
}
