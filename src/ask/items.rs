//! Items, as they are and why they wait.

use super::given::Given;
use super::question::{Field, Question, boolean, number, object, text};
use crate::description::QueueSpec;
use crate::error::{ErrorKind, Result};
use crate::item::{Attempt, Batch, Item, ItemRef, ItemState, Progress, Wait, Why};
use crate::queue::{MAX_ITEMS, Queue};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The items of a page, by default.
const PAGE: u32 = 100;

pub(super) const FILTER: Field = object(
    "filter",
    "each member narrows the choice: `keys`, `status` and `types` (arrays of text), `before` and `after` (UTC times, of the last \
     change), `error` (a part of its text, case-sensitive, without wildcards), `longer_ms` (the last attempt took more \
     milliseconds, or the item has been Processing for more) and `columns` (an object of values that the item's own columns have; \
     `Payload.id` is a member of the JSON in the column `Payload`, compared as it is written)",
);

const KEY: &[Field] = &[text("key", "the item's key or short number")];

const WHY_MEMBERS: &[Field] = &[
    text(
        "why.reason",
        "`due_later`, `held`, `lease_ran_out`, `refused`, `queue_paused`, `paused`, `finished`, `blocked`, `after`, \
         `limited` or `waiting`",
    ),
    text("why.text", "a sentence for a person"),
];

pub(super) static FIND: Question = Question {
    name: "find",
    meaning: "Items in the order of their keys. It claims and changes nothing.",
    arguments: &[
        FILTER.or_none(),
        text("after", "the last key of the page before").or_none(),
        number("max", "1 to 1000 items; 100 by default").or_none(),
    ],
    answer: &[&[
        text("items[].key", "the item's key"),
        text("items[].short_number", "its short number, where its key is a time").or_none(),
        text("items[].status", "its state"),
        number("items[].attempt", "its attempt"),
        text(
            "items[].token",
            "its token, to change exactly this version of it; null where a described table has none yet",
        )
        .or_none(),
        number(
            "items[].progress.percent",
            "how far it is, from 0 to 100, while it is Processing and where its handler has reported it",
        )
        .or_none(),
        text("items[].progress.text", "the line of text that its handler has reported").or_none(),
        text("items[].progress.reported", "when, in UTC"),
        object("items[].columns", "its columns, as `readpast_batch_json` has them"),
        text("after", "the `after` of the next page; null at the end").or_none(),
    ]],
    run: |queue, given| {
        let (filter, after) = (given.filter()?.unwrap_or_default(), given.text("after")?);
        let max = given.count("max", MAX_ITEMS, PAGE)?;
        let page = queue.find(&filter, after.as_deref(), max)?;
        let progress = progress_of(queue, &page)?;
        let around = |key| Around { progress: progress.get(key), ..Around::default() };
        let items: Vec<_> = page.iter().map(|found| item(queue.spec(), &found, &around(found.key()))).collect();
        Ok(format!("{{\"items\":[{}],\"after\":{}}}", items.join(","), json!(queue.next_page(&page, max))))
    },
};

pub(super) static SHOW: Question = Question {
    name: "show",
    meaning: "An item in full; `null` when there is none.",
    arguments: KEY,
    answer: &[
        &[
            text("key", "its key"),
            text("short_number", "its short number, where its key is a time").or_none(),
            text("status", "its state"),
            number("attempt", "its attempt"),
            text("token", "its token; null where a described table has none yet").or_none(),
        ],
        WHY_MEMBERS,
        &[
            number(
                "attempts[].number",
                "an ended attempt, the oldest first, if the description has `attempts.history`",
            ),
            text("attempts[].worker", "its worker").or_none(),
            text("attempts[].started", "when it began, in UTC").or_none(),
            text("attempts[].ended", "when it ended, in UTC"),
            text("attempts[].outcome", "the state that the item had then: Error when it is tried again"),
            text("attempts[].step", "the item's step then").or_none(),
            text("attempts[].response", "the response of its end").or_none(),
            text("attempts[].error", "the error of its end").or_none(),
            text(
                "waits_for[].key",
                "the key of an item for which it waits or has waited, if the description has `after`",
            ),
            text("waits_for[].status", "the state of that item; null when it is gone").or_none(),
            boolean("waits_for[].over", "whether the wait is over"),
            text(
                "waits_for[].on_failed",
                "`fail`, `run` or `wait`: the fate of the one that waits when the other does not complete",
            ),
            text("waited_for_by[].key", "the key of an item that waits or has waited for it"),
            text("waited_for_by[].status", "the state of that item; null when it is gone").or_none(),
            boolean("waited_for_by[].over", "whether its wait is over"),
            text("waited_for_by[].on_failed", "its fate when this item does not complete"),
            number(
                "progress.percent",
                "how far it is, from 0 to 100, as the handler of the last attempt has reported it, if the description has `progress`",
            )
            .or_none(),
            text("progress.text", "the line of text that it has reported").or_none(),
            text("progress.reported", "when, in UTC"),
            object("columns", "its columns, as `readpast_batch_json` has them"),
        ],
    ],
    run: |queue, given| {
        let key = &whole_key(queue, given)?;
        let found = queue.get(key)?;
        let Some(one) = found.get(0) else { return Ok("null".to_owned()) };
        let (why, attempts, waits) = (queue.why(key)?, attempts(queue, key)?, waits(queue, key)?);
        let progress = progress(queue, &[key])?.pop();
        let around =
            Around { why: why.as_ref(), attempts: attempts.as_deref(), waits: &waits, progress: progress.as_ref() };
        Ok(item(queue.spec(), &one, &around))
    },
};

