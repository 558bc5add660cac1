//! Installs, upgrades and checks readpast's own objects in a schema.

mod citus;
mod dropping;
pub(crate) mod encoding;
mod owners;
mod places;

pub(crate) use self::citus::{ELSEWHERE, unfit};
pub use self::dropping::{Dropping, drop_queue, dropping};
pub(crate) use self::places::at_any;

use crate::config::Config;
use crate::description::{QueueSpec, Storage};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::ident::{Identifier, did_you_mean};
use crate::item::{Rows, Value};
use crate::places::found;
use crate::render::{self, Made, Name, Object, SCHEMA_VERSION, Target, Upgrade};
use crate::session::{MISSING_RIGHT, Param, Session};
use std::path::Path;

/// The time-out of an install: making objects may take a server long, and so may waiting for another install.
const INSTALL_TIMEOUT_MS: &str = "600000";

/// The verb of an install, for a message.
const INSTALLED: &str = "installed";

/// Brings the schema of `config` and the queues in it to this library's version and, with a `spec`, makes that queue or changes
/// it as described. Doing it again changes nothing. All of it happens in one transaction under a lock of the schema, so that it
/// is there as a whole or not at all, and two at once take turns.
///
/// Over several places ([`Config::places`]) it goes from one to the other, and another time goes on where it has failed.
///
/// The login needs the rights to create schemas, types, tables, views and procedures; workers do not.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] when the description contradicts itself, [`ErrorKind::PermissionDenied`] when the schema, or an
/// object of one of its names, belongs to an owner whose triggers and functions this login must not run,
/// [`ErrorKind::SchemaNewer`] when a newer library has been here, [`ErrorKind::SchemaMismatch`] when a changed description would
/// lose data, [`ErrorKind::Unsupported`] when Citus shards the schema and cannot have the queue there: nothing is changed then. Over several places
/// also [`ErrorKind::InvalidArgument`] for a description that several databases cannot hold together, and
/// [`ErrorKind::SchemaMismatch`] where the places have different ones.
pub fn install(config: &Config, spec: Option<&QueueSpec>) -> Result<()> {
    let config = found(config)?;
    if let Some(spec) = spec.filter(|_| !config.places().is_empty()) {
        spec.check_several()?;
    }
    match config.each()?.as_slice() {
        [one] => install_at(one, spec),
        places => places::install(places, spec),
    }
}

fn install_at(config: &Config, spec: Option<&QueueSpec>) -> Result<()> {
    let schema = config.schema()?;
    // A description that a program built was not checked by the parser.
    spec.map(QueueSpec::check).transpose()?;
    let mut session = Session::open(config.clone().set("query.timeout_ms", INSTALL_TIMEOUT_MS)?)?;
    encoding::warn(&mut session)?;
    let installed = session.transaction(|session| {
        let dialect = session.dialect();
        take_turn(session, &schema)?;
        // The check comes before anything there is read or run.
        owners::check(session, &schema, spec.as_slice(), INSTALLED)?;
        hold_schema(session, &schema)?;
        let is_sharded = citus::prepare(session, &schema)?;
        let found = version(session, &schema)?.unwrap_or(0);
        if found > SCHEMA_VERSION {
            return Err(newer(&schema, found));
        }
        let found_out = session.execute(&dialect.schema_call("creates_or_alters", &schema)?, &[])?;
        let creates_or_alters = number(&found_out, 0, 0) == Some(1);
        let place = InstallTarget { schema: &schema, creates_or_alters, is_sharded };
        for version in found + 1..=SCHEMA_VERSION {
            place.run(session, &place.target(dialect).version(version)?)?;
            session.execute(
                &dialect.schema_call("record_version", &schema)?,
                &[Param::Integer(version), Param::Text(env!("CARGO_PKG_VERSION"))],
            )?;
        }
        place.run(session, &place.target(dialect).functions()?)?;
        let queues = catalog(session, &schema)?.queues;
        // Queues of an earlier release could not be opened by this one.
        let wanted = spec.map(|spec| spec.queue.as_str());
        for known in queues.iter().filter(|known| known.rendered_by < SCHEMA_VERSION) {
            if Some(known.name.as_str()) != wanted {
                known
                    .read()
                    .and_then(|spec| install_queue(session, place, Some(known), &spec))
                    .map_err(|error| error.in_context(format!("upgrading queue {}", known.name)))?;
            }
        }
        match spec {
            Some(spec) => {
                let known = queues.iter().find(|known| known.name == spec.queue.as_str());
                install_queue(session, place, known, spec)
            }
            None => Ok(()),
        }
    });
    installed.map_err(|error| for_installer(error, "install"))
}

