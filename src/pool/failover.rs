//! Decides whether a refused log-in may be part of a failover.

use crate::error::{Error, ErrorKind};
use std::time::{Duration, Instant};

/// How long after the last sign of a failover a refused log-in still counts as part of it. A database that recovers from a crash
/// refuses log-ins for minutes.
const LASTS: Duration = Duration::from_secs(600);

/// While a database moves or recovers, the server may not know the user or the database yet and refuse log-ins for good (18456,
/// 4060). After a lost connection that counts as transient. When a queue is opened, or while its connections work, it counts as
/// final, and is not repeated: that could lock the user out.
#[derive(Default)]
pub(super) struct Failover {
    /// When a connection was lost, or the server last reported that it is not ready, unless a log-in has succeeded since.
    last_sign: Option<Instant>,
}

impl Failover {
    /// A connection was lost.
    pub(super) fn begins(&mut self, now: Instant) {
        self.last_sign = Some(now);
    }

    /// A log-in succeeded.
    pub(super) fn is_over(&mut self) {
        self.last_sign = None;
    }

    /// Classifies a failed log-in.
    pub(super) fn not_let_in(&mut self, error: Error, now: Instant) -> Error {
        let Some(last_sign) = self.last_sign else { return error };
        let refused = matches!(error.kind(), ErrorKind::Authentication | ErrorKind::DatabaseMissing);
        if !refused {
            if error.kind().is_transient() {
                self.last_sign = Some(now);
            }
            return error;
        }
        if now.duration_since(last_sign) > LASTS {
            return error;
        }
        let message = format!("a connection was lost, and the server refuses new ones: {}", error.message());
        let (sqlstate, native_code) = (error.sqlstate().unwrap_or_default(), error.native_code());
        Error::new(ErrorKind::Unavailable, message).with_codes(sqlstate, native_code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal() -> Error {
        Error::new(ErrorKind::Authentication, "Login failed").with_codes("28000", 18456)
    }

    #[test]
    fn a_refusal_passes_while_the_server_comes_back() {
        let begun = Instant::now();
        let minute = Duration::from_secs(60);
        let mut failover = Failover::default();
        assert_eq!(failover.not_let_in(refusal(), begun).kind(), ErrorKind::Authentication, "nothing was lost");

        failover.begins(begun);
        let error = failover.not_let_in(refusal(), begun + 9 * minute);
        assert_eq!((error.kind(), error.native_code()), (ErrorKind::Unavailable, 18456));
        assert!(error.message().contains("a connection was lost") && error.message().contains("Login failed"));

        // The server is unreachable for an hour, then in recovery.
        let unreachable = Error::new(ErrorKind::Unreachable, "");
        assert_eq!(failover.not_let_in(unreachable, begun + 60 * minute).kind(), ErrorKind::Unreachable);
        assert_eq!(failover.not_let_in(refusal(), begun + 69 * minute).kind(), ErrorKind::Unavailable);
        assert_eq!(failover.not_let_in(refusal(), begun + 71 * minute).kind(), ErrorKind::Authentication);

        failover.begins(begun);
        failover.is_over();
        assert_eq!(failover.not_let_in(refusal(), begun).kind(), ErrorKind::Authentication, "a log-in succeeded");
    }

    #[test]
    fn other_failures_stay_what_they_are() {
        let mut failover = Failover::default();
        failover.begins(Instant::now());
        for kind in [ErrorKind::Encryption, ErrorKind::DriverMissing, ErrorKind::Busy] {
            assert_eq!(failover.not_let_in(Error::new(kind, ""), Instant::now()).kind(), kind);
        }
    }
}
