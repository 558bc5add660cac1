//! Reads the answer columns that every procedure returns.

use crate::error::{Error, ErrorKind, Result};
use crate::item::{Action, Answer, ItemState, Outcome, Rows, Settlement, Value, answer_column};

/// The answer column of `row`.
pub(super) fn word(rows: &Rows, row: usize) -> &str {
    text(rows, row, answer_column::ANSWER)
}

/// The time until the next item is due, in an EMPTY row.
pub(super) fn due_ms(rows: &Rows, row: usize) -> Option<u64> {
    match rows.value(row, answer_column::DUE_MS) {
        Value::Integer(ms) => Some(u64::try_from(ms).unwrap_or(0)),
        _ => None,
    }
}

/// The text of an answer column, empty where it is NULL.
pub(super) fn text(rows: &Rows, row: usize, column: usize) -> &str {
    match rows.value(row, column) {
        Value::Text(text) => text,
        // Keys of other types than time.
        _ => "",
    }
}

/// The outcomes of `settlements`, from the first rows.
pub(super) fn outcomes_of(rows: &Rows, settlements: &[Settlement<'_>]) -> Result<Vec<Outcome>> {
    let outcomes = outcomes(rows, settlements.len())?;
    Ok(settlements.iter().zip(outcomes).map(|(settlement, outcome)| of_this_call(settlement, outcome)).collect())
}

/// The outcome of `settlement`. A repeated call reads the present state of its items, which the next claim or an operator may
/// have changed since: then state and token belong to that change.
fn of_this_call(settlement: &Settlement<'_>, outcome: Outcome) -> Outcome {
    if outcome.answer != Answer::Ok {
        return outcome;
    }
    let asked = settlement.action.target();
    let can_come_of_it = match outcome.state {
        Some(state) if state == asked => true,
        // The attempts were spent.
        Some(ItemState::Failed) => asked != ItemState::Completed,
        // Put off in a table that has no due time.
        Some(ItemState::Error) => asked == ItemState::Pending,
        _ => false,
    };
    let is_kept = settlement.action != Action::Step || settlement.attempt == 0 || outcome.attempt == settlement.attempt;
    match (can_come_of_it && is_kept, settlement.action) {
        (true, _) => outcome,
        // It was recorded, and the claim has been lost since.
        (false, Action::Step) if settlement.attempt > 0 => Outcome { answer: Answer::LeaseLost, ..outcome },
        (false, _) => Outcome { state: Some(asked), token: String::new(), ..outcome },
    }
}

/// The outcomes of the first `count` rows, each in its place.
pub(super) fn outcomes(rows: &Rows, count: usize) -> Result<Vec<Outcome>> {
    (0..count).map(|row| outcome(rows, row, row, count)).collect()
}

/// The outcomes of `settlements`, and how many of them have a row: the first, and all others that were refused or are not
/// Completed now. It need not be the action's state: a repeated call may find that another worker has completed an item that it
/// released.
pub(super) fn outcomes_of_others(rows: &Rows, settlements: &[Settlement<'_>]) -> Result<(Vec<Outcome>, usize)> {
    let mut row = 0;
    let outcomes = settlements.iter().enumerate().map(|(i, settlement)| {
        if row == 0 || is_of(rows, row, i) {
            row += 1;
            return Ok(of_this_call(settlement, outcome(rows, row - 1, i, settlements.len())?));
        }
        let state = Some(ItemState::Completed);
        let completed = Outcome { answer: Answer::Ok, state, token: String::new(), attempt: settlement.attempt };
        Ok(of_this_call(settlement, completed))
    });
    Ok((outcomes.collect::<Result<_>>()?, row))
}

fn is_of(rows: &Rows, row: usize, item: usize) -> bool {
    row < rows.len() && rows.value(row, answer_column::ORDINAL) == Value::Integer(item as i64)
}

/// The outcome in `row` of item `item`, out of so many.
fn outcome(rows: &Rows, row: usize, item: usize, count: usize) -> Result<Outcome> {
    let answer_text = if row < rows.len() { word(rows, row) } else { "" };
    let answer = answer_text.parse::<Answer>().ok().filter(|_| is_of(rows, row, item));
    let answer = answer.ok_or_else(|| {
        let message = format!("the server's answer for item {item} of {count} is {answer_text:?}, out of place");
        Error::new(ErrorKind::Protocol, message)
    })?;
    let attempt = match rows.value(row, answer_column::ATTEMPT) {
        Value::Integer(attempt) => i32::try_from(attempt).unwrap_or(0),
        _ => 0,
    };
    Ok(Outcome {
        answer,
        state: text(rows, row, answer_column::STATUS).parse().ok(),
        token: text(rows, row, answer_column::TOKEN).to_owned(),
        attempt,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{Cell, Column, ColumnType};

    /// Rows of a server: answers with their ordinals and states; a claimed item has no ordinal.
    fn rows(answers: &[(&str, Option<i64>, &str)]) -> Rows {
        let columns = (0..answer_column::COUNT).map(|_| Column { name: String::new(), kind: ColumnType::Text });
        let mut rows = Rows::new(columns.collect());
        for (answer, ordinal, state) in answers {
            for column in 0..answer_column::COUNT {
                match column {
                    answer_column::ANSWER => rows.push_text(|text| text.push_str(answer)),
                    answer_column::ORDINAL => rows.push(ordinal.map_or(Cell::Null, Cell::Integer)),
                    answer_column::STATUS => rows.push_text(|text| text.push_str(state)),
                    answer_column::TOKEN => rows.push_text(|text| text.push_str("new")),
                    answer_column::ATTEMPT => rows.push(Cell::Integer(3)),
                    _ => rows.push(Cell::Null),
                }
            }
        }
        rows
    }

    fn asked(actions: &[Action]) -> Vec<Settlement<'static>> {
        let one = |action| Settlement { attempt: 2, ..Settlement::control("k", Some("t"), action) };
        actions.iter().copied().map(one).collect()
    }

    #[test]
    fn items_without_a_row_are_completed() {
        let answers =
            [("OK", Some(0), "Completed"), ("LEASE_LOST", Some(2), "Pending"), ("CLAIMED", None, "Processing")];
        let actions = [Action::Complete, Action::Complete, Action::Complete, Action::Retry];
        let (outcomes, read) = outcomes_of_others(&rows(&answers), &asked(&actions)).unwrap();
        assert_eq!(read, 2);
        let answers: Vec<_> =
            outcomes.iter().map(|one| (one.answer, one.state, one.attempt, one.token.as_str())).collect();
        let completed = (Answer::Ok, Some(ItemState::Completed), 2, "");
        assert_eq!(
            answers,
            [
                (Answer::Ok, Some(ItemState::Completed), 3, "new"),
                completed,
                (Answer::LeaseLost, Some(ItemState::Pending), 3, "new"),
                // Another worker has completed an item that the repeated call released.
                (Answer::Ok, Some(ItemState::Error), 2, ""),
            ]
        );
    }

    #[test]
    fn later_changes_are_no_outcome_of_this_call() {
        use ItemState::{Cancelled, Completed, Error, Failed, Pending, Processing};
        let outcome_of = |action, state: &str| {
            let outcomes = outcomes_of(&rows(&[("OK", Some(0), state)]), &asked(&[action])).unwrap();
            (outcomes[0].answer, outcomes[0].state, outcomes[0].token.is_empty())
        };
        let ok = |state, is_anothers| (Answer::Ok, Some(state), is_anothers);
        for (action, state, expected) in [
            (Action::Complete, "Completed", ok(Completed, false)),
            (Action::Complete, "Processing", ok(Completed, true)),
            (Action::Complete, "Failed", ok(Completed, true)),
            (Action::Complete, "", ok(Completed, true)),
            (Action::Retry, "Error", ok(Error, false)),
            (Action::Retry, "Failed", ok(Failed, false)),
            (Action::Retry, "Processing", ok(Error, true)),
            (Action::Release, "Pending", ok(Pending, false)),
            (Action::Release, "Error", ok(Error, false)),
            (Action::Release, "Completed", ok(Pending, true)),
            (Action::Cancel, "Pending", ok(Cancelled, true)),
            // The row of a step at attempt 2 is of attempt 3.
            (Action::Step, "Processing", (Answer::LeaseLost, Some(Processing), false)),
            (Action::Step, "Error", (Answer::LeaseLost, Some(Error), false)),
        ] {
            assert_eq!(outcome_of(action, state), expected, "{action:?} {state}");
        }
    }

    #[test]
    fn no_row_of_the_first_is_no_answer_and_an_unknown_word_is_none() {
        for answers in [
            &[][..],
            &[("CLAIMED", None, "Processing")],
            &[("EMPTY", None, "")],
            &[("OK", Some(1), "Completed")],
            &[("GONE", Some(0), "")],
            &[("OK", Some(0), "Completed"), ("GONE", Some(1), "")],
        ] {
            let error = outcomes_of_others(&rows(answers), &asked(&[Action::Complete; 2])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{answers:?}");
        }
        assert_eq!(outcomes(&rows(&[("OK", Some(0), "Completed")]), 2).unwrap_err().kind(), ErrorKind::Protocol);
    }
}
