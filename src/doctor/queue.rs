//! One queue: its objects, its table, its items.

use super::{Examined, Finding, objects, plans, procedures, table};
use crate::catalog;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::render;
use crate::spec::{QueueSpec, Storage};

pub(super) fn check(examined: &mut Examined, spec: &QueueSpec) -> Result<()> {
    let queue = spec.queue.as_str();
    if let Storage::Table(table) = &spec.storage {
        examined.run("table", |examined| {
            let schema = examined.schema.clone();
            let found = catalog::fit(&mut examined.session, &schema, spec, table, true)?;
            examined.findings.extend(found);
            Ok(())
        })?;
        if let Some(claimed_by) = &table.claimed_by {
            examined.run("procedures", |examined| procedures::check_claimer(examined, spec, table, claimed_by))?;
        }
    }
    if let Storage::Procedures(procedures) = &spec.storage {
        examined.run("procedures", |examined| procedures::check(examined, spec, procedures))?;
    }
    let made = render::queue(examined.session.dialect(), &examined.schema, spec)?;
    if !made.is_empty() {
        examined.run("object", |examined| objects::check(examined, spec, &made))?;
    }
    if examined.session.dialect() == Dialect::SqlServer {
        let place = match &spec.storage {
            Storage::Own => Some((examined.schema.as_str().to_owned(), queue.to_owned())),
            Storage::Table(table) => {
                let schema = Dialect::SqlServer.schema_of(table.schema.as_ref());
                Some((schema.as_str().to_owned(), table.name.as_str().to_owned()))
            }
            Storage::Procedures(_) => None,
        };
        if let Some((schema, name)) = place {
            examined.run("table", |examined| table::check(examined, &schema, &name))?;
            plans::check(examined, queue, &schema, &name);
        }
    }
    examined.findings.push(Finding::ok("queue", queue, "looked at"));
    Ok(())
}
