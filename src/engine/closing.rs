//! The end of a worker: what is in hand is waited for, or given up.

use super::shared::Shared;
use super::state::Phase;
use crate::error::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

/// Waits up to `patience` until all that was taken from a stopped worker has ended and is settled. After that it is given up.
pub(super) fn close(shared: &Shared, patience: Duration) -> Result<()> {
    let deadline = Instant::now().checked_add(patience);
    shared.stop();
    let mut state = shared.state.lock();
    while state.lanes.running > 0 || !state.hand.is_empty() && state.phase != Phase::GivenUp {
        let timed_out = match deadline {
            Some(deadline) => shared.ending.wait_until(&mut state, deadline).timed_out(),
            None => {
                shared.ending.wait(&mut state);
                false
            }
        };
        if timed_out && (state.lanes.running > 0 || !state.hand.is_empty()) {
            state.phase = Phase::GivenUp;
            shared.wake(&state, Instant::now());
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
            let message = format!("the worker was given up after {} ms {left}", patience.as_millis());
            return Err(state.failure.clone().unwrap_or_else(|| Error::new(ErrorKind::TimedOut, message)));
        }
    }
    let failure = state.failure.clone();
    drop(state);
    // There is nothing to keep any more.
    let keeping = shared.keeping.lock().take();
    drop(keeping);
    failure.map_or(Ok(()), Err)
}
