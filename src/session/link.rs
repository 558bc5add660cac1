//! The connection and its prepared statements, on a session's thread.

use super::fetch::{self, ReadCells, ResultColumns};
use super::unread::Unread;
use super::{behind, bind, diagnose, login, query_timeout};
use crate::config::Config;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::item::Rows;
use odbc_api::{
    Connection, ConnectionTransitions as _, Preallocated, Prepared, SharedConnection,
    handles::{SqlResult, StatementConnection, StatementImpl},
    parameter::InputParameter,
};
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

type KeptStatement = StatementConnection<SharedConnection<'static>>;

/// Values as ODBC takes them.
pub(super) type Bound = [Box<dyn InputParameter>];

/// An open connection, on its thread.
pub(super) struct Link {
    /// Before `connection`: statements must be gone when the connection is closed.
    statements: HashMap<Arc<str>, LinkStatement>,
    /// `None` only while it is being closed.
    connection: Option<SharedConnection<'static>>,
    dialect: Dialect,
    query_timeout_sec: usize,
    /// The most bytes of a claimed item.
    most_bytes: usize,
}

/// A statement kept for the life of the connection.
enum LinkStatement {
    /// Parsed once by the server, executed many times. The columns of its result are asked for once: the server refuses it once
    /// they have changed, and then it is prepared anew.
    Prepared(Prepared<KeptStatement>, ResultColumns),
    /// A remote procedure call, which SQL Server takes by name in one message: there is nothing to prepare.
    Call(Preallocated<KeptStatement>),
}

impl Link {
    /// Connects, and finds out the server's dialect.
    pub(super) fn open(text: &str, config: &Config, guess: Dialect) -> Result<Self> {
        let failed = |error| diagnose::at_login(guess, error, text);
        let connection = login::connect(text, config).map_err(failed)?;
        let name = connection.database_management_system_name().map_err(failed)?;
        Ok(Self {
            statements: HashMap::new(),
            connection: Some(Arc::new(Mutex::new(connection))),
            dialect: Dialect::choose(config.dialect(), &name)?,
            query_timeout_sec: query_timeout(config).as_secs() as usize,
            most_bytes: config.most_item_bytes(),
        })
    }

    /// The SQL that the server speaks.
    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Executes a statement that stays, and returns the rows of its first result with columns, if any.
    pub(super) fn call(&mut self, text: &Arc<str>, params: &Bound, shape: ReadCells) -> Result<Option<Rows>> {
        let was_there = self.statements.contains_key(text);
        match self.call_kept(text, params, shape) {
            // Nothing was done: it failed as a whole, before its execution.
            Err(error) if was_there && self.dialect.is_outdated(&error) => {
                free(self.statements.remove(text));
                // In a transaction the server does nothing more; the first error is the reason then.
                self.call_kept(text, params, shape)
                    .map_err(|again| if self.dialect.is_aborted(&again) { error } else { again })
            }
            result => result,
        }
    }

    fn call_kept(&mut self, text: &Arc<str>, params: &Bound, shape: ReadCells) -> Result<Option<Rows>> {
        if !self.statements.contains_key(text) {
            let statement = self.keep(text, params.len(), shape)?;
            self.statements.insert(Arc::clone(text), statement);
        }
        let mut unknown = ResultColumns::default();
        let most = self.most_bytes;
        let result = match self.statements.get_mut(text) {
            Some(LinkStatement::Prepared(statement, known)) => {
                let executed = statement.execute(params).map_err(Unread::from);
                match executed.and_then(|cursor| fetch::drained(cursor, shape, known, most)) {
                    Ok(None) => behind::drain(statement, shape, known, most),
                    result => result,
                }
            }
            Some(LinkStatement::Call(statement)) => {
                let executed = statement.execute(text, params).map_err(Unread::from);
                match executed.and_then(|cursor| fetch::drained(cursor, shape, &mut unknown, most)) {
                    Ok(None) => behind::drain(statement, shape, &mut unknown, most),
                    result => result,
                }
            }
            None => return Err(Error::new(ErrorKind::Protocol, "the statement is not there")),
        };
        let result = self.checked(result);
        if !matches!(result, Ok(Some(_))) {
            self.discard(text);
        }
        result
    }

    /// Executes a statement once, and returns the rows of its first result with columns, if any.
    pub(super) fn execute(&mut self, text: &str, params: &Bound) -> Result<Rows> {
        let timeout = self.timeout();
        let result = self.with_connection(|connection| {
            let mut statement = allocated(connection, timeout)?;
            let (shape, mut known) = (ReadCells::Table, ResultColumns::default());
            let executed = statement.execute(text, params).map_err(Unread::from);
            let rows = match executed.and_then(|cursor| fetch::drained(cursor, shape, &mut known, usize::MAX)) {
                Ok(None) => behind::drain(&mut statement, shape, &mut known, usize::MAX),
                rows => rows,
            };
            free(statement);
            rows.map(Option::unwrap_or_default)
        });
        self.checked(result)
    }

    /// Executes a statement once, for all its results.
    pub(super) fn results(&mut self, text: &str, params: &Bound) -> Result<Vec<Rows>> {
        let timeout = self.timeout();
        let result = self.with_connection(|connection| {
            let mut statement = allocated(connection, timeout)?;
            let executed = statement.execute(text, params).map_err(Unread::from);
            let results = match executed.and_then(|cursor| cursor.map(fetch::all).transpose()) {
                Ok(None) => behind::all(&mut statement),
                results => results.map(Option::unwrap_or_default),
            };
            free(statement);
            results
        });
        self.checked(result)
    }

