//! Times as callers write them. Only the server does arithmetic with times; this code only checks them and brings them into the
//! one form that both dialects read alike.

use std::time::{SystemTime, UNIX_EPOCH};

/// Checks a UTC time like `2026-11-21`, `2026-11-21 08:30` or `2026-11-21T08:30:00.1234567Z` and returns it as
/// `2026-11-21T08:30:00.1234567`, without a zone. `None` when it is not such a time. An offset other than Z is refused: all times
/// here are UTC, and a silent conversion would hide a caller's mistake.
#[must_use]
pub fn normalize_utc(text: &str) -> Option<String> {
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

    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let in_range = (1..=9999).contains(&year)
        && (1..=days).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60
        && fraction.len() <= 7
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && fraction.is_empty() != time.contains('.');
    in_range.then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:0<7}"))
}

/// A time of the client's clock in that form, to the microsecond. Times before 1970 become 1970.
#[must_use]
pub fn utc_text(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // From days to a date of the proleptic Gregorian calendar, in years that begin in March so that the leap day comes
    // last: https://howardhinnant.github.io/date_algorithms.html#civil_from_days
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}0", since.subsec_micros())
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
        ] {
            assert_eq!(normalize_utc(given).as_deref(), Some(taken));
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
            "2026-11-21T08:30:00+01:00",
            "2026-11-21T08:30:00.",
            "2026-11-21T08:30:00.12345678",
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
