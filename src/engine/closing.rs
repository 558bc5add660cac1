//! The end of a worker: it waits for the items in flight, or gives them up.

use super::shared::EngineShared;
use super::state::{EngineState, Phase};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::MutexGuard;
use std::time::{Duration, Instant};

/// Waits up to `patience` until a stopped worker has settled all taken items. Then it gives the worker up: nothing is settled or
/// renewed any more, and handlers work in vain.
pub(super) fn close(shared: &EngineShared, patience: Duration) -> Result<()> {
    let deadline = Instant::now().checked_add(patience);
    shared.stop();
    let mut state = shared.state.lock();
    while state.fetchers.running > 0 || !state.in_flight.is_empty() && state.phase != Phase::GivenUp {
        let timed_out = match deadline {
            Some(deadline) => shared.ending.wait_until(&mut state, deadline).timed_out(),
            None => {
                shared.ending.wait(&mut state);
                false
            }
        };
        if timed_out && (state.fetchers.running > 0 || !state.in_flight.is_empty()) {
            state.phase = Phase::GivenUp;
            shared.wake(&state, Instant::now());
            MutexGuard::unlocked(&mut state, || shared.reports.join());
            return Err(given_up(&state, &format!(" after {} ms", patience.as_millis())));
        }
    }
    // A further close returns the same, until an abandon has given the items back.
    if !state.in_flight.is_empty() {
        return Err(given_up(&state, ""));
    }
    let failure = state.failure.clone();
    drop(state);
    shared.reports.join();
    // No item needs its lease any more.
    let renewals = shared.renewals.lock().take();
    drop(renewals);
    failure.map_or(Ok(()), Err)
}

/// The error of a worker that was given up, `when` of which is a part of the sentence.
fn given_up(state: &EngineState, when: &str) -> Error {
    let left = if state.in_flight.is_empty() {
        "in the middle of a call; items that it may have claimed come back when their leases run out".to_owned()
    } else {
        let counts = state.in_flight.counts();
        format!(
            "with {} items that had not ended and {} that were not settled; their leases run out, unless it is abandoned",
            counts.begun,
            counts.ready + counts.ended
        )
    };
    let message = format!("the worker was given up{when} {left}");
    state.failure.clone().unwrap_or_else(|| Error::new(ErrorKind::TimedOut, message))
}
