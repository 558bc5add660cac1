//! Drops queues.

use super::{
    Catalog, INSTALL_TIMEOUT_MS, catalog, citus, for_installer, hold_schema, missing, newer, older, owners, take_turn,
    text, version,
};
use crate::config::Config;
use crate::error::{ErrorKind, Result};
use crate::ident::Identifier;
use crate::render::{Leaving, Name, Referrer, SCHEMA_VERSION, Target};
use crate::session::{Param, Session};

/// How often a drop is repeated after a deadlock with workers.
const MOST_TRIES: usize = 5;

/// The objects that go with a dropped queue, and those that stay.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropping {
    /// The tables that go with all their rows: that of the items first.
    pub tables: Vec<Name>,
    /// The user's tables, which stay with all their rows.
    pub stays: Vec<Name>,
    /// The foreign keys of other tables that refer to those that go, and go with them.
    pub foreign_keys: Vec<Referrer>,
    /// The SQL, as one script to read and to run by hand.
    pub script: String,
}

/// The plan of [`drop_queue`] for the queue called `queue`. Changes nothing.
///
/// # Errors
/// As [`drop_queue`].
pub fn dropping(config: &Config, queue: &str) -> Result<Dropping> {
    let schema = config.schema()?;
    let mut session = Session::open(config)?;
    let leaving = leaving(&mut session, &schema, queue)?;
    let foreign_keys = referrers(&mut session, &schema, &leaving)?;
    let script = leaving.script(&foreign_keys)?;
    Ok(Dropping { tables: leaving.tables(), stays: leaving.stays().to_vec(), foreign_keys, script })
}

/// Drops the queue called `queue` as the database describes it. A queue in a table of readpast's own goes with all of its items,
/// those in work as well; a table of the user's stays with its rows, and loses only the objects that an install added. Objects
/// that the queues of a schema share stay. All of it happens in one transaction under the lock of [`super::install()`].
///
/// Workers that are at work meanwhile get [`ErrorKind::UnknownQueue`] from their next call.
///
/// # Errors
/// [`ErrorKind::UnknownQueue`], [`ErrorKind::SchemaMissing`]; [`ErrorKind::InvalidArgument`] when another queue works on a table
/// that would go; [`ErrorKind::SchemaOlder`] and [`ErrorKind::SchemaNewer`] when another release has installed the queue;
/// [`ErrorKind::PermissionDenied`] when the objects are not the login's. Nothing is changed then.
pub fn drop_queue(config: &Config, queue: &str) -> Result<()> {
    let schema = config.schema()?;
    let mut session = Session::open(config.clone().set("query.timeout_ms", INSTALL_TIMEOUT_MS)?)?;
    let mut tries = 1;
    loop {
        match session.transaction(|session| drop_in(session, &schema, queue)) {
            Err(error) if error.kind() == ErrorKind::Deadlock && tries < MOST_TRIES => {
                log::info!("dropping the queue {queue} again: {error}");
                tries += 1;
            }
            dropped => return dropped.map_err(|error| for_installer(error, "drop")),
        }
    }
}

fn drop_in(session: &mut Session, schema: &Identifier, queue: &str) -> Result<()> {
    take_turn(session, schema)?;
    if version(session, schema)?.is_none() {
        return Err(missing(schema));
    }
    // The check comes before anything there is read or run.
    owners::check(session, schema, &[], "dropped")?;
    hold_schema(session, schema)?;
    citus::prepare(session, schema)?;
    let leaving = leaving(session, schema, queue)?;
    owners::check(session, schema, &[leaving.spec()], "dropped")?;
    let referrers = referrers(session, schema, &leaving)?;
    for object in leaving.objects(&referrers)? {
        session
            .execute(&object.definition, &[])
            .map_err(|error| error.in_context(format!("dropping the queue {queue}")))?;
    }
    Ok(())
}

/// The objects that go with a queue, by its description in the database.
fn leaving<'a>(session: &mut Session, schema: &'a Identifier, name: &str) -> Result<Leaving<'a>> {
    let there = catalog(session, schema)?;
    check_version(schema, &there)?;
    let queue = there.queue(schema, name)?;
    let others = there.queues.iter().filter(|other| other.name != name);
    let others: Vec<_> = others
        .map(|other| other.read().map_err(|error| error.in_context(format!("the description of {}", other.name))))
        .collect::<Result<_>>()?;
    Target::new(session.dialect(), schema).leaving(queue.read()?, &others)
}

/// Refuses another version: only objects of this one are known by name.
fn check_version(schema: &Identifier, there: &Catalog) -> Result<()> {
    match there.version {
        None => Err(missing(schema)),
        Some(found) if found > SCHEMA_VERSION => Err(newer(schema, found)),
        Some(found) if found < SCHEMA_VERSION => Err(older(schema, found)),
        Some(_) => there
            .queues
            .iter()
            .find(|queue| queue.rendered_by < SCHEMA_VERSION)
            .map_or(Ok(()), |queue| Err(older(schema, queue.rendered_by))),
    }
}

/// The foreign keys that keep the queue's tables from being dropped.
fn referrers(session: &mut Session, schema: &Identifier, leaving: &Leaving<'_>) -> Result<Vec<Referrer>> {
    let names: Vec<_> = leaving.tables().into_iter().map(|table| table.name).collect();
    let names = serde_json::json!(names).to_string();
    let rows = session
        .execute(&session.dialect().query("ask/referrers")?, &[Param::Text(schema.as_str()), Param::Text(&names)])?;
    let referrer = |row| Referrer {
        table: Name { schema: text(&rows, row, 0), name: text(&rows, row, 1) },
        key: text(&rows, row, 2),
    };
    Ok((0..rows.len()).map(referrer).collect())
}
