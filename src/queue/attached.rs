//! A handle on a connection of the caller's, inside the caller's transaction.

use super::inner::QueueInner;
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::Rows;
use crate::metrics::CallKind;
use crate::pool::closed;
use crate::session::Param;

/// The statements for such a connection.
pub(super) fn calls(queue: &QueueInner) -> Result<&Calls> {
    queue.backend.calls("work inside a caller's transaction", "they have one of their own")
}

/// A call inside the caller's transaction. It is not tried again: an error may have ended the transaction.
pub(super) fn call(queue: &QueueInner, call: CallKind, text: &str, params: &[Param<'_>]) -> Result<Rows> {
    let Some(connection) = queue.attached.as_deref().filter(|_| !queue.pool.is_closed()) else { return Err(closed()) };
    let none_open = |error: Error| {
        // 25P01: a savepoint needs a transaction; 50012: so does the procedure.
        if error.sqlstate() == Some("25P01") || error.native_code() == 50012 {
            return Error::new(
                ErrorKind::InvalidArgument,
                "no transaction is open on the connection; turn its autocommit off, or begin one",
            );
        }
        error
    };
    let in_transaction = calls(queue)?.in_transaction.as_ref();
    queue.counters.time(call, || {
        if let Some(test) = in_transaction {
            connection.call(test, &[]).map_err(none_open)?;
        }
        let mut rows = connection.call(text, params).map_err(none_open)?;
        if let Some(prefix) = queue.terms.key_form().prefix {
            rows.put_before_keys(prefix);
        }
        Ok(rows)
    })
}
