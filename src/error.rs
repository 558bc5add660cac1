//! Errors, in the caller's terms. Knows neither ODBC nor a dialect: `session::diagnose` and the dialects translate into it.

mod excerpt;

pub use self::excerpt::log_text;
pub(crate) use self::excerpt::{Excerpt, cut};

use std::fmt;

/// The class of an [`Error`], on which a caller can decide without reading the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is outside its documented range. Nothing was sent to the server.
    InvalidArgument,
    /// A setting is unknown, out of range, or missing.
    InvalidConfig,
    /// A value of a new item, or of a settlement, does not fit the queue: not an object, unknown column, wrong type, value too
    /// long. Or a given text cannot be a key.
    InvalidItem,
    /// The schema holds no queue of that name.
    UnknownQueue,
    /// readpast's own objects are not installed in the schema.
    SchemaMissing,
    /// The objects in the schema are older than this library: install again to upgrade them.
    SchemaOlder,
    /// The objects in the schema are newer than this library: upgrade the library.
    SchemaNewer,
    /// The queue's table or procedures differ from what was installed.
    SchemaMismatch,
    /// The ODBC driver named in the connection string is not installed.
    DriverMissing,
    /// No server answered at the address.
    Unreachable,
    /// The server refused the user name or password.
    Authentication,
    /// The database does not exist, or the user may not open it.
    DatabaseMissing,
    /// Client and server could not agree on encryption, or the certificate is not trusted.
    Encryption,
    /// The connection broke in use.
    ConnectionLost,
    /// The login lacks a right.
    PermissionDenied,
    /// The server did not answer in time, or a lock was not granted in time.
    TimedOut,
    /// No pooled connection became free in time.
    PoolTimeout,
    /// The statement was chosen as a deadlock victim, or lost a serialization conflict.
    Deadlock,
    /// The server is failing over, starting, or another replica is the one to write to; a later attempt may succeed.
    Unavailable,
    /// The server is short of memory, workers, locks or quota, or throttles; a later attempt, on the same connection, may
    /// succeed.
    Busy,
    /// The server cannot write: disk full, quota reached, database or server read-only. (A read-only SQL Server is
    /// [`Self::Unavailable`]: the next log-in may find the replica that is not.)
    Storage,
    /// The queue handle was closed.
    Closed,
    /// The queue was opened before a fork, and this is the child. Open one here.
    Forked,
    /// Another thread interrupted the wait.
    Interrupted,
    /// The connection was lost at a moment that leaves the outcome open, and it could not be learnt within the retry
    /// budget. Repeat the call with the operation identity of this error to learn it.
    OutcomeUnknown,
    /// The queue cannot do this: its hand-written procedures do not support it, or it has no index for the kinds asked for.
    Unsupported,
    /// The server refused the statement for a reason that no other kind names.
    Database,
    /// The server's answer does not have the shape that the installed procedures return.
    Protocol,
    /// This process has run out of memory or of file descriptors.
    Exhausted,
}

impl ErrorKind {
    /// Every kind, each at its number.
    pub(crate) const ALL: [Self; 29] = [
        Self::InvalidArgument,
        Self::InvalidConfig,
        Self::InvalidItem,
        Self::UnknownQueue,
        Self::SchemaMissing,
        Self::SchemaOlder,
        Self::SchemaNewer,
        Self::SchemaMismatch,
        Self::DriverMissing,
        Self::Unreachable,
        Self::Authentication,
        Self::DatabaseMissing,
        Self::Encryption,
        Self::ConnectionLost,
        Self::PermissionDenied,
        Self::TimedOut,
        Self::PoolTimeout,
        Self::Deadlock,
        Self::Unavailable,
        Self::Busy,
        Self::Storage,
        Self::Closed,
        Self::Forked,
        Self::Interrupted,
        Self::OutcomeUnknown,
        Self::Unsupported,
        Self::Database,
        Self::Protocol,
        Self::Exhausted,
    ];

    /// Kinds after which the same call may succeed when it is simply repeated a little later.
    pub(crate) const TRANSIENT: [Self; 6] =
        [Self::Unreachable, Self::ConnectionLost, Self::TimedOut, Self::Deadlock, Self::Unavailable, Self::Busy];

    /// Whether the same call may succeed when it is simply repeated a little later.
    #[must_use]
    pub fn is_transient(self) -> bool {
        Self::TRANSIENT.contains(&self)
    }

    /// Whether a connection with this error must not be used again.
    #[must_use]
    pub fn breaks_connection(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::Authentication
                | Self::Encryption
                | Self::ConnectionLost
                | Self::Unavailable
                | Self::DatabaseMissing
                | Self::Protocol
                | Self::Exhausted
        )
    }
}

/// An error, with the server's own codes where a server was involved. Never holds a password: connection strings are
/// redacted before they come near a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    sqlstate: Option<String>,
    native_code: i32,
    operation: Option<String>,
}

impl Error {
    /// An error of `kind`; `message` has the cause and the remedy, in one line. A message that is too long for a person is cut.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: cut(message.into()), sqlstate: None, native_code: 0, operation: None }
    }

    /// The same error with the server's codes.
    #[must_use]
    pub fn with_codes(mut self, sqlstate: impl Into<String>, native_code: i32) -> Self {
        self.sqlstate = Some(sqlstate.into());
        self.native_code = native_code;
        self
    }

    /// The same error, of another kind.
    #[must_use]
    pub(crate) fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same error with the identity of the operation whose outcome it leaves open.
    #[must_use]
    pub fn with_operation(mut self, operation: impl Into<String>) -> Self {
        self.operation = Some(operation.into());
        self
    }

    /// The same error with `context` before its message.
    #[must_use]
    pub fn in_context(mut self, context: impl fmt::Display) -> Self {
        self.message = cut(format!("{context}: {}", self.message));
        self
    }

    /// The same error with `more` after its message.
    #[must_use]
    pub(crate) fn followed_by(mut self, more: &str) -> Self {
        self.message = cut(self.message + more);
        self
    }

    /// The class of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// One line for a person: what is wrong and, where there is one, the remedy.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The five characters of the SQLSTATE, if a driver or server gave one.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&str> {
        self.sqlstate.as_deref()
    }

    /// The server's own error number (SQL Server), or 0. psqlODBC reports a driver status here, not a server number.
    #[must_use]
    pub fn native_code(&self) -> i32 {
        self.native_code
    }

    /// The identity to repeat the call with, when the kind is [`ErrorKind::OutcomeUnknown`].
    #[must_use]
    pub fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }

    /// Whether the same call may succeed a little later. The library has already retried within its budget, except where only
    /// the caller can do something about it ([`ErrorKind::Exhausted`]).
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.kind.is_transient()
            || matches!(self.kind, ErrorKind::OutcomeUnknown | ErrorKind::PoolTimeout | ErrorKind::Exhausted)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(sqlstate) = &self.sqlstate {
            write!(f, " [SQLSTATE {sqlstate}, native code {}]", self.native_code)?;
        }
        Ok(())
    }
}

/// The result of every fallible call.
pub type Result<T, E = Error> = std::result::Result<T, E>;
