//! `readpast purge`.

use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use crate::filter::{self, FilterArgs, Pages};
use crate::global::Global;
use crate::output::Output;
use crate::progress::Progress;
use crate::signals::Stop;
use readpast::ask::{FINISHED, purged};
use readpast::queue::MAX_ITEMS;
use serde_json::json;

/// Deletes finished items, in bounded batches
///
/// By default items that are Completed, PartiallyCompleted, Cancelled or Terminated; Failed items only with --status, and
/// unfinished ones never. Each batch is a transaction of its own: workers go on meanwhile, and after an interrupt the deleted items
/// stay deleted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast purge Notification --older-than 30d --dry-run
  readpast purge Notification --state Failed --older-than 365d")]
pub struct Args {
    /// The queue
    queue: String,
    /// Shows how many items it would delete, and deletes none
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Items per batch
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ITEMS)))]
    batch: u32,
    #[command(flatten)]
    filter: FilterArgs,
    /// All finished items; required without a filter
    #[arg(long)]
    all: bool,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    if args.filter.is_open() && !args.all {
        return Err(usage("no items are named; give --older-than or another filter, or --all"));
    }
    let mut filter = args.filter.filter(&FINISHED)?;
    if filter.states.is_empty() {
        // By key, too, only finished items.
        filter.states = FINISHED.to_vec();
    }
    let queue = filter::open(global, &args.queue)?;
    let filter = filter::named(&queue, filter)?;
    let progress = Progress::start(None, global.quiet);
    if args.dry_run {
        let mut total = 0;
        for page in Pages::of(&queue, &filter, args.batch) {
            total += page?.len() as u64;
            progress.done(total);
        }
        progress.finish();
        out.answer(|| format!("would be purged: {total}"), || json!({"dry_run": true, "purged": total}))?;
        return Ok(Exit::Done);
    }
    let stop = Stop::listen()?;
    let mut total = 0;
    loop {
        let deleted = queue.purge(&filter, args.batch)?;
        total += deleted;
        progress.done(total);
        if deleted == 0 {
            break;
        }
        if let Some(signal) = stop.signal() {
            return Err(Failure::Partly(format!("interrupted; purged: {total}"), Exit::Signal(signal)));
        }
    }
    progress.finish();
    out.answer(|| format!("purged: {total}"), || purged(total))?;
    Ok(Exit::Done)
}
