//! Errors of a queue that was dropped meanwhile.

use crate::calls::CallTerms;
use crate::error::{Error, ErrorKind};
use crate::install;
use crate::pool::Pool;

/// An object that is missing, or may not be used, often belongs to a queue that was dropped.
pub(super) fn named_if_dropped(pool: &Pool, terms: &CallTerms, error: Error) -> Error {
    // A call that was under way when its table went meets it in ways that no server documents.
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
        // The last right that its roles had went with it.
        Err(asked) if asked.kind() == ErrorKind::PermissionDenied && error.kind() != ErrorKind::Database => {
            error.followed_by(&format!("; or the queue {name:?} was dropped, and the rights on it"))
        }
        _ => error,
    }
}
