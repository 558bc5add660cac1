//! Pauses of queues.

use super::agreed;
use super::record::text_of_us;
use super::utc_text;
use serde_json::Value;
use std::fmt;
use std::time::{Duration, SystemTime};

/// A pause in force, of a queue or of one of its types: nothing of it is claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// The type; `None`: all of the queue.
    pub kind: Option<String>,
    /// The only place that it holds; `None`: all places of the queue.
    pub place: Option<String>,
    /// When it began, a UTC time on the server's clock.
    pub since: String,
    /// When it ends by itself; `None`: when somebody resumes.
    pub until: Option<String>,
    /// The person, as the program that paused reported it.
    pub who: String,
    /// The login in the database.
    pub login: String,
    /// The reason, if one was given.
    pub reason: Option<String>,
}

/// The end of a pause, or of a change of a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PauseEnd {
    /// When somebody resumes, or changes the limit again.
    #[default]
    Resumed,
    /// After a time, on the server's clock.
    After(Duration),
    /// At a time of the server's clock.
    At(SystemTime),
}

impl PauseEnd {
    /// As the servers take it: a time, or milliseconds from now on.
    pub(crate) fn written(self) -> (Option<String>, Option<i64>) {
        match self {
            Self::Resumed => (None, None),
            Self::At(time) => (Some(utc_text(time)), None),
            Self::After(time) => (None, Some(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))),
        }
    }
}

impl Pause {
    /// A row of a server: the type, when it began and ends, in microseconds since 1970.
    pub(crate) fn new(
        kind: &str,
        since: i64,
        until: Option<i64>,
        [who, login]: [String; 2],
        reason: Option<String>,
    ) -> Self {
        Self {
            kind: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
            place: None,
            since: text_of_us(since),
            until: until.map(text_of_us),
            who,
            login,
            reason,
        }
    }

    /// The same with its texts in a JSON object.
    pub(crate) fn of_look(kind: &str, since: i64, until: Option<i64>, texts: &str) -> Self {
        let texts: Value = serde_json::from_str(texts).unwrap_or_default();
        let text = |name: &str| texts[name].as_str().map(str::to_owned);
        let people = ["who", "login"].map(|name| text(name).unwrap_or_default());
        Self::new(kind, since, until, people, text("reason"))
    }

    /// Whether items of this type wait for it.
    #[must_use]
    pub fn holds(&self, kind: Option<&str>) -> bool {
        self.kind.is_none() || self.kind.as_deref() == kind
    }

    /// Whether all of the queue waits for it.
    #[must_use]
    pub fn holds_all(&self) -> bool {
        self.kind.is_none() && self.place.is_none()
    }

    /// The pauses of several places, those of all of the queue first: one where all places have it, as the first of them has it, else
    /// one for each place.
    pub(crate) fn of_places<V: AsRef<[Self]>>(each: &[(&str, V)]) -> Vec<Self> {
        let agree = |there: &[&Self]| there.len() == each.len();
        let mark = |of: &mut Self, place: &str| of.place = Some(place.to_owned());
        let mut all = agreed(each, |of| of.kind.clone(), agree, |there| there[0].clone(), mark);
        all.sort_by(|one, other| one.kind.cmp(&other.kind));
        all
    }
}

/// A time to the second.
pub(super) fn short(time: &str) -> String {
    format!("{}Z", time.split('.').next().unwrap_or_default().trim_end_matches('Z'))
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            None => write!(f, "the queue is paused")?,
            Some(kind) => write!(f, "the type {kind} is paused")?,
        }
        if let Some(place) = &self.place {
            write!(f, " at {place}")?;
        }
        write!(f, " since {} by {}", short(&self.since), self.who)?;
        if let Some(until) = &self.until {
            write!(f, ", until {}", short(until))?;
        }
        self.reason.iter().try_for_each(|reason| write!(f, ": {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_shown_with_what_is_known() {
        let texts = r#"{"who": "ann", "login": "app", "reason": "the bank is down"}"#;
        let whole = Pause::of_look("", 1_795_000_000_123_456, Some(1_795_003_600_000_000), texts);
        assert_eq!(
            whole.to_string(),
            "the queue is paused since 2026-11-18T11:06:40Z by ann, until 2026-11-18T12:06:40Z: the bank is down"
        );
        let of_type = Pause::of_look("Mail", 1_795_000_000_123_456, None, r#"{"who": "ann", "login": "app"}"#);
        assert_eq!(of_type.to_string(), "the type Mail is paused since 2026-11-18T11:06:40Z by ann");
        assert!(whole.holds(None) && whole.holds(Some("Mail")));
        assert!(of_type.holds(Some("Mail")) && !of_type.holds(Some("Other")) && !of_type.holds(None));
    }
}
