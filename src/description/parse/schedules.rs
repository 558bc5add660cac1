//! `schedule`: items that the queue gets at planned times.

use super::at::{At, KnownKeys};
use crate::description::ScheduleSpec;
use crate::error::Result;
use crate::item::{Missed, Overlap};

/// Reads `schedule`.
pub(super) fn schedules(spec: &KnownKeys<'_>) -> Result<Option<Vec<ScheduleSpec>>> {
    spec.get("schedule").map(|at| at.list(0)?.iter().map(schedule).collect()).transpose()
}

fn schedule(at: &At<'_>) -> Result<ScheduleSpec> {
    let schedule = at.table(&["name", "cron", "zone", "item", "missed", "overlap"])?;
    let missed = schedule.get("missed").map(|at| at.choice(&Missed::ALL.map(Missed::as_str))).transpose()?;
    let overlap = schedule.get("overlap").map(|at| at.choice(&Overlap::ALL.map(Overlap::as_str))).transpose()?;
    Ok(ScheduleSpec {
        name: schedule.need("name")?.text()?.to_owned(),
        cron: schedule.need("cron")?.text()?.to_owned(),
        zone: schedule.need("zone")?.text()?.to_owned(),
        item: schedule.get("item").map_or_else(|| Ok(serde_json::json!({})), |at| at.json())?,
        missed: missed.map_or(Missed::default(), |place| Missed::ALL[place]),
        overlap: overlap.map_or(Overlap::default(), |place| Overlap::ALL[place]),
    })
}
