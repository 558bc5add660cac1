//! `readpast recover`.

use crate::connection;
use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::Output;
use crate::progress::Progress;
use readpast::queue::MAX_ITEMS;
use readpast::{Queue, ask};

/// Recovers the items of dead workers now
///
/// These are items whose lease has run out: they become due again, or Failed when their attempts are spent. Workers do this by
/// themselves every few seconds; use it when none runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast recover Notification")]
pub struct Args {
    /// The queue
    queue: String,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let queue = Queue::open(&connection::config(global, "5000")?, &args.queue)?;
    let progress = Progress::start(None, global.quiet);
    let mut total: u64 = 0;
    loop {
        let count = queue.recover(MAX_ITEMS)?;
        total += u64::from(count);
        progress.done(total);
        if count < MAX_ITEMS {
            break;
        }
    }
    progress.finish();
    let passed_over = ask::passed_over(&queue)?;
    let more = match passed_over {
        0 => String::new(),
        held => format!("; skipped, since another session holds their rows: {held}"),
    };
    out.answer(|| format!("items recovered: {total}{more}"), || ask::recovered(total, Some(passed_over)))?;
    Ok(Exit::Done)
}
