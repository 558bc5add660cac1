//! Renders descriptions as SQL: the objects of a schema and of its queues, and whole scripts of them. The result stays data until
//! it is sent: each statement says what it makes, so that no code reads its text.

mod columns;
mod dropping;
mod kinds;
mod limits;
mod names;
mod object;
mod pack;
mod script;
mod shape;
mod shown;
mod subtypes;
mod table;
mod takes;
mod tsql;
mod upgrade;

pub use self::{
    dropping::{Referrer, drop_script},
    object::{CodeKind, Grant, Index, IndexColumn, Made, Name, Object},
    script::{Part, part, script, text, upgrade_script},
};

pub(crate) use self::{dropping::Leaving, upgrade::Upgrade};

use crate::description::{MAX_DELAY_MS, QueueSpec, Storage, TableSpec};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::ident::Identifier;
use minijinja::{Value, context};
use std::collections::BTreeSet;

/// The upgrades of a schema from version to version, in order. Released ones are immutable: a change is a new file.
const SCHEMA_FILES: [&str; 1] = ["schema/0001_base.sql"];

/// The version of the objects that this library installs and works with.
pub const SCHEMA_VERSION: i32 = SCHEMA_FILES.len() as i32;

/// The objects of the schema that come with the first queue that needs them. They stay when it goes, or changes.
const FIRST_NEEDED: &str = "schema/first_needed.sql";

/// The files of a queue, in the order to run them.
const QUEUE_FILES: [&str; 27] = [
    FIRST_NEEDED,
    "queue/table.sql",
    "queue/view.sql",
    "queue/limits.sql",
    "queue/after.sql",
    "queue/add_set.sql",
    "queue/add_one.sql",
    "queue/recover.sql",
    "queue/apart.sql",
    "queue/next_set.sql",
    "queue/next_one.sql",
    "queue/due.sql",
    "queue/taken.sql",
    "queue/claimed.sql",
    "queue/modify_set.sql",
    "queue/modify_one.sql",
    "queue/renew_set.sql",
    "queue/progress.sql",
    "queue/stats.sql",
    "queue/watch.sql",
    "queue/find.sql",
    "queue/attempts.sql",
    "queue/redrive_set.sql",
    "queue/purge.sql",
    "queue/retain.sql",
    "queue/schedule.sql",
    "queue/roles.sql",
];

/// The objects that all queues of a schema share, in the order to run them.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] when the schema's name is longer than this server takes.
pub fn shared(dialect: Dialect, schema: &Identifier) -> Result<Vec<Object>> {
    Target::new(dialect, schema).shared()
}

/// The objects of one queue, in the order to run them, with those of the schema that not every queue needs; none for hand-written
/// procedures.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] when a name is longer than this server takes.
pub fn queue(dialect: Dialect, schema: &Identifier, spec: &QueueSpec) -> Result<Vec<Object>> {
    Target::new(dialect, schema).queue(spec)
}

/// The name of the lock by which installs of one schema take turns.
pub(crate) fn install_lock(schema: &Identifier) -> String {
    format!("readpast/install/{}", schema.as_str())
}

/// A query of the states of a described table, each with its number of rows.
pub(crate) fn states_query(
    dialect: Dialect,
    schema: &Identifier,
    spec: &QueueSpec,
    table: &TableSpec,
) -> Result<String> {
    let context = context! {
        schema => schema.quoted(dialect.quote_style()),
        queue => dialect.queue_stem(&spec.queue),
        ..table::context(dialect, schema, spec, table)
    };
    dialect.statement("ask/states", context)
}

/// The table of a queue's items, as the catalog has it; none behind hand-written procedures.
pub(crate) fn table_of(dialect: Dialect, schema: &Identifier, spec: &QueueSpec) -> Option<Name> {
    Some(match &spec.storage {
        Storage::Own => Name { schema: schema.as_str().to_owned(), name: dialect.queue_stem(&spec.queue) },
        Storage::Table(table) => theirs(dialect, table),
        Storage::Procedures(_) => return None,
    })
}

/// A table of the user's, as the catalog has it.
fn theirs(dialect: Dialect, table: &TableSpec) -> Name {
    let schema = dialect.schema_of(table.schema.as_ref());
    Name { schema: dialect.in_catalog(&schema), name: dialect.in_catalog(&table.name) }
}

/// The names of the indexes that are made on the user's `table`, unless it has similar ones.
pub(crate) fn indexes_on(
    dialect: Dialect,
    schema: &Identifier,
    spec: &QueueSpec,
    table: &TableSpec,
) -> Result<Vec<String>> {
    let theirs = theirs(dialect, table);
    let objects = queue(dialect, schema, spec)?;
    let names = objects.into_iter().filter_map(|object| match object.makes {
        Made::Index(index) if index.table == theirs => Some(index.name),
        _ => None,
    });
    Ok(names.collect())
}

/// The names of all objects in the schema, shared and of queues, as the catalog has them.
pub(crate) fn names(dialect: Dialect, schema: &Identifier, specs: &[&QueueSpec]) -> Result<BTreeSet<String>> {
    let mut objects = shared(dialect, schema)?;
    for spec in specs {
        objects.extend(queue(dialect, schema, spec)?);
    }
    let made = objects.into_iter().flat_map(|object| match object.makes {
        Made::Code { name, .. } => vec![name],
        // On SQL Server it may have triggers of unknown origin, and be there before readpast is.
        Made::Kept { theirs: true, .. } if dialect == Dialect::SqlServer => Vec::new(),
        Made::Kept { names, .. } => names,
        // On SQL Server an index's name belongs to its table.
        Made::Index(Index { name, table, .. }) if dialect == Dialect::Postgres => {
            vec![Name { schema: table.schema, name }]
        }
        _ => Vec::new(),
    });
    Ok(made.filter(|name| name.schema == schema.as_str()).map(|name| name.name).collect())
}

