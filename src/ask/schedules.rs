//! The schedules of a queue.

use super::given::{Given, refuse};
use super::question::{Field, Question, boolean, list, number, object, text};
use crate::description::schedule_item;
use crate::error::Result;
use crate::item::{Missed, Overlap, Schedule, ScheduleChange, utc_text};
use crate::queue::Queue;
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

/// The members of a schedule.
const ONE: &[Field] = &[
    text("schedules[].name", "its name"),
    text("schedules[].cron", "the rule"),
    text("schedules[].zone", "the zone in which it is read"),
    text("schedules[].words", "the rule in English; null where it is no rule").or_none(),
    object("schedules[].item", "the item that it puts in"),
    text("schedules[].missed", "`once`, `each` or `skip`"),
    text("schedules[].overlap", "`allow` or `skip`"),
    boolean("schedules[].described", "whether the description has it; others were made at run time"),
    boolean("schedules[].enabled", "whether it fires"),
    text("schedules[].next", "the next planned time; null until a worker has computed it").or_none(),
    list("schedules[].upcoming", "the next five times"),
    text("schedules[].last", "the planned time of the last item").or_none(),
    text("schedules[].fired", "when that item was put in").or_none(),
    text("schedules[].key", "its key").or_none(),
    text(
        "schedules[].answer",
        "`FIRED`; `DUPLICATE`, when the same work was there; `SKIPPED`, when the item before was not over",
    )
    .or_none(),
    number("schedules[].late_ms", "for how many milliseconds a planned time has been over; 0 when none is").or_none(),
    text("schedules[].problem", "why it cannot fire").or_none(),
];

pub(super) static SCHEDULES: Question = Question {
    name: "schedules",
    meaning: "The schedules of the queue, the next to fire first. Times are UTC, on the server's clock.",
    arguments: &[],
    answer: &[ONE],
    run: |queue, _| Ok(json!({"schedules": queue.schedules()?.iter().map(schedule).collect::<Vec<_>>()}).to_string()),
};

const NAME: Field = text("name", "its name, of 1 to 100 characters");

pub(super) static SCHEDULE: Question = Question {
    name: "schedule",
    meaning: "Makes a schedule, or changes it: what is left out stays. A new one needs `cron`, `zone` and `item`. A planned time stays, \
              unless rule or zone change or the schedule was off.",
    arguments: &[
        NAME,
        text("cron", "five or six fields of cron, `@daily` and the like, or `@every 90s`").or_none(),
        text("zone", "the zone in which the rule is read: `Europe/Zurich`, `UTC`").or_none(),
        object("item", "the item: an object with `columns` and, where wanted, `type` and `step`").or_none(),
        text("missed", "for planned times without a worker: `once` (at first), `each` or `skip`").or_none(),
        text("overlap", "while the last item is not over: `allow` (at first) or `skip`").or_none(),
        boolean("enabled", "whether it fires").or_none(),
    ],
    answer: &[&[boolean("new", "whether it was not there before")]],
    run: |queue, given| {
        let word = |name: &str, words: &[&str]| -> Result<Option<usize>> {
            let given = given.text(name)?;
            let place = |word: String| {
                let known = words.iter().position(|known| *known == word);
                known.ok_or_else(|| {
                    refuse(format!("the argument {name:?} is {word:?}; it must be {}", words.join(" or ")))
                })
            };
            given.map(place).transpose()
        };
        let item = given.object("item")?.map(|item| {
            let item: Value = serde_json::from_str(item).map_err(|error| refuse(error.to_string()))?;
            schedule_item(&item).map_err(|why| refuse(format!("the argument \"item\": {why}")))
        });
        let change = ScheduleChange {
            cron: given.text("cron")?,
            zone: given.text("zone")?,
            item: item.transpose()?,
            missed: word("missed", &Missed::ALL.map(Missed::as_str))?.map(|place| Missed::ALL[place]),
            overlap: word("overlap", &Overlap::ALL.map(Overlap::as_str))?.map(|place| Overlap::ALL[place]),
            enabled: given.boolean("enabled")?,
        };
        let is_new = queue.set_schedule(&given.needed_text("name")?, &change)?;
        Ok(json!({ "new": is_new }).to_string())
    },
};

pub(super) static UNSCHEDULE: Question = Question {
    name: "unschedule",
    meaning: "Removes a schedule. One of the description comes again with the next install.",
    arguments: &[NAME],
    answer: &[&[boolean("removed", "whether it was there")]],
    run: |queue, given| Ok(json!({ "removed": queue.remove_schedule(&given.needed_text("name")?)? }).to_string()),
};

pub(super) static RUN_SCHEDULE: Question = Question {
    name: "run_schedule",
    meaning: "Puts the item of a schedule in now, on or off. The planned time stays.",
    arguments: &[NAME],
    answer: &[&[
        text("answer", "`FIRED`, `DUPLICATE` or `SKIPPED`, as in `schedules`"),
        text("key", "the item's key; null when none was put in").or_none(),
    ]],
    run: run_now,
};

fn run_now(queue: &Queue, given: &Given<'_>) -> Result<String> {
    let (answer, key) = queue.run_schedule(&given.needed_text("name")?)?;
    Ok(json!({ "answer": answer, "key": key }).to_string())
}

/// A schedule.
#[must_use]
pub fn schedule(schedule: &Schedule) -> Value {
    let time = |at: Option<i64>| at.map(schedule_time);
    json!({
        "name": schedule.name, "cron": schedule.cron, "zone": schedule.zone, "words": schedule.words,
        "item": serde_json::from_str::<Value>(&schedule.item).unwrap_or_default(), "missed": schedule.missed.as_str(),
        "overlap": schedule.overlap.as_str(), "described": schedule.described, "enabled": schedule.enabled,
        "next": time(schedule.next_at), "upcoming": schedule.upcoming.iter().map(|at| schedule_time(*at)).collect::<Vec<_>>(),
        "last": time(schedule.last_at), "fired": time(schedule.fired_at), "key": schedule.last_key,
        "answer": schedule.last_answer, "late_ms": schedule.late_ms, "problem": schedule.problem,
    })
}

/// A planned time as people and programs read it.
#[must_use]
pub fn schedule_time(seconds: i64) -> String {
    let text = utc_text(UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs()));
    format!("{}Z", text.split('.').next().unwrap_or_default())
}
