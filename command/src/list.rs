//! `readpast list`.

use crate::connection;
use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::{Output, note};
use crate::printable::one_line;
use readpast::install::{Installed, installed};
use readpast::{Config, ItemState, Queue, Watched, ask};
use serde_json::{Map, Value, json};

/// Lists the queues of a schema, with their items by state
///
/// It looks at no more than 10,000 rows of each state: a plus says that there are more. The table is readpast's own, unless it says
/// "described".
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  readpast list --schema app")]
pub struct Args {}

/// Rows that each look takes.
const MOST: u32 = 10_000;

pub fn run(global: &Global, _: &Args, out: &Output) -> Result<Exit> {
    let config = connection::config(global, "5000")?;
    let schema = config.schema()?;
    let queues = installed(&config)?;
    if queues.is_empty() {
        note(&format!("no queue is installed in the schema {:?}", schema.as_str()));
    }
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let name = width(&mut queues.iter().map(|queue| queue.queue.chars().count()));
    let place = width(&mut queues.iter().map(|queue| table(queue).chars().count()));
    for queue in &queues {
        let counted = count(&config, queue);
        out.answer(
            || {
                let items = counted.as_ref().map_or_else(|error| format!("not counted: {error}"), by_state);
                one_line(&format!("{:<name$}  {:<place$}  {items}", queue.queue, table(queue)))
            },
            || document(schema.as_str(), queue, &counted),
        )?;
        out.flush()?;
    }
    Ok(Exit::Done)
}

fn count(config: &Config, queue: &Installed) -> readpast::Result<Watched> {
    Queue::open(config, &queue.queue)?.watch(MOST)
}

/// The table of the items.
fn table(queue: &Installed) -> String {
    match &queue.table {
        Some(table) if queue.own => table.to_string(),
        Some(table) => format!("{table} (described)"),
        None => "hand-written procedures".to_owned(),
    }
}

/// The states that have items.
fn by_state(counted: &Watched) -> String {
    let states = ItemState::ALL.into_iter().filter_map(|state| {
        let items = counted.stats.count(state);
        let more = if counted.is_capped(state) { "+" } else { "" };
        (items > 0).then(|| format!("{state} {items}{more}"))
    });
    let states: Vec<_> = states.collect();
    let away = counted.away.iter().map(|of| format!("; place {} is away: {}", of.place, of.error));
    let items = if states.is_empty() { "no items".to_owned() } else { states.join(", ") };
    items + &away.collect::<String>()
}

fn document(schema: &str, queue: &Installed, counted: &readpast::Result<Watched>) -> Value {
    let mut document = ask::installed(schema, queue);
    match counted {
        Ok(counted) => {
            let items = ItemState::ALL.map(|state| (state.as_str().to_owned(), json!(counted.stats.count(state))));
            document["items"] = Value::Object(Map::from_iter(items));
            let capped = ItemState::ALL.into_iter().filter(|state| counted.is_capped(*state));
            if !counted.away.is_empty() {
                document["away"] = ask::away(&counted.away);
            }
            document["more"] = capped.map(ItemState::as_str).collect();
        }
        Err(error) => document["error"] = json!(error.to_string()),
    }
    document
}
