//! A rule in a zone, and the times that it names.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned};

/// The longest rule.
const MAX_CHARS: usize = 200;

/// Periods of `@every`, in seconds: a year at most.
const PERIODS: std::ops::RangeInclusive<i64> = 1..=366 * 86_400;

/// A rule that names times.
#[derive(Debug)]
pub(crate) enum Rule {
    /// The times of a clock and a calendar.
    Cron(Box<Cron>, TimeZone),
    /// So many seconds apart.
    Every(i64),
}

impl Rule {
    /// Reads a rule, or says at which key of a schedule the mistake is.
    pub(crate) fn new(cron: &str, zone: &str) -> Result<Self, (&'static str, String)> {
        let read_zone = TimeZoneDatabase::bundled().get(zone).map_err(|_| {
            let why = format!("there is no zone {zone:?}; zones have names like \"Europe/Zurich\", and \"UTC\" is one");
            ("zone", why)
        })?;
        if cron.chars().count() > MAX_CHARS {
            return Err(("cron", format!("is longer than {MAX_CHARS} characters")));
        }
        if let Some(period) = cron.trim().strip_prefix("@every") {
            return Ok(Self::Every(seconds(period.trim()).map_err(|why| ("cron", why))?));
        }
        let wrong = |error: croner::errors::CronError| ("cron", format!("{cron:?} is no rule: {error}"));
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let rule = parser.parse(cron).map_err(wrong)?;
        let anywhere = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
        if rule.find_next_occurrence(&anywhere, false).is_err() {
            return Err(("cron", format!("{cron:?} names a date that never comes")));
        }
        Ok(Self::Cron(Box::new(rule), read_zone))
    }

    /// The first time after `after`, in seconds since 1970, of a schedule whose last planned time was `was`. `None`: not before the
    /// year 5000.
    pub(crate) fn next(&self, was: Option<i64>, after: i64) -> Option<i64> {
        match self {
            Self::Every(period) => {
                let was = was.unwrap_or(after);
                Some(was + ((after - was).max(0) / period + 1) * period)
            }
            Self::Cron(cron, zone) => {
                let after: Zoned = Timestamp::from_second(after).ok()?.to_zoned(zone.clone());
                cron.find_next_occurrence(&after, false).ok().map(|next| next.timestamp().as_second())
            }
        }
    }

    /// Its meaning in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Every(period) => format!("Every {period} seconds"),
            Self::Cron(cron, _) => cron.describe(),
        }
    }
}

/// The period in `90s`, `5m`, `2h`, `1d`.
fn seconds(text: &str) -> Result<i64, String> {
    let wrong = || format!("\"@every {text}\" must have a whole number and s, m, h or d, and be from 1s to 366d");
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86_400,
        _ => return Err(wrong()),
    };
    let digits = &text[..text.len() - 1];
    let number = if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse::<i64>().ok() } else { None };
    number.and_then(|number| number.checked_mul(unit)).filter(|seconds| PERIODS.contains(seconds)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
