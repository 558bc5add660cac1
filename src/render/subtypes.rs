//! The subtypes of a queue, for its templates: tables of columns that only some items have.

use super::columns;
use super::names::TableNames;
use crate::description::{QueueSpec, TableSpec};
use crate::dialect::Dialect;
use crate::ident::{Identifier, QueueName};
use minijinja::{Value, context};

/// One context per subtype. `schema` is that of readpast's own objects, which has their tables unless the queue's table is the
/// user's: then its schema has them.
pub(super) fn contexts(dialect: Dialect, schema: &Identifier, spec: &QueueSpec, table: &TableSpec) -> Vec<Value> {
    let style = dialect.quote_style();
    let names = TableNames::of(dialect, spec);
    let mut subtypes = Vec::new();
    for (place, subtype) in spec.subtypes.iter().enumerate() {
        let name = subtype.name.as_str();
        // A subtype's name has the characters of a queue's, and ends a table's name in the same style.
        let stem = match (dialect, QueueName::new(name)) {
            (Dialect::Postgres, Ok(queue_like)) => queue_like.snake_case(),
            _ => name.to_owned(),
        };
        let of_table = format!("{}_{stem}", dialect.queue_stem(&spec.queue));
        let (stands_in, called) = if spec.is_own() {
            (schema.clone(), Identifier::new("a table", &of_table).unwrap_or_else(|_| subtype.name.clone()))
        } else {
            (dialect.schema_of(table.schema.as_ref()), table.of_subtype(&subtype.name))
        };
        let quoted = if spec.is_own() {
            format!("{}.{}", stands_in.quoted(style), called.quoted(style))
        } else {
            format!("{}.{}", names.quoted(&stands_in), names.quoted(&called))
        };
        let in_catalog =
            |name: &Identifier| if spec.is_own() { name.as_str().to_owned() } else { dialect.in_catalog(name) };
        let listed: Vec<_> = subtype
            .columns
            .iter()
            .map(|column| {
                let shown = Identifier::new("a column", &format!("{name}_{}", column.name.as_str()));
                context! {
                    shown => shown.map(|shown| shown.quoted(style)).unwrap_or_default(),
                    // Its name in items.
                    called => column.name.quoted(style),
                    path => format!("$.columns.\"{name}\".\"{}\"", column.name.as_str()),
                    ..columns::declared(dialect, &of_table, column, !spec.is_own())
                }
            })
            .collect();
        let parameter = match dialect {
            Dialect::SqlServer => format!("@{name}"),
            Dialect::Postgres => format!("\"{name}_\""),
        };
        subtypes.push(context! {
            name,
            quoted => subtype.name.quoted(style),
            stem,
            // The table of its rows; and the same for the declaration of a statement.
            place => context! {
                quoted => quoted.as_str(), schema => in_catalog(&stands_in), name => in_catalog(&called)
            },
            table => quoted,
            parameter,
            alias => format!("s{}", place + 1),
            path => format!("$.columns.\"{name}\""),
            exclusive => subtype.exclusive,
            columns => listed,
        });
    }
    subtypes
}
