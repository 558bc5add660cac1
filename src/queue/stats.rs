//! Figures.

use super::Inner;
use super::backend::Backend;
use crate::error::Result;
use crate::item::{QueueStats, Value};
use crate::session::Shape;

pub(super) fn stats(queue: &Inner) -> Result<QueueStats> {
    let calls = match &queue.backend {
        Backend::Ours(calls) => calls,
        Backend::Theirs(theirs) => return super::handwritten::stats(queue, theirs),
    };
    let rows = queue.with_session(|session| session.call(&calls.stats, &[], Shape::Table))?;
    let mut stats = QueueStats::default();
    for row in 0..rows.len() {
        let value = match rows.value(row, 1) {
            Value::Integer(value) => Some(value),
            _ => None,
        };
        if let Value::Text(name) = rows.value(row, 0) {
            stats.record(name, value);
        }
    }
    Ok(stats)
}
