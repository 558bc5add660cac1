//! The figures of a queue as a document: the same for the page, its JSON and the terminal.

use readpast::{ItemState, Watched};
use serde_json::{Value, json};

/// All of a sample.
pub fn document(watched: &Watched) -> Value {
    let stats = &watched.stats;
    let states: Vec<_> = ItemState::ALL
        .iter()
        .map(
            |state| json!({"state": state.as_str(), "items": stats.count(*state), "capped": watched.is_capped(*state)}),
        )
        .collect();
    let percentiles = |values: [Option<i64>; 3]| json!({"p50": values[0], "p90": values[1], "p99": values[2]});
    let workers: Vec<_> = watched
        .workers
        .iter()
        .map(|holding| json!({"worker": holding.worker, "items": holding.items, "longest_ms": holding.longest_ms}))
        .collect();
    let errors: Vec<_> = watched
        .errors
        .iter()
        .map(|trouble| {
            let state = trouble.state.map_or("", ItemState::as_str);
            json!({"state": state, "text": trouble.text, "items": trouble.items, "key": trouble.key})
        })
        .collect();
    let refused: Vec<_> = watched
        .refused
        .iter()
        .map(|of| json!({"key": of.key, "reason": of.reason, "times": of.times, "again_ms": of.again_ms}))
        .collect();
    let types: Vec<_> = watched
        .types
        .iter()
        .map(|of| {
            json!({
                "type": of.name, "due": of.due, "capped": of.capped, "oldest_due_ms": of.oldest_due_ms, "in_flight": of.in_flight,
                "arrivals_last_hour": of.arrivals_last_hour, "ended_per_hour": of.ended_per_hour, "workers_needed": of.workers_needed,
            })
        })
        .collect();
    json!({
        "due": stats.due,
        "due_capped": watched.due_capped,
        "oldest_due_ms": stats.oldest_due_ms,
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
        "types": types,
        "workers": workers,
        // The procedure names so many of them.
        "workers_capped": watched.workers.len() >= 100,
        "errors": errors,
        "refused": refused,
    })
}
