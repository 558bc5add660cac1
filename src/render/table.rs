//! The table of a queue, for its templates. `sql/README.md` lists the placeholders.

use super::names::TableNames;
use super::{columns, kinds, limits, shape, subtypes, takes, tsql};
use crate::description::{
    BackoffSpec, ColumnCondition, Completion, Holds, KeySource, Literal, OnDuplicate, QueueSpec, RowCondition, RowTest,
    ScheduleSpec, TableSpec, may_hold_json,
};
use crate::dialect::Dialect;
use crate::ident::Identifier;
use minijinja::{Value, context};

/// The whole context of a queue's templates; the same for a table of readpast's own and for one that was there before.
pub(super) fn all(dialect: Dialect, schema: &Identifier, spec: &QueueSpec, table: &TableSpec) -> Value {
    let stem = dialect.queue_stem(&spec.queue);
    let columns = spec.columns.iter().map(|column| columns::declared(dialect, &stem, column, !spec.is_own()));
    let kind = context! {
        ..context(dialect, schema, spec, table),
        ..shape::context(dialect, schema, spec, table),
        ..kinds::context(dialect, spec, table),
        ..limits::context(dialect, spec),
        ..takes::context(dialect, spec, table),
        ..options(dialect, spec)
    };
    let kind = context! {
        queue => dialect.queue_stem(&spec.queue),
        columns => columns.collect::<Vec<_>>(),
        // The columns that a settlement may set.
        settable => spec.settable().map(|column| columns::context(dialect, column, !spec.is_own())).collect::<Vec<_>>(),
        searchable => spec.searchable().map(|column| context! {
            written => dialect.in_catalog(&column.name),
            may_hold_json => may_hold_json(column),
            ..columns::context(dialect, column, !spec.is_own())
        }).collect::<Vec<_>>(),
        subtypes => subtypes::contexts(dialect, schema, spec, table),
        ..kind
    };
    if dialect == Dialect::SqlServer { tsql::context(schema, spec, table, kind) } else { kind }
}

