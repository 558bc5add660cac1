//! The identity of a call that changes items. The server stores it with the change, so that the call can be repeated without
//! doing its work twice, and its outcome be learnt after the answer was lost.

use super::sessions::{Ask, Sessions, YieldsTo};
use super::terms::CallTerms;
use crate::dialect::Calls;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::item::MAX_ITEMS;
use crate::item::{Answer, Value};
use crate::metrics::CallKind;
use crate::session::{Param, ReadCells};
use uuid::Uuid;

/// The identity of a call.
pub(crate) struct Operation {
    /// The identity that is sent for this part of the call.
    pub(crate) id: String,
    /// The identity under which the caller repeats the whole call.
    pub(crate) of_call: String,
}

impl Operation {
    /// The caller's identity, checked, or a new one; for a part, that of the part numbered `part`. A part's is made of the
    /// whole's and its number, so that a repetition with the same items has the same.
    fn new(dialect: Dialect, given: Option<&str>, part: Option<usize>) -> Result<Self> {
        let call = match given {
            None => by_time(dialect, Uuid::now_v7()),
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
        let of_part = |part: usize| beside(dialect, call, Uuid::new_v5(&call, part.to_string().as_bytes()));
        let id = part.map_or(call, of_part);
        Ok(Self { id: id.to_string(), of_call: call.to_string() })
    }
}

/// A new identity, in the order in which the server's index grows.
pub(crate) fn new_identity(dialect: Dialect) -> String {
    by_time(dialect, Uuid::now_v7()).to_string()
}

impl Operation {
    /// The identity of another call in the same transaction, by a name of it; in a repetition the same.
    pub(crate) fn of_another(&self, dialect: Dialect, name: &str) -> Result<String> {
        let first = Uuid::try_parse(&self.id).map_err(|error| Error::new(ErrorKind::Protocol, error.to_string()))?;
        Ok(beside(dialect, first, Uuid::new_v5(&first, name.as_bytes())).to_string())
    }
}

/// `drawn`, which begins with its time, in the order of time as the server sorts GUIDs, so that its index of them grows at one
/// end. PostgreSQL compares the bytes from the first on; SQL Server looks at the last six first.
fn by_time(dialect: Dialect, drawn: Uuid) -> Uuid {
    if dialect == Dialect::Postgres {
        return drawn;
    }
    let mut bytes = *drawn.as_bytes();
    // The random part comes first, but for the bits of version and variant, which stay in their places.
    let (time, random) = (bytes[..6].to_owned(), bytes[10..].to_owned());
    bytes[..6].copy_from_slice(&random);
    bytes[10..].copy_from_slice(&time);
    // Version 8: its own layout.
    bytes[6] = 0x80 | (bytes[6] & 0x0f);
    Uuid::from_bytes(bytes)
}

/// The identity of `part` next to that of its `call`, where the server sorts by the end.
fn beside(dialect: Dialect, call: Uuid, part: Uuid) -> Uuid {
    if dialect == Dialect::Postgres {
        return part;
    }
    let mut bytes = *part.as_bytes();
    bytes[10..].copy_from_slice(&call.as_bytes()[10..]);
    Uuid::from_bytes(bytes)
}

/// A part of a call: as many items as one transaction takes.
pub(crate) struct CallPart<'a, T> {
    pub(crate) number: usize,
    pub(crate) items: &'a [T],
    pub(crate) is_last: bool,
    pub(crate) operation: Operation,
}

