//! Deletes expired items, and keeps figures.

use super::inner::QueueInner;
use crate::calls::{Sessions, check_count, retain as call_retain};
use crate::error::Result;
use crate::metrics::CallKind;
use crate::pool::closed;
use crate::shared::{CHUNK, CleaningDue};
use std::time::Duration;

impl QueueInner {
    /// When it is due in this process. `None`: never.
    pub(crate) fn cleaning_due(&self) -> Option<CleaningDue> {
        self.cleans().then(|| self.process.cleaner.due(self.cleaning_interval, self.first_pause()))
    }

    /// Takes this process's turn, if it is due; with `must` only if it is due although there is other work.
    pub(crate) fn turn_to_clean(&self, must: bool) -> bool {
        self.cleans() && self.process.cleaner.take_turn(must, self.cleaning_interval, self.first_pause())
    }

    /// Whether anything is to be done at all: behind hand-written procedures there is nothing.
    fn cleans(&self) -> bool {
        self.backend.own().is_some()
    }

    /// The pause before the first turn: what only keeps figures can wait.
    fn first_pause(&self) -> Duration {
        if self.terms.spec.deletes_what_is_over() { Duration::ZERO } else { self.cleaning_interval }
    }

    /// Keeps the figures of this minute, and deletes one chunk, on the thread that has the turn. Stops like a claim once the handle is called off.
    pub(crate) fn clean(&self) -> Result<()> {
        let go_on = || self.called_off().map_or(Ok(()), Err);
        self.process.cleaner.chunk(self.cleaning_interval, || {
            go_on()?;
            if let Err(error) = self.sample_minute() {
                log::debug!("queue {}: no figures of this minute: {error}", self.terms.queue());
            }
            self.retain(CHUNK, go_on)
        })
    }

    /// Deletes up to `max` items, with one try: it can wait until the next interval, and the caller has other work. `go_on`
    /// decides once there is a connection, which may have taken long.
    pub(crate) fn retain(&self, max: u32, go_on: impl Fn() -> Result<()>) -> Result<u64> {
        let max = check_count("the number of items to delete", max)?;
        let Some(statement) = self.backend.own().and_then(|own| own.retain.as_ref()) else { return Ok(0) };
        self.refuse_attached()?;
        if self.pool.is_closed() {
            return Err(closed());
        }
        let mut session = self.pool.acquire().inspect_err(|error| self.counters.failed(error.kind()))?;
        go_on()?;
        self.counters.time(CallKind::Retain, || call_retain(&mut session, statement, self.cleaning_interval, max))
    }
}