    /// Whether the driver knows that the connection is lost. It does not ask the server.
    pub(super) fn is_dead(&self) -> bool {
        self.with_connection(Connection::is_dead).unwrap_or(true)
    }

    /// Begins a transaction.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.checked(self.with_connection(|connection| connection.set_autocommit(false)))
    }

    /// Commits it.
    pub(super) fn commit(&mut self) -> Result<()> {
        self.checked(self.with_connection(Connection::commit))
    }

    /// Leaves it. After a commit there is nothing to roll back; after a failure everything is.
    pub(super) fn end(&mut self) -> Result<()> {
        self.checked(self.with_connection(|connection| {
            connection.rollback()?;
            connection.set_autocommit(true)
        }))
    }

    fn keep(&self, text: &str, params: usize, shape: ReadCells) -> Result<LinkStatement> {
        if text.starts_with('{') {
            let mut statement = self.checked(self.shared()?.into_preallocated())?;
            self.checked(self.timeout().map_or(Ok(()), |seconds| statement.set_query_timeout_sec(seconds)))?;
            return Ok(LinkStatement::Call(statement));
        }
        // Items and their outcomes are read again and again; and only they have arbitrary times.
        if shape != ReadCells::Table
            && let Some(columns_of) = self.dialect.columns_of(text)?
        {
            return self.with_times_as_text(text, &columns_of, params, shape);
        }
        Ok(LinkStatement::Prepared(self.prepare(text)?, ResultColumns::default()))
    }

    fn prepare(&self, text: &str) -> Result<Prepared<KeptStatement>> {
        let mut statement = self.checked(self.shared()?.into_prepared(text))?;
        self.checked(self.timeout().map_or(Ok(()), |seconds| statement.set_query_timeout_sec(seconds)))?;
        Ok(statement)
    }

    fn shared(&self) -> Result<SharedConnection<'static>> {
        self.connection.clone().ok_or_else(|| Error::new(ErrorKind::Closed, "the connection is closed"))
    }

    /// The statement with its times as text, and without the columns that are not read. A statement of its own asks the server
    /// for the columns: psqlODBC loses them for a statement that was not executed.
    fn with_times_as_text(
        &self,
        text: &str,
        columns_of: &str,
        params: usize,
        shape: ReadCells,
    ) -> Result<LinkStatement> {
        let nulls = bind::nulls(params);
        let columns = self.checked(self.with_connection(|connection| {
            connection.execute(columns_of, nulls.as_slice(), self.timeout())?.map(fetch::columns).transpose()
        }))?;
        let found = columns.as_deref().unwrap_or_default();
        let repeated = shape.repeated(found);
        let repeats: Vec<_> = repeated.iter().map(Option::is_some).collect();
        let with_text = self.dialect.times_as_text(text, found, &repeats)?;
        let known = ResultColumns { columns, repeated, times_are_text: with_text.is_some() };
        Ok(LinkStatement::Prepared(self.prepare(with_text.as_deref().unwrap_or(text))?, known))
    }

    /// Frees the statement of a failed call: results behind the error may be unread, and then it refuses its next execution. A
    /// new one costs no round trip. (A prepared statement has one result, and stays.)
    fn discard(&mut self, text: &Arc<str>) {
        if matches!(self.statements.get(text), Some(LinkStatement::Call(_))) {
            free(self.statements.remove(text));
        }
    }

    /// psqlODBC would set the server's time-out with a round trip of its own; the session has set it already.
    fn timeout(&self) -> Option<usize> {
        Self::takes_time_out(self.dialect).then_some(self.query_timeout_sec)
    }

    /// Whether the driver's time-out is set on statements.
    pub(super) fn takes_time_out(dialect: Dialect) -> bool {
        dialect == Dialect::SqlServer
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

    /// Converts an error.
    fn checked<T>(&self, result: Result<T, impl Into<Unread>>) -> Result<T> {
        result.map_err(|error| match error.into() {
            Unread::Odbc(error) => diagnose::in_use(self.dialect, error),
            Unread::Undeliverable(_) => diagnose::out_of_memory(),
        })
    }
}

impl Drop for Link {
    /// Disconnects without a panic: odbc-api's own destructors panic when a driver reports an error for a handle of a dead
    /// connection, and a lost connection is ordinary here.
    fn drop(&mut self) {
        free(std::mem::take(&mut self.statements));
        let Some(connection) = self.connection.take().and_then(Arc::into_inner) else { return };
        let mut handle = connection.into_inner().unwrap_or_else(PoisonError::into_inner).into_handle();
        match handle.disconnect() {
            SqlResult::Success(()) | SqlResult::SuccessWithInfo(()) => drop(handle),
            // The connection is still in a transaction (25000), or in a state that the driver does not leave: its memory is the
            // lesser loss.
            _ => {
                log::warn!("a lost connection could not be closed in order");
                std::mem::forget(handle);
            }
        }
    }
}

/// A statement for one execution.
fn allocated<'a>(
    connection: &'a Connection<'static>,
    timeout: Option<usize>,
) -> Result<Preallocated<StatementImpl<'a>>, odbc_api::Error> {
    let mut statement = connection.preallocate()?;
    timeout.map_or(Ok(()), |seconds| statement.set_query_timeout_sec(seconds))?;
    Ok(statement)
}

/// Frees statements without panicking, which odbc-api's destructor does when the driver reports an error.
fn free<T>(statements: T) {
    if catch_unwind(AssertUnwindSafe(|| drop(statements))).is_err() {
        log::warn!("a statement of a lost connection could not be freed");
    }
}
