//! Where a queue is going, and where it comes from.

use crate::sampler::Sample;
use readpast::item::Trend;
use readpast::{ItemState, Watched};
use serde_json::{Value, json};
use std::sync::Arc;

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
