//! `readpast places`.

use crate::connection;
use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::filter;
use crate::global::Global;
use crate::operations;
use crate::output::{Output, note};
use crate::printable::one_line;
use readpast::item::span_text;
use readpast::{Config, ItemState, Queue, Watched, ask};
use serde_json::{Value, json};
use std::thread;

/// Shows the places of a queue over several databases, and what each has
///
/// It looks at no more than 10,000 rows of each state: a plus says that there are more. Exits with 1 when a place does not answer.
///
/// With --rebalance it moves the items that wait at another place than theirs: after places were added, or, with --without, from those
/// that are to be removed. First let all producers know the new places. A moved item is new at its place, with all its attempts, and
/// Cancelled at the one before. Run it again after one that ended early, and until it moves none: items on their way are kept in a record,
/// so that none is lost and none is there twice. Queues with groups or "after" run empty instead (docs/scale.md).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast places Notification
  readpast places Notification --rebalance
  readpast places Notification --rebalance --without south")]
pub struct Args {
    /// The queue
    queue: String,
    /// Moves what waits at another place than its own
    #[arg(long)]
    rebalance: bool,
    /// A place that is to run empty; may be given several times
    #[arg(long, value_name = "PLACE", requires = "rebalance")]
    without: Vec<String>,
}

/// Rows that each look takes.
const MOST: u32 = 10_000;

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    if args.rebalance {
        return rebalance(global, args, out);
    }
    let config = connection::config(global, "1000")?;
    if config.places().is_empty() {
        return Err(usage("there are no places: put them into a configuration file, as docs/scale.md shows"));
    }
    let each = config.each()?;
    // All at once: one that is silent holds up no other.
    let looked = thread::scope(|scope| {
        let looks: Vec<_> = each.iter().map(|config| scope.spawn(|| look(config, &args.queue))).collect();
        looks
            .into_iter()
            .map(|look| look.join().unwrap_or_else(|why| std::panic::resume_unwind(why)))
            .collect::<Vec<_>>()
    });
    let width = each.iter().filter_map(Config::place).map(str::len).max().unwrap_or(0);
    for (config, looked) in each.iter().zip(&looked) {
        let name = config.place().unwrap_or_default();
        out.answer(|| one_line(&format!("{name:<width$}  {}", text(looked))), || document(name, looked))?;
    }
    Ok(if looked.iter().all(readpast::Result::is_ok) { Exit::Done } else { Exit::Refused })
}

/// An interrupt ends it wherever it is: the next run goes on from there.
fn rebalance(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let queue = filter::open(global, &args.queue)?;
    let without: Vec<_> = args.without.iter().map(String::as_str).collect();
    let done = queue.rebalance(&without)?;
    if let Some(reason) = &done.reason {
        note(reason);
    }
    let count = |count| i64::try_from(count).unwrap_or(i64::MAX);
    operations::answer("moved", (count(done.moved), count(done.kept)), &ask::rebalanced(&done), out)
}

/// The figures of a place, and the items that have left it and not arrived.
fn look(config: &Config, queue: &str) -> readpast::Result<(Watched, usize)> {
    let queue = Queue::open(config, queue)?;
    let watched = queue.watch(MOST)?;
    // A login that may not list them sees none.
    Ok((watched, queue.on_their_way().unwrap_or(0)))
}

/// The states that are shown of each place.
const SHOWN: [ItemState; 4] = [ItemState::Pending, ItemState::Processing, ItemState::Error, ItemState::Failed];

fn text(looked: &readpast::Result<(Watched, usize)>) -> String {
    let (watched, left) = match looked {
        Ok(looked) => looked,
        Err(error) => return format!("away: {error}"),
    };
    let count = |state| {
        let more = if watched.is_capped(state) { "+" } else { "" };
        format!("{state} {}{more}", watched.stats.count(state))
    };
    let oldest = watched.stats.oldest_due_ms.map(|ms| format!(", oldest due for {}", span_text(ms)));
    let paused = if watched.is_paused() { ", paused" } else { "" };
    let left = if *left > 0 { format!(", {left} on their way elsewhere (--rebalance)") } else { String::new() };
    format!("{}{}{paused}{left}", SHOWN.map(count).join(", "), oldest.unwrap_or_default())
}

fn document(name: &str, looked: &readpast::Result<(Watched, usize)>) -> Value {
    let mut document = json!({"place": name, "away": looked.is_err()});
    match looked {
        Ok((watched, left)) => {
            let items = SHOWN.map(|state| (state.as_str().to_owned(), json!(watched.stats.count(state))));
            document["items"] = Value::Object(items.into_iter().collect());
            document["more"] =
                SHOWN.into_iter().filter(|state| watched.is_capped(*state)).map(ItemState::as_str).collect();
            document["oldest_due_ms"] = json!(watched.stats.oldest_due_ms);
            document["paused"] = json!(watched.is_paused());
            document["on_their_way"] = json!(left);
        }
        Err(error) => document["error"] = json!(error.to_string()),
    }
    document
}