/// Calls `work` for [`MAX_ITEMS`] of `items` after the other; never without items. When a part fails, those before it are done:
/// the error says so, and has the operation under which to repeat the whole call, which skips them; unless no part `commits`.
pub(crate) fn in_parts<T, R>(
    dialect: Dialect,
    items: &[T],
    operation: Option<&str>,
    commits: bool,
    mut work: impl FnMut(CallPart<'_, T>) -> Result<Vec<R>>,
) -> Result<Vec<R>> {
    let whole = Operation::new(dialect, operation, None)?;
    let size = MAX_ITEMS as usize;
    let parts = items.len().div_ceil(size);
    let mut results = Vec::with_capacity(items.len());
    for (number, items) in items.chunks(size).enumerate() {
        let operation = Operation::new(dialect, Some(&whole.of_call), (parts > 1).then_some(number))?;
        let done = work(CallPart { number, items, is_last: number + 1 == parts, operation });
        match done {
            Ok(done) => results.extend(done),
            Err(error) if number == 0 || !commits => return Err(error),
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

/// Whether the table of operations has the call. For one in parts it asks for the first: in a caller's transaction all are done
/// or none.
pub(crate) fn is_done(on: &dyn Sessions, terms: &CallTerms, calls: &Calls, operation: &str) -> Result<bool> {
    let whole = Operation::new(terms.dialect, Some(operation), None)?.id;
    let first_part = Operation::new(terms.dialect, Some(operation), Some(0))?.id;
    for id in [whole, first_part] {
        let params = [Param::Text(&id)];
        let rows = on.ask(CallKind::IsDone, YieldsTo::Closing, |session| {
            session.call(&calls.is_done, &params, ReadCells::Table)
        })?;
        match (!rows.is_empty()).then(|| rows.value(0, 0)) {
            Some(Value::Text(word)) if word.parse() == Ok(Answer::Ok) => return Ok(true),
            Some(Value::Text(word)) if word.parse() == Ok(Answer::NotFound) => {}
            other => {
                let message = format!("the server answered {other:?} when asked for an operation");
                return Err(Error::new(ErrorKind::Protocol, message));
            }
        }
    }
    Ok(false)
}

/// Whether this failure of a try that reached the server leaves open whether the server has done it.
pub(super) fn leaves_open(error: &Error) -> bool {
    match error.kind() {
        // On a lost connection the server's last act is unknown.
        ErrorKind::ConnectionLost | ErrorKind::Unavailable | ErrorKind::Protocol => true,
        // There was an answer, but no memory to read it.
        ErrorKind::Exhausted => true,
        // The driver has given up (HYT00), perhaps while the server committed. When the server itself reports that a lock or the
        // statement took too long (1222, 55P03, 57014), it has rolled back.
        ErrorKind::TimedOut => error.sqlstate().is_none_or(|state| state.starts_with("HY")),
        // Refused or, as a deadlock victim, rolled back.
        _ => false,
    }
}

/// Watches the tries of one call: after a failure that leaves the outcome open, no later failure closes it.
#[derive(Default)]
pub(crate) struct Attempts {
    open: bool,
}

impl Attempts {
    /// Notes the result of a try that reached the server.
    pub(crate) fn note<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.open |= leaves_open(error);
        }
        result
    }

    /// Whether a try has left the outcome open.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// The final result of a call, or of a part of it.
    pub(crate) fn conclude<T>(self, operation: &Operation, result: Result<T>) -> Result<T> {
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
    fn a_time_out_is_open_unless_the_server_itself_reports_it() {
        for (sqlstate, is_open) in [("HYT00", true), ("42000", false), ("55P03", false), ("57014", false)] {
            let mut attempts = Attempts::default();
            let _ = attempts.note::<()>(Err(Error::new(ErrorKind::TimedOut, "").with_codes(sqlstate, 1222)));
            assert_eq!(attempts.open, is_open, "{sqlstate}");
        }
    }

    #[test]
    fn identities_are_guids() {
        let id = |given| Operation::new(Dialect::SqlServer, given, None).map(|operation| operation.id);
        assert_ne!(id(None).unwrap(), id(None).unwrap());
        assert_eq!(id(Some("D6513312-4DCC-4C44-B044-08B98257037C")).unwrap(), "d6513312-4dcc-4c44-b044-08b98257037c");
        assert_eq!(id(Some("x")).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    /// How each server sorts GUIDs.
    fn sorted_as(dialect: Dialect, id: &str) -> Vec<u8> {
        let bytes = *Uuid::try_parse(id).unwrap().as_bytes();
        match dialect {
            Dialect::Postgres => bytes.to_vec(),
            Dialect::SqlServer => {
                let order = [10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0];
                order.map(|at| bytes[at]).to_vec()
            }
        }
    }

    #[test]
    fn identities_come_in_the_order_of_time() {
        for dialect in [Dialect::SqlServer, Dialect::Postgres] {
            let draw = || Operation::new(dialect, None, None).unwrap().id;
            let mut ids: Vec<String> = Vec::new();
            while ids.len() < 20 {
                let last = ids.last().cloned();
                ids.extend(std::iter::repeat_with(draw).find(|id| {
                    // GUIDs of one millisecond have no order.
                    let time = |id: &str| sorted_as(dialect, id)[..6].to_vec();
                    last.as_ref().is_none_or(|last| time(last) != time(id))
                }));
            }
            assert!(ids.is_sorted_by_key(|id| sorted_as(dialect, id)), "{dialect:?}: {ids:?}");
            let part = Operation::new(dialect, Some(&ids[3]), Some(7)).unwrap().id;
            assert_ne!(part, ids[3]);
            if dialect == Dialect::SqlServer {
                assert_eq!(sorted_as(dialect, &part)[..6], sorted_as(dialect, &ids[3])[..6], "beside its call");
            }
        }
        let many: std::collections::BTreeSet<_> =
            (0..10_000).map(|_| Operation::new(Dialect::SqlServer, None, None).unwrap().id).collect();
        assert_eq!(many.len(), 10_000);
    }

    const GIVEN: &str = "d6513312-4dcc-4c44-b044-08b98257037c";

    /// The identities of the parts of a call of so many items.
    fn sent(items: usize) -> Vec<String> {
        let mut sent = Vec::new();
        let done = in_parts(Dialect::SqlServer, &vec![(); items], Some(GIVEN), true, |part| {
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
            in_parts(Dialect::SqlServer, &[(); 2500], Some(GIVEN), true, |part| {
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
