//! PostgreSQL: its files, its types, its errors.

use super::template::Templates;
use crate::error::ErrorKind;
use crate::ident::QuoteStyle;
use crate::spec::ColumnKind;
use std::sync::LazyLock;

macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("../../sql/postgres/", $name)))),*] };
}

pub(super) static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| Templates::new(FILES, QuoteStyle::DoubleQuotes, ""));

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
    "shared/roles.sql",
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
    "adopted/stats.sql",
    "adopted/find.sql",
    "adopted/redrive_set.sql",
    "adopted/purge.sql",
    "shared/roles.sql",
];

pub(super) const FILES: &[(&str, &str)] = &files![
    "session.sql",
    "functions.sql",
    "schema/0001_base.sql",
    "schema/0002_type_access.sql",
    "schema/0003_turn.sql",
    "calls/enqueue.sql",
    "calls/claim.sql",
    "calls/settle.sql",
    "calls/renew.sql",
    "calls/recover.sql",
    "calls/stats.sql",
    "calls/find.sql",
    "calls/blocked.sql",
    "calls/redrive.sql",
    "calls/purge.sql",
    "calls/schema_version.sql",
    "calls/record_version.sql",
    "calls/catalog.sql",
    "calls/record_queue.sql",
    "calls/lock_install.sql",
    "calls/owners.sql",
    "calls/creates_or_alters.sql",
    "calls/schema_exists.sql",
    "script/_owners.sql",
    "script/begin.sql",
    "script/end.sql",
    "upgrade/before.sql",
    "upgrade/after.sql",
    "adopted/table.sql",
    "adopted/view.sql",
    "adopted/add_set.sql",
    "adopted/recover.sql",
    "adopted/next_set.sql",
    "adopted/modify_set.sql",
    "adopted/renew_set.sql",
    "adopted/stats.sql",
    "adopted/_add.sql",
    "adopted/_answer_columns.sql",
    "adopted/_answers_again.sql",
    "adopted/_at_key.sql",
    "adopted/_backoff.sql",
    "adopted/_item_columns.sql",
    "adopted/_keep_answers.sql",
    "adopted/_key_list.sql",
    "adopted/_key_read.sql",
    "adopted/_key_text.sql",
    "adopted/_key_variables.sql",
    "adopted/_keys_unnested.sql",
    "adopted/_lease_at_key.sql",
    "adopted/_local_time.sql",
    "adopted/_lock_due.sql",
    "adopted/_lock_items.sql",
    "adopted/_modify.sql",
    "adopted/_move.sql",
    "adopted/_no_item.sql",
    "adopted/_open.sql",
    "adopted/_order.sql",
    "adopted/_pending.sql",
    "adopted/_same.sql",
    "adopted/_others_errors.sql",
    "adopted/_unpark.sql",
    "adopted/_view_at_key.sql",
    "adopted/_worker_checks.sql",
    "adopted/_write.sql",
    "catalog/columns.sql",
    "catalog/indexes.sql",
    "catalog/parameters.sql",
    "catalog/states.sql",
    "catalog/tables.sql",
    "catalog/triggers.sql",
    "doctor/clock.sql",
    "doctor/code.sql",
    "handwritten/_arguments.sql",
    "handwritten/call.sql",
    "handwritten/counts.sql",
    "handwritten/look.sql",
    "handwritten/modify.sql",
    "doctor/objects.sql",
    "doctor/roles.sql",
    "doctor/server.sql",
    "doctor/usage.sql",
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
    "shared/roles.sql",
    "relational/_add.sql",
    "relational/_add_subtype.sql",
    "relational/_add_unique.sql",
    "relational/_answer_columns.sql",
    "relational/_answer_names.sql",
    "relational/_attributes.sql",
    "relational/_backoff.sql",
    "relational/_complete.sql",
    "relational/_filter.sql",
    "relational/_filter_variables.sql",
    "relational/_fits.sql",
    "relational/_forget.sql",
    "relational/_group_free.sql",
    "relational/_item_columns.sql",
    "relational/_modify.sql",
    "relational/_no_item.sql",
    "relational/_own_type.sql",
    "relational/_recovered.sql",
    "relational/_remember.sql",
    "relational/_resume.sql",
    "relational/_settings.sql",
    "adopted/_add_one.sql",
    "adopted/_modify_one.sql",
    "adopted/_next_one.sql",
    "adopted/_error.sql",
    "adopted/_fits.sql",
    "adopted/_status.sql",
    "adopted/_type_access.sql",
    "adopted/find.sql",
    "adopted/purge.sql",
    "adopted/redrive_set.sql",
    "relational/_subtypes.sql",
    "relational/_unique_answers.sql",
    "adopted/_at_found.sql",
];

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
    }
}

/// By SQLSTATE, which is the server's own; what psqlODBC reports itself is told apart by its message.
pub(super) fn classify(sqlstate: &str, message: &str) -> ErrorKind {
    let has = |part: &str| message.contains(part);
    match sqlstate {
        "40001" | "40P01" => ErrorKind::Deadlock,
        "55P03" | "57014" => ErrorKind::TimedOut,
        "28000" | "28P01" => ErrorKind::Authentication,
        "3D000" => ErrorKind::DatabaseMissing,
        "42501" => ErrorKind::PermissionDenied,
        "53100" | "25006" | "53200" => ErrorKind::Storage,
        "53300" | "57P03" | "57P05" | "58030" => ErrorKind::Unavailable,
        "57P01" | "57P02" => ErrorKind::ConnectionLost,
        "3F000" | "42P01" | "42703" | "42883" | "42P02" | "RP014" => ErrorKind::SchemaMismatch,
        "RP021" | "23502" | "23503" | "23505" | "23514" | "23P01" => ErrorKind::InvalidItem,
        "IM002" | "IM003" | "IM004" | "IM005" => ErrorKind::DriverMissing,
        "01000" if has("Can't open lib") => ErrorKind::DriverMissing,
        // The driver has not the memory.
        "HY001" => ErrorKind::Exhausted,
        state if state.starts_with("22") => ErrorKind::InvalidItem,
        "08001" | "08004" | "08006" | "28001" | "HY000" | "08S01" | "08003" | "08007" => by_message(sqlstate, message),
        state if state.starts_with("08") => ErrorKind::ConnectionLost,
        _ => ErrorKind::Database,
    }
}

/// psqlODBC gives failed log-ins one SQLSTATE (08001) and libpq's text, and lost connections several.
fn by_message(sqlstate: &str, message: &str) -> ErrorKind {
    let has = |part: &str| message.contains(part);
    let at_login = sqlstate == "08001" || sqlstate == "08004";
    if !at_login {
        let is_lost =
            sqlstate.starts_with("08") || has("server closed the connection") || has("no connection to the server");
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
    fn log_in_failures_are_told_apart_by_their_text() {
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
        // In use, an encrypted connection that breaks is lost like any other.
        assert_eq!(classify("08S01", "SSL SYSCALL error: EOF detected"), ErrorKind::ConnectionLost);
        assert_eq!(classify("22001", ""), ErrorKind::InvalidItem);
    }
}
