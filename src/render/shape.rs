//! The context of a table's templates besides names: the columns that each state writes, and the columns of a table that readpast
//! makes itself.

use super::names::TableNames;
use super::table::{holds, literal, row_tests};
use super::{columns, shown};
use crate::description::{
    Assignment, ColumnKind, Completion, Holds, KeyColumn, KeySource, KeyText, LifecycleSpec, Literal, QueueSpec,
    TableSpec,
};
use crate::dialect::Dialect;
use crate::ident::Identifier;
use crate::item::ItemState;
use minijinja::{Value, context};

/// The columns that change with an item's life, each with its role and its values by state.
pub(super) fn context(dialect: Dialect, schema: &Identifier, spec: &QueueSpec, table: &TableSpec) -> Value {
    let names = TableNames::of(dialect, spec);
    let quoted = |name: &Identifier| names.quoted(name);
    let roles = changing_roles(&table.lifecycle);
    let assignments = table.assignments();
    let mut written: Vec<Value> = Vec::new();
    let with_role = roles.iter().map(|(role, column)| (Some(*role), *column));
    let without = assignments.iter().map(|a| &a.column).filter(|c| !roles.iter().any(|(_, column)| column == c));
    for (role, column) in with_role.chain(without.map(|column| (None, column))) {
        let cases = assignments.iter().find(|a| a.column == *column).map(|a| a.cases.as_slice()).unwrap_or_default();
        let cases: Vec<_> = cases
            .iter()
            .map(|(held, states)| {
                let states: Vec<_> = states.iter().map(|state| state.as_str()).collect();
                context! { states, ..holds(dialect, held) }
            })
            .collect();
        // The state's own name: it is written, and read, unchanged.
        let whole = assignments.iter().any(|a| a.column == *column && names_states(a));
        written.push(context! { quoted => quoted(column), role, cases, whole });
    }
    let order = spec.order_columns(table);
    let ordered = |column: &Identifier| order.iter().any(|(name, _)| name == column);
    let is_null = |column: &Identifier| {
        table.conditions(ItemState::Pending).iter().any(|c| c.column == *column && c.holds == Holds::Null)
    };
    let shows_claims = table
        .encodings()
        .iter()
        .any(|e| e.default == ItemState::Processing && e.conditions == table.conditions(ItemState::Processing));
    let history_table = match &spec.completion {
        Completion::History(name) => {
            let style = dialect.quote_style();
            // The history of readpast's own table is in its schema.
            let place =
                if spec.is_own() { schema.quoted(style) } else { quoted(&dialect.schema_of(table.schema.as_ref())) };
            Some(format!("{place}.{}", quoted(name)))
        }
        _ => None,
    };
    context! {
        // The types that keys are read with: text at any length, so that none is cut to fit.
        key_types => table.key.iter().map(|key| key_column_type(dialect, key)).collect::<Vec<_>>(),
        written,
        shown => shown::columns(dialect, spec, table),
        state_column => assignments.iter().find(|a| names_states(a)).map(|a| quoted(&a.column)),
        waits => waits(dialect, names, table),
        inserted => inserted(dialect, spec, table),
        same => same(dialect, spec),
        work => work(dialect, spec),
        made => made(dialect, spec, table),
        history_table,
        history_place => match &spec.completion {
            Completion::History(name) => {
                let theirs = || dialect.in_catalog(&dialect.schema_of(table.schema.as_ref()));
                let place = if spec.is_own() { schema.as_str().to_owned() } else { theirs() };
                Some(context! { schema => place, name => names.in_catalog(name) })
            }
            _ => None,
        },
        // A retry that waits does not look like a pending item: it becomes one when it is due.
        parks_errors => if table.shows_presence() {
            table.lifecycle.due.is_none()
        } else {
            table.conditions(ItemState::Error) != table.conditions(ItemState::Pending)
        },
        // The table itself shows a waiting retry, so that another program may have left one there.
        shows_errors => table
            .encodings()
            .iter()
            .any(|e| e.default == ItemState::Error && e.conditions == table.conditions(ItemState::Error)),
        // Only the table distinguishes an item in work from a finished one.
        shows_claims,
        due_in_order => table.lifecycle.due.as_ref().is_some_and(ordered),
        group_order => group_order(spec, table).iter().map(quoted).collect::<Vec<_>>(),
        // Columns of the table's own index that are NULL in all pending items: the order has to name them.
        order_prefix => table.index.columns.iter().filter(|c| is_null(c) && !ordered(c)).map(quoted).collect::<Vec<_>>(),
    }
}

