//! Times as a page shows them: how far from now, and exactly.

use crate::printable::printable;
use readpast::item::utc_ms;

/// A UTC time to the second: `2026-11-21 08:30:00 UTC`.
pub fn exact(utc: &str) -> String {
    format!("{} UTC", printable(utc.get(..19).unwrap_or(utc)).replace('T', " "))
}

/// How far a time is from now, in its largest unit: a page that stands for some seconds stays right.
pub fn relative(ms_ago: i64) -> String {
    let seconds = ms_ago.unsigned_abs() / 1000;
    let (number, unit) = match seconds {
        0 => return "now".to_owned(),
        1..60 => (seconds, "s"),
        60..3600 => (seconds / 60, "min"),
        3600..86_400 => (seconds / 3600, "h"),
        86_400..172_800 => (1, "day"),
        _ => (seconds / 86_400, "days"),
    };
    if ms_ago < 0 { format!("in {number} {unit}") } else { format!("{number} {unit} ago") }
}

/// How far a UTC time is from another; the text itself where it is no time.
pub fn since(utc: &str, now_ms: i64) -> String {
    utc_ms(utc).map_or_else(|| printable(utc), |ms| relative(now_ms - ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_in_their_largest_unit() {
        let now = utc_ms("2026-11-21T08:30:00.0000000").unwrap();
        for (utc, text) in [
            ("2026-11-21T08:30:00.4", "now"),
            ("2026-11-21T08:29:18.0", "42 s ago"),
            ("2026-11-21T08:28:00.0", "2 min ago"),
            ("2026-11-21T09:30:00.0", "in 1 h"),
            ("2026-11-20T08:30:00.0", "1 day ago"),
            ("2026-11-11T08:30:00.0", "10 days ago"),
            ("some\u{202e}day", "some\u{fffd}day"),
        ] {
            assert_eq!(since(utc, now), text, "{utc}");
        }
        assert_eq!(exact("2026-11-21T08:29:18.1234567"), "2026-11-21 08:29:18 UTC");
    }
}
