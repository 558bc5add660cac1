//! Making an item a worker's that a custom claim procedure took.

use super::answers;
use super::claim::{self, Claimed};
use super::terms::Terms;
use crate::error::Result;
use crate::session::{Param, Session, Shape};
use std::sync::Arc;

/// The answer to that.
pub(crate) enum Taken {
    It(Claimed),
    /// It is not to be worked on: another one may be.
    NotThis,
    /// The table does not say that this worker has it.
    Lost,
}

pub(crate) fn taken(session: &mut Session, terms: &Terms, statement: &Arc<str>, key: &str) -> Result<Taken> {
    let params = [Param::Text(&terms.worker), Param::Text(key)];
    let rows = session.call(statement, &params, Shape::Answers)?;
    if rows.has_withheld() {
        return claim::read(terms, rows, 0).map(Taken::It);
    }
    match answers::word(&rows, 0) {
        "EMPTY" => Ok(Taken::NotThis),
        "LEASE_LOST" => Ok(Taken::Lost),
        _ => claim::read(terms, rows, 0).map(Taken::It),
    }
}
