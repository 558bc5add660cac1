//! One queue: its objects, its table, its items.

use super::{Examined, Finding, handwritten, objects};
use crate::catalog;
use crate::error::Result;
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
    }
    if let Storage::Procedures(procedures) = &spec.storage {
        examined.run("procedures", |examined| handwritten::check(examined, spec, procedures))?;
    }
    let scripts = examined.session.dialect().queue_scripts(&examined.schema, spec)?;
    if !scripts.is_empty() {
        examined.run("object", |examined| objects::check(examined, spec, &scripts))?;
    }
    examined.findings.push(Finding::ok("queue", queue, "looked at"));
    Ok(())
}
