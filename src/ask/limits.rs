//! Limits of what is in work.

use super::given::refuse;
use super::question::{Field, Question, boolean, number, text};
use crate::error::Result;
use crate::item::{Limit, LimitChange};
use serde_json::{Value, json};

/// The most of a number.
const MOST: i64 = 1_000_000;

/// The members of a limit.
const ONE: &[Field] = &[
    text("limits[].by", "the column whose values are the keys; null: the queue as a whole").or_none(),
    text("limits[].key", "the key; null: what holds for all of them").or_none(),
    number("limits[].at_once", "how many are in work at once; 0: nothing of it begins").or_none(),
    number("limits[].in_work", "how many are in work: of the key, else of all"),
    number("limits[].room", "how many may begin now; null: any number, or it depends on the key").or_none(),
    text("limits[].rate", "how many start in a time: `60/1m`").or_none(),
    number("limits[].burst", "how many of them may start together after a rest").or_none(),
    text("limits[].free_at", "when time makes room, by the rate or at the end of the change, in UTC, by the server's clock; null: there is room, or only the end of an item makes some")
        .or_none(),
    text("limits[].who", "the person who changed it; null: it is as the description says").or_none(),
    text("limits[].reason", "the reason").or_none(),
    text("limits[].set_at", "when it was changed, in UTC, by the server's clock").or_none(),
    text("limits[].until", "when the change ends by itself, in UTC; null: not before another").or_none(),
    text("limits[].place", "the only place of several at which it stands so; null: all").or_none(),
];

pub(super) static LIMITS: Question = Question {
    name: "limits",
    meaning: "The limits of the queue: each with what holds for all of its keys, and then the keys that are in work or were changed, at \
              most 1,000, most in work first.",
    arguments: &[],
    answer: &[ONE],
    run: |queue, _| Ok(json!({"limits": queue.limits()?.iter().map(limit).collect::<Value>()}).to_string()),
};

pub(super) static SET_LIMIT: Question = Question {
    name: "set_limit",
    meaning: "Changes a limit, for all keys or for one, from the next claim on; what is in work goes on. What is left out is as the \
              description says, and all of it after the end of the change. Returns the limit as it stands.",
    arguments: &[
        text("by", "the column of the limit, empty for that of the queue as a whole; without it the only one that fits the rest")
            .or_none(),
        text("key", "one key; without it, all").or_none(),
        number("at_once", "how many are in work at once; 0: nothing of it begins").or_none(),
        text("rate", "how many start in a time: `60/1m`; only where the description has a rate").or_none(),
        number("burst", "how many of them may start together after a rest").or_none(),
        boolean("reset", "in place of numbers: all is as the description says").or_none(),
        number("for_ms", "ends the change after so long, by the server's clock").or_none(),
        text("until", "ends it at this UTC time").or_none(),
        text("reason", "for those who look, up to 400 characters").or_none(),
    ],
    answer: &[ONE],
    run: |queue, given| {
        let (by, key, reason) = (given.text("by")?, given.text("key")?, given.text("reason")?);
        let count = |name: &str| -> Result<Option<u32>> {
            Ok(given.number(name, 0..=MOST)?.and_then(|number| u32::try_from(number).ok()))
        };
        let change = LimitChange {
            by: by.as_deref(),
            key: key.as_deref(),
            at_once: count("at_once")?,
            rate: given.text("rate")?.map(|rate| rate.parse()).transpose()?,
            burst: count("burst")?,
            end: given.end()?,
            reason: reason.as_deref(),
        };
        let has_numbers = change.at_once.is_some() || change.rate.is_some() || change.burst.is_some();
        if given.is_set("reset")? == has_numbers {
            return Err(refuse("give \"at_once\", \"rate\", or both; or \"reset\": true".to_owned()));
        }
        Ok(json!({"limits": [limit(&queue.set_limit(&change)?)]}).to_string())
    },
};

/// A limit, for programs.
#[must_use]
pub fn limit(limit: &Limit) -> Value {
    json!({
        "by": limit.by, "key": limit.key, "at_once": limit.at_once, "in_work": limit.in_work, "room": limit.room(),
        "rate": limit.rate.map(|rate| rate.to_string()), "burst": limit.burst, "free_at": limit.free_at, "who": limit.who,
        "reason": limit.reason, "set_at": limit.set_at, "until": limit.until, "place": limit.place,
    })
}
