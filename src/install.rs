//! readpast's own objects in a schema: installed, upgraded, and checked.

mod owners;

use crate::config::Config;
use crate::dialect::{self, Dialect, SCHEMA_VERSION, Upgrade};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::Identifier;
use crate::item::{Rows, Value};
use crate::session::{MISSING_RIGHT, Param, Session};
use crate::spec::{QueueSpec, Storage};

/// Making objects may take a server long, and so may waiting for another install.
const INSTALL_TIMEOUT_MS: &str = "600000";

/// Brings the schema of `config` and the queues in it to this library's version and, with a `spec`, makes that queue or
/// changes it to what the description says. Doing it again changes nothing. All of it happens in one transaction under an
/// application lock, so that it is there as a whole or not at all, and two at once take turns.
///
/// The login needs the rights to create schemas, types, tables, views and procedures; workers do not.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] when the description contradicts itself, [`ErrorKind::PermissionDenied`] when the schema, or
/// something of the names in it, belongs to somebody whose triggers and functions this login must not run,
/// [`ErrorKind::SchemaNewer`] when a newer library
/// has been here, [`ErrorKind::SchemaMismatch`] when a changed description would lose data: nothing is touched then.
pub fn install(config: &Config, spec: Option<&QueueSpec>) -> Result<()> {
    let schema = config.schema()?;
    // A description that was put together in a program has not been read, and so not been checked.
    spec.map(|spec| QueueSpec::from_json(&spec.to_json())).transpose()?;
    let mut session = Session::open(config.clone().set("query.timeout_ms", INSTALL_TIMEOUT_MS)?)?;
    let installed = session.transaction(|session| {
        let dialect = session.dialect();
        let lock = dialect::install_lock(&schema);
        let granted = session.execute(&dialect.schema_call("lock_install", &schema)?, &[Param::Text(&lock)])?;
        if number(&granted, 0, 0) != Some(1) {
            return Err(Error::new(ErrorKind::TimedOut, "another install holds the lock of this schema; try again"));
        }
        // Before anything is read or run there.
        owners::check(session, &schema, spec.as_slice())?;
        let found = version(session, &schema)?.unwrap_or(0);
        if found > SCHEMA_VERSION {
            return Err(newer(&schema, found));
        }
        let found_out = session.execute(&dialect.schema_call("creates_or_alters", &schema)?, &[])?;
        let creates_or_alters = number(&found_out, 0, 0) == Some(1);
        for version in found + 1..=SCHEMA_VERSION {
            let Some(script) = dialect.schema_script(version, &schema)? else {
                return Err(Error::new(ErrorKind::Protocol, format!("there is no schema script {version}")));
            };
            run(session, &script, creates_or_alters)?;
            session.execute(
                &dialect.schema_call("record_version", &schema)?,
                &[Param::Integer(version), Param::Text(env!("CARGO_PKG_VERSION"))],
            )?;
        }
        run(session, &dialect.functions_script(&schema)?, creates_or_alters)?;
        let queues = catalog(session, &schema)?.queues;
        // Those of an earlier release would refuse to be opened now.
        let wanted = spec.map(|spec| spec.queue.as_str());
        for known in queues.iter().filter(|known| known.rendered_by < SCHEMA_VERSION) {
            if Some(known.name.as_str()) != wanted {
                known
                    .read()
                    .and_then(|spec| install_queue(session, &schema, Some(known), &spec, creates_or_alters))
                    .map_err(|error| error.in_context(format!("upgrading queue {}", known.name)))?;
            }
        }
        match spec {
            Some(spec) => {
                let known = queues.iter().find(|known| known.name == spec.queue.as_str());
                install_queue(session, &schema, known, spec, creates_or_alters)
            }
            None => Ok(()),
        }
    });
    installed.map_err(for_installer)
}

/// Workers and producers are not to be given what an installer needs.
fn for_installer(error: Error) -> Error {
    if error.kind() != ErrorKind::PermissionDenied {
        return error;
    }
    let what = error.message().trim_end_matches(MISSING_RIGHT).trim_end_matches("; ");
    let message = format!("{what}; install as the schema's owner, or as somebody who may create schemas and objects");
    let told = Error::new(error.kind(), message);
    match error.sqlstate() {
        Some(sqlstate) => told.with_codes(sqlstate, error.native_code()),
        None => told,
    }
}

/// What [`install`] would run for a queue, in its order, where `there` is installed. Changes nothing.
///
/// # Errors
/// As [`install`], before it runs anything.
pub(crate) fn scripts(dialect: Dialect, schema: &Identifier, there: &Catalog, spec: &QueueSpec) -> Result<Vec<String>> {
    if let Some(found) = there.version.filter(|found| *found > SCHEMA_VERSION) {
        return Err(newer(schema, found));
    }
    let mut scripts = Vec::new();
    for version in there.version.unwrap_or(0) + 1..=SCHEMA_VERSION {
        scripts.extend(dialect.schema_script(version, schema)?);
    }
    scripts.push(dialect.functions_script(schema)?);
    let known = there.queues.iter().find(|known| known.name == spec.queue.as_str());
    let Upgrade { before, after } = upgrade(dialect, schema, known, spec)?.unwrap_or_default();
    scripts.push(before);
    scripts.extend(dialect.queue_scripts(schema, spec)?);
    scripts.push(after);
    scripts.retain(|script| !script.trim().is_empty());
    Ok(scripts)
}

