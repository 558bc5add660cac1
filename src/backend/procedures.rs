//! The calls in which the procedures of queues differ.

use super::unsupported::unsupported;
use crate::calls::{self, CallTerms, Claimed, Operation, Sessions, SettleAnswer, Settling};
use crate::description::Sendable;
use crate::dialect::Calls;
use crate::error::Result;
use crate::item::{QueueStats, Receipt, Watched};

/// The procedures of a queue. Installed ones serve all calls but claims, unless an implementation overrides that.
pub(crate) trait Procedures: Send + Sync {
    /// The statements of the installed procedures, if there are any.
    fn own(&self) -> Option<&Calls>;

    /// The same, or an error: without them `what` is impossible, because of `why`.
    fn calls(&self, what: &str, why: &str) -> Result<&Calls> {
        self.own().ok_or_else(|| unsupported(what, why))
    }

    /// Whether a claim commits by itself, and cannot be part of another transaction.
    fn claims_apart(&self) -> bool {
        false
    }

    /// Whether the database answers for many queues at once whether a claim may find something.
    fn is_polled(&self) -> bool {
        false
    }

    /// Claims up to `max` items. `recover` is as in [`calls::recover`]; 0: no recovery.
    fn claim(&self, on: &dyn Sessions, terms: &CallTerms, max: i32, recover: i32) -> Result<Claimed>;

    fn settle(&self, on: &dyn Sessions, terms: &CallTerms, what: &Settling<'_>) -> Result<SettleAnswer>;

    fn enqueue(
        &self,
        on: &dyn Sessions,
        terms: &CallTerms,
        items: &[Sendable<'_>],
        operation: &Operation,
    ) -> Result<Vec<Receipt>> {
        calls::enqueue(on, terms, self.calls("enqueue", "they have no procedure for it")?, items, operation)
    }

    fn stats(&self, on: &dyn Sessions, terms: &CallTerms) -> Result<QueueStats> {
        calls::stats(on, terms, self.calls("count items", "they have no procedure for it")?)
    }

    fn watch(&self, on: &dyn Sessions, terms: &CallTerms, most: i32) -> Result<Watched> {
        match self.own() {
            Some(own) => calls::watch(on, terms, own, most),
            None => Ok(self.stats(on, terms)?.into()),
        }
    }
}
