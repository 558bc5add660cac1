//! Figures: counted, and from bounded looks.

use super::given::Given;
use super::pauses::{PAUSED, pauses};
use super::question::{Field, Question, boolean, number, text};
use crate::error::Result;
use crate::item::{Filter, ItemState, OfType, PlaceAway, QueueStats, Trend, Watched, utc_text};
use crate::queue::{MAX_ITEMS, Queue};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// The rows of a bounded look, by default.
const LOOK: u32 = 10_000;

/// The most rows of one.
const LONGEST_LOOK: u32 = 1_000_000;

/// The longest pause between two looks, in milliseconds.
const LONGEST_PAUSE_MS: i64 = 600_000;

const HEAD: &[Field] =
    &[text("queue", "the queue's name"), text("at", "when the answer was made, in UTC, by the clock of this machine")];

const COUNTED: &[Field] = &[
    number("counts.*", "how many items are in each state, by its name"),
    number("due", "how many items are due now and wait for a worker"),
    number("oldest_due_ms", "how long the longest-waiting of them has been due, in milliseconds").or_none(),
    number("expired", "how many items in flight have outlived their lease"),
    number("sample", "how many items the percentiles and means are of (at most 10000, the newest)"),
    number("wait_ms.*", "from due to started: `p50`, `p90` and `p99`").or_none(),
    number("claimed_ms.*", "from the claim to the end: `p50`, `p90` and `p99`").or_none(),
    number("wait_mean_ms", "from due to started, on average").or_none(),
    number("claimed_mean_ms", "from the claim to the end, on average").or_none(),
    number("arrivals_last_hour", "how many items were enqueued within the last hour; null when the queue deletes completed items")
        .or_none(),
    number("claimed", "how many items are claimed now: in flight, with a lease that has not run out"),
    number(
        "workers_needed",
        "how many workers keep up (Little's law): the arrivals of the last hour per millisecond, times the mean time claimed, \
         divided by 0.8, so that workers are idle for a fifth of their time and waits stay short; at least 1 while there is work",
    )
    .or_none(),
    text("steps[].step", "a step of the description; empty for items at none of them"),
    number("steps[].counts.*", "how many items are at the step, by their state"),
];

const TYPE: &[Field] = &[
    text("types[].type", "a type, if the queue has more than one"),
    number("types[].waiting", "how many of its items are Pending or in Error"),
    number("types[].due", "how many of these are due"),
    number("types[].oldest_due_ms", "how long the oldest of those has been due").or_none(),
    number("types[].in_flight", "how many are in flight"),
    number("types[].ended_per_hour", "how many ended within the last hour").or_none(),
    number("types[].arrivals_last_hour", "how many were enqueued within the last hour").or_none(),
    number("types[].claimed_mean_ms", "from the claim to the end, on average").or_none(),
    number("types[].workers_needed", "how many workers keep up").or_none(),
    boolean("types[].capped", "whether there may be more due"),
];

const TRENDS: &[Field] = &[
    number("trend.arrivals_per_hour", "how many items come in an hour").or_none(),
    number("trend.ended_per_hour", "how many end in an hour").or_none(),
    number("trend.depth", "how many are due now"),
    number(
        "trend.depth_in_an_hour",
        "how many will wait in an hour; null until the rates were observed for ten minutes",
    )
    .or_none(),
    number("trend.workers_needed", "how many workers keep up").or_none(),
    number("trend.workers_to_catch_up", "how many workers keep up and work off the waiting items in an hour").or_none(),
    boolean("trend.counted", "false when the rates are an estimate, since the queue deletes completed items"),
    number("trend.window_ms", "for how long the rates were observed").or_none(),
];

const LONG: &[Field] = &[
    number("longer.than_ms", "the limit"),
    number("longer.items", "how many items took longer, or are in work for longer"),
    number("longer.counts.*", "the same by their state"),
];

const HELD: &[Field] = &[
    text("workers[].worker", "a worker with items in flight; empty where the table does not record it"),
    number("workers[].items", "how many it has"),
    number("workers[].longest_ms", "how long it has had the one that it began first").or_none(),
    boolean("workers_capped", "whether there may be more workers than the hundred with most items"),
];

const TROUBLES: &[Field] = &[
    text("errors[].state", "Failed, or Error for items that wait for their next attempt"),
    text("errors[].text", "the first line of their error, 200 characters of it"),
    number("errors[].items", "how many items have it, of those that the look saw"),
    text("errors[].key", "the key of one of them"),
];

