//! The kind filters of claims, for the templates.

use super::names::TableNames;
use crate::description::{KindSearch, QueueSpec, TableSpec};
use crate::dialect::Dialect;
use minijinja::{Value, context};

/// Whether claims take types, and steps; and the indexes that serve them.
pub(super) fn context(dialect: Dialect, spec: &QueueSpec, table: &TableSpec) -> Value {
    let names = TableNames::of(dialect, spec);
    let searches: Vec<_> = spec
        .kind_searches()
        .into_iter()
        .map(|search| {
            let columns = [(search.kind, &table.lifecycle.kind), (search.step, &table.lifecycle.step)];
            let columns = columns.into_iter().filter(|(is_sought, _)| *is_sought);
            let columns: Vec<_> =
                columns.filter_map(|(_, column)| column.as_ref()).map(|c| names.column(c, false)).collect();
            let (stem, snake) = (stem(search), snake(search));
            let index = index(spec, search);
            context! { type => search.kind, step => search.step, columns, index, snake, stem }
        })
        .collect();
    context! {
        kind_searches => searches,
        // Claims that name no kind use an index of their own.
        searches_all => !spec.is_always_by_type(),
        asks_types => spec.asks_types(),
        asks_steps => spec.asks_steps(),
    }
}

/// The T-SQL index that finds all waiting items in order, in our own table or one without a named index.
pub(super) fn due_index(spec: &QueueSpec) -> String {
    // A claim that names no kind searches by types as well: there is no other index then.
    let by_type = spec.kind_searches().last().copied().filter(|_| spec.is_always_by_type());
    by_type.map_or_else(|| format!("[IX_{}_Due]", spec.queue), |search| index(spec, search))
}

fn index(spec: &QueueSpec, search: KindSearch) -> String {
    format!("[IX_{}_{}Due]", spec.queue, stem(search))
}

fn stem(search: KindSearch) -> String {
    [(search.kind, "Type"), (search.step, "Step")].into_iter().filter_map(|(is, word)| is.then_some(word)).collect()
}

fn snake(search: KindSearch) -> String {
    let words = [(search.kind, "type"), (search.step, "step")];
    words.into_iter().filter_map(|(is, word)| is.then_some(word)).collect::<Vec<_>>().join("_")
}
