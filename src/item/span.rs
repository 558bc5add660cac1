//! Spans of time and moments, as numbers and as people read them.

use super::normalize_utc;
use super::time::EPOCH;
use jiff::civil::DateTime;

/// Milliseconds as a person reads them: the two largest units.
#[must_use]
pub fn span_text(ms: i64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 if ms < 1000 => format!("{ms} ms"),
        0..60 => format!("{}.{} s", seconds, ms % 1000 / 100),
        60..3600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {:02} m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A UTC time like `2026-11-21T08:30:00.1234567` in milliseconds since 1970.
#[must_use]
pub fn utc_ms(text: &str) -> Option<i64> {
    let time = normalize_utc(text)?.parse::<DateTime>().ok()?;
    i64::try_from(time.duration_since(EPOCH).as_millis()).ok()
}

/// The range of times that are read. PostgreSQL also has times beyond it, and infinite ones.
const EARLIEST: &str = "0001-01-01T00:00:00";
const LATEST: &str = "9999-12-31T23:59:59.999";

/// From here on a span is as good as endless.
pub(crate) const NEVER_MS: i64 = 1000 * 366 * 86_400_000;

/// The same for a moment that may be before the year 1 or after 9999, where all are alike.
pub(crate) fn far_utc_ms(text: &str) -> Option<i64> {
    let far = || utc_ms(if text.starts_with('-') || text.ends_with("BC") { EARLIEST } else { LATEST });
    utc_ms(text).or_else(|| if text.is_empty() { None } else { far() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::utc_text;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn people_read_two_units() {
        for (ms, text) in
            [(0, "0 ms"), (1500, "1.5 s"), (61_000, "1 m 01 s"), (7_260_000, "2 h 01 m"), (90_000_000, "1 d 01 h")]
        {
            assert_eq!(span_text(ms), text);
        }
    }

    #[test]
    fn moments_are_read_as_they_are_written() {
        for ms in [0, 1, 951_782_400_000, 951_868_799_999, 1_709_164_800_123, 4_102_444_799_999, 253_402_300_799_999] {
            let text = utc_text(UNIX_EPOCH + Duration::from_millis(ms));
            assert_eq!(utc_ms(&text), i64::try_from(ms).ok(), "{text}");
        }
        assert_eq!(utc_ms("1969-12-31T23:59:59.999"), Some(-1));
        assert_eq!(utc_ms("soon"), None);
        assert_eq!(far_utc_ms("infinity"), utc_ms("9999-12-31T23:59:59.999"));
        assert_eq!(far_utc_ms("12026-01-01 00:00:00+00"), far_utc_ms("infinity"));
        assert_eq!(far_utc_ms("4713-01-01 00:00:00+00 BC"), far_utc_ms("-infinity"));
        assert_eq!(far_utc_ms("1969-12-31T23:59:59.999"), Some(-1));
    }
}
