//! A copy of a queue, to be worked on by many at once: made in a schema of its own, and dropped with all that is in it. The real
//! queue's items are neither read nor written.

mod made_up;
mod watcher;

pub use self::{
    made_up::item,
    watcher::{Observed, Wait, Watcher},
};

use crate::config::Config;
use crate::description::{Completion, QueueSpec, RolesSpec, Storage, TableSpec};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::Identifier;
use crate::install::{install, look_up};
use crate::item::Value;
use crate::queue::Queue;
use crate::session::{Param, Session};

/// What the schema of a copy begins with. Nothing else is ever dropped.
pub const PREFIX: &str = "readpast_stress_";

/// A queue described as another one is, in a schema that has nothing else.
#[derive(Debug)]
pub struct Copy {
    config: Config,
    schema: Identifier,
    spec: QueueSpec,
}

impl Copy {
    /// Makes a copy of the queue `name` in a schema that ends in `ending` and is not there yet. It has the description's order,
    /// attempts, leases, completion and columns, with indexes and procedures as the queue's; a table that somebody else made is
    /// made anew in the shape that its description gives, without its own indexes, triggers and foreign keys. The limit of
    /// attempts and the lease are those that count for the queue now, wherever they stand; the copy has settings of its own.
    /// Roles, retention and what the description says of columns besides their types (`check`, `references`, `sql_type`) are left
    /// out. The login has to be one that may install.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] where somebody else's procedures do the work, which would do it on the real table.
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
        let copy = Self { config, schema, spec };
        // A half of it may be there.
        install(&copy.config, Some(&copy.spec)).inspect_err(|_| copy.remove().unwrap_or_default())?;
        Ok(copy)
    }

    /// Settings with which it is opened.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What it is made of.
    #[must_use]
    pub fn spec(&self) -> &QueueSpec {
        &self.spec
    }

    /// Its schema.
    #[must_use]
    pub fn schema(&self) -> &str {
        self.schema.as_str()
    }

    /// Drops it. Nobody may have it open any more.
    ///
    /// # Errors
    /// What the server refuses; it can be asked again.
    pub fn remove(&self) -> Result<()> {
        remove(&self.config, self.schema())
    }
}

/// Drops a copy that was left, since who made it was killed.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] when the schema is none of a copy.
pub fn remove(config: &Config, schema: &str) -> Result<()> {
    if !schema.starts_with(PREFIX) {
        let message = format!("{schema:?} is not the schema of a copy: those begin with {PREFIX}");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let schema = Identifier::new("the schema", schema)?;
    let mut session = Session::open(config)?;
    session.transaction(|session| {
        // With what one turn drops, some of the next may have gone.
        for _ in 0..TURNS {
            for statement in leftovers(session, &schema)? {
                session.execute(&statement, &[])?;
            }
        }
        Ok(())
    })
}

/// How many kinds of objects there are, of which the one must have gone before the next can.
const TURNS: usize = 6;

/// The statements that drop a schema, those of the first turn of them; none where it is not there.
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
        Storage::Procedures(_) => return refused("procedures that somebody wrote work on the real table"),
        Storage::Table(table) if table.claimed_by.is_some() => {
            return refused("the procedure that claims works on the real table");
        }
        Storage::Table(_) if matches!(spec.completion, Completion::History(_)) => {
            return refused("its history is a table that somebody else made");
        }
        Storage::Table(table) => {
            // Settings of somebody's own table would be those of the real queue.
            let (schema, settings) = (Some(schema.clone()), None);
            Storage::Table(Box::new(TableSpec { schema, create: true, settings, ..(**table).clone() }))
        }
    };
    let mut spec =
        QueueSpec { storage, roles: RolesSpec::default(), retention: Vec::new(), attempt_retention: None, ..spec };
    // What is made up fits the columns, and nothing besides.
    for column in spec.columns.iter_mut().chain(spec.subtypes.iter_mut().flat_map(|subtype| &mut subtype.columns)) {
        (column.sql_type, column.check, column.references) = (None, None, None);
    }
    Ok(spec)
}

/// What the queue's settings say at this moment becomes the copy's description.
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
