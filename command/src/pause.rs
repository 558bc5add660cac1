//! `readpast pause` and `resume`: of a queue, of its types, or of items.

use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::filter;
use crate::global::Global;
use crate::output::Output;
use crate::printable::one_line;
use crate::{duration, steer};
use readpast::item::PauseEnd;
use readpast::{OperatorVerb as Verb, Queue, ask};
use serde_json::json;
use std::time::Duration;

/// Pauses a queue, types of it, or items
///
/// Without options that choose items, it pauses the queue, or with --type alone that type: nothing of it is claimed until it is resumed
/// or the time is over, items that are added wait too, and what workers have claimed goes on. A pause that is there gets the new end
/// and reason.
///
/// Items are paused one by one by --key, --status, --before and the others, or by --all; by default those that are Pending or Error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast pause Notification --for 2h --reason \"the bank is down\"
  readpast pause Notification --type Sms
  readpast pause Notification --key 2026-11-21T08:30:00.1234560")]
pub struct PauseArgs {
    #[command(flatten)]
    items: steer::Args,
    #[command(flatten)]
    end: EndArgs,
    /// The reason, for those who look
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// When a pause of a queue ends, or a change of a limit.
#[derive(Debug, clap::Args)]
pub struct EndArgs {
    /// Ends it after this time: 30m, 2h, 7d
    #[arg(long = "for", value_name = "TIME", value_parser = duration::parse, conflicts_with = "until")]
    span: Option<Duration>,
    /// Ends it at this UTC time, like 2026-11-21T08:30:00Z
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl EndArgs {
    pub fn is_given(&self) -> bool {
        self.span.is_some() || self.until.is_some()
    }

    pub fn end(&self) -> Result<PauseEnd> {
        Ok(match (self.span, &self.until) {
            (Some(span), _) => PauseEnd::After(span),
            (None, Some(until)) => ask::pause_until(until)?,
            (None, None) => PauseEnd::Resumed,
        })
    }
}

pub fn pause(global: &Global, args: &PauseArgs, out: &Output) -> Result<Exit> {
    if !args.items.is_of_queue() {
        if args.end.is_given() || args.reason.is_some() {
            return Err(usage("--for, --until and --reason are for a queue and its types, not for items"));
        }
        return steer::run(Verb::Pause, global, &args.items, out);
    }
    let end = args.end.end()?;
    let queue = filter::open(global, args.items.queue())?;
    for kind in kinds(&args.items) {
        queue.pause_queue(kind, end, args.reason.as_deref())?;
    }
    list(&queue, out)
}

pub fn resume(global: &Global, args: &steer::Args, out: &Output) -> Result<Exit> {
    if !args.is_of_queue() {
        return steer::run(Verb::Resume, global, args, out);
    }
    let queue = filter::open(global, args.queue())?;
    let mut exit = Exit::Done;
    for kind in kinds(args) {
        let resumed = queue.resume_queue(kind)?;
        let of =
            kind.map_or_else(|| format!("queue {}", one_line(queue.name())), |kind| format!("type {}", one_line(kind)));
        let text = if resumed { format!("resumed: {of}") } else { format!("was not paused: {of}") };
        let left = queue.pauses()?;
        out.answer(|| text, || json!({"type": kind, "resumed": resumed, "pauses": ask::pauses(&left)}))?;
        if !resumed {
            exit = Exit::Refused;
        }
    }
    Ok(exit)
}

/// The types that are named; else all of the queue.
fn kinds(args: &steer::Args) -> Vec<Option<&str>> {
    let named = args.kinds();
    if named.is_empty() { vec![None] } else { named.iter().map(|kind| Some(kind.as_str())).collect() }
}

/// The pauses in force, a line for each.
fn list(queue: &Queue, out: &Output) -> Result<Exit> {
    let pauses = queue.pauses()?;
    out.answer(
        || pauses.iter().map(|pause| one_line(&pause.to_string()).to_string()).collect::<Vec<_>>().join("\n"),
        || json!({"pauses": ask::pauses(&pauses)}),
    )?;
    Ok(Exit::Done)
}
