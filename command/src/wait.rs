//! `readpast wait`.

use crate::duration;
use crate::exit::Exit;
use crate::failure::Result;
use crate::filter;
use crate::global::Global;
use crate::output::{Output, note};
use crate::printable::one_line;
use crate::roles;
use crate::show::state;
use crate::why;
use readpast::item::ItemState;
use readpast::queue::{MAX_WAIT, Waited};
use readpast::{Item, QueueSpec, ask};
use std::time::{Duration, Instant};

/// Waits until items have ended, and prints their results
///
/// Prints a line for each, in the order of the keys: key, state, and its response or the first line of its error. Ends with 0 when all are
/// Completed or PartiallyCompleted, with 1 when one ended otherwise, is not there, or has not ended in time. A queue with `completion`
/// deletes an item, or moves it to the history, as it ends, and then it is not there. It claims and changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast wait Report 2026-11-21T08:30:00.1234560 --timeout 10m
  readpast wait Report 2026-11-21T08:30:00.1234560 --json")]
pub struct Args {
    /// The queue
    queue: String,
    /// Keys or short numbers of items
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<String>,
    /// How long to wait for all of them: 30s, 10m, 2h; a day at most
    #[arg(long, value_parser = duration::parse, default_value = "1d", value_name = "TIME")]
    timeout: Duration,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let queue = filter::open(global, &args.queue)?;
    let deadline = Instant::now() + args.timeout.min(MAX_WAIT);
    let mut exit = Exit::Done;
    for given in &args.keys {
        let key = &queue.whole_key(given)?;
        let left = deadline.saturating_duration_since(Instant::now());
        match queue.wait_for(key, left)? {
            Waited::Ended(batch) => {
                let Some(item) = batch.get(0) else { continue };
                if !matches!(item.state(), Some(ItemState::Completed | ItemState::PartiallyCompleted)) {
                    exit = Exit::Refused;
                }
                out.answer(|| line(queue.spec(), &item), || ask::item(queue.spec(), &item, &ask::Around::default()))?;
            }
            Waited::Gone => {
                exit = Exit::Refused;
                note(&why::unseen(&queue, key));
            }
            Waited::NotYet => {
                exit = Exit::Refused;
                note(&format!("item {} has not ended in time", one_line(key)));
            }
        }
    }
    Ok(exit)
}

fn line(spec: &QueueSpec, item: &Item<'_>) -> String {
    let error = || roles::text(spec, item, "error").map(|error| error.lines().next().unwrap_or_default().to_owned());
    let result = roles::text(spec, item, "response").or_else(error).unwrap_or_default();
    format!("{}\t{}\t{}", one_line(item.key()), state(item), one_line(&result))
}
