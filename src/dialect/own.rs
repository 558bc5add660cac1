//! What only tables of readpast's own have, as their templates see it. The names of what is filled in stand in
//! `sql/README.md`.

use super::Dialect;
use crate::spec::{Completion, QueueSpec};
use minijinja::{Value, context};

/// What the templates of readpast's own tables are filled with besides what every table's are.
pub(super) fn context(dialect: Dialect, spec: &QueueSpec) -> Value {
    let columns = spec.dedup.iter().flat_map(|dedup| &dedup.columns);
    let work: Vec<_> = columns
        .filter_map(|name| spec.columns.iter().find(|column| column.name == *name))
        .map(|column| dialect.column_context(column, !spec.is_own()))
        .collect();
    let history_name = match &spec.completion {
        Completion::History(table) => Some(table.as_str()),
        _ => None,
    };
    context! { work, history_name }
}
