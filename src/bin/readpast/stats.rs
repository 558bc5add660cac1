//! `readpast stats`.

use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::{Output, note};
use crate::{connection, duration};
use readpast::{ItemState, Queue, QueueStats};
use serde_json::{Map, Value, json};
use std::thread;
use std::time::Duration;

/// Shows figures about a queue
///
/// Counting costs the server a scan of the queue's table. How many workers are needed follows from the arrivals of the last
/// hour and the mean run (Little's law), with a fifth of their time to spare.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The queue
    queue: String,
    /// Shows them again and again, every 2 s or as given (5s, 1m)
    #[arg(long, short, value_name = "INTERVAL", num_args = 0..=1, default_missing_value = "2s", value_parser = duration::parse)]
    watch: Option<Duration>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let queue = Queue::open(&connection::config(global, "5000")?, &args.queue)?;
    let watch = args.watch.map(|pause| pause.max(Duration::from_millis(100)));
    loop {
        let stats = match (queue.stats(), watch) {
            (Ok(stats), _) => stats,
            // Who watches wants to see how it goes on.
            (Err(error), Some(pause)) if error.is_retryable() => {
                note(&error.to_string());
                thread::sleep(pause);
                continue;
            }
            (Err(error), _) => return Err(error.into()),
        };
        if watch.is_some() && out.is_terminal() && !out.is_json() {
            // Up to the corner, and clear from there.
            out.text("\x1b[H\x1b[2J")?;
        }
        out.answer(|| table(queue.name(), &stats), || document(queue.name(), &stats))?;
        out.flush()?;
        match watch {
            Some(pause) => thread::sleep(pause),
            None => return Ok(Exit::Done),
        }
    }
}

const PERCENTILES: [&str; 3] = ["p50", "p90", "p99"];

fn table(queue: &str, stats: &QueueStats) -> String {
    let mut lines = vec![format!("queue {queue}")];
    for state in ItemState::ALL {
        lines.push(format!("  {:<20}{:>12}", state.as_str(), stats.count(state)));
    }
    let oldest =
        stats.oldest_due_ms.map_or_else(String::new, |ms| format!("   the oldest for {}", duration::shown(ms)));
    lines.push(format!("  {:<20}{:>12}{oldest}", "due now", stats.due));
    lines.push(format!("  {:<20}{:>12}", "lease run out", stats.expired));
    for (name, values) in [("waited", stats.wait_ms), ("ran", stats.run_ms)] {
        let shown: Vec<_> = PERCENTILES
            .iter()
            .zip(values)
            .filter_map(|(label, value)| Some(format!("{label} {}", duration::shown(value?))))
            .collect();
        if !shown.is_empty() {
            lines.push(format!("  {name:<8}{}   (newest {} items)", shown.join("   "), stats.sample));
        }
    }
    lines.push(workers(stats));
    lines.join("\n")
}

/// How many workers there are, and how many it takes.
fn workers(stats: &QueueStats) -> String {
    let busy = format!("  {:<8}{} busy", "workers", stats.workers_busy);
    match (stats.workers_needed, stats.arrivals_last_hour) {
        (Some(needed), Some(arrivals)) => {
            let mean = |ms: Option<i64>, word: &str| {
                ms.map_or_else(String::new, |ms| format!(", {word} {} on average", duration::shown(ms)))
            };
            let (wait, run) = (mean(stats.wait_mean_ms, "waiting"), mean(stats.run_mean_ms, "running"));
            format!("{busy}, {needed} needed   ({arrivals} arrivals in the last hour{wait}{run})")
        }
        _ => format!("{busy}   (how many are needed is not known: the table does not tell what has arrived)"),
    }
}

fn document(queue: &str, stats: &QueueStats) -> Value {
    let counts: Map<_, _> =
        ItemState::ALL.iter().map(|state| (state.as_str().to_owned(), json!(stats.count(*state)))).collect();
    let percentiles = |values: [Option<i64>; 3]| {
        let values: Map<_, _> =
            PERCENTILES.iter().zip(values).map(|(label, value)| ((*label).to_owned(), json!(value))).collect();
        Value::Object(values)
    };
    json!({
        "queue": queue,
        "counts": counts,
        "due": stats.due,
        "oldest_due_ms": stats.oldest_due_ms,
        "expired": stats.expired,
        "sample": stats.sample,
        "wait_ms": percentiles(stats.wait_ms),
        "run_ms": percentiles(stats.run_ms),
        "wait_mean_ms": stats.wait_mean_ms,
        "run_mean_ms": stats.run_mean_ms,
        "arrivals_last_hour": stats.arrivals_last_hour,
        "workers_busy": stats.workers_busy,
        "workers_needed": stats.workers_needed,
    })
}
