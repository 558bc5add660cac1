//! The subtypes of a queue, as its templates see them: tables of what only some items have.

use super::columns;
use crate::dialect::Dialect;
use crate::ident::{Identifier, QueueName};
use crate::spec::QueueSpec;
use minijinja::{Value, context};

/// One context per subtype.
pub(super) fn contexts(dialect: Dialect, spec: &QueueSpec) -> Vec<Value> {
    let style = dialect.quote_style();
    let mut subtypes = Vec::new();
    for (place, subtype) in spec.subtypes.iter().enumerate() {
        let name = subtype.name.as_str();
        // A subtype's name is held to the characters of a queue's, and becomes the end of a table's name as that does.
        let stem = match (dialect, QueueName::new(name)) {
            (Dialect::Postgres, Ok(queue_like)) => queue_like.snake_case(),
            _ => name.to_owned(),
        };
        let of_table = format!("{}_{stem}", dialect.queue_stem(&spec.queue));
        let listed: Vec<_> = subtype
            .columns
            .iter()
            .map(|column| {
                let shown = Identifier::new("a column", &format!("{name}_{}", column.name.as_str()));
                context! {
                    shown => shown.map(|shown| shown.quoted(style)).unwrap_or_default(),
                    path => format!("$.columns.\"{name}\".\"{}\"", column.name.as_str()),
                    ..columns::declared(dialect, &of_table, column, false)
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
            parameter,
            alias => format!("s{}", place + 1),
            path => format!("$.columns.\"{name}\""),
            exclusive => subtype.exclusive,
            columns => listed,
        });
    }
    subtypes
}
