//! `readpast recover`.

use crate::connection;
use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::Output;
use crate::progress::Progress;
use readpast::Queue;
use readpast::queue::MAX_ITEMS;
use serde_json::json;

/// Gives back the items of dead workers now
///
/// These are items whose lease has run out. Those whose attempts are spent become Failed. Workers do this by themselves every few
/// seconds; use it when none runs.
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
    out.answer(|| format!("items recovered: {total}"), || json!({"recovered": total}))?;
    Ok(Exit::Done)
}
