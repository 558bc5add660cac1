//! A worker's log lines, in every language. They hold no item data and no text of handlers, only kind and length.
//! `bindings/README.md` has the list for all languages.

use super::event::Event;
use crate::error::{ErrorKind, log_text};
use crate::item::{Action, Answer, Outcome, Settlement};
use crate::queue::Queue;

/// The fields of a log line besides its text; every line has all of them.
#[derive(Default)]
pub(crate) struct Fields<'a> {
    pub(crate) key: Option<&'a str>,
    pub(crate) attempt: Option<i32>,
    /// The action of the settlement.
    pub(crate) action: Option<Action>,
    /// The answer of the database or the library.
    pub(crate) status: Option<String>,
}

impl<'a> Fields<'a> {
    /// The fields of an attempt.
    pub(crate) fn of(settlement: &Settlement<'a>) -> Self {
        let Settlement { key, attempt, action, .. } = settlement;
        Self { key: Some(key), attempt: Some(*attempt), action: Some(*action), status: None }
    }

    /// Logs a line of a worker of `queue`.
    pub(crate) fn log(&self, queue: &Queue, level: log::Level, line: &str) {
        let action = self.action.map(|action| format!("{action:?}"));
        log::log!(
            target: "readpast::worker", level, queue = queue.name(), worker = queue.worker(), key = self.key,
            attempt = self.attempt, action = action.as_deref(), status = self.status.as_deref(); "{line}"
        );
    }
}

impl<'a> From<&Event<'a>> for Fields<'a> {
    fn from(event: &Event<'a>) -> Self {
        match *event {
            Event::Claimed { .. } | Event::Settled { .. } => Self::default(),
            Event::Lost { key, attempt, .. } => Self {
                key: Some(key),
                attempt: Some(attempt),
                status: Some(format!("{:?}", Answer::LeaseLost)),
                ..Self::default()
            },
            Event::Abandoned { key, attempt } => {
                Self { key: Some(key), attempt: Some(attempt), action: Some(Action::Release), ..Self::default() }
            }
            Event::Refused { key, attempt, action, error, .. } => Self {
                key: Some(key),
                attempt: Some(attempt),
                action: Some(action),
                status: Some(format!("{:?}", error.kind())),
            },
            Event::SetAside { key, .. } => {
                Self { key, status: Some(format!("{:?}", ErrorKind::InvalidItem)), ..Self::default() }
            }
            Event::Trouble { error, .. } => Self { status: Some(format!("{:?}", error.kind())), ..Self::default() },
        }
    }
}

impl Event<'_> {
    /// The event's log line, a warning; `None` for an event that is in order, and for [`Event::Settled`], for which `not_settled`
    /// reports each item.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        match self {
            Self::Claimed { .. } | Self::Settled { .. } => None,
            Self::Lost { key, attempt, .. } => {
                Some(format!("item {key}, attempt {attempt} was lost: its lease ran out, or an operator took it"))
            }
            Self::Abandoned { key, attempt } => Some(format!(
                "item {key}, attempt {attempt} was given back: its handler had not ended when the worker was abandoned; the \
                 attempt does not count"
            )),
            Self::Refused { key, attempt, action, left_out, error } => Some(format!(
                "item {key}, attempt {attempt}: a part of the result ({left_out}) was refused, and is left out of its \
                 {action:?}: {}; shorten or correct it, or widen its column",
                log_text(&error.to_string())
            )),
            Self::SetAside { line, .. } => Some((*line).to_owned()),
            Self::Trouble { doing, error } => {
                Some(format!("cannot {doing}, and will try again: {}", log_text(&error.to_string())))
            }
        }
    }
}

/// The log line of an item that the database did not settle, since this worker had lost it; `None` when all is well.
pub(crate) fn not_settled(settlement: &Settlement<'_>, outcome: &Outcome) -> Option<String> {
    if outcome.answer == Answer::Ok {
        return None;
    }
    let Settlement { key, attempt, action, .. } = settlement;
    let (answer, now) = (outcome.answer, outcome.state);
    let now = now.map_or_else(|| "not there".to_owned(), |state| state.to_string());
    Some(format!(
        "item {key}, attempt {attempt} was lost: it could not be settled as {action:?} ({answer:?}), is {now} now, and \
         is left to its holder"
    ))
}

/// The values of a settlement besides its action, by name and length.
pub(crate) fn given(settlement: &Settlement<'_>) -> String {
    let texts = [
        ("step", settlement.step),
        ("response", settlement.response),
        ("error", settlement.error),
        ("set", settlement.set),
        ("then", settlement.then),
    ];
    let mut given: Vec<_> = texts.iter().filter_map(|(name, text)| text.map(|text| length(name, text))).collect();
    given.extend(settlement.delay_ms.map(|_| "delay".to_owned()));
    given.extend(settlement.due.map(|_| "due".to_owned()));
    given.join(", ")
}

/// A text by its name and length.
pub(super) fn length(name: &str, text: &str) -> String {
    format!("{name} of {} characters", text.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn lines_hold_lengths_and_no_text() {
        let settlement = Settlement {
            step: Some("\u{e9}t\u{e9}"),
            response: Some("secret"),
            set: Some("{}"),
            delay_ms: Some(5),
            ..Settlement::control("7", None, Action::Retry)
        };
        let left_out = given(&settlement);
        assert_eq!(left_out, "step of 3 characters, response of 6 characters, set of 2 characters, delay");
        let error = Error::new(ErrorKind::InvalidItem, "too long");
        let event = Event::Refused { key: "7", attempt: 2, action: Action::Retry, left_out: &left_out, error: &error };
        let line = event.line().unwrap();
        assert!(line.starts_with("item 7, attempt 2: a part of the result (step of 3 characters, "), "{line}");
        assert!(line.contains("left out of its Retry: ") && !line.contains("secret"), "{line}");
        let long = Error::new(ErrorKind::InvalidItem, "x".repeat(8000));
        for event in [
            Event::Refused { key: "7", attempt: 2, action: Action::Retry, left_out: &left_out, error: &long },
            Event::Trouble { doing: "settle", error: &long },
        ] {
            let line = event.line().unwrap();
            assert!(line.contains("characters left out") && line.len() < 1000, "{line}");
        }
    }
}
