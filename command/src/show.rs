//! `readpast show`.

use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::filter::{self, FilterArgs, Pages};
use crate::format;
use crate::global::Global;
use crate::output::{Output, note};
use crate::printable::{one_line, printable};
use crate::why;
use readpast::ask::{self, Around};
use readpast::item::Wait;
use readpast::queue::MAX_ITEMS;
use readpast::{Attempt, ErrorKind, Item, ItemState, Progress, Queue, QueueSpec, Why};

/// Shows items by key in full, or by filter, a line each
///
/// A line has key, short number, state, attempts and the first line of the error, separated by tabs, and of an item in work how far
/// its handler says that it is. For a key it also says why
/// the item is not being worked on, as `why` does. It claims and changes nothing.
///
/// Where a key is a time, the short number is its digits from the day on: 2722 1110 54 0003. It can be given for the key wherever
/// a subcommand takes one, of the latest month in which that time has passed. Spaces and dashes do not count, and as many of its
/// digits are enough as distinguish the item from others: mostly ten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast show Notification --state Failed --limit 20
  readpast show Notification 2026-11-21T08:30:00.1234560  one item, in full
  readpast show Notification 2108300012                   the same, by its short number")]
pub struct Args {
    /// The queue
    queue: String,
    /// Keys or short numbers of items to show in full
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Most items to show
    #[arg(long, default_value_t = 100, value_name = "N")]
    limit: usize,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    if !args.keys.is_empty() && !args.filter.is_open() {
        return Err(usage("give keys or a filter, not both"));
    }
    let filter = args.filter.filter()?;
    let queue = filter::open(global, &args.queue)?;
    let filter = filter::named(&queue, filter)?;
    let mut missing = false;
    for given in &args.keys {
        let key = &queue.whole_key(given)?;
        let found = queue.get(key)?;
        match found.get(0) {
            Some(item) => {
                // It may cost a scan: not for each of many.
                let why = if args.keys.len() == 1 { queue.why(key)? } else { None };
                let (attempts, waits) = (attempts(&queue, key)?, ask::waits(&queue, key)?);
                let progress = ask::progress(&queue, &[key])?.pop();
                out.answer(
                    || {
                        in_full(queue.spec(), &item, why.as_ref())
                            + &progress_line(progress.as_ref())
                            + &wait_lines(&waits)
                            + &attempt_lines(attempts.as_deref().unwrap_or_default())
                    },
                    || {
                        ask::item(
                            queue.spec(),
                            &item,
                            &Around {
                                why: why.as_ref(),
                                attempts: attempts.as_deref(),
                                waits: &waits,
                                progress: progress.as_ref(),
                            },
                        )
                    },
                )?;
            }
            None => {
                missing = true;
                note(&why::unseen(&queue, key));
            }
        }
    }
    if !args.keys.is_empty() {
        return Ok(if missing { Exit::Refused } else { Exit::Done });
    }
    let mut left = args.limit;
    let size = u32::try_from(left).unwrap_or(MAX_ITEMS).clamp(1, MAX_ITEMS);
    for page in Pages::of(&queue, &filter, size) {
        let page = page?;
        let progress = ask::progress_of(&queue, &page)?;
        for item in page.iter() {
            if left == 0 {
                note(&format!("there are more than {} items; --limit shows more", args.limit));
                return Ok(Exit::Done);
            }
            left -= 1;
            let around = Around { progress: progress.get(item.key()), ..Around::default() };
            out.answer(
                || {
                    let line = line(queue.spec(), &item);
                    around.progress.map_or(line.clone(), |far| format!("{line}\t{}", one_line(&far.to_string())))
                },
                || ask::item(queue.spec(), &item, &around),
            )?;
        }
        out.flush()?;
    }
    Ok(Exit::Done)
}

/// The ended attempts at an item; `None` where none are recorded, or this login may not see them, which is reported.
fn attempts(queue: &Queue, key: &str) -> Result<Option<Vec<Attempt>>> {
    if !queue.spec().attempt_history {
        return Ok(None);
    }
    match queue.attempts(key) {
        Ok(attempts) => Ok(Some(attempts)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            note(&format!("this login may not see the attempts at {}: {error}", one_line(key)));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn line(spec: &QueueSpec, item: &Item<'_>) -> String {
    let error = crate::roles::text(spec, item, "error").unwrap_or_default();
    let error = one_line(error.lines().next().unwrap_or_default());
    let number = filter::spoken(spec, item.key());
    format!("{}\t{number}\t{}\t{}\t{error}", one_line(item.key()), state(item), item.attempt())
}

/// An item with all of its columns.
pub fn in_full(spec: &QueueSpec, item: &Item<'_>, why: Option<&Why>) -> String {
    let names: Vec<_> = item.columns().iter().map(|column| one_line(&column.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let number = spec.short_number(item.key()).map_or_else(String::new, |number| format!("   short number {number}"));
    let mut lines = vec![format!("item {}{number}", one_line(item.key()))];
    lines.extend(why.map(|why| format!("  {}", one_line(&why.to_string()))));
    for (index, (column, name)) in item.columns().iter().zip(&names).enumerate() {
        let value = match format::value(item.value(index), usize::MAX) {
            None if spec.is_secret(&column.name) => "(secret)".to_owned(),
            None => "-".to_owned(),
            Some(value) => printable(&value),
        };
        let indented = value.replace('\n', &format!("\n{:1$}", "", width + 4));
        lines.push(format!("  {name:<width$}  {indented}"));
    }
    lines.join("\n")
}

/// How far an item is, on a line; empty where that is unknown.
fn progress_line(progress: Option<&Progress>) -> String {
    progress.map_or_else(String::new, |progress| format!("\n  progress: {}", one_line(&progress.to_string())))
}

/// The items for which one waits, and those that wait for it, a line each; empty without any.
fn wait_lines(waits: &[Wait]) -> String {
    let lines = waits.iter().map(|wait| {
        let relation = match (wait.is_parent, wait.is_over) {
            (true, false) => "waits for",
            (true, true) => "waited for",
            (false, false) => "waited for by",
            (false, true) => "was waited for by",
        };
        format!("\n  {relation} {} ({})", one_line(&wait.key), wait.state.map_or("gone", ItemState::as_str))
    });
    lines.collect()
}

/// The ended attempts, a paragraph each; empty without any.
fn attempt_lines(attempts: &[Attempt]) -> String {
    let lines = attempts.iter().map(|attempt| {
        let of = |name: &str, value: &Option<String>| {
            let indent = format!("\n{:1$}", "", 14);
            value
                .as_ref()
                .map_or_else(String::new, |text| format!("\n    {name:<10}{}", printable(text).replace('\n', &indent)))
        };
        let worker = attempt.worker.as_deref().unwrap_or("(unknown)");
        let began = attempt.started.as_deref().unwrap_or("(unknown)");
        let head = format!(
            "\n  attempt {} by {}: {}, from {began} to {}",
            attempt.number,
            one_line(worker),
            attempt.outcome,
            attempt.ended
        );
        head + &of("step", &attempt.step) + &of("response", &attempt.response) + &of("error", &attempt.error)
    });
    lines.collect()
}

pub fn state(item: &Item<'_>) -> &'static str {
    item.state().map_or("", ItemState::as_str)
}
