//! Settings of the workers on a queue.

use crate::config::Config;
use crate::description::QueueSpec;
use std::time::Duration;

/// How a worker on this queue claims ahead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pacing {
    /// How many threads call the database: never more than there are connections.
    pub(crate) fetchers: u32,
    /// The most items that wait for a handler; none with limits, where each would take room from those that others could begin.
    pub(crate) ahead: usize,
    /// The most bytes of them.
    pub(crate) ahead_bytes: usize,
    /// How long an item may wait for a handler.
    pub(crate) hold: Duration,
    /// How long a handler may work on an item.
    pub(crate) max_run: Option<Duration>,
}

impl Pacing {
    pub(super) fn new(config: &Config, spec: &QueueSpec) -> Self {
        let ahead = config.number("worker.ahead") as usize;
        Self {
            fetchers: config.number("worker.fetchers").min(config.number("pool.size")),
            ahead: if spec.limits.is_empty() { ahead } else { 0 },
            ahead_bytes: config.number("worker.ahead_bytes") as usize,
            hold: config.duration("worker.hold_ms"),
            max_run: Some(config.duration("worker.max_run_ms")).filter(|longest| !longest.is_zero()),
        }
    }
}