/// [`install`] with the description in a file, TOML or JSON.
///
/// # Errors
/// As [`install`]; [`ErrorKind::InvalidArgument`] when the file cannot be read.
pub fn install_file(config: &Config, path: impl AsRef<Path>) -> Result<()> {
    install(config, Some(&QueueSpec::from_file(path)?))
}

/// Waits until no other install is at work in the schema, and keeps others away until the transaction ends.
fn take_turn(session: &mut Session, schema: &Identifier) -> Result<()> {
    let lock = render::install_lock(schema);
    let granted = session.execute(&session.dialect().schema_call("lock_install", schema)?, &[Param::Text(&lock)]);
    let rows = granted.map_err(not_my_turn)?;
    // SQL Server answers that a lock is not granted; PostgreSQL raises an error.
    if number(&rows, 0, 0) != Some(1) {
        return Err(not_my_turn(Error::new(ErrorKind::TimedOut, "")));
    }
    Ok(())
}

/// Locks an existing schema, as only its owner can: after the check of the owners.
fn hold_schema(session: &mut Session, schema: &Identifier) -> Result<()> {
    session.execute(&session.dialect().schema_call("lock_schema", schema)?, &[]).map(drop).map_err(not_my_turn)
}

fn not_my_turn(error: Error) -> Error {
    match error.kind() {
        ErrorKind::TimedOut => {
            Error::new(ErrorKind::TimedOut, "another install holds the lock of this schema; try again")
        }
        _ => error,
    }
}

/// The error for an installer: workers and producers must not get an installer's rights, and the error must not blame an item.
fn for_installer(error: Error, verb: &str) -> Error {
    let what = error.message().trim_end_matches(MISSING_RIGHT).trim_end_matches("; ");
    let (kind, remedy) = match error.kind() {
        ErrorKind::PermissionDenied => {
            (error.kind(), format!("{verb} as the schema's owner, or as a login that may create schemas and objects"))
        }
        ErrorKind::InvalidItem => (
            ErrorKind::SchemaMismatch,
            "existing rows contradict the description: change them first, or the description".to_owned(),
        ),
        _ => return error,
    };
    let reported = Error::new(kind, format!("{what}; {remedy}"));
    match error.sqlstate() {
        Some(sqlstate) => reported.with_codes(sqlstate, error.native_code()),
        None => reported,
    }
}

/// The objects that [`install`] would make for a queue, in its order, where `there` is installed. Changes nothing.
///
/// # Errors
/// As [`install`], before it runs anything.
pub(crate) fn objects(dialect: Dialect, schema: &Identifier, there: &Catalog, spec: &QueueSpec) -> Result<Vec<Object>> {
    if let Some(found) = there.version.filter(|found| *found > SCHEMA_VERSION) {
        return Err(newer(schema, found));
    }
    let target = Target::new(dialect, schema);
    let mut objects = Vec::new();
    for version in there.version.unwrap_or(0) + 1..=SCHEMA_VERSION {
        objects.extend(target.version(version)?);
    }
    objects.extend(target.functions()?);
    let known = there.queues.iter().find(|known| known.name == spec.queue.as_str());
    let Upgrade { before, after } = upgrade(target, known, spec)?;
    objects.extend(before);
    objects.extend(target.queue(spec)?);
    objects.extend(after);
    Ok(objects)
}

/// An installed queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Installed {
    /// Its name.
    pub queue: String,
    /// Its description as the database has it, JSON. Another text is another description.
    pub description: String,
    /// Whether its items are in a table of readpast's own.
    pub own: bool,
    /// The table of its items, as the catalog has it; `None` where hand-written procedures hide it.
    pub table: Option<Name>,
}

/// The queues in the schema of `config`, by their names. A login that may use one of them may call it. Over several places: those of any
/// place that answers, as the first of them has each.
///
/// # Errors
/// [`ErrorKind::SchemaMissing`] where nothing is installed; over several places the failure of the first, if none answers.
pub fn installed(config: &Config) -> Result<Vec<Installed>> {
    match found(config)?.each()?.as_slice() {
        [one] => installed_in(&mut Session::open(one)?, &one.schema()?),
        several => places::installed(several),
    }
}

/// The same, on an open connection.
pub(crate) fn installed_in(session: &mut Session, schema: &Identifier) -> Result<Vec<Installed>> {
    let catalog = look_around(session, schema)?;
    if catalog.version.is_none() {
        return Err(missing(schema));
    }
    let dialect = session.dialect();
    let reported = |known: InstalledQueue| {
        // A queue of a later release is listed, too.
        let spec = known.read().ok();
        let table = spec.as_ref().and_then(|spec| render::table_of(dialect, schema, spec));
        let own = spec.is_some_and(|spec| spec.is_own());
        Installed { queue: known.name, description: known.spec, own, table }
    };
    Ok(catalog.queues.into_iter().map(reported).collect())
}

