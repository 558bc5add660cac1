//! Upgrades from one description to the next: drops and changes before the objects are made anew, and the statements after them.

use super::columns::Constraint;
use super::names::TableNames;
use super::object::{Made, Name, Object};
use super::{Target, columns};
use crate::description::{ColumnChange, ColumnSpec, ColumnTable, QueueSpec, SHARD, Storage, TableSpec};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::ident::{Identifier, QueueName};
use minijinja::{Value, context};

/// The statements before and after the objects of an existing queue.
#[derive(Default)]
pub(crate) struct Upgrade {
    pub(crate) before: Vec<Object>,
    pub(crate) after: Vec<Object>,
}

impl Target<'_> {
    /// The drops and changes before the objects of `new` are made in place of those of `old`, and the statements after them.
    pub(crate) fn upgrade(self, old: &QueueSpec, new: &QueueSpec) -> Result<Upgrade> {
        let dialect = self.dialect;
        let columns = old.changes_to(new)?;
        let was: Vec<_> = self.owned(old)?.collect();
        let is: Vec<_> = self.owned(new)?.collect();
        let (shard, shards_change) = (Identifier::known(SHARD), old.shards != new.shards);
        let mut touched: Vec<_> =
            columns.iter().filter(|change| change.is_retyped()).map(|change| &change.column.name).collect();
        touched.extend(shards_change.then_some(&shard));
        let (mut dropped, mut indexes, mut grants) = (Vec::new(), Vec::new(), Vec::new());
        for made in was.iter().rev() {
            match made {
                // SQL Server alters code; PostgreSQL only if parameters and columns are the same.
                Made::Code { kind, name } if dialect == Dialect::Postgres || !is.contains(made) => {
                    dropped.push(context! {
                        kind => kind.to_string(), name => name.quoted(dialect)?, bare => name.name.as_str()
                    });
                }
                Made::Index(index)
                    if !is.contains(made) || touched.iter().any(|name| is_on(dialect, old, index, name)) =>
                {
                    let qualified = Name { name: index.name.clone(), ..index.table.clone() };
                    indexes.push(context! {
                        name => Identifier::new("an index", &index.name)?.quoted(dialect.quote_style()),
                        table => index.table.quoted(dialect)?,
                        qualified => qualified.quoted(dialect)?,
                    });
                }
                // Another queue may have granted rights on shared objects as well.
                Made::Grant(grant) if !is.contains(made) && makes(&was, &grant.on) => {
                    grants.push(context! {
                        right => grant.right.as_str(),
                        on => grant.on.quoted(dialect)?,
                        bare => grant.on.name.as_str(),
                        role => Identifier::new("a role", &grant.role)?.quoted(dialect.quote_style()),
                        role_name => grant.role.as_str(),
                    });
                }
                _ => {}
            }
        }
        let mut contexts: Vec<_> =
            columns.iter().map(|change| self.change(new, change, change.is_retyped())).collect::<Result<_>>()?;
        if dialect == Dialect::SqlServer {
            // It alters no column in a condition, and a condition may name every column of its table.
            for place in columns.iter().filter(|change| change.is_retyped()).map(|change| &change.table) {
                for column in unchanged(new, &columns, place).filter(|column| column.check.is_some()) {
                    let same = ColumnChange { table: place.clone(), column: column.clone(), was: Some(column.clone()) };
                    let context = self.change(new, &same, true)?;
                    if !contexts.contains(&context) {
                        contexts.push(context);
                    }
                }
            }
        }
        let columns = contexts;
        let keeps_grants = dialect == Dialect::Postgres && !dropped.is_empty();
        let shards = context! {
            was => old.shards.filter(|_| shards_change),
            is => new.shards.filter(|_| shards_change),
            table => dialect.exact(self.schema.as_str(), &dialect.queue_stem(&new.queue))?,
        };
        let operates_no_more = old
            .roles
            .operator
            .as_ref()
            .filter(|role| old.roles.own_types_only && new.roles.operator.as_ref() != Some(role));
        // The row of its turn stays: a claim of the old code may wait for it.
        let (needed, turn) =
            (self.first_needed(new)?, if dialect == Dialect::SqlServer { "QueueTurn" } else { "queue_turn" });
        let needs_no_more: Vec<_> =
            self.first_needed(old)?.into_iter().filter(|name| name != turn && !needed.contains(name)).collect();
        let context = context! {
            needs_no_more,
            objects => dropped, indexes, grants, columns, shards,
            queue => dialect.queue_stem(&new.queue),
            beside_no_more => is_beside(old) && !is_beside(new),
            operates_no_more => operates_no_more.map(Identifier::as_str),
        };
        let before = self.objects("schema/upgrade_before.sql", context.clone())?;
        let after = if keeps_grants { self.objects("schema/upgrade_after.sql", context)? } else { Vec::new() };
        Ok(Upgrade { before, after })
    }

    /// The changes of a column. `again`: its constraints are made anew even where they stay.
    fn change(self, spec: &QueueSpec, change: &ColumnChange, again: bool) -> Result<Value> {
        let dialect = self.dialect;
        let style = dialect.quote_style();
        let stem = dialect.queue_stem(&spec.queue);
        let ours = |name: &str| dialect.exact(self.schema.as_str(), name);
        let theirs = |table: &TableSpec, name: &Identifier| {
            let schema = dialect.schema_of(table.schema.as_ref());
            format!("{}.{}", schema.quoted_as_written(style), name.quoted_as_written(style))
        };
        // The table, and the stem of its constraints' names.
        let (table, stem) = match (&change.table, &spec.storage) {
            (ColumnTable::Queue, Storage::Table(table)) => (theirs(table, &table.name), stem),
            (ColumnTable::Queue, _) => (ours(&stem)?, stem),
            (ColumnTable::Subtype(name), storage) => {
                let stem = format!("{stem}_{}", dialect.queue_stem(&QueueName::new(name.as_str())?));
                match storage {
                    Storage::Table(table) => (theirs(table, &table.of_subtype(name)), stem),
                    _ => (ours(&stem)?, stem),
                }
            }
            (ColumnTable::History(name), _) => (ours(name.as_str())?, format!("{stem}_History")),
        };
        // A history takes ended items: it has types, and neither defaults nor conditions.
        let kept = !matches!(change.table, ColumnTable::History(_));
        let column = &change.column;
        let was = change.was.as_ref().filter(|_| kept);
        let described = !spec.is_own();
        let constraints = |column: &ColumnSpec| columns::constraints(dialect, &stem, column, described);
        let had = || was.map(constraints).unwrap_or_default();
        let has = || if kept { constraints(column) } else { Vec::new() };
        // A column whose type changes drops its constraints before, and gets them again.
        let differ = |one: Vec<Constraint>, other: Vec<Constraint>| -> Vec<Value> {
            one.into_iter().filter(|it| again || !other.contains(it)).map(Constraint::context).collect()
        };
        let defaults_differ =
            was.is_some_and(|was| was.default != column.default || (change.is_retyped() && was.default.is_some()));
        Ok(context! {
            table,
            added => change.was.is_none(),
            retyped => change.is_retyped(),
            history => !kept,
            drops_default => defaults_differ,
            adds_default => defaults_differ && column.default.is_some(),
            dropped => differ(had(), has()),
            added_constraints => differ(has(), had()),
            ..columns::declared(dialect, &stem, column, described)
        })
    }
}

