//! `readpast retry`, `cancel`, `pause`, `resume` and `redrive`: the same but for their action.

use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use crate::filter::{self, FilterArgs, Pages};
use crate::global::Global;
use crate::output::{Output, note};
use crate::progress::Progress;
use crate::signals::Stop;
use readpast::ask::{Steered, digits};
use readpast::queue::MAX_ITEMS;
use readpast::{Answer, Filter, ItemState, Queue};
use serde_json::json;
use std::collections::BTreeMap;

pub use readpast::ask::Verb;

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
    let mut steered = Steered::default();
    for page in Pages::of(&queue, &filter, args.batch) {
        if let Some(signal) = stop.signal() {
            let total = steered.done();
            return Err(Failure::Partly(format!("interrupted; {}: {total}", verb.done()), Exit::Signal(signal)));
        }
        let page = page?;
        let outcomes = verb.apply(&queue, &page)?;
        steered.add(&outcomes);
        for (item, outcome) in page.iter().zip(outcomes) {
            if outcome.answer != Answer::Ok {
                let state = outcome.state.map_or("gone", ItemState::as_str);
                let what = format!("{} was left unchanged: {:?}, it is {state}", item.key(), outcome.answer);
                progress.aside(|| note(&what));
            }
        }
        progress.done(steered.done());
    }
    progress.finish();
    let (total, refused) = (steered.done(), steered.refused);
    out.answer(
        || {
            let refused = if refused > 0 { format!(", left unchanged: {refused}") } else { String::new() };
            format!("{}: {total}{refused}", verb.done())
        },
        || steered.document(verb),
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
                || format!("{}\t{}\t{state}\t{}", item.key(), filter::spoken(queue.spec(), item.key()), item.attempt()),
                || {
                    let (key, number) = (item.key(), digits(queue.spec(), item.key()));
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
