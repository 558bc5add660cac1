//! `readpast enqueue`.

mod arguments;
mod lines;

use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use crate::global::Global;
use crate::output::{Output, note};
use crate::printable::one_line;
use crate::progress::Progress;
use crate::signals::Stop;
use crate::{connection, duration};
use arguments::Defaults;
use lines::{InputLine, InputLines};
use readpast::item::{After, OnFailed};
use readpast::queue::MAX_ITEMS;
use readpast::{NewItem, Queue, Receipt};
use serde_json::json;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;
use uuid::Uuid;

/// Enqueues items from arguments, a file, or standard input
///
/// Give one item as COLUMN=VALUE arguments, or COLUMN:=JSON for a value that is not text (Tags:='["a"]', Note:=null). Give many as
/// lines of JSON: {"Recipient": "a@example.org"}, or, for more than columns,
/// {"columns": {"Recipient": "a@example.org"}, "type": "Email", "step": "...", "due": "2026-11-21T08:30:00Z"} (or
/// "delay_ms": 60000 instead of "due"). For a queue with trace, also "traceparent" and "tracestate"; items without them get
/// TRACEPARENT and TRACESTATE of the environment. In a queue with after, "after" names the items for which one waits: keys, and
/// places of earlier lines, from 0 on, in the same batch; "on_failed" is "fail", "run" or "wait".
///
/// Items are sent in batches, each as a whole or not at all. A file is checked before anything is sent; of standard input, the
/// batches before a bad line are enqueued. --operation makes it safe to repeat the command: the same input (the bad line may be
/// corrected), with the same --operation and --batch, within an hour, enqueues only what is missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast enqueue Notification Recipient=a@example.org Body=Hello --type Email
  readpast enqueue Notification 'Tags:=[\"a\", \"b\"]' --delay 10m
  readpast enqueue Notification --file items.jsonl --keep-going")]
pub struct Args {
    /// The queue
    queue: String,
    /// The columns of one item
    #[arg(value_name = "COLUMN=VALUE")]
    columns: Vec<String>,
    /// An item as JSON, like a line of a file; may be given again
    #[arg(long, value_name = "JSON", conflicts_with = "columns")]
    item: Vec<String>,
    /// A file of JSON lines; - is standard input
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["columns", "item"])]
    file: Option<PathBuf>,
    /// Default type, for items that give none; without it, the first type of the queue
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Default step, for items that give none
    #[arg(long)]
    step: Option<String>,
    /// Default delay, for items that give no due time: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = duration::parse, conflicts_with = "due")]
    delay: Option<Duration>,
    /// Default due time in UTC, for items that give none: 2026-11-21T08:30:00Z
    #[arg(long, value_name = "TIME")]
    due: Option<String>,
    /// The key of an item that must be over before, for items that name none; may be given again
    #[arg(long, value_name = "KEY")]
    after: Vec<String>,
    /// Fate of an item when one that it waits for does not complete: fail, run or wait [default: fail]
    #[arg(long, value_name = "FATE", value_parser = OnFailed::read)]
    on_failed: Option<OnFailed>,
    /// Items per call
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ITEMS)))]
    batch: u32,
    /// Idempotency key of this input, a GUID: a repetition with it enqueues nothing twice
    #[arg(long, value_name = "GUID")]
    operation: Option<Uuid>,
    /// Goes on after a bad line, and then exits with 1
    #[arg(long)]
    keep_going: bool,
    /// Prints the keys of new items, also of those from a file or standard input
    #[arg(long)]
    keys: bool,
}

/// Text is sent in pieces of about this size, however long the lines are.
const BATCH_BYTES: usize = 4 << 20;

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let single = !args.columns.is_empty() || !args.item.is_empty();
    if !single && args.file.is_none() && io::stdin().is_terminal() {
        return Err(usage("give COLUMN=VALUE arguments, --item, --file, or JSON lines on standard input"));
    }
    let queue = Queue::open(&connection::config(global, "30000")?, &args.queue)?;
    let defaults = Defaults::new(args)?;
    let operation = args.operation.unwrap_or_else(Uuid::now_v7);
    let mut sender = Sender {
        queue: &queue,
        args,
        out,
        operation,
        batches: 0,
        sent: 0,
        duplicates: 0,
        prints_keys: single || args.keys,
        is_single: single,
    };
    if single {
        let items = arguments::items(queue.spec(), args, &defaults)?;
        let items: Vec<_> = (1..).zip(items).collect();
        for batch in items.chunks(args.batch as usize) {
            sender.send(batch.to_vec())?;
        }
        return Ok(Exit::Done);
    }
    if let Some(path) = args.file.as_deref().filter(|path| path.is_file() && !args.keep_going) {
        for line in InputLines::open(Some(path))? {
            line?.item(queue.spec(), &defaults).map_err(|(number, why)| {
                usage(format!("{}, line {number}: {why}; nothing was enqueued", path.display()))
            })?;
        }
    }
    stream(&mut sender, &defaults, InputLines::open(args.file.as_deref())?, global.quiet)
}

