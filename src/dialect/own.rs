//! A table of readpast's own, as its templates see it: what they are filled with besides the options that every kind of
//! queue has. The names of what is filled in stand in `sql/README.md`.

use super::Dialect;
use crate::spec::{Completion, Direction, QueueSpec};
use minijinja::{Value, context};

/// What the templates of readpast's own tables are filled with.
pub(super) fn context(dialect: Dialect, spec: &QueueSpec) -> Value {
    let descends = spec.order.direction == Direction::Lifo;
    let (scheduled_for, enqueued_at) = match dialect {
        Dialect::SqlServer => ("[ScheduledFor]", "[EnqueuedAt]"),
        Dialect::Postgres => ("scheduled_for", "enqueued_at"),
    };
    let priority = spec.order.priority.as_ref().map(|priority| {
        context! { quoted => priority.column.quoted(dialect.quote_style()), descending => priority.highest_first }
    });
    let by_time = [scheduled_for, enqueued_at].map(|quoted| context! { quoted, descending => descends });
    // The index is the same without an order: what is due is sought in it, and nothing is sorted.
    let due_columns: Vec<_> = priority.iter().chain(&by_time).cloned().collect();
    let order = match spec.order.direction {
        Direction::Unordered => priority.into_iter().collect(),
        _ => due_columns.clone(),
    };
    let columns = spec.dedup.iter().flat_map(|dedup| &dedup.columns);
    let work: Vec<_> = columns
        .filter_map(|name| spec.columns.iter().find(|column| column.name == *name))
        .map(|column| dialect.column_context(column, false))
        .collect();
    let history_name = match &spec.completion {
        Completion::History(table) => Some(table.as_str()),
        _ => None,
    };
    context! { order, due_columns, work, history_name }
}
