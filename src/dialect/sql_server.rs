//! SQL Server: its files, its types, its errors.

mod errors;

pub(super) use self::errors::classify;

use super::template::Templates;
use crate::description::ColumnKind;
use crate::ident::QuoteStyle;
use std::sync::LazyLock;

pub(super) static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::new(FILES, QuoteStyle::Brackets, "N"));

/// All files below `sql/sql_server`: `build.rs` makes the list.
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
        ColumnKind::Binary(Some(length)) => format!("varbinary({length})"),
        ColumnKind::Binary(None) => "varbinary(max)".to_owned(),
    }
}
