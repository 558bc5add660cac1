//! The end of a worker: what is in hand is waited for, or given up.

use super::{Engine, Phase};
use crate::error::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

impl Engine {
    /// Stops the worker, and waits up to `patience` until all that was taken has ended and is settled; without one, for as
    /// long as a lease of the queue, after which others have it anyway. After that it is abandoned: leases run out, and
    /// other workers take over what was in hand.
    ///
    /// # Errors
    /// What made the worker stop, if it was a failure; [`ErrorKind::TimedOut`] says what was left in hand, or that a call
    /// was under way.
    pub fn close(&self, patience: impl Into<Option<Duration>>) -> Result<()> {
        let patience = patience.into().unwrap_or_else(|| self.0.0.queue.lease());
        let closed = self.close_within(patience);
        self.end_news();
        closed
    }

    fn close_within(&self, patience: Duration) -> Result<()> {
        let deadline = Instant::now().checked_add(patience);
        self.stop();
        let mut state = self.0.0.state.lock();
        while state.lanes.running > 0 || !state.hand.is_empty() && state.phase != Phase::Abandoned {
            let timed_out = match deadline {
                Some(deadline) => self.0.0.ending.wait_until(&mut state, deadline).timed_out(),
                None => {
                    self.0.0.ending.wait(&mut state);
                    false
                }
            };
            if timed_out && (state.lanes.running > 0 || !state.hand.is_empty()) {
                state.phase = Phase::Abandoned;
                self.0.0.wake(&state, Instant::now());
                let left = if state.hand.is_empty() {
                    "in the middle of a call; what that may have claimed comes back when its lease runs out".to_owned()
                } else {
                    let counts = state.hand.counts();
                    format!(
                        "with {} items that had not ended and {} that were not settled; their leases run out",
                        counts.begun,
                        counts.ready + counts.ended
                    )
                };
                let message = format!("the worker was abandoned after {} ms {left}", patience.as_millis());
                return Err(state.failure.clone().unwrap_or_else(|| Error::new(ErrorKind::TimedOut, message)));
            }
        }
        let failure = state.failure.clone();
        drop(state);
        // There is nothing to keep any more.
        let keeping = self.0.0.keeping.lock().take();
        drop(keeping);
        failure.map_or(Ok(()), Err)
    }
}