/// Whether a column holds the name of every state.
fn names_states(assignment: &Assignment) -> bool {
    let named = |(held, states): &(Holds, Vec<ItemState>)| match (held, states.as_slice()) {
        (Holds::Values(values), [state]) => {
            matches!(values.as_slice(), [Literal::Text(text)] if text == state.as_str())
        }
        _ => false,
    };
    assignment.cases.len() == ItemState::ALL.len() && assignment.cases.iter().all(named)
}

/// The filter of a claim without a side table: a column, and its values for Pending and for Error.
fn waits(dialect: Dialect, names: TableNames, table: &TableSpec) -> Option<Value> {
    let (column, values) = table.waits()?;
    let literals: Vec<_> = values.into_iter().flatten().map(|value| literal(dialect, value)).collect();
    Some(context! { quoted => names.quoted(column), literals })
}

/// The type of a column of the key in variables and parameters: without digits and a length, to which a value would be cut, and of
/// the family of the column, whose index is not used for another.
pub(super) fn key_column_type(dialect: Dialect, key: &KeyColumn) -> String {
    match (dialect, key.kind, key.stored) {
        (Dialect::Postgres, ColumnKind::Decimal(..), _) => "numeric".to_owned(),
        (Dialect::Postgres, ColumnKind::Text(_), KeyText::Char) => "bpchar".to_owned(),
        (_, kind, _) => key_type(dialect, kind),
    }
}

pub(super) fn key_type(dialect: Dialect, kind: ColumnKind) -> String {
    dialect.column_type(if matches!(kind, ColumnKind::Text(_)) { ColumnKind::Text(None) } else { kind })
}

/// The order within a group: the earlier comes first, whenever it is due again.
pub(super) fn group_order(spec: &QueueSpec, table: &TableSpec) -> Vec<Identifier> {
    let due = table.lifecycle.due.as_ref();
    let mut columns: Vec<_> = spec.order.by.iter().filter(|column| due != Some(column)).cloned().collect();
    if columns.is_empty() {
        columns.extend(table.lifecycle.enqueued.clone());
    }
    for key in &table.key {
        if !columns.contains(&key.name) {
            columns.push(key.name.clone());
        }
    }
    columns
}

/// The columns that calls write, by their roles. An item's type and time of enqueueing stay.
fn changing_roles(lifecycle: &LifecycleSpec) -> Vec<(&'static str, &Identifier)> {
    [
        ("due", &lifecycle.due),
        ("started", &lifecycle.started),
        ("finished", &lifecycle.finished),
        ("duration", &lifecycle.duration),
        ("attempts", &lifecycle.attempts),
        ("owner", &lifecycle.owner),
        ("lease_until", &lifecycle.lease_until),
        ("step", &lifecycle.step),
        ("response", &lifecycle.response),
        ("error", &lifecycle.error),
        ("token", &lifecycle.token),
    ]
    .into_iter()
    .filter_map(|(role, column)| column.as_ref().map(|column| (role, column)))
    .collect()
}

