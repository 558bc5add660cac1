//! What happened to the items: counted, and told.

use super::child::End;
use super::judge::Verdict;
use crate::failure::{Failure, Result};
use crate::output::{Output, note};
use readpast::{Answer, Error, Item, ItemState, Outcome};
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts, and where to tell. With --json, each item is a line on standard output, and so is the sum at the end; otherwise
/// what went wrong is told on standard error, and with --verbose everything.
pub struct Events<'a> {
    out: &'a Output,
    quiet: bool,
    verbose: bool,
    completed: AtomicU64,
    retried: AtomicU64,
    failed: AtomicU64,
    other: AtomicU64,
    released: AtomicU64,
    lost: AtomicU64,
}

impl<'a> Events<'a> {
    pub fn new(out: &'a Output, quiet: bool, verbose: bool) -> Self {
        let zero = AtomicU64::default;
        Self {
            out,
            quiet,
            verbose,
            completed: zero(),
            retried: zero(),
            failed: zero(),
            other: zero(),
            released: zero(),
            lost: zero(),
        }
    }

    /// Whether what commands write to standard error is passed on.
    pub fn shows_stderr(&self) -> bool {
        !self.quiet
    }

    /// How many items turned out not to be ours any more.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// An item that its command has ended, and what the database said to it.
    pub fn settled(&self, item: &Item<'_>, end: &End, verdict: &Verdict, outcome: &Outcome) -> Result<()> {
        if outcome.answer != Answer::Ok {
            return self.lost_item(item);
        }
        let (count, is_good) = match outcome.state {
            Some(ItemState::Completed) => (&self.completed, true),
            Some(ItemState::Error) => (&self.retried, false),
            Some(ItemState::Failed) => (&self.failed, false),
            // Given back; counted where that was decided.
            Some(ItemState::Pending) => (&AtomicU64::new(0), true),
            _ => (&self.other, true),
        };
        count.fetch_add(1, Ordering::Relaxed);
        let state = outcome.state.map_or("gone", ItemState::as_str);
        if self.out.is_json() {
            return self.line(json!({
                "event": "settled",
                "key": item.key(),
                "attempt": item.attempt(),
                "state": state,
                "exit_status": end.code,
                "signal": end.signal,
                "ms": u64::try_from(end.took.as_millis()).unwrap_or(u64::MAX),
                "error": verdict.error,
            }));
        }
        if self.verbose || (!is_good && !self.quiet) {
            let why = verdict.error.as_deref().and_then(|text| text.lines().last()).unwrap_or_default();
            let colon = if why.is_empty() { "" } else { ": " };
            note(&format!("{} {state} at attempt {}{colon}{why}", item.key(), item.attempt()));
        }
        Ok(())
    }

    /// An item that is not ours any more. Somebody else has it, or an operator took it.
    pub fn lost_item(&self, item: &Item<'_>) -> Result<()> {
        self.lost.fetch_add(1, Ordering::Relaxed);
        if self.out.is_json() {
            return self.line(json!({"event": "lost", "key": item.key(), "attempt": item.attempt()}));
        }
        note(&format!("{} is not ours any more; what its command did is not recorded", item.key()));
        Ok(())
    }

    /// Items that were given back unworked.
    pub fn released(&self, count: u64) {
        self.released.fetch_add(count, Ordering::Relaxed);
    }

    /// What the command said of an item does not fit its table. It is said shorter then, without step and response.
    pub fn refused(&self, item: &Item<'_>, error: &Error) {
        note(&format!(
            "{} at attempt {}: the table does not take what its command said ({error}); the error is cut, response and step are \
             left out; wider columns would keep them",
            item.key(),
            item.attempt()
        ));
    }

    /// An error that does not end the work.
    pub fn trouble(&self, error: &Error) {
        note(&format!("{error}; goes on"));
    }

    /// The sum of it all.
    pub fn summary(&self) -> Result<()> {
        let names = ["completed", "retried", "failed", "other", "released", "lost"];
        let counts = [&self.completed, &self.retried, &self.failed, &self.other, &self.released, &self.lost];
        let counts = names.iter().zip(counts.map(|count| count.load(Ordering::Relaxed)));
        if self.out.is_json() {
            let mut sum = json!({"event": "stopped"});
            counts.for_each(|(name, count)| sum[*name] = json!(count));
            return self.line(sum);
        }
        if !self.quiet {
            let counts: Vec<_> = counts
                .filter(|(name, count)| **name == "completed" || *count > 0)
                .map(|(name, count)| format!("{count} {name}"))
                .collect();
            note(&counts.join(", "));
        }
        Ok(())
    }

    /// A reader that has gone does not stop the work.
    fn line(&self, line: serde_json::Value) -> Result<()> {
        let told = self.out.answer(String::new, || line).and_then(|()| self.out.flush());
        match told {
            Err(Failure::Closed) => Ok(()),
            told => told,
        }
    }
}
