//! SQL Server: its files, its types, its errors.

use super::template::Templates;
use crate::error::ErrorKind;
use crate::ident::QuoteStyle;
use crate::spec::ColumnKind;
use std::sync::LazyLock;

pub(super) static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::new(FILES, QuoteStyle::Brackets, "N"));

/// What makes up a queue, in the order it is run.
pub(super) const QUEUE_FILES: &[&str] = &[
    "queue/table.sql",
    "queue/view.sql",
    "queue/add_set.sql",
    "queue/add_one.sql",
    "queue/recover.sql",
    "queue/next_set.sql",
    "queue/next_one.sql",
    "queue/modify_set.sql",
    "queue/modify_one.sql",
    "queue/renew_set.sql",
    "queue/stats.sql",
    "queue/find.sql",
    "queue/redrive_set.sql",
    "queue/purge.sql",
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

/// Server error numbers first, since the driver gives most of them the same SQLSTATE; then SQLSTATEs for what the driver
/// itself reports, with native code 0.
pub(super) fn classify(sqlstate: &str, native_code: i32, message: &str) -> ErrorKind {
    match native_code {
        // 50005: a row changed under a claim or settle, which was rolled back. It takes a server that ignores the hints.
        50005 | 1205 | 3960 | 41301 | 41302 | 41305 | 41325 | 41839 => ErrorKind::Deadlock,
        // 50013: a rendered script waited for another install for too long.
        1222 | 50013 => ErrorKind::TimedOut,
        18456 | 18452 | 18486 | 18487 | 18488 => ErrorKind::Authentication,
        4060 | 4064 | 911 => ErrorKind::DatabaseMissing,
        // Throttled, failing over, starting or out of workers; the server or Azure's gateway says to come back.
        10922 | 10928 | 10929 | 10936 | 40143 | 40197 | 40501 | 40540 | 40613 | 49918 | 49919 | 49920 | 4221 | 615
        | 17142 | 18401 | 6005 | 988 | 976 | 983 => ErrorKind::Unavailable,
        // The connection was killed or reset under us. (20 is in others' lists of these; it says that the server does not
        // encrypt, which does not pass: see below.)
        64 | 121 | 233 | 596 | 10053 | 10054 | 10060 => ErrorKind::ConnectionLost,
        50015 | 229 | 230 | 262 | 297 | 300 | 15247 | 916 | 2760 => ErrorKind::PermissionDenied,
        // Disk or log full, quota reached, read-only database.
        1101 | 1105 | 3906 | 9002 | 40544 | 3908 | 5144 => ErrorKind::Storage,
        50014 | 2812 | 208 | 201 | 207 | 8144 | 8145 => ErrorKind::SchemaMismatch,
        50021 | 547 | 515 | 2601 | 2627 | 8152 | 2628 | 241 | 242 | 245 | 8114 | 8169 | 13608 | 13609 => {
            ErrorKind::InvalidItem
        }
        _ => by_sqlstate(sqlstate, message),
    }
}

fn by_sqlstate(sqlstate: &str, message: &str) -> ErrorKind {
    match sqlstate {
        "IM002" | "IM003" | "IM004" | "IM005" | "01000" if message.contains("river") => ErrorKind::DriverMissing,
        "28000" => ErrorKind::Authentication,
        "HYT00" | "HYT01" if message.to_ascii_lowercase().contains("login timeout") => ErrorKind::Unreachable,
        "HYT00" => ErrorKind::TimedOut,
        "HYT01" | "08S01" | "08003" | "08007" | "IMC06" => ErrorKind::ConnectionLost,
        "08001" if message.contains("SSL") || message.contains("certificate") || message.contains("ncryption") => {
            ErrorKind::Encryption
        }
        "08001" | "08004" => ErrorKind::Unreachable,
        "40001" => ErrorKind::Deadlock,
        // The driver has not the memory.
        "HY001" => ErrorKind::Exhausted,
        "42S02" | "42S22" => ErrorKind::SchemaMismatch,
        _ => ErrorKind::Database,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_numbers_go_before_sqlstates() {
        assert_eq!(classify("40001", 1205, ""), ErrorKind::Deadlock);
        assert_eq!(classify("HY000", 40613, ""), ErrorKind::Unavailable);
        assert_eq!(classify("28000", 18456, ""), ErrorKind::Authentication);
        assert_eq!(classify("08S01", 0, "Communication link failure"), ErrorKind::ConnectionLost);
        assert_eq!(classify("08001", 20, "Encryption not supported on SQL Server."), ErrorKind::Encryption);
        assert_eq!(classify("HYT00", 0, "Login timeout expired"), ErrorKind::Unreachable);
        assert_eq!(classify("HYT00", 0, "Query timeout expired"), ErrorKind::TimedOut);
        assert_eq!(classify("42000", 50000, ""), ErrorKind::Database);
    }
}