/// The columns that get values in a new item: the producer's, those of its life cycle, those of its state. The table's defaults
/// fill the others.
fn inserted(dialect: Dialect, spec: &QueueSpec, table: &TableSpec) -> Vec<Value> {
    let names = TableNames::of(dialect, spec);
    let quoted = |name: &Identifier| names.quoted(name);
    let mut taken: Vec<&Identifier> = Vec::new();
    let mut inserted = Vec::new();
    let lifecycle = &table.lifecycle;
    let first = [
        ("kind", &lifecycle.kind),
        ("enqueued", &lifecycle.enqueued),
        ("due", &lifecycle.due),
        ("attempts", &lifecycle.attempts),
        ("step", &lifecycle.step),
        ("token", &lifecycle.token),
    ];
    let role_of =
        |name: &Identifier| first.iter().find(|(_, column)| column.as_ref() == Some(name)).map(|(role, _)| *role);
    for key in table.key.iter().filter(|key| key.source == KeySource::Producer) {
        taken.push(&key.name);
        inserted.push(context! {
            quoted => quoted(&key.name),
            name => key.name.as_str(),
            shown => key.name.quoted(dialect.quote_style()),
            parameter => format!("\"{}_\"", key.name.as_str()),
            type => key_column_type(dialect, key),
            is_time => key.kind == ColumnKind::Timestamp,
            is_drawn => key.kind == ColumnKind::Guid,
            is_given => true,
            default => (),
            is_binary => matches!(key.kind, ColumnKind::Binary(_)),
            role => role_of(&key.name),
        });
    }
    for column in &spec.columns {
        if taken.contains(&&column.name) {
            continue;
        }
        taken.push(&column.name);
        inserted.push(context! {
            quoted => quoted(&column.name),
            name => column.name.as_str(),
            shown => column.name.quoted(dialect.quote_style()),
            parameter => format!("\"{}_\"", column.name.as_str()),
            type => key_type(dialect, column.kind),
            is_time => column.kind == ColumnKind::Timestamp,
            is_drawn => false,
            is_given => true,
            default => columns::default(dialect, column),
            is_binary => columns::is_binary(column),
            role => role_of(&column.name),
        });
    }
    for (role, column) in &first {
        if let Some(column) = column.as_ref().filter(|column| !taken.contains(column)) {
            taken.push(column);
            // The producer may give the time of enqueueing; it need not be among the queue's columns for that.
            let is_given = *role == "enqueued";
            inserted.push(context! {
                quoted => quoted(column),
                name => column.as_str(),
                shown => column.quoted(dialect.quote_style()),
                parameter => format!("\"{}_\"", column.as_str()),
                type => dialect.column_type(ColumnKind::Timestamp),
                is_time => is_given,
                is_drawn => false,
                is_given,
                default => (),
                is_binary => false,
            is_binary => false,
                role => *role,
            });
        }
    }
    for assignment in table.assignments() {
        let in_state = |state: ItemState| assignment.cases.iter().find(|(_, states)| states.contains(&state));
        let value = assignment.cases.iter().find(|(held, _)| matches!(held, Holds::Values(_)));
        // A flag that is undefined for a pending item, and may have no default, gets its value of an item in work.
        let Some((pending, _)) = in_state(ItemState::Pending).or(value) else { continue };
        if taken.contains(&&assignment.column) {
            continue;
        }
        inserted.push(context! {
            quoted => quoted(&assignment.column),
            is_given => false,
            role => "state",
            is_text => table.lifecycle.owner.as_ref() == Some(&assignment.column)
                || table.lifecycle.error.as_ref() == Some(&assignment.column),
            pending => holds(dialect, pending),
        });
    }
    for row in table.rows.iter().filter(|row| row.is_written() && !taken.contains(&&row.column)) {
        let pending = row_tests(dialect, names, row).pop();
        inserted.push(context! { quoted => quoted(&row.column), is_given => false, role => "state", pending });
    }
    inserted
}

/// The columns whose values make an item unique.
fn same(dialect: Dialect, spec: &QueueSpec) -> Vec<Value> {
    let names = spec.dedup.as_ref().map(|dedup| dedup.columns.as_slice()).unwrap_or_default();
    let columns = spec.columns.iter().filter(|column| names.contains(&column.name));
    columns
        .map(|column| {
            context! {
                shown => column.name.quoted(dialect.quote_style()),
                quoted => TableNames::of(dialect, spec).quoted(&column.name),
                name => column.name.as_str(),
                type => key_type(dialect, column.kind),
                is_time => column.kind == ColumnKind::Timestamp,
                default => columns::default(dialect, column),
                is_binary => columns::is_binary(column),
            }
        })
        .collect()
}

