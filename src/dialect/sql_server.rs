//! SQL Server: its files, its types, its errors.

mod errors;

pub(super) use self::errors::classify;

use super::template::Templates;
use crate::ident::QuoteStyle;
use crate::spec::ColumnKind;
use std::sync::LazyLock;

pub(super) static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::new(FILES, QuoteStyle::Brackets, "N"));

/// What makes up a queue, in the order it is run.
pub(super) const QUEUE_FILES: &[&str] = &[
    "relational/table.sql",
    "relational/view.sql",
    "relational/add_set.sql",
    "relational/add_one.sql",
    "relational/recover.sql",
    "relational/next_set.sql",
    "relational/next_one.sql",
    "relational/modify_set.sql",
    "relational/modify_one.sql",
    "relational/renew_set.sql",
    "relational/stats.sql",
    "relational/find.sql",
    "relational/redrive_set.sql",
    "relational/purge.sql",
    "queue/roles.sql",
];

/// What makes up a queue in an adopted table, in the order it is run.
pub(super) const TABLE_FILES: &[&str] = &[
    "adopted/table.sql",
    "adopted/view.sql",
    "adopted/add_set.sql",
    "adopted/recover.sql",
    "adopted/next_set.sql",
    "adopted/modify_set.sql",
    "adopted/renew_set.sql",
    "adopted/find.sql",
    "adopted/redrive_set.sql",
    "adopted/purge.sql",
    "adopted/stats.sql",
    "queue/roles.sql",
];

/// All that lies below `sql/sql_server`: `build.rs` makes the list.
pub(super) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sql_server.rs"));

pub(super) fn column_type(kind: ColumnKind) -> String {
    match kind {
        ColumnKind::Text(Some(length)) => format!("nvarchar({length})"),
        ColumnKind::Text(None) | ColumnKind::Json => "nvarchar(max)".to_owned(),
        ColumnKind::Integer => "int".to_owned(),
        ColumnKind::BigInteger => "bigint".to_owned(),
        ColumnKind::Boolean => "bit".to_owned(),
        ColumnKind::Float => "float".to_owned(),
        ColumnKind::Decimal(precision, scale) => format!("decimal({precision}, {scale})"),
        ColumnKind::Timestamp => "datetime2(7)".to_owned(),
        ColumnKind::Date => "date".to_owned(),
        ColumnKind::Guid => "uniqueidentifier".to_owned(),
    }
}
