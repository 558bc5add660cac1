//! Checks everything on which readpast relies: the driver, the server and its settings, the login's rights, the objects of the
//! schema, and each queue. Changes nothing, and goes on after a fault.

mod citus;
mod clock;
mod driver;
mod holders;
mod objects;
mod plans;
mod procedures;
mod queue;
mod server;
mod table;
mod transactions;

pub use self::plans::deviations;
use crate::adopt;
use crate::config::Config;
use crate::description::QueueSpec;
use crate::error::{Error, ErrorKind, Result};
use crate::ident::{Identifier, QueueName, nearest};
use crate::install;
use crate::places::found;
use crate::render::SCHEMA_VERSION;
use crate::session::{MISSING_RIGHT, Session};
use crate::threads;

pub use crate::finding::{Finding, Severity};

/// Checks the server and, with a `queue`, that queue; without one, every queue of the schema.
///
/// # Errors
/// Only where there is no connection, or `queue` cannot be a queue's name: everything else is among the findings.
pub fn check(config: &Config, queue: Option<&str>) -> Result<Vec<Finding>> {
    check_queues(config, &queue.map(str::to_owned).into_iter().collect::<Vec<_>>())
}

/// Checks the server and these queues; where none is named, every queue of the schema. Over several places each is checked, and stands
/// before the objects of its findings; one that is away is a finding.
///
/// # Errors
/// As [`check`].
pub fn check_queues(config: &Config, queues: &[String]) -> Result<Vec<Finding>> {
    queues.iter().try_for_each(|queue| QueueName::new(queue).map(drop))?;
    let each = found(config)?.each()?;
    if let [one] = each.as_slice() {
        return check_at(one, queues);
    }
    let found = threads::each(&each, |config| check_at(config, queues));
    Ok(each.iter().zip(found).flat_map(|(config, found)| at_place(config.place().unwrap_or_default(), found)).collect())
}

fn at_place(place: &str, found: Result<Vec<Finding>>) -> Vec<Finding> {
    match found {
        Ok(found) => {
            let named = |of: Finding| Finding { object: format!("{place}: {}", of.object), ..of };
            found.into_iter().map(named).collect()
        }
        Err(error) => vec![Finding::error("place", place, error.to_string(), "")],
    }
}

/// The same in one database.
fn check_at(config: &Config, queues: &[String]) -> Result<Vec<Finding>> {
    let schema = config.schema()?;
    let mut examined = Examined { session: Session::open(config)?, schema, findings: Vec::new() };
    driver::check(config, &mut examined);
    examined.run("server", server::check)?;
    examined.run("transactions", transactions::check)?;
    examined.run("clock", clock::check)?;
    examined.run("holders", holders::check)?;
    let found = examined.run("schema", |examined| installed(examined, queues))?.unwrap_or_default();
    examined.run("citus", |examined| citus::check(examined, &found))?;
    for spec in &found {
        examined.run("queue", |examined| queue::check(examined, spec))?;
    }
    Ok(examined.findings)
}

/// The session, and the findings so far.
struct Examined {
    session: Session,
    schema: Identifier,
    findings: Vec<Finding>,
}

impl Examined {
    /// Runs a check. A refusal of the server becomes a finding; without a connection there is nothing more to find.
    fn run<T>(&mut self, check: &'static str, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        match work(self) {
            Ok(value) => Ok(Some(value)),
            Err(error) if self.session.is_broken() => Err(error),
            Err(error) => {
                self.findings.push(unseen(check, &error));
                Ok(None)
            }
        }
    }
}

/// A check that the server does not answer, mostly for want of a right.
fn unseen(check: &'static str, error: &Error) -> Finding {
    let what = format!("could not be checked: {error}");
    Finding::warning(check, check, what, "check again as a login with the right to see it")
}

/// The roles that have rights in the schema, as far as this login may know.
fn roles(examined: &mut Examined) -> Result<Vec<String>> {
    let query = examined.session.dialect().query("ask/roles")?;
    let rows = examined.session.execute(&query, &[crate::session::Param::Text(examined.schema.as_str())])?;
    Ok((0..rows.len()).map(|row| crate::catalog::text(&rows, row, 0)).collect())
}

/// The installed objects; returns the descriptions of the queues to check.
fn installed(examined: &mut Examined, wanted: &[String]) -> Result<Vec<QueueSpec>> {
    let name = examined.schema.as_str().to_owned();
    let there = match install::look_around(&mut examined.session, &examined.schema) {
        // A login that may not even read this can use no queue: that is a finding, and no gap in the check.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let remedy = match roles(examined).unwrap_or_default() {
                found if found.is_empty() => {
                    "grant it the rights of its part, see Rights in docs/dba.md; or connect as another login".to_owned()
                }
                found => format!(
                    "make it a member of the role that its part needs ({} have rights here): {}; or connect as another login",
                    found.join(", "),
                    objects::member_of(examined.session.dialect()),
                ),
            };
            let what = format!(
                "this login can use no queue here: {}",
                error.message().trim_end_matches(MISSING_RIGHT).trim_end_matches("; ")
            );
            examined.findings.push(Finding::error("permission", name, what, remedy));
            return Ok(Vec::new());
        }
        there => there?,
    };
    let install::Catalog { version, queues } = &there;
    let version = *version;
    let finding = match version {
        None => Finding::error("schema", &name, "holds no readpast objects", "install them, or set \"schema\""),
        Some(found) if found < SCHEMA_VERSION => {
            let what = format!("its objects have version {found}, this library works with {SCHEMA_VERSION}");
            Finding::error("schema", &name, what, "install again to upgrade them")
        }
        Some(found) if found > SCHEMA_VERSION => {
            let what = format!("its objects have version {found}, this library works with {SCHEMA_VERSION}");
            Finding::error("schema", &name, what, "use a newer library")
        }
        Some(found) => Finding::ok(
            "schema",
            &name,
            format!("its objects have version {found}, as this library needs; {} queues", queues.len()),
        ),
    };
    examined.findings.push(finding);
    let mut specs = Vec::new();
    for install::InstalledQueue { name: queue, spec: text, .. } in queues {
        if !wanted.is_empty() && !wanted.contains(queue) {
            continue;
        }
        match QueueSpec::from_json(text) {
            Ok(spec) => {
                examined.findings.extend(adopt::beside(examined.session.dialect(), &there, &spec));
                specs.push(spec);
            }
            Err(error) => {
                let what = format!("its stored description cannot be read: {error}");
                examined.findings.push(Finding::error("queue", queue, what, "install the queue again"));
            }
        }
    }
    let is_missing = |wanted: &&String| version.is_some() && !queues.iter().any(|queue| queue.name == **wanted);
    for wanted in wanted.iter().filter(is_missing) {
        let known: Vec<_> = queues.iter().map(|queue| queue.name.as_str()).collect();
        let remedy = match nearest(wanted, known.iter().copied()) {
            Some(near) => format!("there is {near}"),
            None => "install it, or give another name".to_owned(),
        };
        examined.findings.push(Finding::error("queue", wanted, "the schema holds no queue of this name", remedy));
    }
    Ok(specs)
}
