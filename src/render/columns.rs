//! A column of a queue, as its templates see it.

use crate::dialect::Dialect;
use crate::spec::{ColumnKind, ColumnSpec};
use minijinja::{Value, context};

pub(super) fn context(dialect: Dialect, column: &ColumnSpec, adopted: bool) -> Value {
    let name = column.name.as_str();
    let style = dialect.quote_style();
    let parameter = match dialect {
        Dialect::SqlServer => format!("@{name}"),
        Dialect::Postgres => format!("\"{name}_\""),
    };
    let quoted = column.name.quoted(style);
    // Text is read from JSON at any length, so that what is too long is an error instead of being cut.
    let json_kind = match column.kind {
        ColumnKind::Text(_) => ColumnKind::Text(None),
        kind => kind,
    };
    context! {
        name,
        quoted => if adopted { column.name.quoted_as_written(style) } else { quoted.clone() },
        shown => quoted,
        type => dialect.column_type(column.kind),
        json_type => dialect.column_type(json_kind),
        // A time of a table of others is read as text, and put into whichever type its column has.
        set_type => match column.kind {
            ColumnKind::Timestamp if adopted => dialect.column_type(ColumnKind::Text(None)),
            _ => dialect.column_type(if adopted { json_kind } else { column.kind }),
        },
        parameter,
        path => path(name),
        is_json => column.kind == ColumnKind::Json,
        is_text => matches!(column.kind, ColumnKind::Text(_) | ColumnKind::Json),
        is_time => column.kind == ColumnKind::Timestamp,
        nullable => column.nullable,
        secret => column.secret,
    }
}

/// Where a column stands in the JSON of an item.
pub(super) fn path(name: &str) -> String {
    format!("$.columns.\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
