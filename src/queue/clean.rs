//! Deletes expired items, and keeps figures.

use super::inner::QueueInner;
use crate::calls::{Sessions, check_count, retain as call_retain};
use crate::error::Result;
use crate::metrics::CallKind;
use crate::pool::closed;
use crate::shared::{CHUNK, CleaningDue};

impl QueueInner {
    /// When either is due in this process. `None`: never.
    pub(crate) fn cleaning_due(&self) -> Option<CleaningDue> {
        let deletes = self.deletes().then(|| self.process.cleaner.due(self.cleaning_interval));
        // A look that is late would be another minute's.
        let keeps = self.minute_due().map(|at| CleaningDue { at, at_latest: at, is_more: false });
        deletes.into_iter().chain(keeps).reduce(CleaningDue::or)
    }

    fn deletes(&self) -> bool {
        self.backend.own().is_some_and(|own| own.retain.is_some())
    }

    /// Keeps the figures of this minute, and deletes one chunk, if it is due in this process and no other thread does; with `must`
    /// only what is due although there is other work. Stops like a claim once the handle is called off.
    pub(crate) fn clean(&self, must: bool) -> Result<()> {
        if let Err(error) = self.sample_minute() {
            log::debug!("queue {}: no figures of this minute: {error}", self.terms.queue());
        }
        if !self.deletes() || !self.process.cleaner.take_turn(must, self.cleaning_interval) {
            return Ok(());
        }
        let go_on = || self.called_off().map_or(Ok(()), Err);
        self.process.cleaner.chunk(self.cleaning_interval, || {
            go_on()?;
            self.retain(CHUNK, go_on)
        })
    }

    /// The same on a thread with other work: a failure is logged, and tried again.
    pub(crate) fn clean_or_log(&self, must: bool) {
        if let Err(error) = self.clean(must) {
            log::warn!("queue {}: expired items could not be deleted: {error}", self.terms.queue());
        }
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
