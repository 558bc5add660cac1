//! `readpast why`.

use crate::exit::Exit;
use crate::failure::Result;
use crate::filter;
use crate::global::Global;
use crate::output::{Output, note};
use crate::printable::one_line;
use readpast::{Queue, ask};

/// Says why items are not being worked on
///
/// Prints a line for each, with key and short number: due in 43 s, held by a worker until when, paused, blocked by which item of its
/// group, without room in which limit, due and waiting for a worker, by the server's clock. For an item that waits for a worker it counts
/// what else is due, up to 10,000 items. It claims and changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast why Notification 2026-11-21T08:30:00.1234560")]
pub struct Args {
    /// The queue
    queue: String,
    /// Keys or short numbers of items
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<String>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let queue = filter::open(global, &args.queue)?;
    let mut missing = false;
    for given in &args.keys {
        let key = &queue.whole_key(given)?;
        let spec = queue.spec();
        match queue.why(key)? {
            Some(why) => out.answer(
                || format!("{}\t{}\t{}", one_line(key), filter::spoken(spec, key), one_line(&why.to_string())),
                || ask::why(spec, key, &why),
            )?,
            None => {
                missing = true;
                note(&unseen(&queue, key));
            }
        }
    }
    Ok(if missing { Exit::Refused } else { Exit::Done })
}

/// The message for a key that finds nothing.
pub fn unseen(queue: &Queue, key: &str) -> String {
    let or = if queue.spec().roles.own_types_only { ", or its type is not one of this login's" } else { "" };
    format!("queue {} has no item {key}{or}", queue.name())
}
