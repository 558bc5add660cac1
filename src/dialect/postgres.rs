//! PostgreSQL: its files, its types, its errors.

use super::template::Templates;
use crate::description::ColumnKind;
use crate::error::ErrorKind;
use crate::ident::QuoteStyle;
use std::sync::LazyLock;

pub(super) static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| Templates::new(FILES, QuoteStyle::DoubleQuotes, ""));

/// All files below `sql/postgres`: `build.rs` makes the list.
pub(super) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/postgres.rs"));

pub(super) fn column_type(kind: ColumnKind) -> String {
    match kind {
        ColumnKind::Text(Some(length)) => format!("varchar({length})"),
        ColumnKind::Text(None) => "text".to_owned(),
        ColumnKind::Json => "json".to_owned(),
        ColumnKind::Integer => "integer".to_owned(),
        ColumnKind::BigInteger => "bigint".to_owned(),
        ColumnKind::Boolean => "boolean".to_owned(),
        ColumnKind::Float => "double precision".to_owned(),
        ColumnKind::Decimal(precision, scale) => format!("numeric({precision}, {scale})"),
        ColumnKind::Timestamp => "timestamptz".to_owned(),
        ColumnKind::Date => "date".to_owned(),
        ColumnKind::Guid => "uuid".to_owned(),
        ColumnKind::Binary(_) => "bytea".to_owned(),
    }
}

/// Classifies by SQLSTATE, which is the server's own; psqlODBC's own errors are classified by their message.
pub(super) fn classify(sqlstate: &str, message: &str) -> ErrorKind {
    let has = |part: &str| message.contains(part);
    match sqlstate {
        "40001" | "40P01" => ErrorKind::Deadlock,
        "55P03" | "57014" => ErrorKind::TimedOut,
        "28000" | "28P01" => ErrorKind::Authentication,
        "3D000" => ErrorKind::DatabaseMissing,
        "42501" | "RP015" => ErrorKind::PermissionDenied,
        "53100" | "25006" | "53200" => ErrorKind::Storage,
        "53300" | "57P03" | "57P05" | "58030" => ErrorKind::Unavailable,
        "57P01" | "57P02" => ErrorKind::ConnectionLost,
        "XX000" if is_of_a_lost_node(message) => ErrorKind::Unavailable,
        "3F000" | "42P01" | "42703" | "42883" | "42P02" | "RP014" => ErrorKind::SchemaMismatch,
        // An object in an installed description is missing, or is no key, or of another type.
        "42704" | "42830" | "42804" => ErrorKind::SchemaMismatch,
        "RP021" | "23502" | "23503" | "23505" | "23514" | "23P01" => ErrorKind::InvalidItem,
        "IM002" | "IM003" | "IM004" | "IM005" => ErrorKind::DriverMissing,
        "01000" if has("Can't open lib") => ErrorKind::DriverMissing,
        // The driver lacks the memory.
        "HY001" => ErrorKind::Exhausted,
        state if state.starts_with("22") => ErrorKind::InvalidItem,
        "08001" | "08004" | "08006" | "28001" | "HY000" | "08S01" | "08003" | "08007" => by_message(sqlstate, message),
        state if state.starts_with("08") => ErrorKind::ConnectionLost,
        _ => ErrorKind::Database,
    }
}

/// Whether Citus has lost a node at work: perhaps behind the commit there, so that the outcome is open and the call is asked again under its
/// identity. No other error of this class is of that kind: PostgreSQL uses it for faults of its own, and Citus for any that lost its class.
fn is_of_a_lost_node(message: &str) -> bool {
    ["on at least one active node", "failure on connection marked as essential", "server closed the connection"]
        .iter()
        .any(|part| message.contains(part))
}

/// The result has another type; a column, a function or an operator for its type is missing, or there are more columns; an object
/// of the plan was dropped.
pub(super) fn is_outdated(sqlstate: &str, message: &str) -> bool {
    match sqlstate {
        "XX000" => !is_of_a_lost_node(message),
        state => matches!(state, "0A000" | "42703" | "42883" | "42804" | "42601"),
    }
}

