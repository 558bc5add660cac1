//! A queue behind hand-written procedures: `Next_` and `Modify_` in the shape of readpast's first document. They know neither
//! worker nor lease nor operation, and claim one item a call; comments in place name the consequences.

mod claim;
mod enqueue;
mod fence;
mod known;
mod results;
mod settle;
mod stats;
mod text;

pub(crate) use self::results::own_results;
pub(crate) use self::text::invoke;
pub(super) use self::{
    known::HandWritten,
    results::{cell, params, place, returned},
    text::call,
};

use super::procedures::Procedures;
use crate::calls::{CallTerms, Claimed, Operation, Sessions, SettleAnswer, Settling};
use crate::description::Sendable;
use crate::dialect::Calls;
use crate::error::Result;
use crate::item::{QueueStats, Receipt};

impl Procedures for HandWritten {
    fn own(&self) -> Option<&Calls> {
        None
    }

    fn claim(&self, on: &dyn Sessions, terms: &CallTerms, max: i32, _recover: i32) -> Result<Claimed> {
        claim::claim(self, on, terms, max)
    }

    fn settle(&self, on: &dyn Sessions, terms: &CallTerms, what: &Settling<'_>) -> Result<SettleAnswer> {
        let outcomes = settle::settle(self, on, terms, what.settlements, what.operation)?;
        Ok(SettleAnswer { outcomes, claimed: None })
    }

    fn enqueue(
        &self,
        on: &dyn Sessions,
        terms: &CallTerms,
        items: &[Sendable<'_>],
        operation: &Operation,
    ) -> Result<Vec<Receipt>> {
        enqueue::enqueue(self, on, terms, items, operation)
    }

    fn stats(&self, on: &dyn Sessions, _terms: &CallTerms) -> Result<QueueStats> {
        stats::stats(self, on)
    }
}
