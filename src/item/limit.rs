//! Limits of what is in work, as they stand, and their changes.

use super::pause::{PauseEnd, short};
use crate::error::{Error, ErrorKind};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// How many items of a key are in work at once, start in a period, or start together.
pub(crate) const LIMIT_COUNT: RangeInclusive<u32> = 1..=1_000_000;

/// The length of a period, in milliseconds.
const PERIOD_MS: RangeInclusive<u64> = 1..=86_400_000;

/// The units of a period, and their milliseconds; the largest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// So many starts in a time: `60/1m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    /// The starts, 1 to 1,000,000.
    pub starts: u32,
    /// The time, from 1 ms to a day.
    pub ms: u64,
}

impl Rate {
    /// Its form in words.
    pub(crate) const FORM: &'static str =
        "starts/period like \"60/1m\": 1 to 1000000 starts, and a period from 1ms to 1d with ms, s, m, h or d";

    /// Whether the servers take its numbers.
    pub(crate) fn is_possible(self) -> bool {
        LIMIT_COUNT.contains(&self.starts) && PERIOD_MS.contains(&self.ms)
    }

    fn read(text: &str) -> Option<Self> {
        let (starts, period) = text.split_once('/')?;
        let (number, unit) = period.split_at(period.find(|c: char| !c.is_ascii_digit())?);
        let (_, unit) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let is_plain = starts.bytes().all(|byte| byte.is_ascii_digit());
        let starts = starts.parse().ok().filter(|_| is_plain)?;
        let rate = Self { starts, ms: number.parse::<u64>().ok()?.checked_mul(unit)? };
        rate.is_possible().then_some(rate)
    }
}

impl FromStr for Rate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, format!("{text:?} is no rate; it must be {}", Self::FORM))
        })
    }
}

/// In the largest unit without a rest.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) = UNITS.into_iter().find(|(_, unit)| self.ms.is_multiple_of(*unit)).unwrap_or(("ms", 1));
        write!(f, "{}/{}{name}", self.starts, self.ms / unit)
    }
}

/// A limit as it stands: what holds for all keys, or for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limit {
    /// The column whose values are the keys; `None`: the queue as a whole.
    pub by: Option<String>,
    /// The key; `None`: what holds for all keys.
    pub key: Option<String>,
    /// How many are in work at once; 0: nothing of it begins.
    pub at_once: Option<i64>,
    /// How many are in work: of the key, else of all. A dead worker's count until they were given back.
    pub in_work: i64,
    /// How many start in a time.
    pub rate: Option<Rate>,
    /// How many may start together after a rest.
    pub burst: Option<i64>,
    /// How many may start now, by the rate.
    pub starts: Option<i64>,
    /// When time makes room, by the rate or at the end of the change, a UTC time on the server's clock; `None`: there is room, or only the end
    /// of an item makes some.
    pub free_at: Option<String>,
    /// The person who changed it; `None`: it is as the description says.
    pub who: Option<String>,
    /// The reason, if one was given.
    pub reason: Option<String>,
    /// When it was changed, a UTC time on the server's clock.
    pub set_at: Option<String>,
    /// When the change ends by itself, a UTC time on the server's clock; `None`: not before another.
    pub until: Option<String>,
    /// The only place at which it stands so; `None`: all places of the queue.
    pub place: Option<String>,
}

/// A change of a limit. What it does not name is as the description says, and all of it is after its end; one that names no number takes
/// an earlier change back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitChange<'a> {
    /// The column of the limit; `Some("")`: that of the queue as a whole. `None`: the only one that fits the rest.
    pub by: Option<&'a str>,
    /// The key; `None`: all keys.
    pub key: Option<&'a str>,
    /// How many are in work at once; 0: nothing of it begins.
    pub at_once: Option<u32>,
    /// How many start in a time. Only of a limit that has a rate in the description.
    pub rate: Option<Rate>,
    /// How many of them may start together after a rest; as many as the rate has when left out.
    pub burst: Option<u32>,
    /// When it ends.
    pub end: PauseEnd,
    /// The reason, for those who look.
    pub reason: Option<&'a str>,
}

impl Limit {
    /// The key with its column, for people: `CustomerId 42`.
    #[must_use]
    pub fn subject(&self) -> String {
        match (&self.by, &self.key) {
            (None, _) => "the queue".to_owned(),
            (Some(by), None) => format!("any {by}"),
            (Some(by), Some(key)) => format!("{by} {key}"),
        }
    }

