//! `readpast retry`, `cancel`, `pause`, `resume` and `redrive`: the same but for their action.

use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::filter::{self, FilterArgs, Pages};
use crate::global::Global;
use crate::operations;
use crate::output::{Output, note};
use crate::printable::one_line;
use crate::progress::Progress;
use readpast::OperatorVerb as Verb;
use readpast::{Answer, Filter, ItemRef, ItemState, Queue};
use serde_json::json;
use std::collections::BTreeMap;

/// Items of one call.
const PAGE: u32 = 500;

/// Options of all five.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The queue
    queue: String,
    /// Shows which items it would change, and how many, and changes nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[command(flatten)]
    filter: FilterArgs,
    /// All items that it can change; required without a filter
    #[arg(long)]
    all: bool,
}

pub fn run(verb: Verb, global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    if args.filter.is_open() && !args.all {
        return Err(usage(
            "no items are named; give --key, --status, --type, --before, --after, --older-than, \
             --longer-than or --error, or --all",
        ));
    }
    let filter = verb.narrow(args.filter.filter()?);
    let queue = filter::open(global, &args.queue)?;
    let filter = filter::named(&queue, filter)?;
    if args.dry_run {
        return dry_run(verb, &queue, &filter, out);
    }
    if filter.keys.is_some() {
        return by_key(verb, global, &queue, &filter, out);
    }
    let number = queue.begin_action(verb, &filter, None)?;
    operations::perform(&queue, number, global.quiet, out)
}

/// Changes named items, and reports each that it leaves unchanged.
fn by_key(verb: Verb, global: &Global, queue: &Queue, filter: &Filter, out: &Output) -> Result<Exit> {
    let progress = Progress::start(None, global.quiet);
    let (mut done, mut refused) = (0, 0);
    for page in Pages::of(queue, filter, PAGE) {
        let page = page?;
        let items: Vec<_> = page.iter().map(ItemRef::from).collect();
        for (item, outcome) in items.iter().zip(queue.act(verb, &items)?) {
            if outcome.answer == Answer::Ok {
                done += 1;
            } else {
                refused += 1;
                let state = outcome.state.map_or("gone", ItemState::as_str);
                let what = format!("{} was left unchanged: {:?}, it is {state}", item.key, outcome.answer);
                progress.aside(|| note(&what));
            }
        }
        progress.done(u64::try_from(done).unwrap_or(0));
    }
    progress.finish();
    operations::answer(verb, (done, refused), None, out)
}

/// The items that it would change.
fn dry_run(verb: Verb, queue: &Queue, filter: &Filter, out: &Output) -> Result<Exit> {
    let mut states = BTreeMap::new();
    for page in Pages::of(queue, filter, PAGE) {
        for item in page?.iter() {
            let state = item.state().map_or("gone", ItemState::as_str);
            *states.entry(state).or_insert(0_u64) += 1;
            out.answer(
                || {
                    let number = filter::spoken(queue.spec(), item.key());
                    format!("{}\t{number}\t{state}\t{}", one_line(item.key()), item.attempt())
                },
                || {
                    let (key, number) = (item.key(), readpast::ask::digits(queue.spec(), item.key()));
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
