//! The columns of an item as workers see them: in the worker view, and in the results of claims and Find_.

use super::names::TableNames;
use super::shape::{key_column_type, key_type};
use crate::description::{ColumnKind, QueueSpec, TableSpec};
use crate::dialect::Dialect;
use crate::ident::Identifier;
use crate::item::Life;
use minijinja::{Value, context};

/// An item's columns in their order, each with `name`, `type`, and its source: `what` names its role in an item's life, or `quoted` the
/// table's column, of a subtype with its `alias`. `cast` marks a column whose type may differ from `type`, `secret` one for
/// workers only.
pub(super) fn columns(dialect: Dialect, spec: &QueueSpec, table: &TableSpec) -> Vec<Value> {
    let own = spec.is_own();
    let style = dialect.quote_style();
    let names = TableNames::of(dialect, spec);
    let shown = |life: Life| {
        let name = TableNames::ours(dialect, life.name(own));
        listed(name, dialect.column_type(kind_of(life)), Some(life.word()), None, None, [false, false])
    };
    let stored = |name: &Identifier, kind: String, [cast, secret]: [bool; 2]| {
        let shown = if own { names.quoted(name) } else { name.quoted(style) };
        listed(shown, kind, None, Some(names.quoted(name)), None, [cast || !own, secret])
    };
    let payload = spec.columns.iter().map(|column| {
        let kind = if own { dialect.column_type(column.kind) } else { key_type(dialect, column.kind) };
        stored(&column.name, kind, [column.sql_type.is_some(), column.secret])
    });
    let keys = table.key.iter().filter(|key| !spec.columns.iter().any(|column| column.name == key.name));
    let keys = keys.map(|key| stored(&key.name, key_column_type(dialect, key), [false; 2]));
    let kind = table.lifecycle.kind.iter().map(|_| shown(Life::Kind));
    let enqueued = table.lifecycle.enqueued.iter().filter(|_| !own).map(|_| shown(Life::Enqueued));
    let lived = kind.chain(enqueued).chain(Life::always().map(shown));
    let of_subtypes = spec.subtypes.iter().enumerate().flat_map(|(place, subtype)| {
        subtype.columns.iter().map(move |column| {
            let name = format!("{}_{}", subtype.name.as_str(), column.name.as_str());
            let name = Identifier::new("a column", &name).map(|name| name.quoted(style)).unwrap_or_default();
            let alias = format!("s{}", place + 1);
            listed(
                name,
                dialect.column_type(column.kind),
                None,
                Some(if own { column.name.quoted(style) } else { names.quoted(&column.name) }),
                Some(alias),
                [!own || column.sql_type.is_some(), column.secret],
            )
        })
    });
    if own {
        keys.chain(lived).chain(payload).chain(of_subtypes).collect()
    } else {
        payload.chain(keys).chain(lived).chain(of_subtypes).collect()
    }
}

fn listed(
    name: String,
    kind: String,
    what: Option<&str>,
    quoted: Option<String>,
    alias: Option<String>,
    [cast, secret]: [bool; 2],
) -> Value {
    context! { name, type => kind, what, quoted, alias, cast, secret }
}

fn kind_of(life: Life) -> ColumnKind {
    match life {
        Life::Attempt => ColumnKind::Integer,
        Life::Duration => ColumnKind::BigInteger,
        life if life.is_time() => ColumnKind::Timestamp,
        _ => ColumnKind::Text(None),
    }
}