    /// Whether nothing begins, whatever ends.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.at_once == Some(0)
    }

    /// How many may begin now; `None`: any number, or it depends on the key.
    #[must_use]
    pub fn room(&self) -> Option<i64> {
        if self.by.is_some() && self.key.is_none() && !self.is_paused() {
            return None;
        }
        let left = self.at_once.map(|most| (most - self.in_work).max(0));
        left.into_iter().chain(self.starts.map(|starts| starts.max(0))).min()
    }
}

/// Why an item of it waits.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.subject();
        match (self.at_once, &self.rate, &self.free_at) {
            (Some(0), ..) => write!(f, "nothing of {subject} begins")?,
            (Some(most), ..) if most <= self.in_work => {
                return write!(f, "waits: {} of {most} of {subject} are in work", self.in_work);
            }
            (_, Some(rate), Some(free)) if self.starts.is_some_and(|starts| starts < 1) => {
                return write!(f, "waits for the rate {rate} of {subject} until {}", short(free));
            }
            _ => return write!(f, "{subject} has room"),
        }
        if let (Some(who), Some(since)) = (&self.who, &self.set_at) {
            write!(f, " since {} by {who}", short(since))?;
        }
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
    fn rates_are_read_and_written() {
        for (text, starts, ms, written) in [
            ("60/1m", 60, 60_000, "60/1m"),
            ("5/1s", 5, 1000, "5/1s"),
            ("1/250ms", 1, 250, "1/250ms"),
            ("1000000/24h", 1_000_000, 86_400_000, "1000000/1d"),
            ("10/90s", 10, 90_000, "10/90s"),
            ("10/3600s", 10, 3_600_000, "10/1h"),
            ("1/1ms", 1, 1, "1/1ms"),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate, Rate { starts, ms });
            assert_eq!(rate.to_string(), written);
        }
        for text in [
            "",
            "60",
            "60/",
            "/1m",
            "60/m",
            "60/1",
            "0/1m",
            "1000001/1m",
            "60/0s",
            "60/25h",
            "60/1w",
            "+6/1m",
            "6/+1m",
            "-1/1m",
            "6 /1m",
            "6/1 m",
            "6/1M",
            "1.5/1s",
            "6/1m/1",
            "1/99999999999999999999s",
            "1/18446744073709551615d",
        ] {
            let error = text.parse::<Rate>().unwrap_err();
            assert!(error.message().contains("is no rate; it must be starts/period"), "{text}: {error}");
        }
    }

    #[test]
    fn a_limit_is_shown_with_what_is_known() {
        let key = |key: &str| Some(key.to_owned());
        let of = Limit { by: key("CustomerId"), key: key("42"), at_once: Some(10), in_work: 10, ..Limit::default() };
        assert_eq!((of.to_string().as_str(), of.room()), ("waits: 10 of 10 of CustomerId 42 are in work", Some(0)));
        // Lowered while they were in work.
        let of = Limit { at_once: Some(3), ..of };
        assert_eq!((of.to_string().as_str(), of.room()), ("waits: 10 of 3 of CustomerId 42 are in work", Some(0)));
        let of = Limit {
            at_once: Some(0),
            who: key("ann"),
            set_at: key("2026-11-21T08:30:00.5000000"),
            reason: key("it owes us"),
            ..of
        };
        let text = "nothing of CustomerId 42 begins since 2026-11-21T08:30:00Z by ann: it owes us";
        assert_eq!((of.to_string().as_str(), of.is_paused()), (text, true));
        let of = Limit { until: key("2026-11-21T09:00:00.0000000"), ..of };
        let text =
            "nothing of CustomerId 42 begins since 2026-11-21T08:30:00Z by ann, until 2026-11-21T09:00:00Z: it owes us";
        assert_eq!(of.to_string(), text);
        let of = Limit { by: None, key: None, at_once: Some(200), in_work: 200, ..Limit::default() };
        assert_eq!(of.to_string(), "waits: 200 of 200 of the queue are in work");
        let rate = Some("60/1m".parse().unwrap());
        let free_at = key("2026-11-21T08:30:00.1234567");
        let of = Limit { by: key("Host"), key: key("x"), rate, starts: Some(0), free_at, ..Limit::default() };
        assert_eq!(of.to_string(), "waits for the rate 60/1m of Host x until 2026-11-21T08:30:00Z");
        let of = Limit { at_once: Some(9), in_work: 2, starts: Some(5), free_at: None, ..of };
        assert_eq!((of.to_string().as_str(), of.room()), ("Host x has room", Some(5)));
        let every = Limit { key: None, ..of };
        assert_eq!((every.room(), Limit::default().room()), (None, None));
        assert_eq!(Limit { at_once: Some(0), ..every }.room(), Some(0));
    }
}