/// The columns that make an item of readpast's own table unique, as described.
fn work(dialect: Dialect, spec: &QueueSpec) -> Vec<Value> {
    let names = spec.dedup.iter().flat_map(|dedup| &dedup.columns);
    let listed = names.filter_map(|name| spec.columns.iter().find(|column| column.name == *name));
    listed.map(|column| columns::context(dialect, column, !spec.is_own())).collect()
}

/// A column of the key of a table that readpast makes.
fn made_key(dialect: Dialect, key: &KeyColumn) -> String {
    match (dialect, key.kind, key.stored) {
        (Dialect::SqlServer, ..) => format!("{}{}", super::tsql::key_type(key), super::tsql::collate(key)),
        (Dialect::Postgres, ColumnKind::Text(Some(length)), KeyText::Char) => format!("char({length})"),
        (Dialect::Postgres, kind, _) => dialect.column_type(kind),
    }
}

/// The columns of a table that readpast makes in this shape: the key, the payload, the life cycle, the states.
fn made(dialect: Dialect, spec: &QueueSpec, table: &TableSpec) -> Vec<Value> {
    let names = TableNames::of(dialect, spec);
    let quoted = |name: &Identifier| names.quoted(name);
    let mut taken: Vec<Identifier> = Vec::new();
    let mut made = Vec::new();
    let mut add = |name: &Identifier, value: Value| {
        if !taken.contains(name) {
            taken.push(name.clone());
            made.push(context! { quoted => quoted(name), ..value });
        }
    };
    for key in &table.key {
        let by_table = key.source == KeySource::Table;
        let whole = matches!(key.kind, ColumnKind::Integer | ColumnKind::BigInteger);
        let value = context! {
            means => "key",
            type => made_key(dialect, key),
            numbered => by_table && whole,
            drawn => by_table && key.kind == ColumnKind::Guid,
            stamped => by_table && key.kind == ColumnKind::Timestamp,
        };
        add(&key.name, value);
    }
    for column in &spec.columns {
        let stem = dialect.queue_stem(&spec.queue);
        let value = context! { means => "payload", ..columns::declared(dialect, &stem, column, true) };
        add(&column.name, value);
    }
    let lifecycle = &table.lifecycle;
    for (means, column) in [("kind", &lifecycle.kind), ("enqueued", &lifecycle.enqueued)] {
        if let Some(column) = column {
            add(column, context! { means });
        }
    }
    let pending = table.conditions(ItemState::Pending);
    for (means, column) in changing_roles(lifecycle) {
        add(column, context! { means });
    }
    for assignment in table.assignments() {
        let value = assignment.cases.iter().find_map(|(holds, _)| match holds {
            Holds::Values(values) => values.first(),
            _ => None,
        });
        let initial = pending.iter().find(|c| c.column == assignment.column).map(|c| match &c.holds {
            Holds::Values(values) => values.first().map_or_else(String::new, |value| literal(dialect, value)),
            _ => "NULL".to_owned(),
        });
        let is_null = assignment.cases.iter().any(|(holds, _)| *holds == Holds::Null);
        if let Some(value) = value {
            let kind = kind_of(value);
            let initial = initial.unwrap_or_else(|| literal(dialect, value));
            let value = context! {
                means => "state", type => dialect.column_type(kind), initial, nullable => is_null
            };
            add(&assignment.column, value);
        }
    }
    for row in &table.rows {
        if let Some(value) = row.literals().first() {
            let initial = if row.is_written() { literal(dialect, value) } else { "NULL".to_owned() };
            let kind = dialect.column_type(kind_of(value));
            add(&row.column, context! { means => "state", type => kind, initial, nullable => !row.is_written() });
        }
    }
    made
}

/// The type of a column that readpast makes for such constants.
fn kind_of(value: &Literal) -> ColumnKind {
    match value {
        Literal::Integer(_) => ColumnKind::Integer,
        Literal::Boolean(_) => ColumnKind::Boolean,
        Literal::Text(_) => ColumnKind::Text(Some(100)),
    }
}
