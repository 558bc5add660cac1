//! Counts and reports the events of items.

use super::child::ChildEnd;
use super::mapping::CommandVerdict;
use super::pipes::Shows;
use crate::failure::{Failure, Result};
use crate::output::{self, Output, note};
use readpast::engine::Event;
use readpast::error::log_text;
use readpast::{Action, Answer, Error, Item, ItemState};
use serde_json::json;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts, and where to report. With --json, each item is a line on standard output, and so is the sum at the end; otherwise
/// failures go to standard error, and with --verbose everything.
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
    /// Items whose commands have ended, until the database's answer is reported.
    ended: Mutex<HashMap<CommandClaim, CommandEnd>>,
}

/// The name of a claim. A release counts no attempt, so an item that is claimed again at once has the same attempt, and its
/// command may have ended before the release is reported: they differ by the token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandClaim {
    key: String,
    attempt: i32,
    token: String,
}

impl CommandClaim {
    fn new(key: &str, attempt: i32, token: &str) -> Self {
        Self { key: key.to_owned(), attempt, token: token.to_owned() }
    }
}

/// The end of a command, and its error. Its output is in its settlement, and may be large.
struct CommandEnd {
    code: Option<i32>,
    signal: Option<i32>,
    took: Duration,
    error: Option<String>,
    /// The same without its output, which was shown at once.
    brief: Option<String>,
}

/// A report of the worker, for the thread that informs the user.
pub enum WorkerReport {
    Settled {
        claim: CommandClaim,
        is_release: bool,
        answer: Answer,
        state: Option<ItemState>,
    },
    Lost(CommandClaim),
    Refused {
        key: String,
        attempt: i32,
        error: String,
        remedy: &'static str,
    },
    Trouble(String),
    /// No more reports follow.
    End,
}

/// The remedy for a refusal, by its source: the library, which counts, a type, or a constraint of the table.
fn remedy(error: &Error) -> &'static str {
    match (error.sqlstate(), error.native_code()) {
        (Some("23505" | "23P01"), _) | (_, 2601 | 2627) => {
            "; a unique index of the table allows no second item with \
                                                            these values"
        }
        (Some("23502" | "23503" | "23514"), _) | (_, 515 | 547) => "; a constraint of the table refuses these values",
        (None | Some("22001"), _) | (_, 8152 | 2628) => "; wider columns or a shorter answer would keep it",
        _ => "",
    }
}

impl WorkerReport {
    /// Sends the reports of `event`. The receiver may be gone.
    pub fn send(event: &Event<'_>, to: &Sender<Self>) {
        match *event {
            Event::Settled { settlements, outcomes, .. } => {
                for (settlement, outcome) in settlements.iter().zip(outcomes) {
                    let _ = to.send(Self::Settled {
                        claim: CommandClaim::new(
                            settlement.key,
                            settlement.attempt,
                            settlement.token.unwrap_or_default(),
                        ),
                        is_release: settlement.action == Action::Release,
                        answer: outcome.answer,
                        state: outcome.state,
                    });
                }
            }
            Event::Lost { key, attempt, token, .. } => {
                drop(to.send(Self::Lost(CommandClaim::new(key, attempt, token))))
            }
            Event::Refused { key, attempt, error, .. } => {
                let (key, remedy) = (key.to_owned(), remedy(error));
                let error = log_text(&error.to_string()).into_owned();
                drop(to.send(Self::Refused { key, attempt, error, remedy }));
            }
            Event::Trouble { error, .. } => drop(to.send(Self::Trouble(log_text(&error.to_string()).into_owned()))),
            _ => {}
        }
    }
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
            ended: Mutex::default(),
        }
    }

    /// Outputs of commands that are passed on.
    pub fn shows(&self) -> Shows {
        let errors = !self.quiet && output::is_read();
        Shows { errors, output: errors && self.verbose }
    }

    /// How many items were lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Notes an item whose command has ended. Its outcome is reported later.
    pub fn expect(&self, item: &Item<'_>, end: &ChildEnd, verdict: &CommandVerdict) {
        let &ChildEnd { code, signal, took, .. } = end;
        self.ended().insert(
            claim(item),
            CommandEnd { code, signal, took, error: verdict.error.clone(), brief: verdict.brief.clone() },
        );
    }

    /// Forgets an item that was lost before: it has no outcome.
    pub fn forget(&self, item: &Item<'_>) {
        self.ended().remove(&claim(item));
    }

    /// Reports until the end.
    pub fn report(&self, reports: &Receiver<WorkerReport>) -> Result<()> {
        while let Ok(report) = reports.recv() {
            match report {
                WorkerReport::Settled { claim, is_release, answer, state } => {
                    // An item that was released before its turn has no command.
                    let ended = self.ended().remove(&claim);
                    if answer != Answer::Ok {
                        self.lose(&claim)?;
                        continue;
                    }
                    self.released.fetch_add(u64::from(is_release), Ordering::Relaxed);
                    if let Some(ended) = ended {
                        self.settled(&claim, &ended, is_release, state)?;
                    }
                }
                WorkerReport::Lost(claim) => {
                    self.ended().remove(&claim);
                    self.lose(&claim)?;
                }
                // The item's end reports the database's answer.
                WorkerReport::Refused { key, attempt, error, remedy } => note(&format!(
                    "{key} at attempt {attempt}: a part of its command's result was refused, and is left out \
                     ({error}){remedy}"
                )),
                WorkerReport::Trouble(error) => note(&format!("{error}; goes on")),
                WorkerReport::End => break,
            }
        }
        Ok(())
    }

    /// Reports an item whose command has ended, and the state that the database has given it.
    fn settled(
        &self,
        claim: &CommandClaim,
        ended: &CommandEnd,
        is_release: bool,
        state: Option<ItemState>,
    ) -> Result<()> {
        let CommandClaim { key, attempt, .. } = claim;
        let CommandEnd { code, signal, took, error, brief } = ended;
        let (count, is_good) = match state {
            // It is counted already. Delayed in a table that has no due time, it is an Error.
            _ if is_release => (&AtomicU64::new(0), true),
            Some(ItemState::Completed) => (&self.completed, true),
            Some(ItemState::Error) => (&self.retried, false),
            Some(ItemState::Failed) => (&self.failed, false),
            _ => (&self.other, true),
        };
        count.fetch_add(1, Ordering::Relaxed);
        let state = state.map_or("gone", ItemState::as_str);
        if self.out.is_json() {
            return self.line(json!({
                "event": "settled",
                "key": key,
                "attempt": attempt,
                "state": state,
                "exit_status": code,
                "signal": signal,
                "ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "error": error,
            }));
        }
        if self.verbose || (!is_good && !self.quiet) {
            let why = if self.shows().errors { brief } else { error };
            let why = why.as_deref().and_then(|text| text.lines().last()).unwrap_or_default();
            let why = log_text(why);
            let colon = if why.is_empty() { "" } else { ": " };
            note(&format!("{key} {state} at attempt {attempt}{colon}{why}"));
        }
        Ok(())
    }

    /// Reports a lost item: it has another holder, or an operator took it. The engine reports it once.
    fn lose(&self, CommandClaim { key, attempt, .. }: &CommandClaim) -> Result<()> {
        self.lost.fetch_add(1, Ordering::Relaxed);
        if self.out.is_json() {
            return self.line(json!({"event": "lost", "key": key, "attempt": attempt}));
        }
        note(&format!("{key} was lost; its command's result is not recorded"));
        Ok(())
    }

    fn ended(&self) -> MutexGuard<'_, HashMap<CommandClaim, CommandEnd>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports the sum.
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

    /// A closed standard output does not stop the work.
    fn line(&self, line: serde_json::Value) -> Result<()> {
        let written = self.out.answer(String::new, || line).and_then(|()| self.out.flush());
        match written {
            Err(Failure::Closed) => Ok(()),
            failed => failed,
        }
    }
}

