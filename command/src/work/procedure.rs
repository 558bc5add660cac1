//! `work --procedure`: no command runs; claim, call and settle are one transaction in the database.

use super::Args;
use super::figures::FiguresFile;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::global::Global;
use crate::output::{Output, note};
use crate::signals;
use readpast::worker::{Procedure, Worked};
use readpast::{ErrorKind, ItemState, Queue};
use serde_json::json;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread waits for an item before it checks whether it must end.
const WAIT: Duration = Duration::from_secs(3600);

/// The items of one deleting call, as in workers, and the longest pause after it: a signal must not wait for long.
const CHUNK: u32 = 250;
const LONGEST_REST: Duration = Duration::from_millis(500);

/// Counts of items by their outcome.
#[derive(Default)]
struct ProcedureCounts {
    completed: AtomicU64,
    retried: AtomicU64,
    failed: AtomicU64,
    other: AtomicU64,
}

pub fn run(global: &Global, args: &Args, name: &str, out: &Output) -> Result<Exit> {
    let mut config = super::config(global, args)?;
    if let Some(timeout) = args.timeout {
        config.set("query.timeout_ms", &timeout.as_millis().to_string())?;
    }
    config.set("pool.size", &args.jobs.clamp(1, 1000).to_string())?;
    let queue = Queue::open(&config, &args.queue)?;
    let procedure = Procedure::find(&queue, name)?;
    let figures = FiguresFile::begin(args.metrics_file.as_deref())?;

    // The server undoes a transaction under way when the process ends.
    let (stopped, seen) = (queue.clone(), AtomicU8::new(0));
    let handle = signals::listen(move |signal| {
        if seen.swap(signal, Ordering::Relaxed) != 0 {
            signals::exit(Exit::Signal(signal).status());
        }
        // The interrupt comes first, so that the message is true.
        stopped.interrupt();
        note("claiming no more items; running calls may end (a second signal ends them, and undoes their work)");
    })?;

    let counts = ProcedureCounts::default();
    let worker = ProcedureWorker { procedure: &procedure, queue: &queue, args, global, out, counts: &counts };
    let failure = thread::scope(|scope| {
        let threads: Vec<_> = (0..args.jobs).map(|_| scope.spawn(|| worker.run())).collect();
        let ends = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // The first failure is reported after all threads have ended.
        ends.collect::<Vec<_>>().into_iter().find_map(std::result::Result::err)
    });
    handle.close();
    let _ = queue.close(Duration::from_secs(1));
    drop(figures);
    worker.summary()?;
    failure.map_or(Ok(Exit::Done), Err)
}

struct ProcedureWorker<'a> {
    procedure: &'a Procedure,
    queue: &'a Queue,
    args: &'a Args,
    global: &'a Global,
    out: &'a Output,
    counts: &'a ProcedureCounts,
}

impl ProcedureWorker<'_> {
    fn run(&self) -> Result<()> {
        let wait = if self.args.until_empty { Duration::ZERO } else { WAIT };
        loop {
            match self.procedure.work(wait) {
                Ok(Some(worked)) => self.report(&worked)?,
                // It ends once expired items are deleted as well; new items come first.
                Ok(None) if self.args.until_empty && self.cleaned() => return Ok(()),
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
                // The server may come back; a worker that waits for it goes on.
                Err(error) if error.kind().is_transient() && !self.args.until_empty => {
                    note(&format!("{error}; goes on"))
                }
                Err(error) => {
                    // The others must end as well.
                    self.queue.interrupt();
                    return Err(Failure::from(error));
                }
            }
        }
    }

    /// Deletes some expired items, and rests if there are more; returns whether those were all.
    fn cleaned(&self) -> bool {
        let begun = Instant::now();
        match self.queue.retain(CHUNK) {
            Ok(deleted) if deleted >= CHUNK.into() => {
                thread::sleep((begun.elapsed() * 3).min(LONGEST_REST));
                false
            }
            Ok(_) => true,
            Err(error) => {
                note(&format!("items past their retention could not be deleted: {error}"));
                true
            }
        }
    }

    fn report(&self, worked: &Worked) -> Result<()> {
        let (count, is_good) = match worked.state {
            Some(ItemState::Completed) => (&self.counts.completed, true),
            Some(ItemState::Error) => (&self.counts.retried, false),
            Some(ItemState::Failed) => (&self.counts.failed, false),
            _ => (&self.counts.other, true),
        };
        count.fetch_add(1, Ordering::Relaxed);
        let Worked { key, attempt, error, .. } = worked;
        let state = worked.state.map_or("gone", ItemState::as_str);
        if self.out.is_json() {
            let line = json!({"event": "settled", "key": key, "attempt": attempt, "state": state, "error": error});
            return self.line(line);
        }
        if self.global.verbose || (!is_good && !self.global.quiet) {
            let why = error.as_deref().and_then(|text| text.lines().last()).unwrap_or_default();
            let colon = if why.is_empty() { "" } else { ": " };
            note(&format!("{key} {state} at attempt {attempt}{colon}{why}"));
        }
        Ok(())
    }

    /// Reports the sum.
    fn summary(&self) -> Result<()> {
        let counts = [&self.counts.completed, &self.counts.retried, &self.counts.failed, &self.counts.other];
        let names = ["completed", "retried", "failed", "other"];
        let counts = names.iter().zip(counts.map(|count| count.load(Ordering::Relaxed)));
        if self.out.is_json() {
            let mut sum = json!({"event": "stopped"});
            counts.for_each(|(name, count)| sum[*name] = json!(count));
            return self.line(sum);
        }
        if !self.global.quiet {
            let told = counts.filter(|(name, count)| **name == "completed" || *count > 0);
            note(&told.map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", "));
        }
        Ok(())
    }

    /// A closed standard output does not stop the work.
    fn line(&self, line: serde_json::Value) -> Result<()> {
        match self.out.answer(String::new, || line).and_then(|()| self.out.flush()) {
            Err(Failure::Closed) => Ok(()),
            told => told,
        }
    }
}
