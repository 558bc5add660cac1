//! The figures of a queue as a document: the same for a page and for its JSON.

use super::sampler::Sample;
use readpast::item::Trend;
use readpast::{ItemState, Watched};
use serde_json::{Value, json};
use std::sync::Arc;

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

/// Where a queue is going.
pub fn trend(trend: &Trend, watched: &Watched) -> Value {
    json!({
        "depth_in_an_hour": trend.depth_in_an_hour,
        "arrivals_per_hour": trend.arrivals_per_hour,
        "ended_per_hour": trend.ended_per_hour,
        "workers_to_catch_up": trend.workers_to_catch_up,
        "counted": trend.counted,
        "observed_ms": trend.window_ms,
        "drain": drain(trend, watched),
    })
}

const HOUR_MS: f64 = 3_600_000.0;

/// How long until nothing is due: at the rates of now, and with so many workers more. `None` where it would never be.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a forecast is a rough number")]
fn drain(trend: &Trend, watched: &Watched) -> Value {
    let (Some(arrivals), Some(ended)) = (trend.arrivals_per_hour, trend.ended_per_hour) else { return Value::Null };
    let per_worker = watched.stats.claimed_mean_ms.filter(|ms| *ms > 0).map(|ms| HOUR_MS / ms as f64);
    let with = |more: u32| {
        let gain = (ended - arrivals) as f64 + per_worker.unwrap_or_default() * f64::from(more);
        (gain > 0.0).then(|| (watched.stats.due as f64 / gain * HOUR_MS) as i64)
    };
    let extra: &[u32] = if per_worker.is_some() { &[1, 2, 5, 10] } else { &[] };
    let more: Vec<_> = extra.iter().map(|more| json!({"more_workers": more, "ms": with(*more)})).collect();
    json!({"ms": with(0), "with": more})
}

/// Samples over time, without their lists.
pub fn series(samples: &[Arc<Sample>]) -> Vec<Value> {
    let point = |sample: &Arc<Sample>| {
        let (watched, stats) = (&sample.watched, &sample.watched.stats);
        json!({
            "at": readpast::item::utc_text(sample.at), "due": stats.due, "oldest_due_ms": stats.oldest_due_ms,
            "in_flight": stats.count(ItemState::Processing), "failed": stats.count(ItemState::Failed),
            "ended_per_minute": watched.ended_per_minute, "wait_p90_ms": stats.wait_ms[1], "claimed_p90_ms": stats.claimed_ms[1],
        })
    };
    samples.iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_drains_by_what_ends_beyond_what_comes() {
        let mut watched = Watched::default();
        (watched.stats.due, watched.stats.claimed_mean_ms) = (100, Some(36_000));
        let rates = |arrivals, ended| Trend {
            arrivals_per_hour: Some(arrivals),
            ended_per_hour: Some(ended),
            ..Trend::default()
        };
        let growing = drain(&rates(200, 100), &watched);
        assert_eq!(growing["ms"], Value::Null, "it grows");
        // One worker does 100 an hour, which is what is missing; two have 100 to spare.
        assert_eq!((&growing["with"][0]["ms"], &growing["with"][1]["ms"]), (&Value::Null, &json!(3_600_000)));
        assert_eq!(drain(&rates(0, 200), &watched)["ms"], json!(1_800_000));
        assert_eq!(drain(&Trend::default(), &watched), Value::Null, "nothing is known");
    }
}
