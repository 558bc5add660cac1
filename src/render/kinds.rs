//! To which kinds of items a claim can be limited, as the templates see it.

use super::names::Names;
use crate::dialect::Dialect;
use crate::spec::{QueueSpec, TableSpec};
use minijinja::{Value, context};

/// Whether claims take types, and steps; and by which indexes what they name is sought.
pub(super) fn context(dialect: Dialect, spec: &QueueSpec, table: &TableSpec) -> Value {
    let names = Names::of(dialect, spec);
    let searches: Vec<_> = spec
        .kind_searches()
        .into_iter()
        .map(|search| {
            let columns = [(search.kind, &table.lifecycle.kind), (search.step, &table.lifecycle.step)];
            let columns = columns.into_iter().filter(|(is_sought, _)| *is_sought);
            let columns: Vec<_> =
                columns.filter_map(|(_, column)| column.as_ref()).map(|c| names.column(c, false)).collect();
            let words = [(search.kind, "Type", "type"), (search.step, "Step", "step")];
            let words = words.into_iter().filter(|(is_sought, ..)| *is_sought);
            let (stem, snake): (Vec<_>, Vec<_>) = words.map(|(_, stem, snake)| (stem, snake)).unzip();
            let stem = stem.concat();
            let index = format!("[IX_{}_{stem}Due]", spec.queue);
            context! { type => search.kind, step => search.step, columns, index, snake => snake.join("_"), stem }
        })
        .collect();
    context! {
        kind_searches => searches,
        // Claims that name no kind go by an index of their own.
        searches_all => !spec.is_always_by_type(),
        asks_types => spec.asks_types(),
        asks_steps => spec.asks_steps(),
    }
}
