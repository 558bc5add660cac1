//! `readpast retry`, `cancel`, `pause`, `resume`, `redrive` and `purge`: the same but for their action.

use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::filter::{self, FilterArgs, Pages};
use crate::global::Global;
use crate::operations;
use crate::output::{Output, note};
use crate::printable::one_line;
use crate::progress::Progress;
use readpast::OperatorVerb as Verb;
use readpast::{Answer, Batch, Filter, ItemRef, ItemState, Outcome, Queue, ask};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Items of one call.
const PAGE: u32 = 500;

/// Options of all six.
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

impl Args {
    /// Whether nothing chooses items: what a pause or its end is of then is the queue, or the types that are named.
    pub fn is_of_queue(&self) -> bool {
        self.filter.names_no_items() && !self.all && !self.dry_run
    }

    pub fn queue(&self) -> &str {
        &self.queue
    }

    pub fn kinds(&self) -> &[String] {
        &self.filter.kind
    }
}

pub fn run(verb: Verb, global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    if args.filter.is_open() && !args.all {
        return Err(usage(
            "no items are named; give --key, --status, --type, --before, --after, --older-than, \
             --longer-than, --error or --where, or --all",
        ));
    }
    let queue = filter::open(global, &args.queue)?;
    let filter = filter::named(&queue, args.filter.filter()?)?;
    if args.dry_run {
        return dry_run(verb, global, &queue, &verb.narrow(filter), out);
    }
    if let Some(keys) = &filter.keys {
        return by_key(verb, global, &queue, keys, &filter, out);
    }
    operations::perform(&queue.begin_actions(verb, &filter, None)?, 0, global.quiet, out)
}

/// Changes named items, and reports each that it leaves unchanged.
fn by_key(verb: Verb, global: &Global, queue: &Queue, keys: &[String], filter: &Filter, out: &Output) -> Result<Exit> {
    let has_more = *filter != Filter::of_keys(keys.iter().cloned());
    let (mut found, mut left) = (Vec::new(), 0);
    if has_more || verb == Verb::Purge {
        let filter = verb.narrow(filter.clone());
        found = Pages::of(queue, &filter, PAGE).collect::<Result<Vec<_>>>()?;
        left = note_left_out(queue, keys, &found)?;
    }
    if verb == Verb::Purge {
        return operations::perform(&queue.begin_actions(verb, filter, None)?, left, global.quiet, out);
    }
    let items: Vec<_> = if has_more {
        found.iter().flat_map(Batch::iter).map(ItemRef::from).collect()
    } else {
        // Each has an outcome, also one that is not there.
        let keys: BTreeSet<_> = keys.iter().collect();
        keys.into_iter().map(|key| ItemRef { key, token: None }).collect()
    };
    let outcomes = queue.act(verb, &items)?;
    let mut done = 0;
    for (item, outcome) in items.iter().zip(&outcomes) {
        match unchanged(item.key, outcome) {
            None => done += 1,
            Some(why) => note(&why),
        }
    }
    let refused = i64::try_from(items.len()).unwrap_or(i64::MAX) - done + left;
    let mut document = ask::steered(verb, &items, &outcomes);
    document["refused"] = json!(refused);
    operations::answer(verb.done(), (done, refused), &document, out)
}

/// The report on an item that was left unchanged; `None` where it was changed.
pub fn unchanged(key: &str, outcome: &Outcome) -> Option<String> {
    match (outcome.answer, outcome.state) {
        (Answer::Ok, _) => None,
        (_, None) => Some(format!("{key} was left unchanged: {GONE}")),
        (answer, Some(state)) => Some(format!("{key} was left unchanged: {answer:?}, it is {state}")),
    }
}

const GONE: &str = "there is no such item";

/// Reports named items that are not among those that were found; how many there are.
fn note_left_out(queue: &Queue, keys: &[String], found: &[Batch]) -> Result<i64> {
    let found: BTreeSet<_> = found.iter().flat_map(Batch::iter).map(|item| item.key().to_owned()).collect();
    let mut left = 0;
    for key in keys.iter().collect::<BTreeSet<_>>().into_iter().filter(|key| !found.contains(*key)) {
        let item = queue.get(key)?;
        // A key can be written in several ways.
        let why = match item.iter().next() {
            Some(item) if found.contains(item.key()) => continue,
            Some(item) => format!("it is {}, which is not meant here", item.state().map_or("gone", ItemState::as_str)),
            None => GONE.to_owned(),
        };
        left += 1;
        note(&format!("{key} was left unchanged: {why}"));
    }
    Ok(left)
}

/// The items that it would change. Those of a purge are only counted: there may be millions.
fn dry_run(verb: Verb, global: &Global, queue: &Queue, filter: &Filter, out: &Output) -> Result<Exit> {
    let progress = Progress::start(None, global.quiet || verb != Verb::Purge);
    let (mut states, mut total) = (BTreeMap::new(), 0_u64);
    for page in Pages::of(queue, filter, PAGE) {
        for item in page?.iter() {
            let state = item.state().map_or("gone", ItemState::as_str);
            *states.entry(state).or_insert(0_u64) += 1;
            total += 1;
            if verb == Verb::Purge {
                continue;
            }
            out.answer(
                || {
                    let number = filter::spoken(queue.spec(), item.key());
                    format!("{}\t{number}\t{state}\t{}", one_line(item.key()), item.attempt())
                },
                || {
                    let (key, number) = (item.key(), ask::digits(queue.spec(), item.key()));
                    json!({"key": key, "short_number": number, "status": state, "attempt": item.attempt()})
                },
            )?;
        }
        progress.done(total);
    }
    progress.finish();
    let shown: Vec<_> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    let shown = if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) };
    out.answer(
        || format!("would be {}: {total}{shown}", verb.done()),
        || json!({"dry_run": true, verb.done(): total, "states": states}),
    )?;
    Ok(Exit::Done)
}