const SEEN: &[Field] = &[
    number("due", "how many items are due now and wait for a worker"),
    boolean("due_capped", "whether there may be more"),
    number("oldest_due_ms", "how long the longest-waiting of them has been due").or_none(),
    number(
        "startable_ms",
        "the same of those that have room within the queue's limits; none where none has, or there are no limits",
    )
    .or_none(),
    number("in_flight", "how many items are in flight"),
    boolean("in_flight_capped", "whether there may be more"),
    number("expired", "how many of them have outlived their lease"),
    number("failed", "how many items are Failed"),
    boolean("failed_capped", "whether there may be more"),
    number("ended_per_minute", "how many end in a minute"),
    number("arrivals_last_hour", "how many items were enqueued within the last hour").or_none(),
    boolean("arrivals_capped", "whether there may be more"),
    number("workers_needed", "how many workers keep up").or_none(),
    number("wait_ms.*", "from due to started: `p50`, `p90` and `p99`").or_none(),
    number("claimed_ms.*", "from the claim to the end: `p50`, `p90` and `p99`").or_none(),
    number("sample", "how many items the percentiles are of"),
    number("window", "how many of the newest items the look saw"),
    boolean("window_capped", "whether there are more than those"),
    text("states[].state", "each state"),
    number("states[].items", "how many items are in it"),
    boolean("states[].capped", "whether there may be more"),
    text("refused[].key", "an item that its table refuses to have claimed or recovered"),
    text("refused[].reason", "the refused call, and why"),
    number("refused[].times", "how often"),
    number("refused[].again_ms", "until the next try; negative when it is possible").or_none(),
    text("away[].place", "a place of several that did not answer: the figures are those of the others"),
    text("away[].error", "why not"),
];

const MOST: &[Field] = &[number("most", "the rows of each look, 1 to 1000000; 10000 by default").or_none()];

pub(super) static STATS: Question = Question {
    name: "stats",
    meaning: "Counts the queue's items and measures how long they take. It reads much of the table: ask it for a person who \
              looks, not in every round of a worker.",
    arguments: &[
        boolean("types", "also the figures of each type").or_none(),
        number("trend_ms", "also the trend, as `trend` with this `apart_ms`").or_none(),
        number("longer_ms", "also counts the items whose last attempt took longer, or that are in work for longer")
            .or_none(),
    ],
    answer: &[HEAD, COUNTED, PAUSED, TYPE, TRENDS, LONG],
    run: |queue, given| {
        let (by_type, apart) = (given.is_set("types")?, apart(given, "trend_ms")?);
        let longer = given.number("longer_ms", 0..=i64::MAX)?;
        let (watched, outlook) = match apart {
            Some(apart) => queue.trend(LOOK, apart).map(|(watched, trend)| (Some(watched), Some(trend)))?,
            None if by_type => (Some(queue.watch(LOOK)?), None),
            None => (None, None),
        };
        // The figures last: a close lets a call that is under way end, and refuses the next one.
        let paused = pauses(&queue.pauses()?);
        let mut answer = stats(queue.name(), SystemTime::now(), &queue.stats()?);
        answer.insert("pauses".to_owned(), paused);
        if let Some(watched) = watched.filter(|_| by_type) {
            answer.insert("types".to_owned(), types(&watched.types));
        }
        if let Some(outlook) = outlook {
            answer.insert("trend".to_owned(), trend(&outlook));
        }
        if let Some(than_ms) = longer {
            answer.insert("longer".to_owned(), Longer::count(queue, than_ms)?.document());
        }
        Ok(Value::Object(answer).to_string())
    },
};

pub(super) static TREND: Question = Question {
    name: "trend",
    meaning: "How many items will wait in an hour at the present rates, and how many workers that takes. From a bounded look; \
              one look at a queue that deletes completed items cannot count how many end.",
    arguments: &[number(
        "apart_ms",
        "1 to 600000: such a queue is looked at twice, so far apart, and the answer takes that much longer",
    )
    .or_none()],
    answer: &[HEAD, TRENDS],
    run: |queue, given| {
        let (_, outlook) = queue.trend(LOOK, apart(given, "apart_ms")?.unwrap_or_default())?;
        Ok(headed(queue, json!({"trend": trend(&outlook)})))
    },
};

