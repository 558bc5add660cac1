//! The identity of a call that changes items. The server keeps it with the change, so that the call can be repeated
//! without doing its work twice, and its outcome be learnt after the answer was lost.

use super::MAX_ITEMS;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use uuid::Uuid;

/// What a call is recognized by.
pub(super) struct Operation {
    /// What the server is sent, for this part of the call.
    pub(super) id: String,
    /// What the caller repeats the whole call with.
    pub(super) of_call: String,
}

impl Operation {
    /// The identity that the caller gave, checked, or a new one; and of it that of the part numbered `part`, if the call goes
    /// out in parts. A part's is made of the whole's and its number, so that a repetition with the same items has the same.
    fn new(dialect: Dialect, given: Option<&str>, part: Option<usize>) -> Result<Self> {
        let call = match given {
            None => growing(dialect, Uuid::now_v7()),
            Some(text) => Uuid::try_parse(text).map_err(|_| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    format!(
                        "the operation {} is not a GUID; leave it out, or repeat the one an error gave",
                        Excerpt(text)
                    ),
                )
            })?,
        };
        let id = part.map_or(call, |part| Uuid::new_v5(&call, part.to_string().as_bytes()));
        Ok(Self { id: id.to_string(), of_call: call.to_string() })
    }
}

/// A new identity with its time where the server's index looks first, so that it grows at one end. PostgreSQL compares from the
/// left, as `by_time` is made; SQL Server the last six bytes first, then the two before them, and so on to the left.
fn growing(dialect: Dialect, by_time: Uuid) -> Uuid {
    match dialect {
        Dialect::Postgres => by_time,
        Dialect::SqlServer => {
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = by_time.into_bytes();
            Uuid::from_bytes([m, n, o, p, k, l, i, j, g, h, a, b, c, d, e, f])
        }
    }
}

/// A part of a call: as many items as one transaction takes.
pub(super) struct Part<'a, T> {
    pub(super) number: usize,
    pub(super) items: &'a [T],
    pub(super) is_last: bool,
    pub(super) operation: Operation,
}

