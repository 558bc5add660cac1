//! `readpast retry`, `cancel`, `pause`, `resume` and `redrive`: the same but for their action.

use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use crate::filter::{self, FilterArgs, Pages};
use crate::global::Global;
use crate::output::{Output, note};
use crate::printable::one_line;
use crate::progress::Progress;
use crate::signals::Stop;
use readpast::queue::MAX_ITEMS;
use readpast::{Action, Answer, Batch, Filter, ItemRef, ItemState, Outcome, Queue, Settlement};
use serde_json::json;
use std::collections::BTreeMap;

/// Options of all five.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The queue
    queue: String,
    /// Shows which items it would change, and how many, and changes nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Items per call
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ITEMS)))]
    batch: u32,
    #[command(flatten)]
    filter: FilterArgs,
    /// All items that it can change; required without a filter
    #[arg(long)]
    all: bool,
}

/// An action on items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Retry,
    Cancel,
    Pause,
    Resume,
    Redrive,
}

impl Verb {
    pub const ALL: [Self; 5] = [Self::Retry, Self::Redrive, Self::Cancel, Self::Pause, Self::Resume];

    /// The name of its subcommand.
    pub fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Redrive => "redrive",
        }
    }

    pub fn done(self) -> &'static str {
        match self {
            Self::Retry => "retried",
            Self::Cancel => "cancelled",
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Redrive => "redriven",
        }
    }

    /// The states of the chosen items by default. Items that a worker holds are touched only on request.
    pub fn states(self) -> &'static [ItemState] {
        match self {
            Self::Retry => &[ItemState::Error],
            Self::Cancel => &[ItemState::Pending, ItemState::Error, ItemState::Paused],
            Self::Pause => &[ItemState::Pending, ItemState::Error],
            Self::Resume => &[ItemState::Paused],
            Self::Redrive => &[ItemState::Failed],
        }
    }

    /// The states in which it is possible; items in any other stay as they are.
    pub fn takes(self, state: ItemState) -> bool {
        use ItemState::{Cancelled, Error, Failed, PartiallyCompleted, Paused, Pending, Processing, Terminated};
        match self {
            Self::Retry => state == Error,
            Self::Resume => state == Paused,
            Self::Pause => matches!(state, Pending | Processing | Error),
            Self::Cancel => matches!(state, Pending | Processing | Error | Paused),
            Self::Redrive => matches!(state, Failed | Cancelled | Terminated | PartiallyCompleted | Error | Paused),
        }
    }

    /// Performs it on items of one page. An item that was changed since it was found is left alone.
    pub fn apply(self, queue: &Queue, page: &Batch) -> Result<Vec<Outcome>> {
        let items: Vec<_> = page.iter().map(|item| ItemRef { key: item.key(), token: filter::token(&item) }).collect();
        self.apply_to(queue, &items)
    }

    /// Performs it on items as long as they have these tokens.
    pub fn apply_to(self, queue: &Queue, items: &[ItemRef<'_>]) -> Result<Vec<Outcome>> {
        let settled = |action: Action, delay_ms: Option<i64>| {
            let settled = items.iter().map(|item| {
                let control = Settlement::control(item.key, item.token, action);
                Settlement { delay_ms, ..control }
            });
            queue.settle(&settled.collect::<Vec<_>>(), None)
        };
        Ok(match self {
            // Due at once, and not when its pause is over.
            Self::Retry => settled(Action::Resume, Some(0))?,
            Self::Cancel => settled(Action::Cancel, None)?,
            Self::Pause => settled(Action::Pause, None)?,
            Self::Resume => settled(Action::Resume, None)?,
            Self::Redrive => queue.redrive(items, None)?,
        })
    }
}

pub fn run(verb: Verb, global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    if args.filter.is_open() && !args.all {
        return Err(usage(
            "no items are named; give --key, --status, --type, --before, --after, --older-than, \
             --longer-than or --error, or --all",
        ));
    }
    let filter = args.filter.filter(verb.states())?;
    let queue = filter::open(global, &args.queue)?;
    let filter = filter::named(&queue, filter)?;
    if args.dry_run {
        return dry_run(verb, &queue, &filter, args, out);
    }
    let stop = Stop::listen()?;
    let progress = Progress::start(None, global.quiet);
    let (mut done, mut refused) = (BTreeMap::new(), 0_u64);
    for page in Pages::of(&queue, &filter, args.batch) {
        if let Some(signal) = stop.signal() {
            let total: u64 = done.values().sum();
            return Err(Failure::Partly(format!("interrupted; {}: {total}", verb.done()), Exit::Signal(signal)));
        }
        let page = page?;
        for (item, outcome) in page.iter().zip(verb.apply(&queue, &page)?) {
            if outcome.answer == Answer::Ok {
                *done.entry(outcome.state.map_or("gone", ItemState::as_str)).or_insert(0_u64) += 1;
            } else {
                refused += 1;
                let state = outcome.state.map_or("gone", ItemState::as_str);
                let what = format!("{} was left unchanged: {:?}, it is {state}", item.key(), outcome.answer);
                progress.aside(|| note(&what));
            }
        }
        progress.done(done.values().sum());
    }
    progress.finish();
    let total: u64 = done.values().sum();
    out.answer(
        || {
            let refused = if refused > 0 { format!(", left unchanged: {refused}") } else { String::new() };
            format!("{}: {total}{refused}", verb.done())
        },
        || json!({verb.done(): total, "states": done, "refused": refused}),
    )?;
    Ok(if refused > 0 { Exit::Refused } else { Exit::Done })
}

/// The items that it would change.
fn dry_run(verb: Verb, queue: &Queue, filter: &Filter, args: &Args, out: &Output) -> Result<Exit> {
    let mut states = BTreeMap::new();
    for page in Pages::of(queue, filter, args.batch) {
        for item in page?.iter() {
            let state = item.state().map_or("gone", ItemState::as_str);
            *states.entry(state).or_insert(0_u64) += 1;
            out.answer(
                || {
                    let number = filter::spoken(queue.spec(), item.key());
                    format!("{}\t{number}\t{state}\t{}", one_line(item.key()), item.attempt())
                },
                || {
                    let (key, number) = (item.key(), filter::digits(queue.spec(), item.key()));
                    json!({"key": key, "short_number": number, "status": state, "attempt": item.attempt()})
                },
            )?;
        }
    }
    let total: u64 = states.values().sum();
    let shown: Vec<_> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    let shown = if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) };
    out.answer(
        || format!("would be {}: {total}{shown}", verb.done()),
        || json!({"dry_run": true, verb.done(): total, "states": states}),
    )?;
    Ok(Exit::Done)
}
