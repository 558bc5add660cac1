//! Times as callers write them. Only the server does arithmetic with times; this code only checks them and brings them into the
//! one form that both dialects read alike.

use jiff::Span;
use jiff::civil::{Date, DateTime};
use std::time::{SystemTime, UNIX_EPOCH};

/// Checks a time like `2026-11-21`, `2026-11-21 08:30`, `2026-11-21T08:30:00.1234567Z` or `2026-11-21T09:30:00+01:00` and returns it
/// in UTC as `2026-11-21T08:30:00.1234567`, without a zone. Without `Z` or an offset it is UTC. Up to nine digits of a second are read,
/// since many languages write them, and seven are kept. `None` when it is not such a time, or not of the years 1 to 9999.
#[must_use]
pub fn normalize_utc(text: &str) -> Option<String> {
    let Some((local, minutes)) = split_offset(text) else { return normalize_zoneless(text) };
    let local = normalize_zoneless(local).filter(|_| !local.ends_with(['Z', 'z']))?;
    let moved = local.parse::<DateTime>().ok()?.checked_sub(Span::new().try_minutes(minutes).ok()?).ok()?;
    let (date, time) = (moved.date(), moved.time());
    (1..=9999).contains(&date.year()).then(|| {
        let (hour, minute, second) = (time.hour(), time.minute(), time.second());
        format!("{date}T{hour:02}:{minute:02}:{second:02}{}", local.get(SECONDS..).unwrap_or_default())
    })
}

/// The same of a time in UTC alone: a key is a text, and is compared as it stands.
#[must_use]
pub(crate) fn is_utc(text: &str) -> bool {
    split_offset(text).is_none() && normalize_zoneless(text).is_some()
}

/// The begin of times in milliseconds.
pub(super) const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The length of a time to the second.
const SECONDS: usize = "2026-11-21T08:30:00".len();

/// The most digits of a second that are read, and that are kept.
const DIGITS_READ: usize = 9;
const DIGITS_KEPT: usize = 7;

/// A time before its offset `+01:00`, `+0100` or `+01`, and the offset in minutes.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    let at = text.rfind(['+', '-']).filter(|at| text[..*at].contains(':'))?;
    let (local, offset) = text.split_at(at);
    let digits = offset[1..].replacen(':', "", 1);
    let (hours, minutes) = match (offset.len(), digits.len()) {
        (3, 2) => (digits.as_str(), "0"),
        (5 | 6, 4) => digits.split_at_checked(2)?,
        _ => return None,
    };
    let number = |digits: &str, below: i64| {
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok()).flatten();
        number.filter(|number| *number < below)
    };
    let minutes = number(hours, 24)? * 60 + number(minutes, 60)?;
    Some((local, if offset.starts_with('-') { -minutes } else { minutes }))
}

fn normalize_zoneless(text: &str) -> Option<String> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, time),
        None => (text, "00:00:00"),
    };
    let [year, month, day] = numbers(date, '-')?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = match clock.matches(':').count() {
        1 => numbers(&format!("{clock}:00"), ':')?,
        _ => numbers(clock, ':')?,
    };

    let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    let in_range = date.year() >= 1
        && hour < 24
        && minute < 60
        && second < 60
        && fraction.len() <= DIGITS_READ
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && fraction.is_empty() != time.contains('.');
    let fraction = fraction.get(..DIGITS_KEPT).unwrap_or(fraction);
    in_range.then(|| format!("{date}T{hour:02}:{minute:02}:{second:02}.{fraction:0<DIGITS_KEPT$}"))
}

/// A time of the client's clock in that form, to the microsecond. Times before 1970 become 1970.
#[must_use]
pub fn utc_text(time: SystemTime) -> String {
    let time = EPOCH.saturating_add(time.duration_since(UNIX_EPOCH).unwrap_or_default());
    format!("{}.{:06}0", time.strftime("%Y-%m-%dT%H:%M:%S"), time.subsec_nanosecond() / 1000)
}