pub(super) static WATCH: Question = Question {
    name: "watch",
    meaning: "The figures of `serve` and `top`, from looks of a bounded number of rows, so that they cost the same in a queue of \
              ten million items. A figure that was not counted to its end is marked as capped.",
    arguments: MOST,
    answer: &[HEAD, SEEN, PAUSED, TYPE, HELD, TROUBLES],
    run: |queue, given| Ok(headed(queue, watched(&queue.watch(given.count("most", LONGEST_LOOK, LOOK)?)?))),
};

pub(super) static TYPES: Question = Question {
    name: "types",
    meaning: "The figures of each type, from a bounded look.",
    arguments: MOST,
    answer: &[HEAD, TYPE],
    run: |queue, given| part(queue, given, &["types"]),
};

pub(super) static ERRORS: Question = Question {
    name: "errors",
    meaning: "The errors of Failed items and of those that wait for their next attempt, at most 50, the most frequent first. \
              From a bounded look.",
    arguments: MOST,
    answer: &[HEAD, TROUBLES],
    run: |queue, given| part(queue, given, &["errors"]),
};

pub(super) static WORKERS: Question = Question {
    name: "workers",
    meaning: "The workers that have items in flight, those with most of them first. From a bounded look.",
    arguments: MOST,
    answer: &[HEAD, HELD],
    run: |queue, given| part(queue, given, &["workers", "workers_capped"]),
};

/// Some members of `watch`.
fn part(queue: &Queue, given: &Given<'_>, members: &[&str]) -> Result<String> {
    let mut whole = watched(&queue.watch(given.count("most", LONGEST_LOOK, LOOK)?)?);
    let members: Map<_, _> = members.iter().map(|member| ((*member).to_owned(), whole[member].take())).collect();
    Ok(headed(queue, members.into()))
}

fn apart(given: &Given<'_>, name: &str) -> Result<Option<Duration>> {
    Ok(given.number(name, 1..=LONGEST_PAUSE_MS)?.map(|ms| Duration::from_millis(ms.unsigned_abs())))
}

/// The queue's name and the time, before the members of an object.
fn headed(queue: &Queue, members: Value) -> String {
    let mut answer = head(queue.name(), SystemTime::now());
    if let Value::Object(members) = members {
        answer.extend(members);
    }
    Value::Object(answer).to_string()
}

fn head(queue: &str, at: SystemTime) -> Map<String, Value> {
    Map::from_iter([("queue".to_owned(), json!(queue)), ("at".to_owned(), json!(utc_text(at)))])
}

/// The figures of `stats`.
#[must_use]
pub fn stats(queue: &str, at: SystemTime, stats: &QueueStats) -> Map<String, Value> {
    let counts = |count: &dyn Fn(ItemState) -> i64| {
        ItemState::ALL.into_iter().map(|state| (state.as_str().to_owned(), json!(count(state)))).collect::<Map<_, _>>()
    };
    let at_step =
        |step: &crate::item::StepCounts| json!({"step": step.step, "counts": counts(&|state| step.count(state))});
    let figures = json!({
        "counts": counts(&|state| stats.count(state)),
        "due": stats.due,
        "oldest_due_ms": stats.oldest_due_ms,
        "expired": stats.expired,
        "sample": stats.sample,
        "wait_ms": percentiles(stats.wait_ms),
        "claimed_ms": percentiles(stats.claimed_ms),
        "wait_mean_ms": stats.wait_mean_ms,
        "claimed_mean_ms": stats.claimed_mean_ms,
        "arrivals_last_hour": stats.arrivals_last_hour,
        "claimed": stats.claimed,
        "workers_needed": stats.workers_needed,
        "steps": stats.steps.iter().map(at_step).collect::<Vec<_>>(),
    });
    let mut answer = head(queue, at);
    if let Value::Object(figures) = figures {
        answer.extend(figures);
    }
    answer
}

fn percentiles(values: [Option<i64>; 3]) -> Value {
    json!({"p50": values[0], "p90": values[1], "p99": values[2]})
}

