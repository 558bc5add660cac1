//! Installs in a database of Citus: in a schema that it shards, whose objects it makes on all nodes, or on this node alone.

use super::number;
use crate::description::{QueueSpec, Storage};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::ident::Identifier;
use crate::render::{Made, Object};
use crate::session::Session;
use std::borrow::Cow;

/// Has the rest of the transaction make its objects where they belong; returns whether Citus shards the schema.
pub(super) fn prepare(session: &mut Session, schema: &Identifier) -> Result<bool> {
    let dialect = session.dialect();
    if dialect != Dialect::Postgres {
        return Ok(false);
    }
    session.execute(&dialect.schema_call("citus", schema)?, &[])?;
    Ok(number(&session.execute(&dialect.schema_call("is_sharded", schema)?, &[])?, 0, 0) == Some(1))
}

/// The statement of `object` as it is sent. Citus hands the text of some to its nodes: that of an index, of a change to a table. A node takes
/// one statement at a time.
pub(super) fn definition(dialect: Dialect, object: &Object, is_sharded: bool) -> Result<Cow<'_, str>> {
    let definition = object.definition.as_str();
    match object.makes {
        Made::Index(_) | Made::Nothing if is_sharded => {
            dialect.statement("call/alone", minijinja::context! { definition }).map(Cow::Owned)
        }
        _ => Ok(definition.into()),
    }
}

/// The reason for which Citus cannot have a queue in a schema that it shards, if there is one.
pub(crate) fn unfit(dialect: Dialect, schema: &Identifier, spec: &QueueSpec) -> Option<String> {
    let name = schema.as_str();
    if spec.roles.own_types_only {
        return Some(format!(
            "Citus shards the schema {name:?} and asks its nodes as the owner of the functions, who sees all types: own_types_only cannot \
             hold there"
        ));
    }
    if !spec.limits.is_empty() {
        return Some(format!(
            "Citus shards the schema {name:?} and lets no query there call a function that has queries of its own, by which limits count"
        ));
    }
    match &spec.storage {
        Storage::Own if spec.after => {
            Some(format!("Citus shards the schema {name:?} and has no triggers there, by which \"after\" works"))
        }
        Storage::Table(table) if dialect.in_catalog(&dialect.schema_of(table.schema.as_ref())) != name => {
            Some(format!(
                "Citus shards the schema {name:?} and joins no table of another with those there; its table must be there, too"
            ))
        }
        _ => None,
    }
}

/// The remedy for that.
pub(crate) const ELSEWHERE: &str = "install it in a schema that Citus does not shard";

/// Refuses such a queue.
pub(super) fn check(dialect: Dialect, schema: &Identifier, spec: &QueueSpec) -> Result<()> {
    unfit(dialect, schema, spec).map_or(Ok(()), |what| {
        let message = format!("queue {:?}: {what}; or {ELSEWHERE}", spec.queue.as_str());
        Err(Error::new(ErrorKind::Unsupported, message))
    })
}
