//! What only tables of readpast's own have, as their templates see it. The names of what is filled in stand in
//! `sql/README.md`.

use super::columns;
use crate::dialect::Dialect;
use crate::spec::{Completion, QueueSpec};
use minijinja::{Value, context};

/// What the templates of readpast's own tables are filled with besides what every table's are.
pub(super) fn context(dialect: Dialect, spec: &QueueSpec) -> Value {
    let same = spec.dedup.iter().flat_map(|dedup| &dedup.columns);
    let work: Vec<_> = same
        .filter_map(|name| spec.columns.iter().find(|column| column.name == *name))
        .map(|column| columns::context(dialect, column, !spec.is_own()))
        .collect();
    let history_name = match &spec.completion {
        Completion::History(table) => Some(table.as_str()),
        _ => None,
    };
    context! { work, history_name }
}