/// The figures of each type.
#[must_use]
pub fn types(types: &[OfType]) -> Value {
    let document = |of: &OfType| {
        json!({
            "type": of.name,
            "waiting": of.waiting,
            "due": of.due,
            "oldest_due_ms": of.oldest_due_ms,
            "in_flight": of.in_flight,
            "ended_per_hour": of.ended_per_hour,
            "arrivals_last_hour": of.arrivals_last_hour,
            "claimed_mean_ms": of.claimed_mean_ms,
            "workers_needed": of.workers_needed,
            "capped": of.capped,
        })
    };
    types.iter().map(document).collect()
}

/// The members of a trend.
#[must_use]
pub fn trend(trend: &Trend) -> Value {
    json!({
        "arrivals_per_hour": trend.arrivals_per_hour,
        "ended_per_hour": trend.ended_per_hour,
        "depth": trend.depth,
        "depth_in_an_hour": trend.depth_in_an_hour,
        "workers_needed": trend.workers_needed,
        "workers_to_catch_up": trend.workers_to_catch_up,
        "counted": trend.counted,
        "window_ms": trend.window_ms,
    })
}

/// The figures of a bounded look.
#[must_use]
pub fn watched(watched: &Watched) -> Value {
    let stats = &watched.stats;
    let states = ItemState::ALL
        .map(|state| json!({"state": state.as_str(), "items": stats.count(state), "capped": watched.is_capped(state)}));
    let workers = watched
        .workers
        .iter()
        .map(|holding| json!({"worker": holding.worker, "items": holding.items, "longest_ms": holding.longest_ms}));
    let errors = watched.errors.iter().map(|trouble| {
        let state = trouble.state.map_or("", ItemState::as_str);
        json!({"state": state, "text": trouble.text, "items": trouble.items, "key": trouble.key})
    });
    let refused = watched
        .refused
        .iter()
        .map(|of| json!({"key": of.key, "reason": of.reason, "times": of.times, "again_ms": of.again_ms}));
    json!({
        "pauses": pauses(&watched.pauses),
        "due": stats.due,
        "due_capped": watched.due_capped,
        "oldest_due_ms": stats.oldest_due_ms,
        "startable_ms": watched.startable_ms.flatten(),
        "in_flight": stats.count(ItemState::Processing),
        "in_flight_capped": watched.is_capped(ItemState::Processing),
        "expired": stats.expired,
        "failed": stats.count(ItemState::Failed),
        "failed_capped": watched.is_capped(ItemState::Failed),
        "ended_per_minute": watched.ended_per_minute,
        "arrivals_last_hour": stats.arrivals_last_hour,
        "arrivals_capped": watched.arrivals_capped,
        "workers_needed": stats.workers_needed,
        "wait_ms": percentiles(stats.wait_ms),
        "claimed_ms": percentiles(stats.claimed_ms),
        "sample": stats.sample,
        "window": watched.window,
        "window_capped": watched.window_capped,
        "states": states,
        "types": types(&watched.types),
        "workers": workers.collect::<Vec<_>>(),
        "workers_capped": watched.are_workers_capped(),
        "errors": errors.collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "away": away(&watched.away),
    })
}

/// The places without figures.
#[must_use]
pub fn away(away: &[PlaceAway]) -> Value {
    away.iter().map(|of| json!({"place": of.place, "error": of.error.to_string()})).collect()
}

/// The items whose last attempt took longer than a limit, or that are in work for longer, by their state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Longer {
    /// The limit.
    pub than_ms: i64,
    /// How many items of each state.
    pub counts: BTreeMap<&'static str, i64>,
}

impl Longer {
    /// Counts them: it reads each of them.
    ///
    /// # Errors
    /// As [`Queue::find`].
    pub fn count(queue: &Queue, than_ms: i64) -> Result<Self> {
        let filter = Filter { longer_ms: Some(than_ms), ..Filter::default() };
        let (mut counts, mut after) = (BTreeMap::new(), None);
        loop {
            let page = queue.find(&filter, after.as_deref(), MAX_ITEMS)?;
            for item in page.iter() {
                *counts.entry(item.state().map_or("", ItemState::as_str)).or_default() += 1;
            }
            after = queue.next_page(&page, MAX_ITEMS);
            if after.is_none() {
                return Ok(Self { than_ms, counts });
            }
        }
    }

    /// How many there are.
    #[must_use]
    pub fn all(&self) -> i64 {
        self.counts.values().sum()
    }

    /// The answer's member.
    #[must_use]
    pub fn document(&self) -> Value {
        json!({"than_ms": self.than_ms, "items": self.all(), "counts": self.counts})
    }
}