/// The description of the queue called `name`, if schema and queue fit this library.
pub(crate) fn look_up(session: &mut Session, schema: &Identifier, name: &str) -> Result<QueueSpec> {
    let catalog = match catalog(session, schema) {
        Ok(catalog) => catalog,
        Err(error) if error.kind() == ErrorKind::SchemaMismatch => return Err(missing(schema)),
        // Some servers report a missing procedure with another error.
        Err(error) if error.kind() == ErrorKind::Database => {
            return Err(if version(session, schema)?.is_none() { missing(schema) } else { error });
        }
        Err(error) => return Err(error),
    };
    match catalog.version {
        None => return Err(missing(schema)),
        Some(found) if found < SCHEMA_VERSION => return Err(older(schema, found)),
        Some(found) if found > SCHEMA_VERSION => return Err(newer(schema, found)),
        Some(_) => {}
    }
    let queue = catalog.queue(schema, name)?;
    if queue.rendered_by < SCHEMA_VERSION {
        return Err(older(schema, queue.rendered_by));
    }
    queue.read()
}

/// Whether the schema has no queue of this name any more; an error where the login may not ask.
pub(crate) fn is_gone(session: &mut Session, schema: &Identifier, name: &str) -> Result<bool> {
    Ok(catalog(session, schema)?.queues.iter().all(|queue| queue.name != name))
}

/// Refuses a schema, and objects in it, whose owner this login must not trust. For a login that will install.
pub(crate) fn check_owners(session: &mut Session, schema: &Identifier, spec: &QueueSpec) -> Result<()> {
    owners::check(session, schema, &[spec], INSTALLED)
}

/// The installed objects of a schema; no version where there are none. Outside a transaction, since the server may refuse its
/// queries.
pub(crate) fn look_around(session: &mut Session, schema: &Identifier) -> Result<Catalog> {
    // The procedure first: a worker's login may execute it, and may read no table.
    catalog(session, schema).or_else(|error| match version(session, schema) {
        Ok(None) => Ok(Catalog { version: None, queues: Vec::new() }),
        _ => Err(error),
    })
}

/// The installed objects of a schema.
pub(crate) struct Catalog {
    pub(crate) version: Option<i32>,
    pub(crate) queues: Vec<InstalledQueue>,
}

impl Catalog {
    /// The queue called `name`.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownQueue`] has the names of all queues, and the nearest one.
    fn queue(&self, schema: &Identifier, name: &str) -> Result<&InstalledQueue> {
        let names = || self.queues.iter().map(|queue| queue.name.as_str());
        self.queues.iter().find(|queue| queue.name == name).ok_or_else(|| {
            let known = if self.queues.is_empty() { "none".to_owned() } else { names().collect::<Vec<_>>().join(", ") };
            let meant = did_you_mean(name, names());
            let message = format!("schema {:?} has no queue {name:?}{meant}; it has {known}", schema.as_str());
            Error::new(ErrorKind::UnknownQueue, message)
        })
    }
}

/// An installed queue.
pub(crate) struct InstalledQueue {
    pub(crate) name: String,
    /// Its description, as it is stored.
    pub(crate) spec: String,
    rendered_by: i32,
}

impl InstalledQueue {
    /// The description as it was installed.
    pub(crate) fn read(&self) -> Result<QueueSpec> {
        QueueSpec::from_json(&self.spec)
    }
}

fn catalog(session: &mut Session, schema: &Identifier) -> Result<Catalog> {
    let rows = session.execute(&session.dialect().schema_call("catalog", schema)?, &[])?;
    let with_queue = (0..rows.len()).filter(|row| rows.value(*row, 1) != Value::Null);
    let queues = with_queue
        .map(|row| InstalledQueue {
            name: text(&rows, row, 1),
            spec: text(&rows, row, 3),
            rendered_by: number(&rows, row, 4).unwrap_or(0),
        })
        .collect();
    Ok(Catalog { version: number(&rows, 0, 0), queues })
}

/// The version of the objects in the schema; `None` when there are none.
fn version(session: &mut Session, schema: &Identifier) -> Result<Option<i32>> {
    let dialect = session.dialect();
    let found = session.execute(&dialect.schema_call("schema_exists", schema)?, &[Param::Text(schema.as_str())])?;
    if number(&found, 0, 0).unwrap_or(0) == 0 {
        return Ok(None);
    }
    let rows = session.execute(&dialect.schema_call("schema_version", schema)?, &[])?;
    Ok(number(&rows, 0, 0))
}

