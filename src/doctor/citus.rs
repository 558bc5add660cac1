//! Checks the set-up in a database of Citus: whether it shards the schema, and whether the objects were made for that.

use super::{Examined, Finding};
use crate::catalog::{flag, number, server_facts};
use crate::description::QueueSpec;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::install;
use crate::item::Rows;
use crate::session::Param;

pub(super) fn check(examined: &mut Examined, specs: &[QueueSpec]) -> Result<()> {
    let dialect = examined.session.dialect();
    if dialect != Dialect::Postgres {
        return Ok(());
    }
    let version = server_facts(&mut examined.session)?.get("citus").to_owned();
    if version.is_empty() {
        return Ok(());
    }
    let schema = examined.schema.clone();
    let name = schema.as_str();
    // Before 12 Citus sharded no schemas, and had no catalog of them.
    let knows_schemas = version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_none_or(|it| it >= 12);
    let query = dialect.query("ask/citus")?;
    let rows = knows_schemas.then(|| examined.session.execute(&query, &[Param::Text(name)])).transpose()?;
    if rows.as_ref().is_some_and(Rows::is_empty) {
        return Ok(());
    }
    let Some(rows) = rows.filter(|rows| flag(rows, 0, 0)) else {
        let what = format!(
            "Citus {version} leaves the schema to this node: the queue is used through this node, and by no other"
        );
        examined.findings.push(Finding::ok("citus", name, what));
        return Ok(());
    };
    let what = format!(
        "Citus {version} shards the schema: any node takes calls, and each costs more. Workers look, and no doorbell wakes them"
    );
    examined.findings.push(Finding::ok("citus", name, what));
    if let Some(old @ 1..) = number(&rows, 0, 1) {
        let what = format!(
            "{old} functions and sequences were made before Citus sharded the schema: calls fail, on other nodes all of them"
        );
        examined.findings.push(Finding::error(
            "citus",
            name,
            what,
            "install the queues again, through the coordinator",
        ));
    }
    for spec in specs {
        let unfit = install::unfit(dialect, &schema, spec);
        examined
            .findings
            .extend(unfit.map(|what| Finding::error("citus", spec.queue.as_str(), what, install::ELSEWHERE)));
    }
    Ok(())
}
