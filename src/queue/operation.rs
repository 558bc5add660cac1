//! The identity of a call that changes items. The server keeps it with the change, so that the call can be repeated
//! without doing its work twice, and its outcome be learnt after the answer was lost.

use crate::error::{Error, ErrorKind, Excerpt, Result};
use uuid::Uuid;

/// The identity that the caller gave, checked, or a new one.
pub(super) fn identity(given: Option<&str>) -> Result<String> {
    match given {
        // By time, so that the server's index of them grows at one end.
        None => Ok(Uuid::now_v7().to_string()),
        Some(text) => Uuid::try_parse(text).map(|id| id.to_string()).map_err(|_| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("the operation {} is not a GUID; leave it out, or repeat the one an error gave", Excerpt(text)),
            )
        }),
    }
}

/// Watches the attempts of one call: after a failure that leaves the outcome open, no later failure closes it.
#[derive(Default)]
pub(super) struct Attempts {
    open: bool,
}

impl Attempts {
    /// Takes note of how an attempt went that had reached the server.
    pub(super) fn note<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.open |= match error.kind() {
                // Of a lost connection nobody knows what the server did last.
                ErrorKind::ConnectionLost | ErrorKind::Unavailable | ErrorKind::Protocol => true,
                // There was an answer, and not the memory to read it.
                ErrorKind::Exhausted => true,
                // The driver has given up (HYT00), perhaps while the server committed. When the server itself says that
                // a lock or the statement took too long (1222, 55P03, 57014), it has rolled back.
                ErrorKind::TimedOut => error.sqlstate().is_none_or(|state| state.starts_with("HY")),
                // Refused or, as a deadlock victim, rolled back.
                _ => false,
            };
        }
        result
    }

    /// Whether an attempt has left the outcome open.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// The final result of the call with the identity `operation`.
    pub(super) fn conclude<T>(self, operation: &str, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            if !self.open {
                return error;
            }
            let unknown = Error::new(
                ErrorKind::OutcomeUnknown,
                format!(
                    "the answer was lost and could not be learnt in time; repeat the call with operation {operation}: {}",
                    error.message()
                ),
            );
            let unknown = match error.sqlstate() {
                Some(sqlstate) => unknown.with_codes(sqlstate, error.native_code()),
                None => unknown,
            };
            unknown.with_operation(operation)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(kind: ErrorKind) -> Result<()> {
        Err(Error::new(kind, ""))
    }

    #[test]
    fn a_lost_answer_stays_open_whatever_fails_later() {
        let mut attempts = Attempts::default();
        let _ = attempts.note(failing(ErrorKind::ConnectionLost));
        let last = attempts.note(failing(ErrorKind::Deadlock));
        let error = attempts.conclude("op", last).unwrap_err();
        assert_eq!((error.kind(), error.operation()), (ErrorKind::OutcomeUnknown, Some("op")));
    }

    #[test]
    fn a_rolled_back_attempt_is_not_open() {
        let mut attempts = Attempts::default();
        let last = attempts.note(failing(ErrorKind::Deadlock));
        assert_eq!(attempts.conclude("op", last).unwrap_err().kind(), ErrorKind::Deadlock);
    }

    #[test]
    fn a_time_out_is_open_unless_the_server_itself_tells_of_it() {
        for (sqlstate, is_open) in [("HYT00", true), ("42000", false), ("55P03", false), ("57014", false)] {
            let mut attempts = Attempts::default();
            let _ = attempts.note::<()>(Err(Error::new(ErrorKind::TimedOut, "").with_codes(sqlstate, 1222)));
            assert_eq!(attempts.open, is_open, "{sqlstate}");
        }
    }

    #[test]
    fn identities_are_guids() {
        assert_ne!(identity(None).unwrap(), identity(None).unwrap());
        assert_eq!(
            identity(Some("D6513312-4DCC-4C44-B044-08B98257037C")).unwrap(),
            "d6513312-4dcc-4c44-b044-08b98257037c"
        );
        assert_eq!(identity(Some("x")).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
