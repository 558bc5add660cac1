//! `readpast move`.

use crate::exit::Exit;
use crate::failure::Result;
use crate::filter;
use crate::global::Global;
use crate::operations;
use crate::output::{Output, note};
use crate::printable::one_line;
use crate::steer;
use readpast::{Answer, ItemRef, ask};
use uuid::Uuid;

/// Moves an item to another queue of the schema
///
/// The item waits (Pending, Error, Paused) or has Failed. In one transaction it is enqueued there, with the columns of the same names, its
/// type and, unless it failed, its due time, and here it becomes Cancelled, with a response that names the new key. A queue that lacks a
/// value, or does not know the type, refuses it by name.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast move Notification 2026-11-21T08:30:00.1234560 --to NotificationSlow")]
pub struct Args {
    /// The queue
    queue: String,
    /// The item's key or short number
    key: String,
    /// The other queue
    #[arg(long, value_name = "QUEUE")]
    to: String,
    /// The token that it had, as show --json prints it; by default the present one
    #[arg(long)]
    token: Option<String>,
    /// Idempotency key, a GUID: a repetition with it moves nothing more
    #[arg(long, value_name = "GUID")]
    operation: Option<Uuid>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let queue = filter::open(global, &args.queue)?;
    let key = queue.whole_key(&args.key)?;
    let item = ItemRef { key: &key, token: args.token.as_deref() };
    let operation = args.operation.map(|operation| operation.to_string());
    let moved = queue.move_item(&item, &args.to, operation.as_deref())?;
    let is_moved = moved.outcome.answer == Answer::Ok;
    if let Some(why) = steer::unchanged(&key, &moved.outcome) {
        note(&why);
    } else if !out.is_json() {
        out.text(&format!("{}\n", one_line(&moved.key)))?;
    }
    let counts = if is_moved { (1, 0) } else { (0, 1) };
    operations::answer("moved", counts, &ask::moved(&item, &moved), out)
}
