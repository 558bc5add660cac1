//! Limits: how many items of a key are in work at once, and how many of it begin in a time.

use crate::error::{Error, ErrorKind};
use crate::ident::Identifier;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The most limits of a queue.
pub(crate) const MOST_LIMITS: usize = 4;

/// The longest text that items are counted by: with the other columns of its index it stays within what a server takes.
pub(crate) const MOST_CHARS: usize = 300;

/// How many items of a key are in work at once, start in a period, or start together.
pub(crate) const COUNT: RangeInclusive<u32> = 1..=1_000_000;

/// The length of a period, in milliseconds.
const PERIOD_MS: RangeInclusive<u64> = 1..=86_400_000;

/// The units of a period, and their milliseconds; the largest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// A limit of what is in work, for each key or for the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSpec {
    /// The column whose values are the keys, one of the queue's own. `None`: the whole queue is one key.
    pub by: Option<Identifier>,
    /// How many items of a key are in work at once, 1 to 1,000,000.
    pub at_once: Option<u32>,
    /// How many items of a key start in a time.
    pub rate: Option<Rate>,
    /// How many of them may start together after a rest, 1 to 1,000,000; as many as the rate has when left out.
    pub burst: Option<u32>,
}

impl LimitSpec {
    /// How many items of a key may start together; `None` without a rate.
    #[must_use]
    pub fn burst(&self) -> Option<u32> {
        self.rate.map(|rate| self.burst.unwrap_or(rate.starts))
    }
}

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
        COUNT.contains(&self.starts) && PERIOD_MS.contains(&self.ms)
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
}
