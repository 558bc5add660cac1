//! `readpast stress`: many workers on a copy of a queue.

mod crew;
mod dice;
mod limits;
mod processor;
mod report;
mod tally;

use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::{Output, note};
use crate::signals::Stop;
use crate::{connection, duration};
use crew::LoadPlan;
use readpast::Config;
use readpast::stress::{self, Copy, PREFIX};
use report::Report;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Runs many workers on a copy of a queue, and reports what happened
///
/// It makes the copy in a schema of its own, fills it with made-up items, and drops it at the end, also after Ctrl-C. A second Ctrl-C
/// leaves it; --drop removes it by the name of the schema, which is printed at the start. It reads the description and the settings of
/// the real queue, and does not touch its items. But the server is the real one, and works hard meanwhile. It reports how many items a
/// second were done, how long claims and settlements took, what was done twice or lost (nothing may be), deadlocks and time-outs,
/// what the server says the workers waited for, as far as this login may read that, and what limits: log flush, round trips, the head
/// of the queue, processors or handlers, with the setting that would help. Needs the rights of an install. Exit status 1:
/// something was done twice or lost, or there were deadlocks.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast stress Notification --workers 16 --items 10000")]
pub struct Args {
    /// The queue
    #[arg(required_unless_present = "drop")]
    queue: Option<String>,
    /// How many workers, each with a connection of its own
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    workers: u32,
    /// How many items
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    items: u32,
    /// Ends after this time, done or not; filling ends after half of it
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = duration::parse)]
    limit: Duration,
    /// How many items a worker claims and settles at a time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    batch: u32,
    /// How long a worker works on an item
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = duration::parse)]
    handler: Duration,
    /// How many of a hundred claims end with the worker's death: it settles nothing, and its lease runs out
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=50))]
    kill: u32,
    /// Drops a copy that was left by a command that was killed, or got a second Ctrl-C
    #[arg(long, value_name = "SCHEMA", conflicts_with = "queue")]
    drop: Option<String>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let config = connection::config(global, "20000")?;
    if let Some(schema) = &args.drop {
        stress::remove(&config, schema)?;
        return Ok(Exit::Done);
    }
    let stop = Stop::listen()?;
    let name = args.queue.as_deref().unwrap_or_default();
    let plan = LoadPlan {
        workers: args.workers,
        items: args.items,
        limit: args.limit,
        batch: args.batch,
        handler: args.handler,
        kill: args.kill,
    };
    let made = TestCopy::new(&config, name)?;
    let found = crew::run(&made.copy, &plan, &stop);
    // It removes the copy before it prints: the reader may stop reading.
    let removed = made.remove();
    let report = Report::new(name, &plan, found?, stop.signal());
    out.answer(|| report.text(), || report.json())?;
    removed?;
    Ok(report.exit())
}

/// A copy that is dropped in any case.
struct TestCopy {
    copy: Copy,
    removed: bool,
}

impl TestCopy {
    fn new(config: &Config, name: &str) -> Result<Self> {
        // No other run in this process begins at this moment.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() & 0xff_ffff_ffff;
        let ending = format!("{now:x}_{:x}", std::process::id());
        // The name is printed before anything is made, so that after a kill at any moment the user knows what to drop.
        let schema = format!("{PREFIX}{ending}");
        note(&format!(
            "the copy of {name} is the schema {schema}; it is dropped at the end, or by readpast stress --drop {schema}"
        ));
        let copy = Copy::make(config, name, &ending)?;
        Ok(Self { copy, removed: false })
    }

    fn remove(mut self) -> Result<()> {
        self.removed = true;
        self.copy.remove().map_err(|error| self.left(error))
    }

    fn left(&self, error: readpast::Error) -> crate::failure::Failure {
        let schema = self.copy.schema();
        let message = format!("the copy in the schema {schema} is left: {error}\n  readpast stress --drop {schema}");
        crate::failure::Failure::Partly(message, Exit::Unavailable)
    }
}

impl Drop for TestCopy {
    fn drop(&mut self) {
        if !self.removed
            && let Err(error) = self.copy.remove()
        {
            note(&self.left(error).message());
        }
    }
}