pub(super) static WHY: Question = Question {
    name: "why",
    meaning: "Why an item is not being worked on; `null` when there is no such item. For one that waits for a worker it looks at \
              what else is due, up to 10,000 items.",
    arguments: KEY,
    answer: &[
        &[text("key", "its key"), text("short_number", "its short number, where its key is a time").or_none()],
        WHY_MEMBERS,
    ],
    run: |queue, given| {
        let key = &whole_key(queue, given)?;
        Ok(queue.why(key)?.map_or(Value::Null, |found| why(queue.spec(), key, &found)).to_string())
    },
};

pub(super) fn whole_key(queue: &Queue, given: &Given<'_>) -> Result<String> {
    queue.whole_key(&given.needed_text("key")?)
}

/// The ended attempts at an item; `None` where none are recorded, or this login may not see them.
fn attempts(queue: &Queue, key: &str) -> Result<Option<Vec<Attempt>>> {
    if !queue.spec().attempt_history {
        return Ok(None);
    }
    match queue.attempts(key) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
        attempts => attempts.map(Some),
    }
}

/// The items for which one waits, and those that wait for it; none where this login may not see them.
///
/// # Errors
/// As [`Queue::waits`].
pub fn waits(queue: &Queue, key: &str) -> Result<Vec<Wait>> {
    if !queue.spec().after {
        return Ok(Vec::new());
    }
    match queue.waits(key) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Vec::new()),
        waits => waits,
    }
}

/// How far the items with these keys are; none where the queue keeps no progress, or this login may not see it.
///
/// # Errors
/// As [`Queue::progress`].
pub fn progress(queue: &Queue, keys: &[&str]) -> Result<Vec<Progress>> {
    if !queue.spec().progress {
        return Ok(Vec::new());
    }
    match queue.progress(keys) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Vec::new()),
        progress => progress,
    }
}

/// The same of the items of a page that are Processing, by their keys.
///
/// # Errors
/// As [`Queue::progress`].
pub fn progress_of(queue: &Queue, page: &Batch) -> Result<BTreeMap<String, Progress>> {
    let in_work = page.iter().filter(|item| item.state() == Some(ItemState::Processing));
    let keys: Vec<_> = in_work.map(|item| item.key()).collect();
    Ok(progress(queue, &keys)?.into_iter().map(|progress| (progress.key.clone(), progress)).collect())
}

/// The reason why an item is not being worked on.
#[must_use]
pub fn why(spec: &QueueSpec, key: &str, why: &Why) -> Value {
    json!({"key": key, "short_number": digits(spec, key), "why": reason(why)})
}

/// A reason, as a word and as a sentence.
#[must_use]
pub fn reason(why: &Why) -> Value {
    json!({"reason": why.as_str(), "text": why.to_string()})
}

/// All that is known of an item besides itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around<'a> {
    /// Why it is not being worked on.
    pub why: Option<&'a Why>,
    /// Its ended attempts.
    pub attempts: Option<&'a [Attempt]>,
    /// The items for which it waits, and those that wait for it.
    pub waits: &'a [Wait],
    /// How far it is.
    pub progress: Option<&'a Progress>,
}

fn wait(of: &Wait) -> Value {
    json!({
        "key": of.key, "status": of.state.map(ItemState::as_str), "over": of.is_over, "on_failed": of.on_failed.as_str(),
    })
}

/// An item on one line. It has the columns as the library wrote them: parsed again, numbers would lose digits.
#[must_use]
pub fn item(spec: &QueueSpec, item: &Item<'_>, more: &Around<'_>) -> String {
    let status = item.state().map_or("", ItemState::as_str);
    let mut head = json!({
        "key": item.key(), "short_number": digits(spec, item.key()), "status": status, "attempt": item.attempt(),
        "token": ItemRef::from(*item).token,
    });
    if let Some(why) = more.why {
        head["why"] = reason(why);
    }
    if let Some(attempts) = more.attempts {
        head["attempts"] = attempts.iter().map(attempt).collect();
    }
    for (name, is_parent) in [("waits_for", true), ("waited_for_by", false)] {
        let waits: Vec<_> = more.waits.iter().filter(|wait| wait.is_parent == is_parent).map(wait).collect();
        if !waits.is_empty() {
            head[name] = waits.into();
        }
    }
    if let Some(Progress { percent, text, reported, .. }) = more.progress {
        head["progress"] = json!({"percent": percent, "text": text, "reported": reported});
    }
    let head = head.to_string();
    format!("{},\"columns\":{}}}", head.strip_suffix('}').unwrap_or(&head), item.to_json())
}

fn attempt(of: &Attempt) -> Value {
    json!({
        "number": of.number, "worker": of.worker, "started": of.started, "ended": of.ended, "outcome": of.outcome.as_str(),
        "step": of.step, "response": of.response, "error": of.error,
    })
}

/// An item's short number for programs, which is digits only; `None` where its key is no time.
#[must_use]
pub fn digits(spec: &QueueSpec, key: &str) -> Option<String> {
    Some(spec.short_number(key)?.replace(' ', ""))
}
