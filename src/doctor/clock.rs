//! Checks the clocks. Leases use only the server's; times of callers and of logs are compared with it.

use super::{Examined, Finding};
use crate::catalog::number;
use crate::error::Result;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The least difference that is reported, in milliseconds.
const MOST_SKEW_MS: i64 = 2_000;

pub(super) fn check(examined: &mut Examined) -> Result<()> {
    let query = examined.session.dialect().query("ask/clock")?;
    let asked = Instant::now();
    let rows = examined.session.execute(&query, &[])?;
    // Time that passes here makes the answer less sure, but not wrong.
    let client_ms = SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|t| i64::try_from(t.as_millis()).ok());
    let trip_ms = i64::try_from(asked.elapsed().as_millis()).unwrap_or(i64::MAX);
    let (Some(server_ms), Some(client_ms)) = (number(&rows, 0, 0), client_ms) else { return Ok(()) };
    examined.findings.push(skew(server_ms - client_ms, trip_ms));
    Ok(())
}

/// The finding for a server's clock that was `ahead_ms` ahead when the answer arrived, after a round trip of `trip_ms`.
fn skew(ahead_ms: i64, trip_ms: i64) -> Finding {
    // The server read its clock at some moment of the round trip.
    let sure = (ahead_ms.abs() - trip_ms).max(0);
    if sure <= MOST_SKEW_MS {
        return Finding::ok(
            "clock",
            "server",
            format!("agrees with this machine's clock ({ahead_ms} ms, within {trip_ms} ms)"),
        );
    }
    let way = if ahead_ms > 0 { "ahead of" } else { "behind" };
    let what = format!(
        "is {} ms {way} this machine's clock. Leases and delays go by the server's clock alone; a due time that a caller \
         gives is read by that clock too, and so comes early or late by as much",
        ahead_ms.abs()
    );
    Finding::warning("clock", "server", what, "synchronize both clocks (NTP), or give delays instead of due times")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;

    #[test]
    fn a_slow_round_trip_is_no_skew() {
        assert_eq!(skew(2_500, 1_000).severity, Severity::Ok);
        assert_eq!(skew(-2_001, 0).severity, Severity::Warning);
        assert!(skew(-90_000, 5).what.contains("90000 ms behind"));
        assert!(skew(90_000, 5).what.contains("ahead of"));
    }
}