/// The target of objects.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    dialect: Dialect,
    schema: &'a Identifier,
    /// Whether the server creates or alters code in one statement.
    alters: bool,
}

impl<'a> Target<'a> {
    pub(crate) fn new(dialect: Dialect, schema: &'a Identifier) -> Self {
        Self { dialect, schema, alters: true }
    }

    /// The target of a server that can only create code, after a drop of the old one: SQL Server before 2016 SP1.
    pub(crate) fn creating_only(self) -> Self {
        Self { alters: false, ..self }
    }

    /// The upgrade of a schema from `version - 1` to `version`.
    pub(crate) fn version(self, version: i32) -> Result<Vec<Object>> {
        let file = usize::try_from(version - 1).ok().and_then(|place| SCHEMA_FILES.get(place));
        file.map_or_else(|| Ok(Vec::new()), |file| self.objects(file, context! {}))
    }

    /// The objects that every install makes anew: the functions that classify a status, and the catalog.
    pub(crate) fn functions(self) -> Result<Vec<Object>> {
        let mut objects = self.objects("schema/lifeline.sql", context! {})?;
        objects.extend(self.objects("schema/functions.sql", context! { longest_ms => MAX_DELAY_MS })?);
        objects.extend(self.objects("schema/action.sql", context! {})?);
        objects.extend(self.objects("schema/pause.sql", context! {})?);
        Ok(objects)
    }

    fn shared(self) -> Result<Vec<Object>> {
        self.dialect.check_length("the setting \"schema\"", self.schema)?;
        let mut objects = Vec::new();
        for version in 1..=SCHEMA_VERSION {
            objects.extend(self.version(version)?);
        }
        objects.extend(self.functions()?);
        Ok(objects)
    }

    pub(crate) fn queue(self, spec: &QueueSpec) -> Result<Vec<Object>> {
        let dialect = self.dialect;
        for (role, name) in [
            ("producer", &spec.roles.producer),
            ("worker", &spec.roles.worker),
            ("monitor", &spec.roles.monitor),
            ("operator", &spec.roles.operator),
        ] {
            name.iter().try_for_each(|name| dialect.check_length(&format!("roles.{role}"), name))?;
        }
        if let Storage::Table(table) = &spec.storage {
            table.names().into_iter().try_for_each(|(key, name)| dialect.check_length(&key, name))?;
        }
        // Hand-written procedures have no table.
        let Some(table) = spec.table() else { return Ok(Vec::new()) };
        let context = table::all(dialect, self.schema, spec, &table);
        // The claim around items that their table refuses.
        let around = ["queue/apart.sql", "queue/next_one.sql"];
        let apart = |file: &str| context! { apart => around.contains(&file), ..context.clone() };
        let objects = QUEUE_FILES.iter().map(|file| self.objects(file, apart(file)));
        let mut objects: Vec<_> = objects.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        // On SQL Server an index's name belongs to its table.
        if dialect == Dialect::Postgres {
            objects.extend(self.indexes_are_there(&objects)?);
        }
        Ok(objects)
    }

    /// Those objects of the queue that are its own.
    fn owned(self, spec: &QueueSpec) -> Result<impl Iterator<Item = Made>> {
        let objects = self.queue(spec)?.into_iter();
        Ok(objects.filter(|object| object.file != FIRST_NEEDED).map(|object| object.makes))
    }

    /// The tables of the schema that the queue of `spec` needs, and others may not; it has rows in them.
    fn first_needed(self, spec: &QueueSpec) -> Result<Vec<String>> {
        let objects = self.queue(spec)?.into_iter().filter(|object| object.file == FIRST_NEEDED);
        Ok(objects
            .filter_map(|object| match object.makes {
                Made::Kept { names, .. } => Some(names.into_iter().map(|name| name.name)),
                _ => None,
            })
            .flatten()
            .collect())
    }

    /// A check that fails unless the indexes of `objects` are there.
    fn indexes_are_there(self, objects: &[Object]) -> Result<Vec<Object>> {
        let mut indexes = Vec::new();
        for object in objects {
            if let Made::Index(index) = &object.makes
                && !index.optional
            {
                indexes.push(context! { name => index.name.as_str(), table => index.table.quoted(self.dialect)? });
            }
        }
        if indexes.is_empty() { Ok(Vec::new()) } else { self.objects("queue/indexes.sql", context! { indexes }) }
    }

    /// The objects of a file.
    fn objects(self, file: &'static str, context: Value) -> Result<Vec<Object>> {
        let context = context! {
            schema => self.schema.quoted(self.dialect.quote_style()),
            schema_name => self.schema.as_str(),
            create_or_alter => if self.alters { "CREATE OR ALTER" } else { "CREATE" },
            ..context
        };
        let statements = self.dialect.statements(file, context)?;
        statements.into_iter().map(|statement| Object::new(self.schema, file, statement)).collect()
    }
}
