//! The actual plans of claim, settle and renew, compiled for a thousand items and then used for one, and of the claim of a queue with shards.

use crate::place::{Place, SHARDS};
use crate::report::{Report, cell};
use readpast::Result;
use readpast::for_tests::deviations;
use readpast::item::Rows;
use serde_json::json;
use std::collections::BTreeSet;

pub fn run(place: &Place, report: &mut Report) -> Result<()> {
    report.chapter("Actual plans");
    for count in [1000, 1] {
        place.empty()?;
        place.fill(2000)?;
        let claim = format!("EXECUTE [readpast].[Next_Job_Set_trx] N'plans', {count}, 60000, 1");
        with_plan(place, report, &format!("claim of {count}"), &claim)?;
        let held = place.execute(&format!(
            "SELECT TOP ({count}) CONVERT(varchar(30), q.[EnqueuedAt], 126), CONVERT(varchar(30), q.[UpdatedAt], 126) \
             FROM [readpast].[Job] AS q WHERE q.[Status] = 'Processing'"
        ))?;
        let leases: Vec<_> = (0..held.len()).map(|row| json!({"key": cell(&held, row, 0), "attempt": 1})).collect();
        let renew = format!("EXECUTE [readpast].[Renew_Job_Set_trx] N'plans', N'{}', 60000", json!(leases));
        with_plan(place, report, &format!("renewal of {count}"), &renew)?;
        let ends: Vec<_> = (0..held.len())
            .map(|row| json!({"key": cell(&held, row, 0), "token": cell(&held, row, 1), "attempt": 1, "status": "Completed"}))
            .collect();
        let settle = format!("EXECUTE [readpast].[Modify_Job_Set_trx] NULL, N'plans', N'{}', 0", json!(ends));
        with_plan(place, report, &format!("settle of {count}"), &settle)?;
    }
    place.deal(Some(SHARDS))?;
    for count in [1000, 1] {
        place.empty()?;
        place.fill(2000)?;
        let claim = format!("EXECUTE [readpast].[Next_Job_Set_trx] N'plans', {count}, 60000, 1");
        let plans = with_plan(place, report, &format!("claim of {count} of {SHARDS} shards"), &claim)?;
        // The server computes the column, and is to know the index by it: else the claim reads all that waits.
        let by_due: Vec<_> = plans.iter().flat_map(|plan| plan.split("<RelOp ")).filter(|op| is_of_due(op)).collect();
        let sought = by_due.iter().filter(|op| {
            op.contains("PhysicalOp=\"Index Seek\"")
                && op.split("<SeekPredicates>").nth(1).is_some_and(|seek| seek.contains("Column=\"Shard\""))
        });
        let sought = sought.count();
        report.expect(
            plans.is_empty() || (sought > 0 && sought == by_due.len()),
            format!(
                "the claim of {count} of {SHARDS} shards: {sought} of {} reads of the index are seeks by the shard",
                by_due.len()
            ),
        );
    }
    place.empty()?;
    place.deal(None)
}

fn is_of_due(operator: &str) -> bool {
    operator.contains("Index=\"[IX_Job_Due]\"") && operator.contains("<IndexScan")
}

/// The plans, where the server gives them.
fn with_plan(place: &Place, report: &mut Report, what: &str, call: &str) -> Result<Vec<String>> {
    let mut session = place.session()?;
    if let Err(error) = session.execute("SET STATISTICS XML ON", &[]) {
        report.unseen(&format!("the plan of the {what}"), error);
        return Ok(Vec::new());
    }
    let results = match session.results(call, &[]) {
        Ok(results) => results,
        Err(error) => {
            report.expect(false, format!("the {what} under STATISTICS XML: {error}"));
            return Ok(Vec::new());
        }
    };
    let is_plan = |rows: &&Rows| rows.len() == 1 && cell(rows, 0, 0).starts_with("<ShowPlanXML");
    let plans: Vec<_> = results.iter().filter(is_plan).map(|rows| cell(rows, 0, 0)).collect();
    let on_table: Vec<_> = plans.into_iter().filter(|plan| plan.contains("Table=\"[Job]\"")).collect();
    if on_table.is_empty() {
        report.unseen(&format!("the plan of the {what}"), "the server gave none");
        return Ok(Vec::new());
    }
    let found: BTreeSet<_> = on_table.iter().flat_map(|plan| deviations(plan, "readpast", "Job")).collect();
    report.expect(found.is_empty(), format!("the {what}: no plan deviates {found:?}"));
    for plan in &on_table {
        report.block(plan);
    }
    Ok(on_table)
}
