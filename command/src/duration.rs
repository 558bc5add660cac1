//! Spans of time as people write them.

use std::time::Duration;

/// `250ms`, `30s`, `10m`, `2h`, `7d`; a bare number is seconds.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("write a whole number and ms, s, m, h or d, like 90s".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "write a whole number and ms, s, m, h or d, like 90s".to_owned())?;
    number.checked_mul(factor).map(Duration::from_millis).ok_or_else(|| "that is too long".to_owned())
}

/// The pause between two looks at the figures: from a second to an hour.
pub fn interval(text: &str) -> Result<Duration, String> {
    let interval = parse(text)?;
    let range = Duration::from_secs(1)..=Duration::from_secs(3600);
    if range.contains(&interval) { Ok(interval) } else { Err("from 1s to 1h".to_owned()) }
}

/// The span in milliseconds; at most as many as the library can count.
pub fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_count() {
        for (text, ms) in [("250ms", 250), ("30", 30_000), ("30s", 30_000), ("10m", 600_000), ("2h", 7_200_000)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)));
        }
        for text in ["", "s", "-1s", "1.5h", "1 s", "1w", "99999999999999999d"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
