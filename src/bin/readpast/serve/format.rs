//! Figures, times and other people's text as a page shows them. The JSON of a page has the values as they are.

use readpast::item::{span_text, utc_ms};

/// `12,345`, and `10,000+` where it was not counted to the end.
pub fn count(value: i64, capped: bool) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::from(if value < 0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if capped { out + "+" } else { out }
}

/// A span of time, or a dash where there is none.
pub fn span(ms: Option<i64>) -> String {
    ms.map_or_else(|| "–".to_owned(), span_text)
}

/// Other people's text: characters that turn text around or are invisible are replaced by a visible mark.
pub fn plain(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace("\r\n", "\n").chars().map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// A UTC time to the second: `2026-11-21 08:30:00 UTC`.
pub fn exact(utc: &str) -> String {
    format!("{} UTC", plain(utc.get(..19).unwrap_or(utc)).replace('T', " "))
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
    utc_ms(utc).map_or_else(|| plain(utc), |ms| relative(now_ms - ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000")] {
            assert_eq!(count(value, false), text);
        }
        assert_eq!(count(10_000, true), "10,000+");
    }

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
