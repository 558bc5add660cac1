//! Figures: the number of items in each state of the view. It has no others.

use super::known::HandWritten;
use super::text;
use crate::backend::unsupported::unsupported;
use crate::calls::{Ask, Sessions, YieldsTo};
use crate::catalog;
use crate::error::Result;
use crate::item::{QueueStats, Value};
use crate::metrics::CallKind;

pub(super) fn stats(theirs: &HandWritten, on: &dyn Sessions) -> Result<QueueStats> {
    let column = |name: &str| theirs.shape.view.columns.iter().find(|column| catalog::bare(&column.name) == name);
    let Some(status) = column("status") else {
        return Err(unsupported("count items", "their view has no column Status"));
    };
    let query = text::counts(theirs.dialect, &theirs.shape, status)?;
    let rows = on.ask(CallKind::Stats, YieldsTo::Closing, |session| session.execute(&query, &[]))?;
    let mut stats = QueueStats::default();
    for row in 0..rows.len() {
        if let (Value::Text(state), Value::Integer(count)) = (rows.value(row, 0), rows.value(row, 1)) {
            stats.record(&format!("count.{}", state.trim_end()), Some(count));
        }
    }
    Ok(stats)
}
