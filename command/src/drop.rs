//! `readpast drop`.

use crate::connection;
use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use crate::global::Global;
use crate::output::{Output, note};
use crate::printable::printable;
use readpast::install::{Dropping, drop_queue, dropping};
use readpast::render::Name;
use readpast::{Config, ErrorKind, ItemState, Queue};
use serde_json::json;
use std::io::{self, BufRead, IsTerminal, Write};

/// Drops a queue: one of readpast's own with all of its items
///
/// A table that was there before (`table` in the description) stays as it is, with its rows: only the objects that install added
/// go. The description in the database counts. Objects that all queues of the schema share stay, and so do roles. Workers that
/// are at work end with an error that says so. Nothing is dropped before you have answered a question.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast drop Notification
  readpast drop Notification --yes             in a script, without a question
  readpast drop Notification --sql > drop.sql  for a DBA to review and run")]
pub struct Args {
    /// The queue
    queue: String,
    /// Drops without a question
    #[arg(long, short)]
    yes: bool,
    /// Prints the SQL, and drops nothing
    #[arg(long, conflicts_with = "yes")]
    sql: bool,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let config = connection::config(global, "5000")?;
    let plan = dropping(&config, &args.queue)?;
    if args.sql {
        let schema = config.schema()?;
        if out.is_json() {
            let document = || json!({"queue": args.queue, "schema": schema.as_str(), "sql": plan.script});
            out.answer(String::new, document)?;
        } else {
            out.text(&plan.script)?;
        }
        return Ok(Exit::Done);
    }
    if !args.yes {
        let question = question(&config, &args.queue, &plan);
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(usage(format!("{question}\n  no terminal is there to answer: --yes drops without a question")));
        }
        if !is_answered_yes(&question)? {
            note("nothing was dropped");
            return Ok(Exit::Refused);
        }
    }
    drop_queue(&config, &args.queue).map_err(by_hand)?;
    let names = |names: &[Name]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    out.answer(
        || format!("dropped {}", args.queue),
        || json!({"dropped": args.queue, "tables": names(&plan.tables), "stays": names(&plan.stays)}),
    )?;
    Ok(Exit::Done)
}

/// The plan, to be shown before the question.
fn question(config: &Config, queue: &str, plan: &Dropping) -> String {
    let items = items(config, queue).unwrap_or_else(|error| format!("items that cannot be counted: {error}"));
    let names = |names: &[Name]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut lines = Vec::new();
    match (plan.stays.as_slice(), plan.tables.split_first()) {
        ([], Some((table, others))) => {
            lines.push(format!("the queue {queue} is dropped with its table {table} and all its items: {items}"));
            if !others.is_empty() {
                lines.push(format!("also dropped: {}", names(others)));
            }
        }
        ([], None) => lines.push(format!("the queue {queue} is dropped; the hand-written procedures stay")),
        (stays, _) => {
            lines
                .push(format!("the queue {queue} is dropped; its table {} stays with all rows: {items}", names(stays)));
            if !plan.tables.is_empty() {
                lines.push(format!("its side tables are dropped: {}", names(&plan.tables)));
            }
        }
    }
    for key in &plan.foreign_keys {
        lines.push(format!("the table {} loses its foreign key {}", key.table, key.key));
    }
    lines.join("\n  ")
}

/// The number of items, and their states.
fn items(config: &Config, queue: &str) -> readpast::Result<String> {
    let stats = Queue::open(config, queue)?.stats()?;
    let states = ItemState::ALL.into_iter().filter(|state| stats.count(*state) > 0);
    let states: Vec<_> = states.map(|state| format!("{} {state}", stats.count(state))).collect();
    let total: i64 = ItemState::ALL.into_iter().map(|state| stats.count(state)).sum();
    Ok(if states.is_empty() { "no items".to_owned() } else { format!("{total} items ({})", states.join(", ")) })
}

fn is_answered_yes(question: &str) -> Result<bool> {
    let lost = |error: io::Error| usage(format!("no answer came from the terminal: {error}"));
    let mut terminal = io::stderr().lock();
    write!(terminal, "readpast: {}\nDrop it? [y/N] ", printable(question)).map_err(lost)?;
    terminal.flush().map_err(lost)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(lost)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// A login without the right must not be given it: one that has it should drop the queue.
fn by_hand(error: readpast::Error) -> Failure {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            Failure::Remedied(error, "readpast drop QUEUE --sql prints the SQL, for a DBA to review and run")
        }
        _ => error.into(),
    }
}
