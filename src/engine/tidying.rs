//! Deleting what is over, as the description of the queue says: between other calls, in small bites.

use super::Shared;
use crate::error::ErrorKind;
use std::time::{Duration, Instant};

/// Items of one call: few enough that nobody waits long for the lane that makes it.
const BITE: u32 = 250;

/// How much longer than a call the pause to the next one is: other work comes first.
const REST: u32 = 3;

/// Whether it has to be done although there is other work: a queue that is never idle must not grow for ever.
pub(super) fn is_overdue(shared: &Shared) -> bool {
    // One that stops by itself may never be idle at all.
    let patience = if shared.terms.until_empty { Duration::ZERO } else { shared.queue.retention_interval() };
    shared.queue.turn_to_retain(patience) == Some(Ok(()))
}

pub(super) fn tidy(shared: &Shared) {
    loop {
        let begun = Instant::now();
        match shared.queue.retain(BITE) {
            Ok(deleted) if deleted >= BITE.into() => {
                shared.queue.retain_again(begun.elapsed() * REST);
                if shared.terms.until_empty && !shared.is_stopping() {
                    continue;
                }
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Interrupted) => {}
            Err(error) => shared.trouble("delete what is over", &error),
        }
        return;
    }
}
