//! Makes an item that a custom claim procedure claimed this worker's.

use super::answers;
use super::claim::{self, Claimed};
use super::terms::CallTerms;
use crate::error::Result;
use crate::session::{Param, ReadCells, Session};
use std::sync::Arc;

/// The result.
pub(crate) enum CustomClaimResult {
    It(Claimed),
    /// It is undeliverable: another one may be due.
    NotThis,
    /// The table does not show this worker as its holder.
    Lost,
}

pub(crate) fn taken(
    session: &mut Session,
    terms: &CallTerms,
    statement: &Arc<str>,
    key: &str,
) -> Result<CustomClaimResult> {
    let params = [Param::Text(&terms.worker), Param::Text(key)];
    let rows = session.call(statement, &params, ReadCells::Answers)?;
    if rows.has_undeliverable() {
        return claim::read(terms, rows, 0).map(CustomClaimResult::It);
    }
    match answers::word(&rows, 0) {
        "EMPTY" => Ok(CustomClaimResult::NotThis),
        "LEASE_LOST" => Ok(CustomClaimResult::Lost),
        _ => claim::read(terms, rows, 0).map(CustomClaimResult::It),
    }
}
