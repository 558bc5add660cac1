//! The indexes of a table, and the values of a new row.

use super::DIALECT;
use crate::description::{ColumnCondition, ColumnKind, Completion, Holds, KeyColumn, QueueSpec, RowTest, TableSpec};
use crate::ident::Identifier;
use crate::item::ItemState;
use crate::render::names::TableNames;
use crate::render::shape::group_order;
use crate::render::table::{in_comment, literal, row_tests};
use minijinja::{Value, context};

/// The indexes to be made, their columns, and the assumptions of the statements.
pub(super) fn context(spec: &QueueSpec, table: &TableSpec) -> Value {
    let known = TableNames::of(DIALECT, spec);
    let quoted = |name: &Identifier| known.quoted(name);
    let due = due_index(spec, table);
    let in_flight = in_flight_index(table);
    let leads = in_flight.len() <= due.len() && in_flight.iter().zip(&due).all(|(column, (other, _))| column == other);
    let due_column = table.lifecycle.due.as_ref();
    let order = spec.order_columns(table);
    let due_leads = due_column.is_some_and(|due| order.first().is_none_or(|(column, _)| column == due));
    let default_of = |state: ItemState| {
        let conditions = table.conditions(state);
        table.encodings().iter().find(|e| e.conditions == conditions).map(|e| e.default)
    };
    let foreign = table.lifecycle.started.is_some()
        && !table.run_time
        && default_of(ItemState::Processing) == Some(ItemState::Processing);
    let group = spec.order.group.as_ref().map(|group| {
        let mut columns = vec![(group.clone(), false)];
        let tested = table.conditions(ItemState::Pending).iter().filter(|c| c.holds != Holds::Something);
        for column in tested.map(|c| c.column.clone()).chain(group_order(spec, table)) {
            if !columns.iter().any(|(other, _)| *other == column) {
                columns.push((column, false));
            }
        }
        columns
    });
    let plain = |name: &Identifier| known.column(name, false);
    let listed = |columns: &[(Identifier, bool)]| -> Vec<Value> {
        columns.iter().map(|(name, descending)| known.column(name, *descending)).collect()
    };
    let witness = witness(spec, table, &due);
    let history = match &spec.completion {
        Completion::History(name) => Some(in_comment(name)),
        _ => None,
    };
    context! {
        called => context! { table => in_comment(&table.name), witness => witness.as_ref().map(in_comment), history },
        due_index => listed(&due),
        // Read with the order where it does not decide it, so that an item that is not due yet costs no visit to its row.
        due_include => due_column.filter(|column| !due.iter().any(|(other, _)| other == *column)).map(plain),
        due_leads,
        witness => witness.as_ref().map(quoted),
        in_flight_index => in_flight.iter().map(plain).collect::<Vec<_>>(),
        // The index of due items serves this search as well.
        in_flight_is_due => leads && table.index.name.is_none(),
        foreign,
        error_index => error_index(table).iter().map(plain).collect::<Vec<_>>(),
        errors_are_due => {
            let columns = columns_of_state(table, ItemState::Error);
            let first = due.iter().take(columns.len()).filter(|(column, _)| columns.contains(&column));
            first.count() == columns.len() && table.index.name.is_none()
        },
        completed_is_told => default_of(ItemState::Completed) == Some(ItemState::Completed),
        group_index => group.as_deref().map(listed),
        limited_index => limited_index(spec, table, &due).as_deref().map(listed),
        // The items in work, by the column of each limit.
        in_work_indexes => spec.limits.iter().map(|limit| {
            let columns = columns_of_state(table, ItemState::Processing).into_iter();
            columns.filter(|column| limit.by.as_ref() != Some(column)).chain(&limit.by).map(plain).collect::<Vec<_>>()
        }).collect::<Vec<_>>(),
    }
}

/// The values of a new row: each column with its source.
pub(super) fn enqueue(spec: &QueueSpec, table: &TableSpec) -> Value {
    let known = TableNames::of(DIALECT, spec);
    let quoted = |name: &Identifier| known.quoted(name);
    // A producer may give the time of enqueueing too, named among the columns or not.
    let enqueued = table.lifecycle.enqueued.as_ref();
    let listed = |name: &Identifier| spec.columns.iter().any(|column| column.name == *name);
    let given = |name: &Identifier| listed(name) || enqueued == Some(name);
    let drawn_by_us = |key: &KeyColumn| super::drawn_by_us(spec, key);
    let mut names: Vec<&Identifier> = Vec::new();
    let mut added: Vec<Value> = Vec::new();
    let mut add = |name, from: &str, literal: Option<String>| {
        if !names.contains(&name) {
            names.push(name);
            added.push(context! { quoted => quoted(name), from, literal, given => given(name) });
        }
    };
    let lifecycle = &table.lifecycle;
    for key in &table.key {
        if drawn_by_us(key) {
            add(&key.name, "key", None);
        }
    }
    for (role, column) in lifecycle.columns() {
        match role {
            "enqueued" | "due" => add(column, role, None),
            "type" => add(column, if given(column) { "item" } else { "kind" }, None),
            _ => {}
        }
    }
    for ColumnCondition { column, holds } in table.conditions(ItemState::Pending) {
        match holds {
            Holds::Values(values) => add(column, "literal", values.first().map(|value| literal(DIALECT, value))),
            Holds::Null => add(column, "literal", Some("NULL".to_owned())),
            Holds::Something => add(column, "now", None),
        }
    }
    for row in &table.rows {
        match &row.test {
            RowTest::Values(_) | RowTest::Null if !given(&row.column) => {
                let tested = row_tests(DIALECT, known, row).pop().unwrap_or_default();
                add(&row.column, "literal", tested.get_attr("literal").ok().map(|literal| literal.to_string()));
            }
            _ => {}
        }
    }
    for (role, column) in lifecycle.columns() {
        match role {
            "attempts" => add(column, "literal", Some("0".to_owned())),
            "step" => add(column, "step", None),
            "token" => add(column, "now", None),
            _ => {}
        }
    }
    for column in &spec.columns {
        if !table.key.iter().any(|key| key.name == column.name) {
            add(&column.name, "item", None);
        }
    }
    let numbered: Vec<_> = table.key.iter().filter(|key| !drawn_by_us(key)).map(|key| quoted(&key.name)).collect();
    context! { added, numbered }
}

