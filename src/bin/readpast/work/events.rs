//! What happened to the items: counted, and told.

use super::child::End;
use super::judge::Verdict;
use crate::failure::{Failure, Result};
use crate::output::{Output, note};
use readpast::engine::Event;
use readpast::{Action, Answer, Item, ItemState};
use serde_json::json;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    /// Items whose commands have ended, until it is told that the database has them.
    ended: Mutex<HashMap<Claim, VecDeque<Ended>>>,
}

/// Key and attempt. What is given back counts no attempt, so an item that is claimed again at once has the same claim, and
/// its command may have ended before it is told that it was given back.
type Claim = (String, i32);

/// How a command ended, and what it gave as the error. What it wrote is in its settlement, and may be large.
struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
    took: Duration,
    error: Option<String>,
    is_release: bool,
}

/// What the worker tells, for the thread that tells the user.
pub enum Told {
    Settled {
        claim: Claim,
        is_release: bool,
        answer: Answer,
        state: Option<ItemState>,
    },
    Lost(Claim),
    Refused(Claim, String),
    Trouble(String),
    /// There is nothing more.
    End,
}

impl Told {
    /// Sends what there is to tell of `event`. Nobody may listen any more.
    pub fn send(event: &Event<'_>, to: &Sender<Self>) {
        let claim = |key: &str, attempt| (key.to_owned(), attempt);
        match *event {
            Event::Settled { settlements, outcomes, .. } => {
                for (settlement, outcome) in settlements.iter().zip(outcomes) {
                    let _ = to.send(Self::Settled {
                        claim: claim(settlement.key, settlement.attempt),
                        is_release: settlement.action == Action::Release,
                        answer: outcome.answer,
                        state: outcome.state,
                    });
                }
            }
            Event::Lost { key, attempt, .. } => drop(to.send(Self::Lost(claim(key, attempt)))),
            Event::Refused { key, attempt, error, .. } => {
                drop(to.send(Self::Refused(claim(key, attempt), error.to_string())));
            }
            Event::Trouble { error, .. } => drop(to.send(Self::Trouble(error.to_string()))),
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

    /// Whether what commands write to standard error is passed on.
    pub fn shows_stderr(&self) -> bool {
        !self.quiet
    }

    /// How many items turned out not to be ours any more.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// An item whose command has ended. What becomes of it is told later.
    pub fn expect(&self, item: &Item<'_>, end: &End, verdict: &Verdict) {
        let &End { code, signal, took, .. } = end;
        let is_release = verdict.action == Action::Release;
        let ended = Ended { code, signal, took, error: verdict.error.clone(), is_release };
        self.keep((item.key().to_owned(), item.attempt()), ended);
    }

    fn keep(&self, claim: Claim, ended: Ended) {
        self.ended().entry(claim).or_default().push_back(ended);
    }

    /// How the command ended of which it is told now. An item that was given back before its turn had none.
    fn take(&self, claim: &Claim, is_release: bool) -> Option<Ended> {
        let mut all = self.ended();
        let of_claim = all.get_mut(claim)?;
        let place = of_claim.iter().position(|ended| ended.is_release == is_release)?;
        let ended = of_claim.remove(place);
        if of_claim.is_empty() {
            all.remove(claim);
        }
        ended
    }

    /// Tells what comes, to its end.
    pub fn tell(&self, told: &Receiver<Told>) -> Result<()> {
        while let Ok(told) = told.recv() {
            match told {
                Told::Settled { claim, is_release, answer, state } => {
                    let ended = self.take(&claim, is_release);
                    if answer != Answer::Ok {
                        self.lose(&claim)?;
                        continue;
                    }
                    self.released.fetch_add(u64::from(is_release), Ordering::Relaxed);
                    if let Some(ended) = ended {
                        self.settled(&claim, &ended, state)?;
                    }
                }
                Told::Lost(claim) => {
                    self.ended().remove(&claim);
                    self.lose(&claim)?;
                }
                // It is told at the item's end what the database made of it.
                Told::Refused((key, attempt), error) => note(&format!(
                    "{key} at attempt {attempt}: what its command said was refused, and is left out ({error}); wider columns \
                     or a shorter answer would keep it"
                )),
                Told::Trouble(error) => note(&format!("{error}; goes on")),
                Told::End => break,
            }
        }
        Ok(())
    }

    /// An item that its command has ended, and the state that the database has given it.
    fn settled(&self, (key, attempt): &Claim, ended: &Ended, state: Option<ItemState>) -> Result<()> {
        let Ended { code, signal, took, error, .. } = ended;
        let (count, is_good) = match state {
            Some(ItemState::Completed) => (&self.completed, true),
            Some(ItemState::Error) => (&self.retried, false),
            Some(ItemState::Failed) => (&self.failed, false),
            // Given back.
            Some(ItemState::Pending) => (&AtomicU64::new(0), true),
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
            let why = error.as_deref().and_then(|text| text.lines().last()).unwrap_or_default();
            let colon = if why.is_empty() { "" } else { ": " };
            note(&format!("{key} {state} at attempt {attempt}{colon}{why}"));
        }
        Ok(())
    }

    /// An item that is not ours any more. Somebody else has it, or an operator took it. The engine tells of it once.
    fn lose(&self, (key, attempt): &Claim) -> Result<()> {
        self.lost.fetch_add(1, Ordering::Relaxed);
        if self.out.is_json() {
            return self.line(json!({"event": "lost", "key": key, "attempt": attempt}));
        }
        note(&format!("{key} was lost; what its command did is not recorded"));
        Ok(())
    }

    fn ended(&self) -> MutexGuard<'_, HashMap<Claim, VecDeque<Ended>>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn what_was_given_back_and_is_worked_on_since_is_told_once_as_what_came_of_it() {
        let out = Output::new(false);
        let events = Events::new(&out, true, false);
        let claim = || ("key".to_owned(), 1);
        let (to, told) = channel();
        let settled = |is_release, state| {
            let state = Some(state);
            to.send(Told::Settled { claim: claim(), is_release, answer: Answer::Ok, state }).unwrap();
        };
        // Given back before its turn, claimed again and completed, before anything of it is told.
        settled(true, ItemState::Pending);
        let ended = |is_release| Ended { code: Some(0), signal: None, took: Duration::ZERO, error: None, is_release };
        events.keep(claim(), ended(false));
        settled(false, ItemState::Completed);
        // Given back by its command, and then completed.
        events.keep(claim(), ended(true));
        settled(true, ItemState::Pending);
        events.keep(claim(), ended(false));
        settled(false, ItemState::Completed);
        to.send(Told::End).unwrap();
        events.tell(&told).unwrap();
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        assert_eq!((count(&events.completed), count(&events.released)), (2, 2));
        assert!(events.ended().is_empty());
    }
}
