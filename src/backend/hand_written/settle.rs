//! Settles: a call of `Modify_` for each item, without a common transaction.

use super::fence::{CallResult, FenceAnswer, check_fence};
use super::known::{Done, HandWritten};
use super::results::{SeenItem, params, raised_by_procedure, returned};
use crate::backend::unsupported::unsupported;
use crate::calls::{Ask, Attempts, CallTerms, Operation, Sessions, YieldsTo};
use crate::catalog::{Meaning, flag};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Answer, Outcome, Settlement, Value};
use crate::metrics::CallKind;
use crate::session::{Param, Session};

/// Settles items one after the other. When one fails, those before it are done: with the operation of the error, a
/// repetition through this handle goes on from there.
pub(super) fn settle(
    theirs: &HandWritten,
    on: &dyn Sessions,
    terms: &CallTerms,
    settlements: &[Settlement<'_>],
    operation: &Operation,
) -> Result<Vec<Outcome>> {
    for (i, settlement) in settlements.iter().enumerate() {
        check(theirs, settlement).map_err(|error| error.in_context(format!("item {i}")))?;
    }
    let mut outcomes = match theirs.recall(&operation.id) {
        Some(Done::Settled(outcomes)) if outcomes.len() <= settlements.len() => outcomes,
        _ => Vec::new(),
    };
    while let Some(settlement) = settlements.get(outcomes.len()) {
        match one(theirs, on, terms, settlement, operation) {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                let place = outcomes.len();
                if settlements.len() == 1 {
                    return Err(error);
                }
                theirs.remember(&operation.id, Done::Settled(outcomes));
                let context = format!(
                    "item {place} of {}; those before it are settled, and repeating the call with operation {} goes on from \
                     there",
                    settlements.len(),
                    operation.of_call
                );
                return Err(error.in_context(context).with_operation(&operation.of_call));
            }
        }
    }
    Ok(outcomes)
}

/// Refuses values for which the procedure has no parameter: they would be lost.
fn check(theirs: &HandWritten, settlement: &Settlement<'_>) -> Result<()> {
    let modify = &theirs.shape.modify;
    let given = [
        ("a step", settlement.step.is_some(), Meaning::Step),
        ("a response", settlement.response.is_some(), Meaning::Response),
        ("an error", settlement.error.is_some(), Meaning::Error),
        ("a due time", settlement.delay_ms.is_some() || settlement.due.is_some(), Meaning::Due),
    ];
    match given.iter().find(|(_, is_given, meaning)| *is_given && !modify.takes(*meaning)) {
        Some((what, ..)) => {
            Err(unsupported(&format!("take {what}"), &format!("{} has no parameter for it", modify.procedure.name)))
        }
        None => Ok(()),
    }
}

fn one(
    theirs: &HandWritten,
    on: &dyn Sessions,
    terms: &CallTerms,
    settlement: &Settlement<'_>,
    operation: &Operation,
) -> Result<Outcome> {
    let mut attempts = Attempts::default();
    let mut token = settlement.token.map(str::to_owned);
    let result = on.ask(CallKind::Settle, YieldsTo::Closing, |session| {
        // An operator's call without a token means the present version.
        let sent = match &token {
            Some(token) => token.clone(),
            None => match seen(theirs, session, settlement.key)? {
                Some(seen) => token.insert(seen.token).clone(),
                None => return Ok(not_found()),
            },
        };
        let called = match call(theirs, terms, session, settlement, &sent) {
            Err(error) if raised_by_procedure(theirs.dialect, &error) => Ok((CallResult::Refused, None, Some(error))),
            other => other,
        };
        let (result, fits, refusal) = attempts.note(called)?;
        let seen = seen(theirs, session, settlement.key)?;
        // The procedure raised an error instead of answering whether the token fits: it does if it is still the item's.
        let fits = fits.or_else(|| refusal.as_ref().and(seen.as_ref()).map(|seen| seen.token == sent));
        let verdict = check_fence(settlement, &sent, result, fits, attempts.is_open(), seen.as_ref());
        let answer = match verdict {
            FenceAnswer::Is(answer) => answer,
            FenceAnswer::Failed => return Err(failed(theirs, refusal)),
            FenceAnswer::Unknown => {
                let message = format!(
                    "the answer was lost, and the item does not show whether this call did {}",
                    theirs.shape.modify.procedure.name
                );
                return Err(Error::new(ErrorKind::OutcomeUnknown, message).with_operation(&operation.of_call));
            }
        };
        Ok(match seen {
            Some(seen) => Outcome { answer, state: seen.state, token: seen.token, attempt: seen.attempt },
            None if answer == Answer::Ok => {
                let state = Some(settlement.action.target());
                Outcome { answer, state, token: String::new(), attempt: settlement.attempt }
            }
            None => not_found(),
        })
    });
    attempts.conclude(operation, result)
}

fn not_found() -> Outcome {
    Outcome { answer: Answer::NotFound, state: None, token: String::new(), attempt: 0 }
}

/// Calls `Modify_`: returns its result, whether the token was the item's before, and the error it raised.
fn call(
    theirs: &HandWritten,
    terms: &CallTerms,
    session: &mut Session,
    settlement: &Settlement<'_>,
    token: &str,
) -> Result<(CallResult, Option<bool>, Option<Error>)> {
    let status = settlement.action.target().as_str();
    let lease_ms = terms.described_lease_ms().to_string();
    let delay_ms = settlement.delay_ms.map(|ms| ms.to_string());
    let value = |meaning| match meaning {
        Meaning::Key => Some(settlement.key),
        Meaning::Token => Some(token),
        Meaning::Status => Some(status),
        Meaning::Step => settlement.step,
        Meaning::Response => settlement.response,
        Meaning::Error => settlement.error,
        Meaning::Worker => Some(terms.worker.as_str()),
        Meaning::LeaseMs => Some(lease_ms.as_str()),
        Meaning::Due | Meaning::Type | Meaning::Column(_) => None,
    };
    let due = (delay_ms.as_deref(), settlement.due.map(|due| due.trim_end_matches(['Z', 'z'])));
    let mut all = Vec::new();
    if theirs.dialect == Dialect::Postgres {
        all.extend([Param::Text(token), Param::Text(settlement.key)]);
    }
    all.extend(params(&theirs.shape.modify.arguments, theirs.dialect, value, due));
    let results = session.results(&theirs.modify, &all)?;
    let fits = results.first().filter(|rows| rows.value(0, 0) != Value::Null).map(|rows| flag(rows, 0, 0));
    let result = if returned(theirs.dialect, &results) == 0 { CallResult::Done } else { CallResult::Refused };
    Ok((result, fits, None))
}

/// The item as the view shows it.
fn seen(theirs: &HandWritten, session: &mut Session, key: &str) -> Result<Option<SeenItem>> {
    let rows = theirs.look(session, &[key])?;
    Ok((!rows.is_empty()).then(|| SeenItem::read(&theirs.shape, &rows, 0)))
}

fn failed(theirs: &HandWritten, refusal: Option<Error>) -> Error {
    let name = &theirs.shape.modify.procedure.name;
    match refusal {
        // Its number means something only in readpast's own procedures.
        Some(error) => Error::new(ErrorKind::Database, format!("{name} refused the item: {}", error.message()))
            .with_codes(error.sqlstate().unwrap_or_default(), error.native_code()),
        None => Error::new(ErrorKind::Database, format!("{name} changed nothing, without a reason")),
    }
}
