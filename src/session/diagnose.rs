//! ODBC diagnostics as errors of ours, classified by the dialect.

use super::own_thread::Unanswered;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind};
use odbc_api::{Error as OdbcError, handles::Record};
use std::time::Duration;

/// The remedy for a missing right.
pub(crate) const MISSING_RIGHT: &str = "grant the login that right";

/// An error of a connection that was open, with the remedy where it is always the same.
pub(super) fn in_use(dialect: Dialect, error: OdbcError) -> Error {
    let Some(record) = record_of(&error) else {
        return Error::new(ErrorKind::ConnectionLost, first_line(&error.to_string()));
    };
    let error = translate(dialect, record);
    let remedy = match error.kind() {
        ErrorKind::PermissionDenied => MISSING_RIGHT,
        ErrorKind::SchemaMismatch => "restore what is missing, or install the queue again",
        ErrorKind::Storage => "make room on the server, or connect to one that is writable",
        _ => return error,
    };
    with_message(&error, format!("{}; {remedy}", error.message()))
}

/// An error of an attempt to connect. Passwords in `connection_string` are cut out of the message, should a driver ever quote
/// them.
pub(super) fn at_login(dialect: Dialect, error: OdbcError, connection_string: &str) -> Error {
    if let Some(error) = out_of_descriptors() {
        return error;
    }
    let error = match record_of(&error) {
        Some(record) => translate(dialect, record),
        None => without_a_reason(connection_string),
    };
    let remedy = match error.kind() {
        ErrorKind::DriverMissing => {
            "install the ODBC driver, or correct its name in the connection string (odbcinst -q -d lists the installed ones)"
        }
        ErrorKind::Unreachable | ErrorKind::TimedOut | ErrorKind::ConnectionLost => {
            "check that the server runs and that address and port in the connection string are right"
        }
        ErrorKind::Authentication => "check user name and password in the connection string",
        ErrorKind::DatabaseMissing => "check the database's name, or create it",
        ErrorKind::PermissionDenied => "grant the user the right to connect",
        ErrorKind::Unavailable | ErrorKind::Busy => "try again later",
        ErrorKind::Encryption => {
            "check Encrypt and TrustServerCertificate (SQL Server) or SSLmode (PostgreSQL) in the connection string"
        }
        _ => "the server refused the connection",
    };
    let message = crate::config::redact(connection_string, error.message());
    with_message(&error, format!("cannot connect: {message}; {remedy}"))
}

/// The error when the driver manager gives no reason. Only Wine's does that, when the driver is missing.
fn without_a_reason(connection_string: &str) -> Error {
    let named = crate::config::driver_named(connection_string).map_or_else(String::new, |name| format!(" {name:?}"));
    Error::new(ErrorKind::DriverMissing, format!("the driver manager gives no reason; it may lack the driver{named}"))
}

/// The error of a call without an answer, on an open connection. `limit` was its time.
pub(super) fn unanswered(why: Unanswered, limit: Duration) -> Error {
    match why {
        Unanswered::TooLong => {
            let ms = limit.as_millis();
            let message =
                format!("no answer and no error came within {ms} ms; the connection fell silent, and was given up");
            Error::new(ErrorKind::ConnectionLost, message)
        }
        Unanswered::Panicked => Error::new(ErrorKind::ConnectionLost, "the driver failed on a connection that is lost"),
        Unanswered::Forked => forked(),
    }
}

/// The error of a log-in without an answer.
pub(super) fn unanswered_login(why: Unanswered) -> Error {
    match why {
        Unanswered::TooLong => Error::new(
            ErrorKind::Unreachable,
            "cannot connect: the log-in did not end in time, and was given up; check that the server runs, and the \
             network to it",
        ),
        Unanswered::Panicked => Error::new(ErrorKind::Unreachable, "cannot connect: the driver failed"),
        Unanswered::Forked => forked(),
    }
}

fn forked() -> Error {
    Error::new(ErrorKind::Forked, "the connection was opened before a fork; open one in the child process")
}

