//! Changes that an operator makes to items.

use super::given::{Given, refuse};
use super::items::FILTER;
use super::question::{Field, Question, list, number, object, text};
use crate::error::{ErrorKind, Result};
use crate::item::{Answer, Batch, Edit, ItemRef, ItemState, OperatorAction, OperatorVerb as Verb, Outcome};
use crate::queue::{MAX_ITEMS, Moved, Queue, Rebalanced};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The items of a call that finds them itself, by default.
const PAGE: u32 = 500;

/// The rows of the look after a recovery.
const LOOK: u32 = 10_000;

fn refs<'a>(page: &'a Batch) -> Vec<ItemRef<'a>> {
    page.iter().map(ItemRef::from).collect()
}

/// The members that all answers to an action have: how many items were changed, and how many were refused.
fn acted(word: &str, done: i64, refused: i64) -> Value {
    json!({word: done, "refused": refused})
}

/// The answer to an action on `items`, with the outcome of each.
#[must_use]
pub fn steered(verb: Verb, items: &[ItemRef<'_>], outcomes: &[Outcome]) -> Value {
    let mut answer = answer_of(verb.done(), items, outcomes);
    answer["after"] = Value::Null;
    answer
}

/// The same of an edit.
#[must_use]
pub fn edited(items: &[ItemRef<'_>], outcomes: &[Outcome]) -> Value {
    answer_of("edited", items, outcomes)
}

fn answer_of(word: &str, items: &[ItemRef<'_>], outcomes: &[Outcome]) -> Value {
    let (mut states, mut done, mut refused) = (BTreeMap::new(), 0, 0);
    for outcome in outcomes {
        if outcome.answer == Answer::Ok {
            done += 1;
            *states.entry(outcome.state.map_or("gone", ItemState::as_str)).or_insert(0_u64) += 1;
        } else {
            refused += 1;
        }
    }
    let mut answer = acted(word, done, refused);
    answer["states"] = json!(states);
    answer["outcomes"] = items.iter().map(|item| item.key).zip(outcomes).map(outcome).collect();
    answer
}

/// The answer to an action on all items that match: its number is there in place of outcomes.
#[must_use]
pub fn operated(verb: Verb, action: &OperatorAction) -> Value {
    let mut answer = acted(verb.done(), action.done, action.refused);
    answer["operation"] = json!(action.number);
    answer
}

fn outcome((key, of): (&str, &Outcome)) -> Value {
    json!({
        "key": key, "answer": of.answer.as_str(), "state": of.state.map(ItemState::as_str), "attempt": of.attempt,
        "token": of.token,
    })
}

/// Answers a question that changes items.
fn steer(verb: Verb, queue: &Queue, given: &Given<'_>) -> Result<String> {
    let (set, operation) = (given.object("set")?, given.text("operation")?);
    let (items, filter, after) = (given.items()?, given.filter()?, given.text("after")?);
    let max = given.count("max", MAX_ITEMS, PAGE)?;
    let page;
    let (items, next): (Vec<ItemRef<'_>>, _) = match (&items, filter) {
        (Some(items), None) if after.is_none() => (items.iter().map(super::given::GivenItem::as_ref).collect(), None),
        (None, Some(filter)) if operation.is_none() => {
            page = queue.find(&verb.narrow(filter), after.as_deref(), max)?;
            (refs(&page), queue.next_page(&page, max))
        }
        _ => {
            let forms =
                "\"items\", with or without an \"operation\"; or \"filter\", with or without \"after\" and \"max\"";
            return Err(refuse(format!("the items are given in one of two ways: {forms}")));
        }
    };
    let outcomes = queue.act_as(verb, &items, set, operation.as_deref())?;
    let mut answer = steered(verb, &items, &outcomes);
    answer["after"] = json!(next);
    Ok(answer.to_string())
}

/// Arguments of all of them.
const ITEMS: Field = list("items", "the items, up to 1000000, 1000 in a commit").or_none();
const ITEM_KEY: Field = text("items[].key", "an item's key").or_none();
const ITEM_TOKEN: Field =
    text("items[].token", "the token that it had when the caller saw it; with another the item is left alone")
        .or_none();
const OPERATION: Field = text(
    "operation",
    "a UUID, with `items`: a repetition with it changes nothing more and has the same answer, as for `readpast_queue_settle`",
)
.or_none();
const AFTER: Field = text("after", "with `filter`: the `after` of the answer before").or_none();
const MOST: Field = number("max", "with `filter`: 1 to 1000 items; 500 by default").or_none();
const SET: Field = object("set", "values for the items' own columns, written in the same commit").or_none();
const GIVEN: &[Field] = &[ITEMS, ITEM_KEY, ITEM_TOKEN, OPERATION, FILTER.or_none(), AFTER, MOST, SET];
const REDRIVEN: &[Field] = &[ITEMS, ITEM_KEY, ITEM_TOKEN, OPERATION, FILTER.or_none(), AFTER, MOST];

const STEERED: &[Field] = &[
    number("states.*", "the same by the state that they have now"),
    number("refused", "how many were left unchanged"),
    text("outcomes[].key", "each item's key, in their order"),
    text(
        "outcomes[].answer",
        "`OK`, or why it was left unchanged: `CONFLICT`, `ILLEGAL_TRANSITION`, `NOT_FOUND`, and of a redrive `DUPLICATE` (the \
         same work is in the queue again, unfinished)",
    ),
    text("outcomes[].state", "its state then; null when it was not found").or_none(),
    number("outcomes[].attempt", "its attempt then"),
    text("outcomes[].token", "its token then; empty when it was not found"),
];
const NEXT: &[Field] = &[text("after", "with `filter`: the `after` of the next call; null at the end").or_none()];

pub(super) static RETRY: Question = Question {
    name: "retry",
    meaning: "Makes items that wait for their next attempt due now. Their attempts count on.",
    arguments: GIVEN,
    answer: &[&[number("retried", "how many items were changed")], STEERED, NEXT],
    run: |queue, given| steer(Verb::Retry, queue, given),
};

pub(super) static REDRIVE: Question = Question {
    name: "redrive",
    meaning: "Starts items over: Failed, Cancelled, Terminated, PartiallyCompleted, Error and Paused ones become Pending, due now, \
              with all their attempts. Response, error and step stay.",
    arguments: REDRIVEN,
    answer: &[&[number("redriven", "how many items were changed")], STEERED, NEXT],
    run: |queue, given| steer(Verb::Redrive, queue, given),
};

pub(super) static CANCEL: Question = Question {
    name: "cancel",
    meaning: "Cancels items. A worker that holds one loses its lease.",
    arguments: GIVEN,
    answer: &[&[number("cancelled", "how many items were changed")], STEERED, NEXT],
    run: |queue, given| steer(Verb::Cancel, queue, given),
};

pub(super) static PAUSE: Question = Question {
    name: "pause",
    meaning: "Pauses items.",
    arguments: GIVEN,
    answer: &[&[number("paused", "how many items were changed")], STEERED, NEXT],
    run: |queue, given| steer(Verb::Pause, queue, given),
};

pub(super) static RESUME: Question = Question {
    name: "resume",
    meaning: "Makes paused items Pending again.",
    arguments: GIVEN,
    answer: &[&[number("resumed", "how many items were changed")], STEERED, NEXT],
    run: |queue, given| steer(Verb::Resume, queue, given),
};

pub(super) static EDIT: Question = Question {
    name: "edit",
    meaning: "Gives an item that waits (Pending, Error, Paused) other values or another due time, in one commit: no worker has it \
              meanwhile, and it stays in its state. An item that has changed, or that a worker holds, is left alone. Columns by \
              which items are found, grouped or recognized stay as they are; a priority is a column.",
    arguments: &[
        text("key", "the item's key or short number"),
        text("token", "the token that it had when the caller saw it; without one, it may have changed").or_none(),
        SET,
        text("due", "when it is due, a UTC time").or_none(),
        number("delay_ms", "the same in milliseconds from now").or_none(),
        text("operation", "a UUID: a repetition with it changes nothing more and has the same answer").or_none(),
    ],
    answer: &[&[number("edited", "1, or 0 where it was left unchanged")], STEERED],
    run: |queue, given| {
        let (key, token) = (super::items::whole_key(queue, given)?, given.text("token")?);
        let (due, operation) = (given.text("due")?, given.text("operation")?);
        let delay_ms = given.number("delay_ms", 0..=i64::MAX)?;
        let edit = Edit { set: given.object("set")?, delay_ms, due: due.as_deref() };
        let items = [ItemRef { key: &key, token: token.as_deref() }];
        let outcomes = queue.edit(&items, &edit, operation.as_deref())?;
        Ok(edited(&items, &outcomes).to_string())
    },
};

pub(super) static MOVE: Question = Question {
    name: "move",
    meaning: "Moves an item that waits or has failed to another queue of the schema, in one transaction: it is enqueued there with the \
              columns of the same names, its type and, unless it failed, its due time; here it becomes Cancelled, and its response \
              names the new key. A queue that does not take it, since a value is missing or the type is not known, is an error that says so.",
    arguments: &[
        text("key", "the item's key or short number"),
        text("to", "the other queue"),
        text("token", "the token that it had when the caller saw it; without one, the present").or_none(),
        text("operation", "a UUID: a repetition with it moves nothing more and has the same answer").or_none(),
    ],
    answer: &[
        &[number("moved", "1, or 0 where it stayed"), text("new_key", "its key in the other queue").or_none()],
        STEERED,
    ],
    run: |queue, given| {
        let (key, token) = (super::items::whole_key(queue, given)?, given.text("token")?);
        let (to, operation) = (given.needed_text("to")?, given.text("operation")?);
        let item = ItemRef { key: &key, token: token.as_deref() };
        Ok(moved(&item, &queue.move_item(&item, &to, operation.as_deref())?).to_string())
    },
};

/// The answer to a move.
#[must_use]
pub fn moved(item: &ItemRef<'_>, moved: &Moved) -> Value {
    let mut answer = answer_of("moved", &[*item], std::slice::from_ref(&moved.outcome));
    answer["new_key"] = json!(Some(&moved.key).filter(|key| !key.is_empty()));
    answer
}

pub(super) static REBALANCE: Question = Question {
    name: "rebalance",
    meaning: "Moves the items that wait at another place than theirs to their place, after places were added, or before some are removed. Call \
              it again after one that was cut: nothing is lost, and nothing is there twice.",
    arguments: &[list("without", "the names of places that are to run empty").or_none()],
    answer: &[&[
        number("moved", "how many items were moved"),
        number("refused", "how many stay, since they have changed meanwhile or cannot be read"),
        text("reason", "why the first that cannot be read stays").or_none(),
    ]],
    run: |queue, given| {
        let without = given.texts("without")?;
        let without: Vec<_> = without.iter().map(String::as_str).collect();
        Ok(rebalanced(&queue.rebalance(&without)?).to_string())
    },
};

/// The answer to a rebalance.
#[must_use]
pub fn rebalanced(done: &Rebalanced) -> Value {
    json!({"moved": done.moved, "refused": done.kept, "reason": done.reason})
}

pub(super) static PURGE: Question = Question {
    name: "purge",
    meaning: "Deletes finished items. Ask it until it deletes none. When the connection breaks, the call is repeated, and counts \
              only the items that the repetition deleted.",
    arguments: &[
        Field {
            meaning: "as for `find`. Without a status it means Completed, PartiallyCompleted, Cancelled and Terminated items; Failed \
                      ones are deleted only where their status is named, and not for a key",
            ..FILTER.or_none()
        },
        number("max", "1 to 1000 items; 500 by default").or_none(),
    ],
    answer: &[&[number("purged", "how many were deleted")]],
    run: |queue, given| {
        let filter = given.filter()?.unwrap_or_default();
        let purged = queue.purge(&filter, given.count("max", MAX_ITEMS, PAGE)?)?;
        Ok(json!({Verb::Purge.done(): purged}).to_string())
    },
};

pub(super) static RECOVER: Question = Question {
    name: "recover",
    meaning: "Recovers items whose workers died. Claims do this too, now and then: a queue with workers needs no such call.",
    arguments: &[number("max", "1 to 1000 items; 1000 by default").or_none()],
    answer: &[&[
        number("recovered", "how many there were"),
        number("passed_over", "how many leases have run out still, since another session holds their rows").or_none(),
    ]],
    run: |queue, given| {
        let count = queue.recover(given.count("max", MAX_ITEMS, MAX_ITEMS)?)?;
        // The items are recovered, whatever comes of the look.
        Ok(recovered(count.into(), passed_over(queue).ok()).to_string())
    },
};

/// The answer of `recover`.
#[must_use]
pub fn recovered(count: u64, passed_over: Option<i64>) -> Value {
    json!({"recovered": count, "passed_over": passed_over})
}

/// How many items still have a run-out lease, besides those that their table refuses; 0 where this login may not ask.
///
/// # Errors
/// As [`Queue::watch`].
pub fn passed_over(queue: &Queue) -> Result<i64> {
    match queue.watch(LOOK) {
        Ok(watched) => {
            let refused = watched.refused.iter().filter(|refused| refused.reason.starts_with("recover")).count();
            Ok((watched.stats.expired - i64::try_from(refused).unwrap_or(i64::MAX)).max(0))
        }
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => Ok(0),
        Err(error) => Err(error),
    }
}
