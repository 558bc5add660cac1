//! The sessions of a queue with one try for each call, for work that can be left undone on a thread with other work.

use super::inner::QueueInner;
use crate::calls::{Sessions, YieldsTo};
use crate::error::{Error, Result};
use crate::metrics::CallKind;
use crate::session::Session;
use std::time::Instant;

pub(crate) struct OneTry<'a> {
    queue: &'a QueueInner,
    /// When the thread goes on at the latest, also if all connections are in use, or hang.
    deadline: Option<Instant>,
}

impl<'a> OneTry<'a> {
    pub(crate) fn new(queue: &'a QueueInner) -> Self {
        Self { queue, deadline: None }
    }

    pub(crate) fn until(queue: &'a QueueInner, deadline: Instant) -> Self {
        Self { queue, deadline: Some(deadline) }
    }
}

impl Sessions for OneTry<'_> {
    fn run(&self, call: CallKind, _: YieldsTo, work: &mut dyn FnMut(&mut Session) -> Result<()>) -> Result<()> {
        let Some(deadline) = self.deadline else { return self.queue.once(call, work) };
        self.queue.refuse_attached()?;
        let left = deadline.saturating_duration_since(Instant::now());
        self.queue.tried(call, self.queue.pool.acquire_to_renew(left), work)
    }

    fn called_off(&self) -> Option<Error> {
        self.queue.called_off()
    }
}
