//! A connection that the caller owns: statements run on it, and change nothing about it. This code neither closes nor frees it,
//! and begins or ends no transaction on it.
#![allow(unsafe_code, reason = "only its owner knows that a connection which is handed over is one")]

use super::bind::{self, Param};
use super::fetch::{self, ReadCells, ResultColumns};
use super::unread::Unread;
use super::{Link, behind, diagnose};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::item::Rows;
use crate::sync::Mutex;
use odbc_api::Preallocated;
use odbc_api::handles::{Connection, SqlResult, StatementImpl};
use odbc_api::sys::HDbc;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The caller's connection. One call at a time runs on it, on the caller's thread; between calls it holds no statement of ours,
/// so that the caller can close it at any time.
pub(crate) struct Attached {
    connection: Mutex<ManuallyDrop<Connection<'static>>>,
    dialect: Dialect,
    /// The driver's time-out of a statement, in seconds.
    timeout: Option<usize>,
}

impl Attached {
    /// Looks at the connection, without a round trip.
    ///
    /// # Safety
    /// `connection` is NULL or an ODBC connection handle, which stays one until the last call here.
    pub(crate) unsafe fn new(connection: *mut c_void, dialect: Dialect, timeout_sec: u32) -> Result<Self> {
        if connection.is_null() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "connection is NULL; it must be an ODBC connection (SQLHDBC)",
            ));
        }
        // SAFETY: as the caller promises. It is never dropped: the caller frees it.
        let connection = ManuallyDrop::new(unsafe { Connection::new(HDbc(connection)) });
        let statement = statement_on(&connection)?;
        free(statement);
        let timeout = Link::takes_time_out(dialect).then_some(timeout_sec as usize);
        Ok(Self { connection: Mutex::new(connection), dialect, timeout })
    }

    /// Executes `text` once, and returns the rows of its first result with columns, if any.
    pub(crate) fn call(&self, text: &str, params: &[Param<'_>]) -> Result<Rows> {
        let bound = bind::all(params);
        let connection = self.connection.lock();
        // SAFETY: it was just made, and nothing is bound to it.
        let mut statement = unsafe { Preallocated::new(statement_on(&connection)?) };
        let timed = self.timeout.map_or(Ok(()), |seconds| statement.set_query_timeout_sec(seconds));
        let (shape, mut known) = (ReadCells::Answers, ResultColumns::default());
        let executed = timed.and_then(|()| statement.execute(text, bound.as_slice())).map_err(Unread::from);
        let rows = match executed.and_then(|cursor| fetch::drained(cursor, shape, &mut known, usize::MAX)) {
            Ok(None) => behind::drain(&mut statement, shape, &mut known, usize::MAX),
            rows => rows,
        };
        free(statement);
        rows.map(Option::unwrap_or_default).map_err(|error| match error {
            Unread::Odbc(error) => diagnose::in_use(self.dialect, error),
            Unread::Undeliverable(_) => diagnose::out_of_memory(),
        })
    }
}

fn statement_on<'a>(connection: &'a Connection<'static>) -> Result<StatementImpl<'a>> {
    match connection.allocate_statement() {
        SqlResult::Success(statement) | SqlResult::SuccessWithInfo(statement) => Ok(statement),
        _ => Err(Error::new(
            ErrorKind::InvalidArgument,
            "the connection takes no statement; it must be an ODBC connection (SQLHDBC) that is open",
        )),
    }
}

/// Frees a statement without the panic of a destructor, should the driver report an error.
fn free<T>(statement: T) {
    if catch_unwind(AssertUnwindSafe(|| drop(statement))).is_err() {
        log::warn!("a statement of a connection that was handed over could not be freed");
    }
}
