//! `readpast operations`: who did what; and actions on many items, which go on from where they are.

use crate::connection;
use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use crate::filter;
use crate::global::Global;
use crate::output::Output;
use crate::printable::one_line;
use crate::progress::Progress;
use crate::signals::Stop;
use clap::Subcommand;
use readpast::install::installed;
use readpast::queue::MAX_ITEMS;
use readpast::{OperatorAction, OperatorVerb, Queue, ask};
use serde_json::{Value, json};

/// Shows who did what, and goes on with actions on many items
///
/// Each redrive, retry, cancel, pause, resume, purge, edit, move and change of a setting is recorded for 90 days: who, on which items, how many,
/// when, with what result. One on all items that match is done in steps: it can be cancelled, and another process can go on with it
/// after an interrupt, also by itself (`readpast serve --allow-actions`).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast operations list
  readpast operations cancel Notification 42
  readpast operations resume Notification 42")]
pub struct Args {
    #[command(subcommand)]
    verb: OperationsVerb,
}

#[derive(Debug, Subcommand)]
enum OperationsVerb {
    /// Lists the newest, of all queues or of one
    List {
        /// The queue
        queue: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ITEMS)))]
        limit: u32,
    },
    /// Shows one
    Show {
        /// The queue
        queue: String,
        /// Its number
        number: i64,
    },
    /// Ends one after its present step; items that are changed stay so
    Cancel {
        /// The queue
        queue: String,
        /// Its number
        number: i64,
    },
    /// Goes on with one whose process has gone
    Resume {
        /// The queue
        queue: String,
        /// Its number
        number: i64,
    },
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    match &args.verb {
        OperationsVerb::List { queue: Some(name), limit } => {
            list_each(&filter::open(global, name)?, false, *limit, out)
        }
        OperationsVerb::List { queue: None, limit } => {
            let config = connection::config(global, "5000")?;
            // The records are the schema's; any queue with procedures of ours leads to them.
            let Some(queue) = installed(&config)?.into_iter().find(|queue| queue.table.is_some()) else {
                return Ok(Exit::Done);
            };
            list_each(&Queue::open(&config, &queue.queue)?, true, *limit, out)
        }
        OperationsVerb::Show { queue, number } => {
            let action = filter::open(global, queue)?.action(*number)?.ok_or_else(|| unknown(queue, *number))?;
            list(&[action], out)
        }
        OperationsVerb::Cancel { queue, number } => {
            let opened = filter::open(global, queue)?;
            opened.action(*number)?.ok_or_else(|| unknown(queue, *number))?;
            let state = opened.cancel_action(*number)?;
            let action = opened.action(*number)?.ok_or_else(|| unknown(queue, *number))?;
            list(&[action], out)?;
            Ok(if state.is_some() { Exit::Done } else { Exit::Refused })
        }
        OperationsVerb::Resume { queue, number } => {
            let opened = filter::open(global, queue)?;
            opened.action(*number)?.ok_or_else(|| unknown(queue, *number))?;
            perform(&[(opened, *number)], 0, global.quiet, out)
        }
    }
}

fn unknown(queue: &str, number: i64) -> Failure {
    usage(format!("{queue} has no operation {number}; `readpast operations list {queue}` lists them"))
}

fn list(actions: &[OperatorAction], out: &Output) -> Result<Exit> {
    for action in actions {
        out.answer(|| line(action), || document(action))?;
    }
    Ok(Exit::Done)
}

/// The newest of the database, or of each place.
fn list_each(queue: &Queue, all: bool, limit: u32, out: &Output) -> Result<Exit> {
    let places = queue.places();
    if places.len() < 2 {
        return list(&queue.actions(all, None, limit)?, out);
    }
    for place in places {
        let at = queue.at(&place).and_then(|queue| queue.actions(all, None, limit));
        for action in at.map_err(|error| error.in_context(format_args!("place {place}")))? {
            let document = || {
                let mut document = document(&action);
                document["at"] = json!(place);
                document
            };
            out.answer(|| format!("{}\tat {place}", line(&action)), document)?;
        }
    }
    Ok(Exit::Done)
}