/// The columns of the table. `schema` is that of readpast's own objects.
pub(super) fn context(dialect: Dialect, schema: &Identifier, spec: &QueueSpec, table: &TableSpec) -> Value {
    let names = TableNames::of(dialect, spec);
    let quoted = |name: &Identifier| names.quoted(name);
    let optional = |name: &Option<Identifier>| name.as_ref().map(quoted);
    let (place, qualified, table_name) = if spec.is_own() {
        let stem = dialect.queue_stem(&spec.queue);
        let name = Identifier::new("the table", &stem).unwrap_or_else(|_| table.name.clone());
        let style = dialect.quote_style();
        let place = context! { schema => schema.as_str(), name => stem.as_str() };
        (place, format!("{}.{}", schema.quoted(style), name.quoted(style)), stem)
    } else {
        let schema = dialect.schema_of(table.schema.as_ref());
        let qualified = format!("{}.{}", quoted(&schema), quoted(&table.name));
        let place = context! { schema => dialect.in_catalog(&schema), name => dialect.in_catalog(&table.name) };
        (place, qualified, in_comment(&table.name))
    };
    let lifecycle = &table.lifecycle;
    let role = context! {
        kind => optional(&lifecycle.kind),
        enqueued => optional(&lifecycle.enqueued),
        due => optional(&lifecycle.due),
        started => optional(&lifecycle.started),
        finished => optional(&lifecycle.finished),
        duration => optional(&lifecycle.duration),
        attempts => optional(&lifecycle.attempts),
        owner => optional(&lifecycle.owner),
        lease_until => optional(&lifecycle.lease_until),
        step => optional(&lifecycle.step),
        response => optional(&lifecycle.response),
        error => optional(&lifecycle.error),
        token => optional(&lifecycle.token),
    };
    let indexed = |name: &Option<Identifier>| name.as_ref().map(|name| names.column(name, false));
    let key: Vec<_> = table
        .key
        .iter()
        .map(|column| {
            context! {
                name => column.name.as_str(),
                quoted => quoted(&column.name),
                shown => if spec.is_own() { quoted(&column.name) } else { column.name.quoted(dialect.quote_style()) },
                type => dialect.column_type(column.kind),
                by_producer => column.source == KeySource::Producer,
                is_guid => column.kind == crate::description::ColumnKind::Guid,
                is_time => column.kind == crate::description::ColumnKind::Timestamp,
                is_binary => matches!(column.kind, crate::description::ColumnKind::Binary(_)),
                path => columns::path(column.name.as_str()),
            }
        })
        .collect();
    let seek: Vec<_> = table
        .seek
        .iter()
        .map(|column| {
            let values: Vec<_> = column.values.iter().map(|value| literal(dialect, value)).collect();
            context! { quoted => quoted(&column.name), values }
        })
        .collect();
    let conditions = |conditions: &[ColumnCondition]| -> Vec<Value> {
        conditions.iter().map(|c| context! { quoted => quoted(&c.column), ..holds(dialect, &c.holds) }).collect()
    };
    let rows: Vec<_> = table.rows.iter().flat_map(|row| row_tests(dialect, names, row)).collect();
    // An item in a state, among the rows that are this queue's.
    let among = |state| rows.iter().cloned().chain(conditions(table.conditions(state))).collect::<Vec<_>>();
    let states = |states: &[crate::item::ItemState]| -> Vec<&str> { states.iter().map(|s| s.as_str()).collect() };
    let encodings: Vec<_> = table
        .encodings()
        .iter()
        .map(|e| {
            context! {
                conditions => conditions(&e.conditions), states => states(&e.states), default => e.default.as_str()
            }
        })
        .collect();
    let order: Vec<_> =
        spec.order_columns(table).iter().map(|(column, descends)| names.column(column, *descends)).collect();
    let due_columns: Vec<_> =
        spec.due_columns(table).iter().map(|(column, descends)| names.column(column, *descends)).collect();
    use crate::item::ItemState::{Completed, Error, Pending, Processing};
    context! {
        // Its name, for the declaration of a statement.
        place => context! { quoted => qualified.as_str(), ..place },
        table => qualified,
        table_name,
        own => spec.is_own(),
        beside => table.beside(),
        // Whether its items' reports go with no other row of ours, by a foreign key.
        reports_alone => spec.progress && !spec.is_own() && !table.beside(),
        marks_claims => spec.marks_claims(),
        create => table.create,
        key,
        composite => table.key.len() > 1,
        seek,
        local_time => table.local_time,
        run_time => table.run_time,
        settings_of => dialect.settings_of(schema, spec),
        claimed_by_others => table.claimed_by.is_some(),
        role,
        // The columns of an index.
        indexed => context! {
            key => table.key.iter().map(|key| names.column(&key.name, false)).collect::<Vec<_>>(),
            kind => indexed(&lifecycle.kind),
            step => indexed(&lifecycle.step),
            due => indexed(&lifecycle.due),
            started => indexed(&lifecycle.started),
            group => indexed(&spec.order.group),
            group_order => shape::group_order(spec, table).iter().map(|name| names.column(name, false)).collect::<Vec<_>>(),
            same => spec.dedup.iter().flat_map(|dedup| &dedup.columns).map(|name| names.column(name, false)).collect::<Vec<_>>(),
        },
        encodings,
        presence => table.shows_presence(),
        // In a table that shows no state: those of the row beside in which an item may be claimed once it is due.
        claimable => if table.lifecycle.due.is_some() { vec![Pending.as_str(), Error.as_str()] } else { vec![Pending.as_str()] },
        pending => among(Pending),
        processing => among(Processing),
        completed => conditions(table.conditions(Completed)),
        errors => among(Error),
        rows,
        order,
        due_columns,
        index => context! {
            name => optional(&table.index.name), columns => table.index.columns.iter().map(quoted).collect::<Vec<_>>()
        },
    }
}

/// The conditions of a row that is the queue's.
pub(super) fn row_tests(dialect: Dialect, names: TableNames, row: &RowCondition) -> Vec<Value> {
    let quoted = names.quoted(&row.column);
    let condition = |tested: Value| context! { quoted => quoted.as_str(), ..tested };
    match &row.test {
        RowTest::Values(values) => vec![condition(holds(dialect, &Holds::Values(values.clone())))],
        RowTest::Null => vec![condition(holds(dialect, &Holds::Null))],
        RowTest::Something => vec![condition(holds(dialect, &Holds::Something))],
        RowTest::Compared(compared) => {
            let is = |how: &str, value| format!("{how} {}", literal(dialect, value));
            compared.iter().map(|(how, value)| condition(context! { is => is(how.as_str(), value) })).collect()
        }
    }
}