/// The columns of a table that stay.
fn unchanged<'a>(
    spec: &'a QueueSpec,
    changes: &'a [ColumnChange],
    place: &'a ColumnTable,
) -> impl Iterator<Item = &'a ColumnSpec> {
    let columns = match place {
        ColumnTable::Queue => spec.columns.as_slice(),
        ColumnTable::Subtype(name) => {
            spec.subtypes.iter().find(|subtype| subtype.name == *name).map_or(&[][..], |subtype| &subtype.columns)
        }
        ColumnTable::History(_) => &[],
    };
    columns
        .iter()
        .filter(move |column| !changes.iter().any(|change| change.table == *place && change.column.name == column.name))
}

fn is_beside(spec: &QueueSpec) -> bool {
    spec.table().is_some_and(|table| table.beside())
}

fn makes(objects: &[Made], wanted: &Name) -> bool {
    objects.iter().any(|made| matches!(made, Made::Code { name, .. } if name == wanted))
}

/// Whether an index of the queue of `spec` names a column. The filter of any index may name a column that shows a state.
fn is_on(dialect: Dialect, spec: &QueueSpec, index: &super::Index, column: &Identifier) -> bool {
    let name = TableNames::of(dialect, spec).in_catalog(column);
    let tells_a_state = || spec.table().is_some_and(|table| table.assignments().iter().any(|a| a.column == *column));
    index.columns.iter().any(|other| other.name == name)
        || index.include.contains(&name)
        || (index.filter.is_some() && tells_a_state())
}
