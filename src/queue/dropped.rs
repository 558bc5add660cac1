//! Errors that mean that the queue was dropped.

use crate::calls::CallTerms;
use crate::error::{Error, ErrorKind};
use crate::install;
use crate::pool::Pool;

/// The error, or that the queue was dropped: a missing or forbidden object often means that.
pub(super) fn named_if_dropped(pool: &Pool, terms: &CallTerms, error: Error) -> Error {
    // A call under way while its table is dropped fails in ways that no server documents.
    let may_be = [ErrorKind::SchemaMismatch, ErrorKind::PermissionDenied, ErrorKind::Database];
    if !may_be.contains(&error.kind()) {
        return error;
    }
    let name = terms.queue();
    match pool.acquire().and_then(|mut session| install::is_gone(&mut session, &terms.schema, name)) {
        Ok(true) => {
            let message = format!("the queue {name:?} was dropped from the schema {:?}", terms.schema.as_str());
            Error::new(ErrorKind::UnknownQueue, message)
        }
        // A drop takes away the last right of the queue's roles.
        Err(asked) if asked.kind() == ErrorKind::PermissionDenied && error.kind() != ErrorKind::Database => {
            error.followed_by(&format!("; or the queue {name:?} was dropped, and the rights on it"))
        }
        _ => error,
    }
}
