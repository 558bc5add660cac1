//! A handle that works on a connection of the caller's, inside the caller's transaction.

use super::{Inner, Queue};
use crate::dialect::{Calls, Dialect};
use crate::error::{Error, ErrorKind, Result};
use crate::item::Rows;
use crate::session::{Attached, Param};
use std::sync::Arc;

impl Queue {
    /// A handle on the same queue whose [`Queue::enqueue`] and [`Queue::settle`] are made on a connection of the
    /// caller's, inside the transaction that is open there. All else is refused on it.
    ///
    /// # Errors
    /// What `connection` fails with, which is given the server's dialect and the time-out of a statement in seconds.
    pub(crate) fn attach(&self, connection: impl FnOnce(Dialect, u32) -> Result<Attached>) -> Result<Self> {
        self.0.backend.ours("work inside a caller's transaction", "they have one of their own")?;
        let attached = connection(self.0.dialect, self.0.query_timeout_sec)?;
        let shared = Arc::clone(&self.0.shared);
        Ok(Self(Arc::new(Inner {
            interrupt: self.0.interrupt.share(),
            shared,
            attached: Some(Arc::new(attached)),
            unsure: true.into(),
        })))
    }
}

/// One of the `calls` inside the caller's transaction. It is not tried again: an error may have ended the transaction.
pub(super) fn call(
    queue: &Inner,
    calls: &Calls,
    connection: &Attached,
    text: &str,
    params: &[Param<'_>],
) -> Result<Rows> {
    if queue.pool.is_closed() {
        return Err(crate::pool::closed());
    }
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
    if let Some(test) = &calls.in_transaction {
        connection.call(test, &[]).map_err(none_open)?;
    }
    connection.call(text, params).map_err(none_open)
}

/// The answer to all other calls.
pub(super) fn refused() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "this handle works on a connection of the caller's, where it enqueues and settles; for all else take the queue that it \
         was made from",
    )
}
