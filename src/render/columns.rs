//! A column of a queue, as its templates see it.

use crate::description::{CheckSpec, ColumnKind, ColumnSpec, ReferenceSpec, column_value};
use crate::dialect::Dialect;
use crate::ident::Identifier;
use crate::item::from_base64;
use minijinja::{Value, context};
use serde_json::Value as Json;

pub(super) fn context(dialect: Dialect, column: &ColumnSpec, described: bool) -> Value {
    let name = column.name.as_str();
    let style = dialect.quote_style();
    let parameter = match dialect {
        Dialect::SqlServer => format!("@{name}"),
        Dialect::Postgres => format!("\"{name}_\""),
    };
    let quoted = column.name.quoted(style);
    // Text is read from JSON at any length, so that a long text is an error instead of being cut.
    let json_kind = match column.kind {
        ColumnKind::Text(_) => ColumnKind::Text(None),
        ColumnKind::Binary(_) => ColumnKind::Binary(None),
        kind => kind,
    };
    context! {
        name,
        quoted => if described { column.name.quoted_as_written(style) } else { quoted.clone() },
        shown => quoted,
        type => dialect.column_type(column.kind),
        json_type => dialect.column_type(json_kind),
        // A time of a user's table is read as text, and written into the column's type, whatever that is.
        set_type => match column.kind {
            // PostgreSQL's functions decode it.
            ColumnKind::Binary(_) if dialect == Dialect::Postgres => dialect.column_type(ColumnKind::Text(None)),
            ColumnKind::Timestamp if described => dialect.column_type(ColumnKind::Text(None)),
            _ => dialect.column_type(if described { json_kind } else { column.kind }),
        },
        parameter,
        path => path(name),
        is_json => column.kind == ColumnKind::Json,
        is_text => matches!(column.kind, ColumnKind::Text(_) | ColumnKind::Json),
        is_time => column.kind == ColumnKind::Timestamp,
        is_date => column.kind == ColumnKind::Date,
        // The most characters, bytes or digits, and how many of the digits are behind the point.
        most => match column.kind {
            ColumnKind::Text(most) | ColumnKind::Binary(most) => most,
            ColumnKind::Decimal(most, _) => Some(most.into()),
            _ => None,
        },
        scale => if let ColumnKind::Decimal(_, scale) = column.kind { scale } else { 0 },
        // The type in the table is unknown: it may be text in a code page.
        is_coded => (described || column.sql_type.is_some()) && matches!(column.kind, ColumnKind::Text(_) | ColumnKind::Json),
        is_binary => is_binary(column),
        nullable => column.nullable,
        secret => column.secret,
        default => default(dialect, column),
    }
}

/// The same of a column whose table readpast makes, with its declarations. `stem` is the common prefix of the names of the
/// table's objects, after their own.
pub(super) fn declared(dialect: Dialect, stem: &str, column: &ColumnSpec, described: bool) -> Value {
    let named = |what: &str| Identifier::new("a constraint", what).map(|name| name.quoted(dialect.quote_style()));
    let name = column.name.as_str();
    let constraints = constraints(dialect, stem, column, described);
    let kept = column.sql_type.as_ref();
    context! {
        stored => kept.map_or_else(|| dialect.column_type(column.kind), |kept| dialect.written(kept)),
        default_name => named(&format!("DF_{stem}.{name}")).unwrap_or_default(),
        constraints => constraints.into_iter().map(Constraint::context).collect::<Vec<_>>(),
        ..context(dialect, column, described)
    }
}

pub(super) fn is_binary(column: &ColumnSpec) -> bool {
    matches!(column.kind, ColumnKind::Binary(_))
}

/// A constraint of a table.
#[derive(PartialEq, Eq)]
pub(super) struct Constraint {
    /// Its name, quoted.
    name: String,
    definition: String,
}

impl Constraint {
    pub(super) fn context(self) -> Value {
        let Self { name, definition } = self;
        context! { name, definition }
    }
}

/// The constraints that a column adds to its table, which are named after `stem`.
pub(super) fn constraints(dialect: Dialect, stem: &str, column: &ColumnSpec, described: bool) -> Vec<Constraint> {
    let style = dialect.quote_style();
    let column_name = column.name.as_str();
    let quoted = if described { column.name.quoted_as_written(style) } else { column.name.quoted(style) };
    let mut constraints = Vec::new();
    let mut add = |before: &str, after: &str, definition: String| {
        let name = match dialect {
            // There they belong to the schema, not to the table: by the dot, the column Line_Id of Order and the column Id of
            // Order_Line have two.
            Dialect::SqlServer => format!("{before}_{stem}.{column_name}"),
            Dialect::Postgres => format!("{stem}_{column_name}_{after}"),
        };
        let name = Identifier::new("a constraint", &name).map(|name| name.quoted(style)).unwrap_or_default();
        constraints.push(Constraint { name, definition });
    };
    if let Some(CheckSpec { sql_server, postgres }) = &column.check {
        let condition = if dialect == Dialect::SqlServer { sql_server } else { postgres };
        add("CK", "check", format!("CHECK ({condition})"));
    }
    // The type has no length there.
    if let (Dialect::Postgres, ColumnKind::Binary(Some(most))) = (dialect, column.kind) {
        add("", "length", format!("CHECK (octet_length({quoted}) <= {most})"));
    }
    if let Some(ReferenceSpec { table, column: theirs }) = &column.references {
        let (table, theirs) = (dialect.written(table), theirs.quoted_as_written(dialect.quote_style()));
        add("FK", "fkey", format!("FOREIGN KEY ({quoted}) REFERENCES {table} ({theirs})"));
    }
    constraints
}

/// The value of a new item that leaves the column out, as a literal. PostgreSQL takes each as text whose type it finds; so
/// numbers fit their columns and parameters whatever their size.
pub(super) fn default(dialect: Dialect, column: &ColumnSpec) -> Option<String> {
    let given = column.default.as_ref()?.to_string();
    let value: Json = column_value(column.kind, &given).ok().and_then(|sent| serde_json::from_str(&sent).ok())?;
    let plain = match (&value, column.kind) {
        (Json::String(bytes), ColumnKind::Binary(_)) => {
            from_base64(bytes)?.iter().map(|byte| format!("{byte:02x}")).collect()
        }
        (Json::String(time), ColumnKind::Timestamp) if dialect == Dialect::Postgres => format!("{time}Z"),
        (Json::String(text), _) => text.clone(),
        (Json::Bool(value), _) if dialect == Dialect::SqlServer => u8::from(*value).to_string(),
        (other, _) => other.to_string(),
    };
    use ColumnKind::{
        BigInteger, Binary, Boolean, Date, Decimal, Float, Guid, Integer, Json as Document, Text, Timestamp,
    };
    Some(match (dialect, column.kind) {
        (Dialect::SqlServer, Integer | BigInteger | Boolean | Float | Decimal(..)) => plain,
        (Dialect::SqlServer, Timestamp | Date | Guid) => format!("'{plain}'"),
        (Dialect::SqlServer, Binary(_)) => format!("0x{plain}"),
        (Dialect::Postgres, Binary(_)) => format!("'\\x{plain}'"),
        (_, Text(_) | Document) | (Dialect::Postgres, _) => dialect.text_literal(&plain),
    })
}

/// The path of a column in the JSON of an item.
pub(super) fn path(name: &str) -> String {
    format!("$.columns.\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