fn claim(item: &Item<'_>) -> CommandClaim {
    CommandClaim::new(item.key(), item.attempt(), item.token())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Reports `reports`, of items whose commands have ended before.
    fn reported<'a>(out: &'a Output, ended: &[&CommandClaim], reports: Vec<WorkerReport>) -> Events<'a> {
        let events = Events::new(out, true, false);
        for claim in ended {
            let ended = CommandEnd { code: Some(0), signal: None, took: Duration::ZERO, error: None, brief: None };
            events.ended().insert((*claim).clone(), ended);
        }
        let (sender, receiver) = channel();
        reports.into_iter().chain([WorkerReport::End]).for_each(|report| sender.send(report).unwrap());
        events.report(&receiver).unwrap();
        events
    }

    fn settled(claim: &CommandClaim, is_release: bool, state: ItemState) -> WorkerReport {
        WorkerReport::Settled { claim: claim.clone(), is_release, answer: Answer::Ok, state: Some(state) }
    }

    fn counts(events: &Events<'_>) -> [u64; 4] {
        [&events.completed, &events.retried, &events.released, &events.lost].map(|count| count.load(Ordering::Relaxed))
    }

    #[test]
    fn a_released_item_that_is_claimed_again_is_reported_once() {
        let out = Output::new(false);
        let [before, after, directed, last] = ["1", "2", "3", "4"].map(|token| CommandClaim::new("key", 1, token));
        // Released before its turn, claimed again and completed; released by its command, and then completed.
        let all = vec![
            settled(&before, true, ItemState::Pending),
            settled(&after, false, ItemState::Completed),
            settled(&directed, true, ItemState::Pending),
            settled(&last, false, ItemState::Completed),
        ];
        let events = reported(&out, &[&after, &directed, &last], all);
        assert_eq!(counts(&events), [2, 0, 2, 0]);
        assert!(events.ended().is_empty());
    }

    #[test]
    fn a_loss_is_of_the_one_claim() {
        let out = Output::new(false);
        let [lost, later] = ["1", "2"].map(|token| CommandClaim::new("key", 1, token));
        let all = vec![WorkerReport::Lost(lost.clone()), settled(&later, false, ItemState::Completed)];
        let events = reported(&out, &[&lost, &later], all);
        assert_eq!(counts(&events), [1, 0, 0, 1]);
        assert!(events.ended().is_empty());
    }

    #[test]
    fn a_delayed_item_in_a_table_without_due_times_counts_as_released() {
        let out = Output::new(false);
        let claim = CommandClaim::new("key", 1, "1");
        assert_eq!(counts(&reported(&out, &[&claim], vec![settled(&claim, true, ItemState::Error)])), [0, 0, 1, 0]);
    }
}
