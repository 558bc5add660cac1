//! Checks one queue: its objects, its table, its items.

use super::{Examined, Finding, objects, plans, procedures, table};
use crate::calls::{limits_of, pauses_of};
use crate::catalog::{self, number, text};
use crate::description::{QueueSpec, Storage};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::render;
use crate::session::Param;

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
        examined.run("refused", |examined| refused(examined, spec))?;
        examined.run("pause", |examined| paused(examined, spec))?;
        examined.run("limit", |examined| limited(examined, spec))?;
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

/// The pauses in force.
fn paused(examined: &mut Examined, spec: &QueueSpec) -> Result<()> {
    let dialect = examined.session.dialect();
    let stem = dialect.queue_stem(&spec.queue);
    let rows = examined.session.execute(&dialect.schema_call("pauses", &examined.schema)?, &[Param::Text(&stem)])?;
    for pause in pauses_of(&rows) {
        let what = format!("{pause} (readpast resume {} ends it)", spec.queue);
        examined.findings.push(Finding::ok("pause", spec.queue.as_str(), what));
    }
    Ok(())
}

/// The limits that are not as the description says.
fn limited(examined: &mut Examined, spec: &QueueSpec) -> Result<()> {
    let calls = examined.session.dialect().calls(&examined.schema, spec)?;
    let Some(calls) = calls.limits else { return Ok(()) };
    for limit in limits_of(&examined.session.execute(&calls.list, &[])?) {
        let (Some(who), Some(at)) = (&limit.who, &limit.set_at) else { continue };
        let most = limit.at_once.map(|most| format!("{most} at once"));
        let rate = limit.rate.map(|rate| format!("the rate {rate}"));
        let numbers = most.into_iter().chain(rate).collect::<Vec<_>>().join(", ");
        let reason = limit.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        let until = limit.until.as_ref().map_or_else(String::new, |until| format!(" until {until}"));
        let what = format!(
            "the limit of {} was changed by {who} at {at} and is {numbers}{until}{reason} (readpast limit {} shows it)",
            limit.subject(),
            spec.queue
        );
        examined.findings.push(Finding::ok("limit", spec.queue.as_str(), what));
    }
    Ok(())
}

/// Items that their table refuses to have claimed or recovered.
fn refused(examined: &mut Examined, spec: &QueueSpec) -> Result<()> {
    let dialect = examined.session.dialect();
    let stem = dialect.queue_stem(&spec.queue);
    let rows = examined.session.execute(&dialect.schema_call("refused", &examined.schema)?, &[Param::Text(&stem)])?;
    for row in 0..rows.len() {
        let (key, reason) = (text(&rows, row, 0), text(&rows, row, 1));
        let what = format!(
            "item {key} is set aside: its table has refused it, {} times so far: {reason}",
            number(&rows, row, 2).unwrap_or(0)
        );
        let remedy = "it is tried again by itself; if that never passes, change the constraint or trigger, or the item";
        examined.findings.push(Finding::warning("refused", spec.queue.as_str(), what, remedy));
    }
    Ok(())
}
