//! Results behind one without columns: a count of rows, or a message of the server (a warning, a PRINT), which Microsoft's driver
//! makes a result of its own when the server ends a statement behind it.
#![allow(unsafe_code, reason = "odbc-api gives up a statement whose first result has no columns")]

use super::fetch::{self, ReadCells, ResultColumns};
use super::unread::Unread;
use crate::item::Rows;
use odbc_api::{
    CursorImpl, Error,
    handles::{AsStatementRef, Statement, StatementRef},
};

/// Reads the first result with columns behind the one that the statement has come to; `None` where there is none. See
/// [`fetch::drain`].
pub(super) fn drain(
    statement: &mut impl AsStatementRef,
    shape: ReadCells,
    known: &mut ResultColumns,
    most: usize,
) -> Result<Option<Rows>, Unread> {
    first(statement.as_stmt_ref())?.map(|cursor| fetch::drain(cursor, shape, known, most)).transpose()
}

/// Reads all results with columns there.
pub(super) fn all(statement: &mut impl AsStatementRef) -> Result<Vec<Rows>, Unread> {
    first(statement.as_stmt_ref())?.map_or_else(|| Ok(Vec::new()), fetch::all)
}

fn first(mut statement: StatementRef<'_>) -> Result<Option<CursorImpl<StatementRef<'_>>>, Error> {
    // SAFETY: it was executed, and no buffer is bound to it.
    while unsafe { statement.more_results() }.into_result_bool(&statement)? {
        if statement.num_result_cols().into_result(&statement)? > 0 {
            // SAFETY: it has a result with columns.
            return Ok(Some(unsafe { CursorImpl::new(statement) }));
        }
    }
    Ok(None)
}
