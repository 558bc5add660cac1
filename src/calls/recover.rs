//! Recovery of items of dead workers.

use super::refused::{self, RefusedItem};
use super::sessions::{Ask, Sessions, YieldsTo};
use crate::dialect::Calls;
use crate::error::Result;
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};

/// Recovers now, all items with a run-out lease.
pub(crate) const RECOVER_NOW: i32 = 1;

/// Recovers items with a run-out lease, and the worker's own of an earlier life.
pub(crate) const RECOVER_OWN: i32 = 2;

/// The most items that are recovered before a claim.
pub(crate) const GIVEN_BACK: i32 = 100;

/// The answer to a recovery.
#[derive(Default)]
pub(crate) struct Recovered {
    pub(crate) count: u32,
    pub(crate) refused: Vec<RefusedItem>,
}

impl Recovered {
    pub(crate) fn add(&mut self, more: Self) {
        self.count += more.count;
        self.refused.extend(more.refused);
    }
}

/// Recovers up to `max` items. `recover`: [`RECOVER_NOW`], or unless another call did within so many milliseconds.
pub(crate) fn recover(on: &dyn Sessions, calls: &Calls, max: i32, recover: i32) -> Result<Recovered> {
    let params = [Param::Integer(max), Param::Integer(recover)];
    let rows = on.ask(CallKind::Recover, YieldsTo::Closing, |session| {
        session.call(&calls.recover, &params, ReadCells::Answers)
    })?;
    let (mut row, mut recovered) = (0, Recovered::default());
    while row < rows.len() {
        let (refused, after) = refused::read(&rows, row);
        recovered.refused.extend(refused);
        recovered.count += u32::from(after < rows.len());
        row = after + 1;
    }
    Ok(recovered)
}
