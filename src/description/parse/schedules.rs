//! `schedule`: items that the queue gets at planned times.

use super::at::At;
use super::keys::Kind::{Choice, Own, Text};
use super::keys::{self, Key, key, needed};
use crate::description::{QueueSpec, ScheduleSpec};
use crate::error::Result;
use crate::item::{Missed, Overlap};
use serde_json::{Value, json};

pub(super) static SCHEDULE: [Key<ScheduleSpec>; 6] = [
    needed(key(
        "name",
        Text("text of 1 to 100 characters", |schedule| &mut schedule.name),
        "The name by which it is changed.",
    )),
    needed(key(
        "cron",
        Text("five or six fields, `@daily` and the like, `@every 90s`", |schedule| &mut schedule.cron),
        "When.",
    )),
    needed(key(
        "zone",
        Text("a zone of the IANA database", |schedule| &mut schedule.zone),
        "Where the rule is read: `\"Europe/Zurich\"`, `\"UTC\"`.",
    )),
    key(
        "item",
        Own("table", |at, schedule| at.json().map(|item| schedule.item = item), |schedule| Some(schedule.item.clone())),
        "`columns`, and where wanted `type` and `step`. It is due at the planned time.",
    ),
    key(
        "missed",
        Choice(&Missed::WORDS, |schedule| schedule.missed as usize, |schedule, nth| schedule.missed = Missed::ALL[nth]),
        "For planned times that passed while no worker ran: one item, one for each, or none.",
    ),
    key(
        "overlap",
        Choice(
            &Overlap::WORDS,
            |schedule| schedule.overlap as usize,
            |schedule, nth| schedule.overlap = Overlap::ALL[nth],
        ),
        "While the last item of the schedule is not over: another one, or none.",
    ),
];

/// A schedule without a rule, as reading begins.
pub(super) fn start() -> ScheduleSpec {
    ScheduleSpec {
        name: String::new(),
        cron: String::new(),
        zone: String::new(),
        item: json!({}),
        missed: Missed::default(),
        overlap: Overlap::default(),
    }
}

/// Reads `schedule`.
pub(super) fn read(at: &At<'_>, spec: &mut QueueSpec) -> Result<()> {
    let schedule = |at: &At<'_>| {
        let mut schedule = start();
        keys::read(at, &SCHEDULE, &mut schedule).map(|_| schedule)
    };
    spec.schedules = Some(at.list(0)?.iter().map(schedule).collect::<Result<_>>()?);
    Ok(())
}

/// Writes it.
pub(super) fn written(schedules: &[ScheduleSpec]) -> Value {
    schedules.iter().map(|schedule| keys::write(&SCHEDULE, schedule, &start())).collect()
}
