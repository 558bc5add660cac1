//! A copy of a queue for a load test by many workers: made in a schema of its own, and dropped with all its contents. The real
//! queue's items are neither read nor written.

mod budget;
mod limit;
mod made_up;
mod probe;
mod remedy;
mod wait_class;
mod watcher;

pub use self::{
    budget::{Budget, Busy, Spent},
    limit::Limit,
    made_up::item,
    probe::Probe,
    remedy::{Circumstances, remedy},
    watcher::{Observed, Wait, Watcher},
};

use crate::config::Config;
use crate::description::{Completion, QueueSpec, RolesSpec, Storage, TableSpec};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::ident::Identifier;
use crate::install::{install, look_up};
use crate::item::Value;
use crate::queue::Queue;
use crate::session::{Param, Session};

/// The prefix of a copy's schema. No other schema is ever dropped.
pub const PREFIX: &str = "readpast_stress_";

/// A queue with another one's description, in a schema that has nothing else.
#[derive(Debug)]
pub struct Copy {
    config: Config,
    dialect: Dialect,
    schema: Identifier,
    spec: QueueSpec,
}

impl Copy {
    /// Makes a copy of the queue `name` in a new schema that ends in `ending`. It has the description's order, attempts, leases,
    /// completion and columns, with indexes and procedures as the queue's; a user's table is made anew in the shape of its
    /// description, without its own indexes, triggers and foreign keys. The limit of attempts and the lease are the queue's
    /// present ones, wherever they are set; the copy has settings of its own. It has no roles, no retention and no SQL options of
    /// columns (`check`, `references`, `sql_type`). The login needs the rights of an install.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for hand-written procedures, which would work on the real table.
    pub fn make(config: &Config, name: &str, ending: &str) -> Result<Self> {
        let mut session = Session::open(config)?;
        let spec = look_up(&mut session, &config.schema()?, name)?;
        let schema = Identifier::new("the schema", &format!("{PREFIX}{ending}"))?;
        let mut spec = copied(spec, &schema)?;
        take_over(config, name, &mut spec)?;
        spec.check().map_err(|error| error.in_context("the table of the copy cannot be made"))?;
        if !leftovers(&mut session, &schema)?.is_empty() {
            let message = format!("the schema {} is there already", schema.as_str());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let mut config = config.clone();
        config.set("schema", schema.as_str())?;
        let copy = Self { config, dialect: session.dialect(), schema, spec };
        // A half of it may be there.
        install(&copy.config, Some(&copy.spec)).inspect_err(|_| copy.remove().unwrap_or_default())?;
        Ok(copy)
    }

    /// Settings with which it is opened.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The kind of its server.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Its description.
    #[must_use]
    pub fn spec(&self) -> &QueueSpec {
        &self.spec
    }

    /// Its schema.
    #[must_use]
    pub fn schema(&self) -> &str {
        self.schema.as_str()
    }

    /// Drops it. No handle may have it open any more.
    ///
    /// # Errors
    /// The server's refusal; the call can be repeated.
    pub fn remove(&self) -> Result<()> {
        remove(&self.config, self.schema())
    }
}

/// Drops a copy that was left by a killed process.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] when the schema is not a copy's.
pub fn remove(config: &Config, schema: &str) -> Result<()> {
    if !schema.starts_with(PREFIX) {
        let message = format!("{schema:?} is not the schema of a copy: those begin with {PREFIX}");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let schema = Identifier::new("the schema", schema)?;
    let mut session = Session::open(config)?;
    session.transaction(|session| {
        // The objects of one turn may take some of the next with them.
        for _ in 0..TURNS {
            for statement in leftovers(session, &schema)? {
                session.execute(&statement, &[])?;
            }
        }
        Ok(())
    })
}

/// The number of kinds of objects that depend on one another.
const TURNS: usize = 6;

/// The statements that drop the objects of the first turn; none where the schema is missing.
fn leftovers(session: &mut Session, schema: &Identifier) -> Result<Vec<String>> {
    let query = session.dialect().query("stress/leftovers")?;
    let rows = session.execute(&query, &[Param::Text(schema.as_str())])?;
    let text = |row| if let Value::Text(text) = rows.value(row, 1) { text.to_owned() } else { String::new() };
    Ok((0..rows.len()).take_while(|row| rows.value(*row, 0) == rows.value(0, 0)).map(text).collect())
}

/// The description of a copy.
fn copied(spec: QueueSpec, schema: &Identifier) -> Result<QueueSpec> {
    let refused = |why: &str| {
        let message = format!("queue {} cannot be copied: {why}", spec.queue);
        Err(Error::new(ErrorKind::Unsupported, message))
    };
    let storage = match &spec.storage {
        Storage::Own => Storage::Own,
        Storage::Procedures(_) => return refused("hand-written procedures work on the real table"),
        Storage::Table(table) if table.claimed_by.is_some() => {
            return refused("its claim procedure works on the real table");
        }
        Storage::Table(_) if matches!(spec.completion, Completion::History(_)) => {
            return refused("its history is a table of yours");
        }
        Storage::Table(table) => {
            // Settings of a user's own table would be those of the real queue.
            let (schema, settings) = (Some(schema.clone()), None);
            Storage::Table(Box::new(TableSpec { schema, create: true, settings, ..(**table).clone() }))
        }
    };
    let mut spec =
        QueueSpec { storage, roles: RolesSpec::default(), retention: Vec::new(), attempt_retention: None, ..spec };
    // Made-up values fit the columns' types only.
    for column in spec.columns.iter_mut().chain(spec.subtypes.iter_mut().flat_map(|subtype| &mut subtype.columns)) {
        (column.sql_type, column.check, column.references) = (None, None, None);
    }
    Ok(spec)
}

/// Copies the queue's present settings into the copy's description.
fn take_over(config: &Config, name: &str, spec: &mut QueueSpec) -> Result<()> {
    for setting in Queue::open(config, name)?.settings()? {
        let counts = setting.value.unwrap_or(setting.described);
        match setting.name {
            "maxAttempts" => spec.max_attempts = counts,
            "leaseMs" => spec.lease.ms = counts,
            _ => {}
        }
    }
    Ok(())
}
