//! `readpast edit`.

use crate::columns::columns;
use crate::duration;
use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use crate::filter;
use crate::global::Global;
use crate::operations;
use crate::output::{Output, note};
use crate::steer;
use readpast::{Edit, ItemRef, ask};
use std::time::Duration;
use uuid::Uuid;

/// Gives an item that waits other values, or another due time
///
/// Values are COLUMN=VALUE or COLUMN:=JSON, as `readpast enqueue` takes them; a priority is a column. The item is Pending, Error or
/// Paused, and stays so: it is changed in one commit, and no worker has it meanwhile. It is left alone if it changed since the command
/// has looked, or since it had --token. Columns by which items are found, grouped or recognized stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast edit Notification 2026-11-21T08:30:00.1234560 Recipient=a@example.org
  readpast edit Notification 2026-11-21T08:30:00.1234560 Body:=null --due 2026-11-22T06:00:00Z")]
pub struct Args {
    /// The queue
    queue: String,
    /// The item's key or short number
    key: String,
    /// COLUMN=VALUE or COLUMN:=JSON; of a subtype SUBTYPE.COLUMN=VALUE
    #[arg(value_name = "COLUMN=VALUE")]
    columns: Vec<String>,
    /// When it is due, in UTC: 2026-11-21T08:30:00Z
    #[arg(long, value_name = "TIME")]
    due: Option<String>,
    /// When it is due, from now: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = duration::parse, conflicts_with = "due")]
    delay: Option<Duration>,
    /// The token that it had, as show --json prints it; by default the present one
    #[arg(long)]
    token: Option<String>,
    /// Idempotency key, a GUID: a repetition with it, and with --token, changes nothing more
    #[arg(long, value_name = "GUID", requires = "token")]
    operation: Option<Uuid>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    if args.columns.is_empty() && args.due.is_none() && args.delay.is_none() {
        return Err(usage("nothing is to be changed; give COLUMN=VALUE, --due or --delay"));
    }
    let queue = filter::open(global, &args.queue)?;
    let set = columns(queue.spec(), &args.columns)?.to_json();
    let edit = Edit {
        set: (!args.columns.is_empty()).then_some(set.as_str()),
        delay_ms: args.delay.map(duration::ms),
        due: args.due.as_deref(),
    };
    queue.spec().check_edit(&edit)?;
    let key = queue.whole_key(&args.key)?;
    let seen = if args.token.is_some() { None } else { Some(queue.get(&key)?) };
    let item = match &seen {
        None => ItemRef { key: &key, token: args.token.as_deref() },
        Some(batch) => batch
            .get(0)
            .map(ItemRef::from)
            .ok_or_else(|| Failure::Partly(crate::why::unseen(&queue, &key), Exit::Refused))?,
    };
    let operation = args.operation.map(|operation| operation.to_string());
    let outcomes = queue.edit(&[item], &edit, operation.as_deref())?;
    let why = outcomes.first().and_then(|outcome| steer::unchanged(&key, outcome));
    let counts = if why.is_none() { (1, 0) } else { (0, 1) };
    why.iter().for_each(|why| note(why));
    operations::answer("edited", counts, &ask::edited(&[item], &outcomes), out)
}
