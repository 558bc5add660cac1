//! Pauses of the queue and of its types.

use super::given::{Given, refuse};
use super::question::{Field, Question, boolean, number, text};
use crate::error::Result;
use crate::item::{Pause, PauseEnd, utc_ms};
use crate::queue::Queue;
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

/// The members of a pause.
pub(super) const PAUSED: &[Field] = &[
    text("pauses[].type", "a type of which nothing is claimed; null: all of the queue").or_none(),
    text("pauses[].place", "the only place of several that it holds; null: all").or_none(),
    text("pauses[].since", "when the pause began, in UTC, by the server's clock"),
    text("pauses[].until", "when it ends by itself; null: when somebody resumes").or_none(),
    text("pauses[].who", "the person, as the program that paused reported it"),
    text("pauses[].login", "the login in the database"),
    text("pauses[].reason", "the reason").or_none(),
];

const TYPE: Field = text("type", "one type; without it, all of the queue").or_none();

/// The longest time of a pause, a hundred years.
const LONGEST_MS: i64 = 3_155_760_000_000;

pub(super) static PAUSES: Question = Question {
    name: "pauses",
    meaning: "The pauses in force, that of all of the queue first.",
    arguments: &[],
    answer: &[PAUSED],
    run: |queue, _| answer(queue),
};

pub(super) static PAUSE_QUEUE: Question = Question {
    name: "pause_queue",
    meaning: "Pauses the queue, or one type: nothing of it is claimed, and items that are added wait too; what is claimed goes on. A \
              pause that is there gets the new end and reason. `pause` pauses items instead.",
    arguments: &[
        TYPE,
        number("for_ms", "ends it after so long, by the server's clock").or_none(),
        text("until", "ends it at this UTC time").or_none(),
        text("reason", "for those who look, up to 400 characters").or_none(),
    ],
    answer: &[PAUSED],
    run: |queue, given| {
        queue.pause_queue(given.text("type")?.as_deref(), given.end()?, given.text("reason")?.as_deref())?;
        answer(queue)
    },
};

pub(super) static RESUME_QUEUE: Question = Question {
    name: "resume_queue",
    meaning: "Resumes the queue, or one type. Each pause is ended by itself: those of types outlast that of the queue.",
    arguments: &[TYPE],
    answer: &[&[boolean("resumed", "whether it was paused")], PAUSED],
    run: |queue, given: &Given<'_>| {
        let resumed = queue.resume_queue(given.text("type")?.as_deref())?;
        Ok(json!({"resumed": resumed, "pauses": pauses(&queue.pauses()?)}).to_string())
    },
};

impl Given<'_> {
    /// The end of a pause, or of a change.
    pub(super) fn end(&self) -> Result<PauseEnd> {
        match (self.number("for_ms", 1..=LONGEST_MS)?, self.text("until")?) {
            (None, None) => Ok(PauseEnd::Resumed),
            (Some(ms), None) => Ok(PauseEnd::After(Duration::from_millis(ms.unsigned_abs()))),
            (None, Some(until)) => pause_until(&until),
            (Some(_), Some(_)) => Err(refuse("there is one end: \"for_ms\" or \"until\"".to_owned())),
        }
    }
}

/// The end that a UTC time gives.
///
/// # Errors
/// When the text is no time after 1970.
pub fn pause_until(text: &str) -> Result<PauseEnd> {
    let ms = utc_ms(text).and_then(|ms| u64::try_from(ms).ok());
    let ms = ms.ok_or_else(|| refuse(format!("until: {text:?} is no UTC time, like 2026-11-21T08:30:00Z")))?;
    Ok(PauseEnd::At(UNIX_EPOCH + Duration::from_millis(ms)))
}

fn answer(queue: &Queue) -> Result<String> {
    Ok(json!({"pauses": pauses(&queue.pauses()?)}).to_string())
}

/// Pauses, for programs.
#[must_use]
pub fn pauses(pauses: &[Pause]) -> Value {
    let document = |pause: &Pause| {
        json!({
            "type": pause.kind, "place": pause.place, "since": pause.since, "until": pause.until, "who": pause.who, "login": pause.login,
            "reason": pause.reason,
        })
    };
    pauses.iter().map(document).collect()
}
