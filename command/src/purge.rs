//! `readpast purge`.

use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::filter::{self, FilterArgs, Pages};
use crate::global::Global;
use crate::operations;
use crate::output::Output;
use crate::progress::Progress;
use readpast::OperatorVerb;
use serde_json::json;

/// Deletes finished items, in bounded batches
///
/// By default items that are Completed, PartiallyCompleted, Cancelled or Terminated; Failed items only with --status, and
/// unfinished ones never. It is an operation (`readpast operations`): some hundred items a transaction, and workers go on
/// meanwhile.
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
    #[command(flatten)]
    filter: FilterArgs,
    /// All finished items; required without a filter
    #[arg(long)]
    all: bool,
}

/// Items of one look.
const PAGE: u32 = 500;

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    if args.filter.is_open() && !args.all {
        return Err(usage("no items are named; give --older-than or another filter, or --all"));
    }
    let filter = OperatorVerb::Purge.narrow(args.filter.filter()?);
    let queue = filter::open(global, &args.queue)?;
    let filter = filter::named(&queue, filter)?;
    if args.dry_run {
        let progress = Progress::start(None, global.quiet);
        let mut total = 0;
        for page in Pages::of(&queue, &filter, PAGE) {
            total += page?.len() as u64;
            progress.done(total);
        }
        progress.finish();
        out.answer(|| format!("would be purged: {total}"), || json!({"dry_run": true, "purged": total}))?;
        return Ok(Exit::Done);
    }
    let number = queue.begin_action(OperatorVerb::Purge, &filter, None)?;
    operations::perform(&queue, number, global.quiet, out)
}