/// psqlODBC gives failed log-ins one SQLSTATE (08001) and libpq's text, and lost connections several.
fn by_message(sqlstate: &str, message: &str) -> ErrorKind {
    let has = |part: &str| message.contains(part);
    let at_login = sqlstate == "08001" || sqlstate == "08004";
    if !at_login {
        // The driver's own savepoint before a statement finds a connection that was cut, and reports no more than that.
        let says_so = [
            "server closed the connection",
            "no connection to the server",
            "internal SAVEPOINT failed",
            "internal ROLLBACK failed",
            "internal savepoint error",
        ];
        let is_lost = sqlstate.starts_with("08") || says_so.iter().any(|part| has(part));
        return if is_lost { ErrorKind::ConnectionLost } else { ErrorKind::Database };
    }
    let refused_user = [
        "password authentication failed",
        "no pg_hba.conf entry",
        "no password supplied",
        "is not permitted to log in",
    ];
    let full_or_moving = [
        "starting up",
        "shutting down",
        "in recovery mode",
        "not yet accepting connections",
        "too many clients",
        "too many connections",
        "connection slots are reserved",
    ];
    if refused_user.iter().any(|part| has(part)) || (has("role \"") && has("does not exist")) {
        ErrorKind::Authentication
    } else if has("permission denied for database") {
        ErrorKind::PermissionDenied
    } else if full_or_moving.iter().any(|part| has(part)) {
        ErrorKind::Unavailable
    } else if has("database \"") && (has("does not exist") || has("is not currently accepting connections")) {
        ErrorKind::DatabaseMissing
    } else if has("SSL SYSCALL error") {
        // The connection broke while it was being encrypted.
        ErrorKind::Unreachable
    } else if has("SSL") || has("certificate") {
        ErrorKind::Encryption
    } else {
        ErrorKind::Unreachable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_in_failures_are_classified_by_their_text() {
        for (message, kind) in [
            ("FATAL:  password authentication failed for user \"x\"", ErrorKind::Authentication),
            ("FATAL:  database \"x\" does not exist", ErrorKind::DatabaseMissing),
            ("server does not support SSL, but SSL was required", ErrorKind::Encryption),
            ("FATAL:  the database system is starting up", ErrorKind::Unavailable),
            ("FATAL:  role \"x\" is not permitted to log in", ErrorKind::Authentication),
            ("FATAL:  role \"x\" does not exist", ErrorKind::Authentication),
            ("FATAL:  permission denied for database \"x\"", ErrorKind::PermissionDenied),
            ("FATAL:  database \"x\" is not currently accepting connections", ErrorKind::DatabaseMissing),
            ("FATAL:  sorry, too many clients already", ErrorKind::Unavailable),
            ("FATAL:  too many connections for role \"x\"", ErrorKind::Unavailable),
            (
                "FATAL:  remaining connection slots are reserved for non-replication superuser connections",
                ErrorKind::Unavailable,
            ),
            ("SSL SYSCALL error: EOF detected", ErrorKind::Unreachable),
            ("could not connect to server: Connection refused", ErrorKind::Unreachable),
        ] {
            assert_eq!(classify("08001", message), kind, "{message}");
        }
        assert_eq!(classify("57P01", ""), ErrorKind::ConnectionLost);
        assert_eq!(classify("HY000", "internal SAVEPOINT failed"), ErrorKind::ConnectionLost);
        assert_eq!(classify("HY000", "out of something"), ErrorKind::Database);
        // An encrypted connection that breaks in use is lost like any other.
        assert_eq!(classify("08S01", "SSL SYSCALL error: EOF detected"), ErrorKind::ConnectionLost);
        assert_eq!(classify("22001", ""), ErrorKind::InvalidItem);
        // Citus has lost a node, perhaps behind its commit; all others of the class are refusals.
        let lost = "could not commit transaction for shard 102008 on at least one active node";
        assert_eq!(classify("XX000", lost), ErrorKind::Unavailable);
        assert!(!is_outdated("XX000", lost) && is_outdated("XX000", "cache lookup failed for type 16500"));
        assert_eq!(classify("XX000", "tuple concurrently updated"), ErrorKind::Database);
    }
}