/// Does `work` for [`MAX_ITEMS`] of `items` after the other; of none it is not called. When a part fails, those before it are
/// done: the error says so, and has the operation with which the whole call is repeated, which does them no second time.
pub(super) fn in_parts<T, R>(
    dialect: Dialect,
    items: &[T],
    operation: Option<&str>,
    mut work: impl FnMut(Part<'_, T>) -> Result<Vec<R>>,
) -> Result<Vec<R>> {
    let whole = Operation::new(dialect, operation, None)?;
    let size = MAX_ITEMS as usize;
    let parts = items.len().div_ceil(size);
    let mut results = Vec::with_capacity(items.len());
    for (number, items) in items.chunks(size).enumerate() {
        let operation = Operation::new(dialect, Some(&whole.of_call), (parts > 1).then_some(number))?;
        let done = work(Part { number, items, is_last: number + 1 == parts, operation });
        match done {
            Ok(done) => results.extend(done),
            Err(error) if number == 0 => return Err(error),
            Err(error) => {
                let (done, call) = (number * size, &whole.of_call);
                let context =
                    format!("the first {done} items are done; repeat the call with operation {call} to go on");
                return Err(error.in_context(context).with_operation(call));
            }
        }
    }
    Ok(results)
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
                // Of a lost connection nobody knows what the server did last; and one that is short of memory may be so when
                // it has committed, and reads the answers.
                ErrorKind::ConnectionLost | ErrorKind::Unavailable | ErrorKind::Busy | ErrorKind::Protocol => true,
                // There was an answer, and not the memory to read it.
                ErrorKind::Exhausted => true,
                // The driver has given up (HYT00), perhaps while the server committed. When the server itself says that
                // a lock or the statement took too long (1222 in whatever state a driver puts it, 55P03, 57014), it has
                // rolled back.
                ErrorKind::TimedOut => {
                    error.native_code() != 1222 && error.sqlstate().is_none_or(|state| state.starts_with("HY"))
                }
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

    /// The final result of a call, or of a part of it.
    pub(super) fn conclude<T>(self, operation: &Operation, result: Result<T>) -> Result<T> {
        let operation = &operation.of_call;
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

    fn op() -> Operation {
        Operation { id: "part".to_owned(), of_call: "op".to_owned() }
    }

    fn failing(kind: ErrorKind) -> Result<()> {
        Err(Error::new(kind, ""))
    }

    #[test]
    fn a_lost_answer_stays_open_whatever_fails_later() {
        let mut attempts = Attempts::default();
        let _ = attempts.note(failing(ErrorKind::ConnectionLost));
        let last = attempts.note(failing(ErrorKind::Deadlock));
        let error = attempts.conclude(&op(), last).unwrap_err();
        assert_eq!((error.kind(), error.operation()), (ErrorKind::OutcomeUnknown, Some("op")));
    }

    #[test]
    fn a_rolled_back_attempt_is_not_open() {
        let mut attempts = Attempts::default();
        let last = attempts.note(failing(ErrorKind::Deadlock));
        assert_eq!(attempts.conclude(&op(), last).unwrap_err().kind(), ErrorKind::Deadlock);
    }

    #[test]
    fn a_time_out_is_open_unless_the_server_itself_tells_of_it() {
        for (sqlstate, native_code, is_open) in [
            ("HYT00", 0, true),
            ("HYT00", 1222, false),
            ("42000", 1222, false),
            ("55P03", 7, false),
            ("57014", 7, false),
        ] {
            let mut attempts = Attempts::default();
            let _ = attempts.note::<()>(Err(Error::new(ErrorKind::TimedOut, "").with_codes(sqlstate, native_code)));
            assert_eq!(attempts.open, is_open, "{sqlstate} {native_code}");
        }
    }

    /// SQL Server's order of `uniqueidentifier`, as .NET's `SqlGuid` documents it: these bytes first.
    fn in_sql_server(id: Uuid) -> [u8; 8] {
        let [.., i, j, a, b, c, d, e, f] = id.into_bytes();
        [a, b, c, d, e, f, i, j]
    }

    #[test]
    fn new_identities_stand_at_the_end_of_the_servers_index() {
        // A second apart: what is left of them is at random.
        let at = |second| Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, second, 0));
        let ids: Vec<_> = (1_800_000_000..1_800_001_000).map(at).collect();
        let of = |dialect| -> Vec<_> { ids.iter().map(|id| growing(dialect, *id)).collect() };
        assert!(of(Dialect::Postgres).is_sorted());
        let of_sql_server = of(Dialect::SqlServer);
        assert!(of_sql_server.iter().map(|id| in_sql_server(*id)).is_sorted());
        assert!(!ids.iter().map(|id| in_sql_server(*id)).is_sorted(), "as they are made they would not");
        let distinct: std::collections::BTreeSet<_> = of_sql_server.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }

    #[test]
    fn identities_are_guids() {
        let id = |given| Operation::new(Dialect::SqlServer, given, None).map(|operation| operation.id);
        assert_ne!(id(None).unwrap(), id(None).unwrap());
        assert_eq!(id(Some("D6513312-4DCC-4C44-B044-08B98257037C")).unwrap(), "d6513312-4dcc-4c44-b044-08b98257037c");
        assert_eq!(id(Some("x")).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    const GIVEN: &str = "d6513312-4dcc-4c44-b044-08b98257037c";

    /// The identities that a call of so many items goes out with.
    fn sent(items: usize) -> Vec<String> {
        let mut sent = Vec::new();
        let done = in_parts(Dialect::SqlServer, &vec![(); items], Some(GIVEN), |part| {
            assert!(part.items.len() <= 1000 && part.is_last == (part.number == items.saturating_sub(1) / 1000));
            sent.push(part.operation.id);
            Ok(part.items.to_vec())
        });
        assert_eq!(done.unwrap().len(), items);
        sent
    }

    #[test]
    fn a_part_has_an_identity_that_a_repetition_has_too() {
        assert!(sent(0).is_empty(), "nothing is sent of nothing");
        assert_eq!((sent(1), sent(1000)), (vec![GIVEN.to_owned()], vec![GIVEN.to_owned()]));
        let parts = sent(2001);
        assert_eq!((parts.len(), &parts), (3, &sent(2001)));
        assert!(parts[0] != parts[1] && parts[1] != parts[2] && !parts.contains(&GIVEN.to_owned()));
    }

    #[test]
    fn after_a_part_that_failed_the_call_is_repeated_as_a_whole() {
        let fail_at = |at| {
            in_parts(Dialect::SqlServer, &[(); 2500], Some(GIVEN), |part| {
                if part.number == at {
                    failing(ErrorKind::Deadlock)?
                }
                Ok(part.items.to_vec())
            })
            .unwrap_err()
        };
        assert_eq!(fail_at(0).operation(), None, "nothing was done");
        let error = fail_at(2);
        assert_eq!((error.kind(), error.operation()), (ErrorKind::Deadlock, Some(GIVEN)));
        assert!(error.message().contains("the first 2000 items are done"), "{error}");
    }
}