/// Three numbers of digits only, of the widths that a date or a time of day has.
fn numbers(text: &str, separator: char) -> Option<[u32; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit()) && (part.len() == 2 || part.len() == 4);
        digits.then(|| part.parse::<u32>().ok()).flatten()
    });
    let three = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(three)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_one_form() {
        for (given, taken) in [
            ("2026-11-21", "2026-11-21T00:00:00.0000000"),
            ("2026-11-21 08:30", "2026-11-21T08:30:00.0000000"),
            ("2024-02-29T23:59:59.1234567Z", "2024-02-29T23:59:59.1234567"),
            ("2026-11-21t08:30:00.5z", "2026-11-21T08:30:00.5000000"),
            ("2026-11-21T08:30:00.123456789Z", "2026-11-21T08:30:00.1234567"),
        ] {
            assert_eq!(normalize_utc(given).as_deref(), Some(taken));
            assert!(is_utc(given));
        }
    }

    /// Go's `time.Now()`, Python's `isoformat()`, .NET's "o", chrono's `to_rfc3339()`, Java's `OffsetDateTime`.
    #[test]
    fn times_with_an_offset_become_utc() {
        for (given, taken) in [
            ("2026-11-21T09:30:00.123456789+01:00", "2026-11-21T08:30:00.1234567"),
            ("2026-11-21T08:30:00.123456+00:00", "2026-11-21T08:30:00.1234560"),
            ("2026-11-21T03:00:00.1234567-05:30", "2026-11-21T08:30:00.1234567"),
            ("2026-11-21 08:30:00+00", "2026-11-21T08:30:00.0000000"),
            ("2026-01-01T00:30+01:00", "2025-12-31T23:30:00.0000000"),
            ("2024-02-28T23:30:00-0100", "2024-02-29T00:30:00.0000000"),
            ("9999-12-31T23:59:59.9999999+01:00", "9999-12-31T22:59:59.9999999"),
        ] {
            assert_eq!(normalize_utc(given).as_deref(), Some(taken));
            assert!(!is_utc(given), "{given} as a key");
        }
    }

    #[test]
    fn other_texts_than_utc_times_are_refused() {
        for given in [
            "",
            "now",
            "2026-02-29",
            "2026-13-01",
            "2026-11-21T24:00:00",
            "2026-11-21T08:30:00.",
            "2026-11-21T08:30:00.1234567891",
            "2026-11-21+01:00",
            "2026-11-21T08:30:00Z+01:00",
            "2026-11-21T08:30:00+01:0",
            "2026-11-21T08:30:00+24:00",
            "2026-11-21T08:30:00+01:60",
            "2026-11-21T08:30:00+-1:00",
            "2026-11-21T08:30:00+01:00[Europe/Zurich]",
            "9999-12-31T23:59:59-00:01",
            "0001-01-01T00:00:00+00:01",
            "2026-11-21T08:30:00.1x",
            "+026-11-21",
            "2026-11-21'; DROP TABLE x",
        ] {
            assert_eq!(normalize_utc(given), None, "{given}");
        }
    }

    #[test]
    fn clock_times_are_written_so() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.0000000"),
            (951_782_399, "2000-02-28T23:59:59.0000000"),
            (951_782_400, "2000-02-29T00:00:00.0000000"),
            (951_868_800, "2000-03-01T00:00:00.0000000"),
            (1_735_689_599, "2024-12-31T23:59:59.0000000"),
            (1_795_250_096, "2026-11-21T08:34:56.0000000"),
            (4_107_542_400, "2100-03-01T00:00:00.0000000"),
        ] {
            assert_eq!(utc_text(UNIX_EPOCH + std::time::Duration::from_secs(seconds)), text);
        }
        let with_fraction = utc_text(UNIX_EPOCH + std::time::Duration::from_nanos(1_234_567));
        assert_eq!(with_fraction, "1970-01-01T00:00:00.0012340");
    }
}