/// The target of an install, whether the server creates or alters objects in one statement, and whether Citus shards the schema.
#[derive(Clone, Copy)]
struct InstallTarget<'a> {
    schema: &'a Identifier,
    creates_or_alters: bool,
    is_sharded: bool,
}

impl<'a> InstallTarget<'a> {
    fn target(self, dialect: Dialect) -> Target<'a> {
        let target = Target::new(dialect, self.schema);
        if self.creates_or_alters { target } else { target.creating_only() }
    }

    fn run(self, session: &mut Session, objects: &[Object]) -> Result<()> {
        let dialect = session.dialect();
        for object in objects {
            let mut made = Ok(());
            if let (Made::Code { kind, name }, false) = (&object.makes, self.creates_or_alters) {
                made = session.execute(&format!("DROP {kind} IF EXISTS {}", name.quoted(dialect)?), &[]).map(drop);
            }
            let made = made
                .and_then(|()| session.execute(&citus::definition(dialect, object, self.is_sharded)?, &[]).map(drop));
            made.map_err(|error| error.in_context(format!("installing failed at {}", object.description())))?;
        }
        Ok(())
    }
}

fn install_queue(
    session: &mut Session,
    place: InstallTarget<'_>,
    known: Option<&InstalledQueue>,
    spec: &QueueSpec,
) -> Result<()> {
    let (dialect, schema) = (session.dialect(), place.schema);
    let text = spec.to_json();
    if let Some(known) = known {
        owners::check(session, schema, &[&known.read()?, spec], INSTALLED)?;
    }
    if place.is_sharded {
        citus::check(dialect, schema, spec)?;
    }
    crate::catalog::refuse_unfit(&crate::catalog::check_types(session, spec)?)?;
    let target = place.target(dialect);
    let Upgrade { before, after } = upgrade(target, known, spec)?;
    place.run(session, &before)?;
    // The check comes after the changes: a table that was made by this description gets new columns only now.
    check_foreign(session, schema, spec)?;
    place.run(session, &target.queue(spec)?)?;
    place.run(session, &after)?;
    session.execute(
        &dialect.schema_call("record_queue", schema)?,
        &[
            Param::Text(spec.queue.as_str()),
            Param::Text(spec.preset()),
            Param::Text(&text),
            Param::Integer(SCHEMA_VERSION),
        ],
    )?;
    Ok(())
}

/// The changes before and after, where another description, or an earlier release, is installed.
fn upgrade(target: Target<'_>, known: Option<&InstalledQueue>, spec: &QueueSpec) -> Result<Upgrade> {
    let Some(known) = known else { return Ok(Upgrade::default()) };
    let installed = known.read()?;
    let is_same = installed == *spec && known.rendered_by == SCHEMA_VERSION;
    if is_same { Ok(Upgrade::default()) } else { target.upgrade(&installed, spec) }
}

/// Checks that the user's objects fit the description before anything is made beside them.
fn check_foreign(session: &mut Session, schema: &Identifier, spec: &QueueSpec) -> Result<()> {
    match &spec.storage {
        Storage::Own => Ok(()),
        Storage::Table(table) => {
            crate::catalog::refuse_unfit(&crate::catalog::fit(session, schema, spec, table, false)?)?;
            let claimed_by = table.claimed_by.as_ref();
            claimed_by.map_or(Ok(()), |claimed_by| crate::catalog::claimer(session, table, claimed_by).map(drop))
        }
        Storage::Procedures(procedures) => crate::catalog::shape(session, spec, procedures).map(drop),
    }
}

fn missing(schema: &Identifier) -> Error {
    Error::new(
        ErrorKind::SchemaMissing,
        format!("schema {:?} holds no readpast objects; install them first, or set \"schema\"", schema.as_str()),
    )
}

fn older(schema: &Identifier, found: i32) -> Error {
    Error::new(
        ErrorKind::SchemaOlder,
        format!(
            "the objects in schema {:?} have version {found}, this library works with {SCHEMA_VERSION}; install again to \
             upgrade them",
            schema.as_str()
        ),
    )
}

fn newer(schema: &Identifier, found: i32) -> Error {
    Error::new(
        ErrorKind::SchemaNewer,
        format!(
            "the objects in schema {:?} have version {found}, this library works with {SCHEMA_VERSION}; use a newer library",
            schema.as_str()
        ),
    )
}

fn text(rows: &Rows, row: usize, column: usize) -> String {
    match rows.value(row, column) {
        Value::Text(text) => text.to_owned(),
        _ => String::new(),
    }
}

fn number(rows: &Rows, row: usize, column: usize) -> Option<i32> {
    match rows.value(row, column) {
        Value::Integer(number) => i32::try_from(number).ok(),
        _ => None,
    }
}