/// Line by line, batch by batch.
fn stream(sender: &mut Sender<'_>, defaults: &Defaults, source: InputLines, quiet: bool) -> Result<Exit> {
    let stop = Stop::listen()?;
    let progress = Progress::start(source.bytes(), quiet || sender.prints_keys);
    let (mut batch, mut bytes, mut refused) = (Vec::new(), 0, 0_u64);
    for line in source {
        if let Some(signal) = stop.signal() {
            return Err(Failure::Partly(format!("interrupted; {}", sender.so_far()), Exit::Signal(signal)));
        }
        let line: InputLine = line?;
        progress.read(line.bytes());
        bytes += line.bytes();
        match line.item(sender.queue.spec(), defaults) {
            Ok(item) => batch.push(item),
            Err((number, why)) if sender.args.keep_going => {
                refused += 1;
                progress.aside(|| note(&format!("line {number}: {why}")));
            }
            Err((number, why)) => {
                // The batch under way is left: the same input, corrected, then has the same batches up to here.
                return Err(usage(format!("line {number}: {why}; {}", sender.so_far())));
            }
        }
        if batch.len() >= sender.args.batch as usize || bytes >= BATCH_BYTES {
            sender.send(std::mem::take(&mut batch))?;
            progress.done(sender.sent);
            bytes = 0;
        }
    }
    sender.send(batch)?;
    progress.finish();
    if !sender.prints_keys && !sender.out.is_json() {
        let shown = |name: &str, count: u64| if count > 0 { format!(", {name}: {count}") } else { String::new() };
        let (duplicates, refused) = (shown("duplicates", sender.duplicates), shown("lines refused", refused));
        sender.out.text(&format!("items enqueued: {}{duplicates}{refused}\n", sender.sent))?;
    }
    Ok(if refused > 0 { Exit::Refused } else { Exit::Done })
}

/// Has an item name others, for which it waits, by their places in the batch, where the line has them by those in the input, from 0 on.
fn in_batch(lines: &[usize], item: &mut NewItem) -> std::result::Result<(), String> {
    for after in &mut item.after {
        let After::Item(place) = after else { continue };
        let found = lines.iter().position(|line| *line == *place + 1);
        let Some(found) = found else {
            let why = format!("an item waits for line {}, which is in no batch of {} with it", *place + 1, lines.len());
            return Err(format!("{why}; raise --batch, or give its key"));
        };
        *place = found;
    }
    Ok(())
}

/// Sends batches and prints their outcomes.
struct Sender<'a> {
    queue: &'a Queue,
    args: &'a Args,
    out: &'a Output,
    operation: Uuid,
    batches: u128,
    sent: u64,
    duplicates: u64,
    prints_keys: bool,
    /// Whether the items come from arguments.
    is_single: bool,
}

impl Sender<'_> {
    /// Sends items, each with its line number.
    fn send(&mut self, batch: Vec<(usize, NewItem)>) -> Result<()> {
        let Some((first, _)) = batch.first() else { return Ok(()) };
        let first = *first;
        // Each batch has an identity of its own that follows from that of the input.
        let operation = Uuid::from_u128(self.operation.as_u128().wrapping_add(self.batches)).to_string();
        let (lines, mut items): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        if let Some(why) = items.iter_mut().find_map(|item| in_batch(&lines, item).err()) {
            return Err(Failure::Partly(format!("{why}; {}", self.so_far()), Exit::Usage));
        }
        let enqueued = match self.queue.enqueue(&items, Some(&operation)) {
            Ok(enqueued) => enqueued,
            // All items of the arguments.
            Err(error) if self.is_single && self.batches == 0 => return Err(error.into()),
            Err(error) => {
                let from = if self.is_single { "items" } else { "lines" };
                let exit = Exit::of(error.kind());
                return Err(Failure::Partly(format!("{from} from {first} on: {error}; {}", self.so_far()), exit));
            }
        };
        self.batches += 1;
        let duplicates = enqueued.iter().filter(|item| item.duplicate).count();
        self.duplicates += duplicates as u64;
        self.sent += (enqueued.len() - duplicates) as u64;
        for (line, item) in lines.into_iter().zip(&enqueued) {
            // A closed standard output does not stop the work.
            match self.print(line, item) {
                Err(Failure::Closed) | Ok(()) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    fn print(&self, line: usize, item: &Receipt) -> Result<()> {
        if !self.out.is_json() && !self.prints_keys {
            return Ok(());
        }
        let text = || match (item.duplicate, item.key.as_str()) {
            (false, key) => one_line(key),
            (true, "") => "duplicate".to_owned(),
            (true, key) => format!("{}\tduplicate", one_line(key)),
        };
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        self.out.answer(
            text,
            || json!({"line": line, "key": some(&item.key), "token": some(&item.token), "duplicate": item.duplicate}),
        )
    }

    /// The report on an input that was not read to its end.
    fn so_far(&self) -> String {
        format!(
            "{} items were enqueued; the same input with --operation {} --batch {} enqueues the others only",
            self.sent, self.operation, self.args.batch
        )
    }
}