/// The error of values too large for the memory.
pub(super) fn out_of_memory() -> Error {
    let message = "this process lacks the memory for the server's answer; ask for fewer items at a time, or give it \
                   more (ulimit -v, MemoryMax= of a service)";
    Error::new(ErrorKind::Exhausted, message)
}

/// Checks for file descriptors: drivers and driver managers without one report a missing driver or server. A log-in needs a few
/// at once.
#[cfg(unix)]
pub(super) fn out_of_descriptors() -> Option<Error> {
    const FEW: usize = 4;
    let few: Result<Vec<_>, _> = (0..FEW).map(|_| std::fs::File::open("/dev/null")).collect();
    let remedy = match few.err()?.raw_os_error()? {
        libc::EMFILE => {
            "this process has no file descriptor left; raise its limit (ulimit -n, or LimitNOFILE= of a service), or find \
             what it leaves open (ls -l /proc/PID/fd)"
        }
        libc::ENFILE => "this machine has no file descriptor left; raise its limit (sysctl fs.file-max)",
        _ => return None,
    };
    Some(Error::new(ErrorKind::Exhausted, format!("cannot connect: {remedy}")))
}

/// Windows has no such limit.
#[cfg(not(unix))]
pub(super) fn out_of_descriptors() -> Option<Error> {
    None
}

/// The same error in other words.
fn with_message(error: &Error, message: String) -> Error {
    let out = Error::new(error.kind(), message);
    match error.sqlstate() {
        Some(sqlstate) => out.with_codes(sqlstate, error.native_code()),
        None => out,
    }
}

fn record_of(error: &OdbcError) -> Option<&Record> {
    match error {
        OdbcError::Diagnostics { record, .. }
        | OdbcError::UnsupportedOdbcApiVersion(record)
        | OdbcError::UnableToRepresentNull(record)
        | OdbcError::OracleOdbcDriverDoesNotSupport64Bit(record)
        | OdbcError::InvalidRowArraySize { record, .. } => Some(record),
        _ => None,
    }
}

fn translate(dialect: Dialect, record: &Record) -> Error {
    let sqlstate = record.state.as_str();
    let message = String::from_utf16_lossy(&record.message);
    let kind = dialect.classify(sqlstate, record.native_error, &message);
    Error::new(kind, without_origin(&message)).with_codes(sqlstate, record.native_error)
}

/// The message without its origin, which drivers put in brackets: `[Microsoft][ODBC Driver 18 for SQL Server][SQL Server]`.
fn without_origin(message: &str) -> String {
    let mut rest = message.trim();
    while let Some((_, tail)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        rest = tail.trim_start();
    }
    let rest = rest.strip_prefix("ERROR: ").unwrap_or(rest);
    // psqlODBC appends the whole statement on lines of its own, and before that PostgreSQL's DETAIL, which has the values of the
    // refused row: "Failing row contains (…)".
    let own = ["\nDETAIL:", "\nSTATEMENT:"].iter().filter_map(|label| rest.find(label)).min().unwrap_or(rest.len());
    let text = rest[..own].replace(";\nError while executing the query", "");
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_manager_without_a_reason_lacks_the_driver() {
        let error = without_a_reason("Driver={Nonesuch 7};Server=x;Pwd=s3cret");
        assert_eq!(error.kind(), ErrorKind::DriverMissing);
        assert!(error.message().ends_with("may lack the driver \"Nonesuch 7\""), "{error}");
        assert!(without_a_reason("DSN=x;Pwd=s3cret").message().ends_with("may lack the driver"));
    }

    #[test]
    fn origins_are_cut_off() {
        assert_eq!(
            without_origin("[Microsoft][ODBC Driver 18 for SQL Server][SQL Server]Login failed."),
            "Login failed."
        );
        assert_eq!(
            without_origin("ERROR: relation \"x\" does not exist;\nError while executing the query"),
            "relation \"x\" does not exist"
        );
        assert_eq!(
            without_origin(
                "ERROR: null value in column \"a\"\nDETAIL: Failing row contains (1,\nsecret);\nError while executing the query"
            ),
            "null value in column \"a\""
        );
    }
}