/// The description of the queue called `name`, once schema and queue are found fit for this library.
pub(crate) fn look_up(session: &mut Session, schema: &Identifier, name: &str) -> Result<QueueSpec> {
    let catalog = match catalog(session, schema) {
        Ok(catalog) => catalog,
        Err(error) if error.kind() == ErrorKind::SchemaMismatch => return Err(missing(schema)),
        // Not every server says by its error that the procedure is not there.
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
    let Some(queue) = catalog.queues.iter().find(|queue| queue.name == name) else {
        let known: Vec<_> = catalog.queues.iter().map(|queue| queue.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(Error::new(
            ErrorKind::UnknownQueue,
            format!("schema {:?} has no queue {name:?}; it has {known}", schema.as_str()),
        ));
    };
    if queue.rendered_by < SCHEMA_VERSION {
        return Err(older(schema, queue.rendered_by));
    }
    QueueSpec::from_json(&queue.spec)
}

/// Refuses a schema, and objects in it, that are somebody's whom this login must not trust. For who will install.
pub(crate) fn check_owners(session: &mut Session, schema: &Identifier, spec: &QueueSpec) -> Result<()> {
    owners::check(session, schema, &[spec])
}

/// What is installed in a schema; no version where nothing is. Outside a transaction, since it asks what may be refused.
pub(crate) fn installed(session: &mut Session, schema: &Identifier) -> Result<Catalog> {
    // The procedure first: a worker's login may execute it, and read no table.
    catalog(session, schema).or_else(|error| match version(session, schema) {
        Ok(None) => Ok(Catalog { version: None, queues: Vec::new() }),
        _ => Err(error),
    })
}

/// What is installed in a schema.
pub(crate) struct Catalog {
    pub(crate) version: Option<i32>,
    pub(crate) queues: Vec<Known>,
}

/// A queue that is installed.
pub(crate) struct Known {
    pub(crate) name: String,
    /// Its description, as it is stored.
    pub(crate) spec: String,
    rendered_by: i32,
}

impl Known {
    /// The description as it was installed.
    pub(crate) fn read(&self) -> Result<QueueSpec> {
        QueueSpec::from_json(&self.spec)
    }
}

fn catalog(session: &mut Session, schema: &Identifier) -> Result<Catalog> {
    let rows = session.execute(&session.dialect().schema_call("catalog", schema)?, &[])?;
    let with_queue = (0..rows.len()).filter(|row| rows.value(*row, 1) != Value::Null);
    let queues = with_queue
        .map(|row| Known {
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

fn install_queue(
    session: &mut Session,
    schema: &Identifier,
    known: Option<&Known>,
    spec: &QueueSpec,
    creates_or_alters: bool,
) -> Result<()> {
    let dialect = session.dialect();
    let text = spec.to_json();
    if let Some(known) = known {
        owners::check(session, schema, &[&known.read()?, spec])?;
    }
    let upgrade = upgrade(dialect, schema, known, spec)?;
    if let Some(upgrade) = &upgrade {
        run(session, &upgrade.before, creates_or_alters)?;
    }
    // Once changed: a table that was made after this description, has what is new in it only now.
    check_foreign(session, schema, spec)?;
    for script in dialect.queue_scripts(schema, spec)? {
        run(session, &script, creates_or_alters)?;
    }
    if let Some(upgrade) = &upgrade {
        run(session, &upgrade.after, creates_or_alters)?;
    }
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

/// What has to change first, and follow, where another description is installed, or an earlier release has installed this one.
fn upgrade(dialect: Dialect, schema: &Identifier, known: Option<&Known>, spec: &QueueSpec) -> Result<Option<Upgrade>> {
    let Some(known) = known else { return Ok(None) };
    let installed = known.read()?;
    let is_same = installed == *spec && known.rendered_by == SCHEMA_VERSION;
    if is_same { Ok(None) } else { dialect.upgrade(schema, &installed, spec).map(Some) }
}

/// What is somebody else's must fit the description before anything is made beside it.
fn check_foreign(session: &mut Session, schema: &Identifier, spec: &QueueSpec) -> Result<()> {
    match &spec.storage {
        Storage::Own => Ok(()),
        Storage::Table(table) => {
            crate::catalog::refuse_unfit(&crate::catalog::fit(session, schema, spec, table, false)?)
        }
        Storage::Procedures(procedures) => crate::catalog::shape(session, spec, procedures).map(drop),
    }
}

fn run(session: &mut Session, script: &str, creates_or_alters: bool) -> Result<()> {
    for statement in dialect::statements(script) {
        let result = match split_create_or_alter(statement) {
            Some((drop, create)) if !creates_or_alters => {
                session.execute(&drop, &[]).and_then(|_| session.execute(&create, &[]))
            }
            _ => session.execute(statement, &[]),
        };
        result.map_err(|error| {
            // What is told of a statement is its first line, without the comment before it.
            let comment = statement.strip_prefix("/*").and_then(|text| text.split_once("*/"));
            let bare = comment.map_or(statement, |(_, rest)| rest.trim_start());
            error.in_context(format!("installing failed at \"{}\"", bare.lines().next().unwrap_or_default()))
        })?;
    }
    Ok(())
}

/// For SQL Servers older than 2016 SP1: `CREATE OR ALTER kind name ...` as a drop and a create.
fn split_create_or_alter(statement: &str) -> Option<(String, String)> {
    let (comment, definition) = statement.split_once("CREATE OR ALTER ")?;
    let mut words = definition.split_whitespace();
    let (kind, name) = (words.next()?, words.next()?);
    Some((format!("DROP {kind} IF EXISTS {name}"), format!("{comment}CREATE {definition}")))
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
