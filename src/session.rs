//! One ODBC connection and the statements kept on it. This module and its children are the only ones that know ODBC.

mod bind;
mod diagnose;
mod fetch;
mod login;
mod pieces;

pub(crate) use self::diagnose::MISSING_RIGHT;
pub use self::{bind::Param, fetch::Shape};

use crate::config::Config;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Column, Rows};
use fetch::Unread;
use odbc_api::{
    Connection, Preallocated, Prepared, SharedConnection,
    handles::{SqlResult, StatementConnection},
};
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

type Kept = StatementConnection<SharedConnection<'static>>;

/// An open connection. One thread at a time uses it; it may move between threads.
pub struct Session {
    /// Before `connection`: statements must be gone when the connection is closed.
    statements: HashMap<Arc<str>, Statement>,
    /// `None` only while it is being closed.
    connection: Option<SharedConnection<'static>>,
    dialect: Dialect,
    query_timeout_sec: usize,
    /// The most bytes of a claimed item.
    most_bytes: usize,
    opened: Instant,
    fate: Fate,
}

/// What the errors met so far mean for the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It may be used.
    Usable,
    /// It may not, which says nothing about others.
    Broken,
    /// It may not, and others that lead to the same server are probably no better.
    ServerGone,
}

/// A statement kept for the life of the connection.
enum Statement {
    /// Parsed once by the server, executed many times. The columns of its result are asked for once: they never change,
    /// or the server refuses it.
    Prepared(Prepared<Kept>, Option<Arc<[Column]>>),
    /// A remote procedure call, which SQL Server takes by name in one message: there is nothing to prepare.
    Call(Preallocated<Kept>),
}

impl Session {
    /// Connects, finds out who the server is, and makes the session's settings what readpast relies on.
    ///
    /// # Errors
    /// Of the kinds that a failed log-in has; the message never holds the connection string.
    pub fn open(config: &Config) -> Result<Self> {
        let text = config.connection_string()?;
        let guess = Dialect::guess(config.dialect(), &text);
        let failed = |error| diagnose::at_login(guess, error, &text);

        // Not even tried then: what the C library and the driver cannot load the first time, they never load again.
        if let Some(error) = diagnose::out_of_descriptors() {
            return Err(error);
        }
        let connection = {
            let _turn = login::turn(guess, config)?;
            login::connect(&text, config).map_err(failed)?
        };
        let name = connection.database_management_system_name().map_err(failed)?;
        let dialect = Dialect::choose(config.dialect(), &name)?;

        let mut session = Self {
            statements: HashMap::new(),
            connection: Some(Arc::new(Mutex::new(connection))),
            dialect,
            query_timeout_sec: config.number("query.timeout_ms").div_ceil(1000) as usize,
            most_bytes: config.most_item_bytes(),
            opened: Instant::now(),
            fate: Fate::Usable,
        };
        let settings = dialect.session_settings(
            config.number("lock.timeout_ms"),
            config.number("query.timeout_ms"),
            config.application(),
        )?;
        session.execute(&settings, &[])?;
        Ok(session)
    }