/// The index of pending items: their common columns, then the order, then the key.
fn due_index(spec: &QueueSpec, table: &TableSpec) -> Vec<(Identifier, bool)> {
    let mut columns: Vec<(Identifier, bool)> = Vec::new();
    let mut add = |column: &Identifier, descends: bool| {
        if !columns.iter().any(|(other, _)| other == column) {
            columns.push((column.clone(), descends));
        }
    };
    // A value that all of them share comes first; the other conditions are read in the index, at its end.
    let (shared, told): (Vec<_>, Vec<_>) = table.rows.iter().partition(|row| row.is_one_value());
    shared.iter().for_each(|row| add(&row.column, false));
    for ColumnCondition { column, holds } in table.conditions(ItemState::Pending) {
        if *holds != Holds::Something {
            add(column, false);
        }
    }
    let order = spec.order_columns(table);
    // An index is read from either end: it needs to mix directions only where the order does.
    let flip = order.iter().all(|(_, descends)| *descends);
    for (column, descends) in &order {
        add(column, *descends && !flip);
    }
    if let (true, Some(due)) = (order.is_empty(), &table.lifecycle.due) {
        add(due, false);
    }
    for key in &table.key {
        add(&key.name, order.last().is_some_and(|(_, descends)| *descends && !flip));
    }
    told.iter().for_each(|row| add(&row.column, false));
    columns
}

/// The index of pending items by the key of a limit: their common columns, the key's, then the rest of `due`.
fn limited_index(spec: &QueueSpec, table: &TableSpec, due: &[(Identifier, bool)]) -> Option<Vec<(Identifier, bool)>> {
    let by = spec.limits.iter().find_map(|limit| limit.by.as_ref())?;
    let shared = table.rows.iter().filter(|row| row.is_one_value()).map(|row| &row.column);
    let shared: Vec<_> = shared.chain(columns_of_state(table, ItemState::Pending)).collect();
    let (common, rest): (Vec<_>, Vec<_>) = due.iter().partition(|(column, _)| shared.contains(&column));
    let key = (by.clone(), false);
    Some(common.into_iter().chain([&key]).chain(rest.into_iter().filter(|(column, _)| column != by)).cloned().collect())
}

/// The index of items in work: their common columns, then the start of the attempt.
fn in_flight_index(table: &TableSpec) -> Vec<Identifier> {
    let started = table.lifecycle.started.as_ref();
    let columns = columns_of_state(table, ItemState::Processing).into_iter().filter(|column| Some(*column) != started);
    columns.chain(started).cloned().collect()
}

/// The columns that test a state with a value or NULL.
fn columns_of_state(table: &TableSpec, state: ItemState) -> Vec<&Identifier> {
    let mut columns: Vec<&Identifier> = Vec::new();
    for ColumnCondition { column, holds } in table.conditions(state) {
        if *holds != Holds::Something && !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// The index of items in Error: their common columns, then the due time.
fn error_index(table: &TableSpec) -> Vec<Identifier> {
    let mut columns = columns_of_state(table, ItemState::Error);
    columns.extend(table.lifecycle.due.iter().filter(|due| !columns.contains(due)).collect::<Vec<_>>());
    columns.into_iter().cloned().collect()
}

/// A column that is in no index of the description: reading it means visiting the row itself.
fn witness(spec: &QueueSpec, table: &TableSpec, due: &[(Identifier, bool)]) -> Option<Identifier> {
    let indexed = |column: &Identifier| {
        due.iter().any(|(other, _)| other == column)
            || table.index.columns.contains(column)
            || table.lifecycle.due.as_ref() == Some(column)
            || spec.order.group.as_ref() == Some(column)
            || spec.dedup.as_ref().is_some_and(|dedup| dedup.columns.contains(column))
            || spec.limits.iter().any(|limit| limit.by.as_ref() == Some(column))
    };
    let long = spec
        .columns
        .iter()
        .filter(|c| matches!(c.kind, ColumnKind::Text(None) | ColumnKind::Json | ColumnKind::Binary(None)));
    let others = spec.columns.iter();
    let lifecycle = table.lifecycle.columns();
    let mut candidates =
        long.chain(others).map(|column| &column.name).chain(lifecycle.iter().rev().map(|(_, column)| *column));
    candidates.find(|column| !indexed(column)).cloned()
}
