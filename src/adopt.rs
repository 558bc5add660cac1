//! Adopts a table that was there before: examines and plans, then, only when asked to, acts.

use crate::catalog;
use crate::config::Config;
use crate::description::{QueueSpec, Storage};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::finding::{Finding, Severity};
use crate::install;
use crate::render::{self, SCHEMA_VERSION};
use crate::session::Session;

/// A plan to adopt a table, and the obstacles.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The findings about the table, its columns, indexes and rows.
    pub findings: Vec<Finding>,
    /// The SQL of [`Plan::apply`], in one transaction, as this server's own tools take it; empty where it cannot be done.
    pub script: String,
    spec: QueueSpec,
}

/// Examines the table that `spec` describes and plans to adopt it. Changes nothing.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] when `spec` does not describe a table of the user's; the failure of a log-in. Faults of the
/// table are no errors here but among the findings.
pub fn plan(config: &Config, spec: &QueueSpec) -> Result<Plan> {
    let Storage::Table(table) = &spec.storage else {
        let message = format!(
            "queue {} describes no table of yours; add \"table\" to the description, or install it",
            spec.queue
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    let schema = config.schema()?;
    let mut session = Session::open(config)?;
    let mut findings = catalog::fit(&mut session, &schema, spec, table, true)?;
    install::check_owners(&mut session, &schema, spec)?;
    let there = install::look_around(&mut session, &schema)?;
    let dialect = session.dialect();
    let script = match install::objects(dialect, &schema, &there, spec) {
        Err(error) if error.kind() == ErrorKind::SchemaMismatch => {
            findings.push(Finding::error("change", spec.queue.as_str(), error.message(), ""));
            String::new()
        }
        objects => render::text(dialect, &objects?),
    };
    findings.extend(beside(dialect, &there, spec));
    findings.push(match there.version {
        None => Finding::ok("schema", schema.as_str(), "readpast's own objects will be installed into this schema"),
        Some(found) if found < SCHEMA_VERSION => Finding::ok(
            "schema",
            schema.as_str(),
            format!(
                "readpast's own objects, and all queues there, will be upgraded from version {found} to {SCHEMA_VERSION}"
            ),
        ),
        Some(_) => Finding::ok("schema", schema.as_str(), "readpast's own objects are there, in this version"),
    });
    Ok(Plan { findings, script, spec: spec.clone() })
}

/// Findings about other queues over the same table: two descriptions of one life cycle seldom agree.
pub(crate) fn beside(dialect: Dialect, there: &install::Catalog, spec: &QueueSpec) -> Option<Finding> {
    let place = |spec: &QueueSpec| match &spec.storage {
        Storage::Table(table) => {
            let schema = dialect.schema_of(table.schema.as_ref());
            Some(format!("{}.{}", dialect.in_catalog(&schema), dialect.in_catalog(&table.name)))
        }
        _ => None,
    };
    let is_same = |one: &str, other: &str| match dialect {
        Dialect::SqlServer => one.to_lowercase() == other.to_lowercase(),
        Dialect::Postgres => one == other,
    };
    let here = place(spec)?;
    // An install and `doctor` report an unreadable description.
    let others: Vec<_> = (there.queues.iter().filter(|known| known.name != spec.queue.as_str()))
        .filter_map(|known| known.read().ok())
        .filter(|other| place(other).is_some_and(|place| is_same(&here, &place)))
        .map(|other| other.queue.to_string())
        .collect();
    let what = format!(
        "{} works on this table too: each claims rows that look Pending to it, and ignores the other's attempts, \
         retries and leases",
        others.join(", ")
    );
    let remedy = "work on it through one of them; stop the workers of the others";
    (!others.is_empty()).then(|| Finding::warning("shared", here, what, remedy))
}

impl Plan {
    /// Whether there is no obstacle.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }

    /// Its queue.
    #[must_use]
    pub fn spec(&self) -> &QueueSpec {
        &self.spec
    }

    /// Adopts the table, as [`install()`](install::install) does: all in one transaction, after the same checks once more.
    ///
    /// # Errors
    /// [`ErrorKind::SchemaMismatch`] when there is an obstacle; nothing was changed then.
    pub fn apply(&self, config: &Config) -> Result<()> {
        catalog::refuse_unfit(&self.findings)?;
        install::install(config, Some(&self.spec))
    }
}