    /// The SQL it speaks.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// When it was opened.
    #[must_use]
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// Whether an error has left it unfit for use.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.fate != Fate::Usable
    }

    /// What the errors met on it so far mean for it, and for others.
    #[must_use]
    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// Executes `text` with a statement that stays on the connection for the next time, and returns its rows once the
    /// server has said that all went well: rows of a result that an error follows must not be believed.
    pub fn call(&mut self, text: &Arc<str>, params: &[Param<'_>], shape: Shape) -> Result<Rows> {
        if !self.statements.contains_key(text) {
            let statement = self.keep(text)?;
            self.statements.insert(Arc::clone(text), statement);
        }
        let bound = bind::all(params);
        let mut unknown = None;
        let (result, columns) = match self.statements.get_mut(text) {
            Some(Statement::Prepared(statement, columns)) => (statement.execute(bound.as_slice()), columns),
            Some(Statement::Call(statement)) => (statement.execute(text, bound.as_slice()), &mut unknown),
            None => return Err(Error::new(ErrorKind::Protocol, "the statement is not there")),
        };
        let most = self.most_bytes;
        let result = result
            .map_err(Unread::from)
            .and_then(|cursor| cursor.map(|cursor| fetch::drain(cursor, shape, columns, most)).transpose());
        let result = self.check(result);
        if !matches!(result, Ok(Some(_))) {
            self.discard(text);
        }
        result?.ok_or_else(|| {
            // Whatever comes behind the count is still unread.
            self.fate = Fate::ServerGone;
            Error::new(
                ErrorKind::Protocol,
                "the procedure answered without rows, or counted rows before them; it must SET NOCOUNT ON and select \
                 its answer",
            )
        })
    }

    /// Executes `text` once, without keeping the statement, and returns its rows if it has any.
    pub fn execute(&mut self, text: &str, params: &[Param<'_>]) -> Result<Rows> {
        let bound = bind::all(params);
        let timeout = self.timeout();
        let result = self.with_connection(|connection| {
            match connection.execute(text, bound.as_slice(), timeout).map_err(Unread::from)? {
                Some(cursor) => fetch::drain(cursor, Shape::Table, &mut None, usize::MAX),
                None => Ok(Rows::default()),
            }
        });
        self.check(result)
    }

    /// Executes `text` once and returns the rows of every result that has columns, in their order. The first result must be
    /// such a one: a statement that begins with a count cannot be read further.
    pub fn results(&mut self, text: &str, params: &[Param<'_>]) -> Result<Vec<Rows>> {
        let bound = bind::all(params);
        let timeout = self.timeout();
        let result = self.with_connection(|connection| match connection.execute(text, bound.as_slice(), timeout)? {
            Some(cursor) => fetch::all(cursor),
            None => Ok(Vec::new()),
        });
        self.check(result)
    }

    /// Runs `work` in a transaction, which commits when it succeeds and rolls back when it does not.
    pub fn transaction<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let begun = self.with_connection(|connection| connection.set_autocommit(false));
        self.check(begun)?;
        let result = work(self).and_then(|value| {
            let committed = self.with_connection(Connection::commit);
            self.check(committed).map(|()| value)
        });
        let ended = self.with_connection(|connection| {
            // After a commit there is nothing to roll back; after a failure everything is.
            connection.rollback()?;
            connection.set_autocommit(true)
        });
        if self.check(ended).is_err() {
            self.fate = Fate::ServerGone;
        }
        result
    }

    fn keep(&mut self, text: &str) -> Result<Statement> {
        let Some(connection) = self.connection.clone() else {
            return Err(Error::new(ErrorKind::Closed, "the connection is closed"));
        };
        let timeout = self.timeout();
        let statement = if text.starts_with('{') {
            use odbc_api::ConnectionTransitions as _;
            connection.into_preallocated().and_then(|mut statement| {
                timeout.map_or(Ok(()), |seconds| statement.set_query_timeout_sec(seconds))?;
                Ok(Statement::Call(statement))
            })
        } else {
            use odbc_api::ConnectionTransitions as _;
            connection.into_prepared(text).and_then(|mut statement| {
                timeout.map_or(Ok(()), |seconds| statement.set_query_timeout_sec(seconds))?;
                Ok(Statement::Prepared(statement, None))
            })
        };
        self.check(statement)
    }

    /// Frees the statement of a call that failed: results behind the error may be unread, and a statement with such
    /// refuses its next execution. A new one costs no round trip. (A prepared statement has one result, and stays.)
    fn discard(&mut self, text: &Arc<str>) {
        if matches!(self.statements.get(text), Some(Statement::Call(_))) {
            free(self.statements.remove(text));
        }
    }

    /// psqlODBC would set the server's time-out with a round trip of its own; the session has set it already.
    fn timeout(&self) -> Option<usize> {
        (self.dialect == Dialect::SqlServer).then_some(self.query_timeout_sec)
    }

    fn with_connection<T, E: From<odbc_api::Error>>(
        &self,
        work: impl FnOnce(&Connection<'static>) -> Result<T, E>,
    ) -> Result<T, E> {
        match &self.connection {
            Some(connection) => work(&connection.lock().unwrap_or_else(PoisonError::into_inner)),
            None => Err(odbc_api::Error::NoDiagnostics { function: "closed connection" }.into()),
        }
    }

    fn is_dead(&self) -> bool {
        self.with_connection(Connection::is_dead).unwrap_or(true)
    }

    fn check<T>(&mut self, result: Result<T, impl Into<Unread>>) -> Result<T> {
        result.map_err(|error| {
            let error = match error.into() {
                Unread::Odbc(error) => diagnose::in_use(self.dialect, error),
                Unread::Unfit(_) => diagnose::out_of_memory(),
            };
            let fate = match error.kind() {
                kind if kind.breaks_connection() => Fate::ServerGone,
                // A server that throttles may end the session it does so to (40501, 40549). To leave the others too would only
                // be more log-ins for it to serve. The driver knows without asking the server.
                ErrorKind::Busy if self.is_dead() => Fate::Broken,
                _ => Fate::Usable,
            };
            self.fate = self.fate.max(fate);
            error
        })
    }
}

impl Drop for Session {
    /// Disconnects without ever panicking: odbc-api's own destructors panic when a driver reports an error for a handle
    /// of a dead connection, and a lost connection is ordinary here.
    fn drop(&mut self) {
        free(std::mem::take(&mut self.statements));
        let Some(connection) = self.connection.take().and_then(Arc::into_inner) else { return };
        let mut handle = connection.into_inner().unwrap_or_else(PoisonError::into_inner).into_handle();
        match handle.disconnect() {
            SqlResult::Success(()) | SqlResult::SuccessWithInfo(()) => drop(handle),
            // Still in a transaction (25000) or in a state that the driver does not leave: its memory is the lesser loss.
            _ => {
                log::warn!("a lost connection could not be closed in order");
                std::mem::forget(handle);
            }
        }
    }
}

/// Frees statements without panicking, which odbc-api's destructor does when the driver reports an error.
fn free<T>(statements: T) {
    if catch_unwind(AssertUnwindSafe(|| drop(statements))).is_err() {
        log::warn!("a statement of a lost connection could not be freed");
    }
}
