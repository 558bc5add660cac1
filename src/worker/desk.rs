//! Settling, so that the outcome is known in the end.

use super::{Event, Observer, Stop};
use crate::error::{Error, Result};
use crate::item::{Answer, Batch, Outcome, Settlement};
use crate::queue::Queue;
use std::time::{Duration, Instant};

/// Between two tries of a call that the library has given up on.
const PAUSE: Duration = Duration::from_secs(1);

/// What every thread of a worker, and each of its jobs, works with.
#[derive(Clone, Copy)]
pub(super) struct Desk<'a> {
    pub(super) queue: &'a Queue,
    pub(super) stop: &'a Stop,
    pub(super) observer: Option<&'a Observer>,
}

impl Desk<'_> {
    /// Settles `settlements` and claims up to `max` items with them, unless it is time to end. The same call with the same
    /// identity again until its outcome is known, or the worker is stopped while the server does not answer.
    pub(super) fn settle(&self, settlements: &[Settlement<'_>], max: u32) -> Result<(Vec<Outcome>, Batch)> {
        let mut operation: Option<String> = None;
        loop {
            let begun = Instant::now();
            let result = if max > 0 && !self.stop.is_stopped() {
                self.queue.settle_and_claim(settlements, operation.as_deref(), max)
            } else {
                self.queue.settle(settlements, operation.as_deref()).map(|outcomes| (outcomes, Batch::default()))
            };
            match result {
                Ok((outcomes, batch)) => {
                    self.note_settled(settlements, &outcomes, batch.len(), begun.elapsed());
                    return Ok((outcomes, batch));
                }
                Err(error) if self.passes("settle", &error) => {
                    operation = error.operation().map(str::to_owned).or(operation);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a failed call is to be made again; then a while has passed.
    pub(super) fn passes(&self, doing: &str, error: &Error) -> bool {
        let passes = error.is_retryable() && !self.stop.is_stopped();
        if passes {
            log::warn!("cannot {doing}, and will try again: {error}");
            self.tell(&Event::Trouble { error });
            self.stop.pause(PAUSE);
        }
        passes
    }

    pub(super) fn tell(&self, event: &Event<'_>) {
        if let Some(observer) = self.observer {
            observer(event);
        }
    }

    fn note_settled(&self, settlements: &[Settlement<'_>], outcomes: &[Outcome], claimed: usize, took: Duration) {
        for (settlement, outcome) in settlements.iter().zip(outcomes) {
            if outcome.answer != Answer::Ok {
                let Settlement { key, attempt, action, .. } = settlement;
                let answer = outcome.answer;
                let now = outcome.state.map_or_else(|| "not there".to_owned(), |state| state.to_string());
                log::warn!(
                    "item {key}, attempt {attempt} could not be settled as {action:?} ({answer:?}): it is {now} now, \
                     and left to whoever has it"
                );
            }
        }
        self.tell(&Event::Settled { settlements, outcomes, claimed, took });
    }
}
