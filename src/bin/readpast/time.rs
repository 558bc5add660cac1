//! UTC times of this machine's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time so long ago, like `2026-11-21T08:30:00`; `None` before 1970.
pub fn ago(age: Duration) -> Option<String> {
    let since = SystemTime::now().checked_sub(age)?.duration_since(UNIX_EPOCH).ok()?;
    Some(utc(since.as_secs()))
}

/// Seconds since 1970 as a date and a time of day.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March, in cycles of 400: the leap day is then the last day of a year.
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + cycle * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_399, "2000-02-28T23:59:59"),
            (951_782_400, "2000-02-29T00:00:00"),
            (1_709_164_800, "2024-02-29T00:00:00"),
            (1_795_249_530, "2026-11-21T08:25:30"),
            (4_107_542_400, "2100-03-01T00:00:00"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