/// A condition on a column: `is` tests it, `literal` is what is written where it is known.
pub(super) fn holds(dialect: Dialect, holds: &Holds) -> Value {
    match holds {
        Holds::Values(values) => {
            let literals: Vec<_> = values.iter().map(|value| literal(dialect, value)).collect();
            let is = match literals.as_slice() {
                [one] => format!("= {one}"),
                all => format!("IN ({})", all.join(", ")),
            };
            context! { holds => "value", literal => literals.first(), is }
        }
        Holds::Null => context! { holds => "null", literal => "NULL", is => "IS NULL" },
        Holds::Something => context! { holds => "something", is => "IS NOT NULL" },
    }
}

pub(super) fn literal(dialect: Dialect, value: &Literal) -> String {
    match (value, dialect) {
        (Literal::Integer(number), _) => number.to_string(),
        (Literal::Boolean(value), Dialect::SqlServer) => u8::from(*value).to_string(),
        (Literal::Boolean(value), Dialect::Postgres) => value.to_string().to_uppercase(),
        // Without the N where it is not needed: with it, a varchar column would be converted row by row, and its index not be
        // used. For an nvarchar column the literal is converted, once.
        (Literal::Text(text), Dialect::SqlServer) if text.is_ascii() => dialect.text_literal(text)[1..].to_owned(),
        (Literal::Text(text), _) => dialect.text_literal(text),
    }
}

/// The context of every kind of queue.
pub(super) fn options(dialect: Dialect, spec: &QueueSpec) -> Value {
    let names = TableNames::of(dialect, spec);
    let quoted = |name: &Identifier| names.quoted(name);
    let list = |names: &[Identifier]| -> Vec<String> { names.iter().map(quoted).collect() };
    let (completion, history) = match &spec.completion {
        Completion::Keep => ("keep", None),
        Completion::Delete => ("delete", None),
        Completion::History(table) => ("history", Some(quoted(table))),
    };
    let backoff = spec.backoff.map(|BackoffSpec { first_ms, factor_percent, cap_ms, jitter_percent }| {
        context! { first_ms, factor_percent, cap_ms, jitter_percent }
    });
    let dedup = spec.dedup.as_ref().map(|dedup| {
        context! {
            columns => list(&dedup.columns),
            existing => dedup.existing || dedup.on_duplicate != OnDuplicate::Keep,
            unfinished_only => dedup.unfinished_only,
            replaces => dedup.on_duplicate != OnDuplicate::Keep,
            later => dedup.on_duplicate == OnDuplicate::Later,
        }
    });
    let priority =
        spec.order.priority.as_ref().map(|p| context! { quoted => quoted(&p.column), descending => p.highest_first });
    let role = |name: &Option<Identifier>| {
        name.as_ref().map(|name| context! { name => name.as_str(), quoted => name.quoted(dialect.quote_style()) })
    };
    let retention: Vec<_> =
        spec.retention.iter().map(|rule| context! { state => rule.state.as_str(), seconds => rule.seconds }).collect();
    context! {
        setting => spec.settings.as_str(),
        retention,
        attempt_retention => spec.attempt_retention,
        max_attempts => spec.max_attempts,
        attempt_history => spec.attempt_history,
        lease_ms => spec.lease.ms,
        lease_sliding => spec.lease.sliding,
        resume_own => spec.lease.resume_own,
        durable => spec.lease.durable,
        expires => spec.expires.as_ref().map(quoted),
        after => spec.after,
        progress => spec.progress,
        direction => spec.order.direction.as_str(),
        priority,
        group => spec.order.group.as_ref().map(quoted),
        backoff,
        completion,
        history,
        dedup,
        shards => spec.shards,
        schedules => spec.schedules.as_ref().map(|all| all.iter().map(|one| schedule(spec, one)).collect::<Vec<_>>()),
        types => spec.types.clone(),
        steps => spec.steps.clone(),
        own_types_only => spec.roles.own_types_only,
        roles => context! {
            producer => role(&spec.roles.producer),
            worker => role(&spec.roles.worker),
            monitor => role(&spec.roles.monitor),
            operator => role(&spec.roles.operator),
        },
    }
}

fn schedule(spec: &QueueSpec, schedule: &ScheduleSpec) -> Value {
    context! {
        name => schedule.name.as_str(),
        cron => schedule.cron.as_str(),
        zone => schedule.zone.as_str(),
        items => schedule.items(spec),
        missed => schedule.missed.as_str(),
        overlap => schedule.overlap.as_str(),
    }
}

/// A name for a comment, which it must not end.
pub(super) fn in_comment(name: &Identifier) -> String {
    name.as_str().replace("*/", "* /").replace("/*", "/ *")
}
