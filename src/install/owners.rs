//! The owners of objects that an install meets. Triggers on a table, a view or a function under one of readpast's names: code
//! that another user has put there would run with the installer's rights.

use super::text;
use crate::description::QueueSpec;
use crate::error::{Error, ErrorKind, Result};
use crate::ident::Identifier;
use crate::render;
use crate::session::{Param, Session};

/// Refuses a schema, and objects in it under the names of the shared objects and of these queues, unless the owner is the login,
/// a role that it is a member of, the database's owner or a superuser. Reads the server's own catalog and nothing of the schema.
/// `done` is the verb of the caller: installed or dropped.
///
/// # Errors
/// [`ErrorKind::PermissionDenied`] names the object and its owner.
pub(super) fn check(session: &mut Session, schema: &Identifier, specs: &[&QueueSpec], done: &str) -> Result<()> {
    let dialect = session.dialect();
    let names = serde_json::json!(render::names(dialect, schema, specs)?).to_string();
    let found = session.execute(&dialect.schema_call("owners", schema)?, &[Param::Text(&names)])?;
    if found.is_empty() {
        return Ok(());
    }
    let [kind, name, verb, other, remedy] = [0, 1, 2, 3, 4].map(|column| text(&found, 0, column));
    let place = if kind == "schema" { String::new() } else { format!(" in schema {:?}", schema.as_str()) };
    Err(Error::new(
        ErrorKind::PermissionDenied,
        format!("nothing was {done}: {kind} {name:?}{place} {verb} {other:?}. {remedy}"),
    ))
}