fn line(action: &OperatorAction) -> String {
    let refused = if action.refused > 0 { format!(", left unchanged: {}", action.refused) } else { String::new() };
    let expected = action.expected.map_or_else(String::new, |expected| format!(" of {expected}"));
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}{expected}{refused}\t{}\t{}{}",
        action.number,
        action.begun_at.get(..19).unwrap_or(&action.begun_at),
        one_line(&action.queue),
        one_line(&action.verb),
        action.state,
        action.done,
        one_line(&action.who),
        one_line(action.filter.as_deref().unwrap_or("-")),
        action.result.as_deref().map_or_else(String::new, |result| format!("\t{}", one_line(result))),
    )
}

/// An action as JSON, the same in all answers.
pub fn document(action: &OperatorAction) -> Value {
    let filter = action.filter.as_deref().and_then(|filter| serde_json::from_str::<Value>(filter).ok());
    json!({
        "number": action.number, "queue": action.queue, "verb": action.verb, "who": action.who, "login": action.login,
        "filter": filter, "state": action.state, "begun_at": action.begun_at, "ended_at": action.ended_at,
        "expected": action.expected, "done": action.done, "refused": action.refused, "place": action.place,
        "result": action.result, "at_work": action.is_held,
    })
}

/// Does an action from where it is, that of each place, and answers with the result. `left` more items were named and left unchanged.
pub fn perform(begun: &[(Queue, i64)], left: i64, quiet: bool, out: &Output) -> Result<Exit> {
    let stop = Stop::listen()?;
    let progress = Progress::start(None, quiet);
    let mut ended = Vec::<OperatorAction>::new();
    for (nth, (queue, number)) in begun.iter().enumerate() {
        let before: i64 = ended.iter().map(|action| action.done).sum();
        let resume = |(queue, number): &(Queue, i64)| {
            let place = queue.places().first().map_or_else(String::new, |place| format!(" --place {place}"));
            format!("`readpast operations resume {} {number}{place}` goes on", queue.name())
        };
        let goes_on = begun[nth..].iter().map(resume).collect::<Vec<_>>().join(", ");
        // The ends of one leave those of the places behind it.
        let behind = begun[nth + 1..].iter().map(|of| format!("; {}", resume(of))).collect::<String>();
        let done = queue.run_action(*number, |action| {
            progress.done(u64::try_from(before + action.done).unwrap_or(0));
            stop.signal().is_none()
        });
        let action = match done {
            Ok(Some(action)) => action,
            Ok(None) => {
                progress.finish();
                let text = format!("operation {number} has ended, or another process is at work on it{behind}");
                return Err(Failure::Partly(text, Exit::Refused));
            }
            Err(error) => {
                progress.finish();
                return Err(error.in_context(format!("operation {number} is not finished, {goes_on}")).into());
            }
        };
        if action.state != "Done" {
            progress.finish();
            let so_far = format!("{}: {}", action.verb.parse::<OperatorVerb>()?.done(), before + action.done);
            return match (action.state.as_str(), stop.signal()) {
                ("Running", Some(signal)) => {
                    Err(Failure::Partly(format!("interrupted; {so_far}; {goes_on}"), Exit::Signal(signal)))
                }
                (state, _) => {
                    let why = action.result.as_deref().unwrap_or(state);
                    Err(Failure::Partly(format!("{why}; {so_far}{behind}"), Exit::Refused))
                }
            };
        }
        ended.push(action);
    }
    progress.finish();
    let Some(first) = ended.first() else { return Ok(Exit::Done) };
    let verb: OperatorVerb = first.verb.parse()?;
    let done = ended.iter().map(|action| action.done).sum();
    let refused = ended.iter().map(|action| action.refused).sum::<i64>() + left;
    let mut document = ask::operated(verb, &OperatorAction { done, refused, ..first.clone() });
    if ended.len() > 1 {
        document["operation"] = Value::Null;
        let at = |((queue, number), action): (&(Queue, i64), &OperatorAction)| json!({"place": queue.places().first(), "operation": number, "done": action.done});
        document["operations"] = begun.iter().zip(&ended).map(at).collect();
    }
    answer(verb.done(), (done, refused), &document, out)
}

/// The result of an action.
pub fn answer(done_word: &str, (done, refused): (i64, i64), document: &Value, out: &Output) -> Result<Exit> {
    out.answer(
        || {
            let refused = if refused > 0 { format!(", left unchanged: {refused}") } else { String::new() };
            format!("{done_word}: {done}{refused}")
        },
        || document.clone(),
    )?;
    Ok(if refused > 0 { Exit::Refused } else { Exit::Done })
}
