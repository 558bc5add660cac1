//! Pauses of the queue, and of its types.

use super::inner::QueueInner;
use crate::calls;
use crate::description::Storage;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::ident::did_you_mean;
use crate::item::{Pause, PauseEnd};
use serde_json::json;

/// Why hand-written procedures cannot be paused.
const CLAIM_BY_THEIR_OWN: &str =
    "its claims go by other procedures, which know no pauses; pause its items, or end its workers";

impl QueueInner {
    /// [`crate::Queue::pauses`].
    pub(crate) fn pauses(&self) -> Result<Vec<Pause>> {
        if self.backend.own().is_none() {
            return Ok(Vec::new());
        }
        match calls::pauses(self, &self.terms) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Vec::new()),
            found => found,
        }
    }

    /// [`crate::Queue::pause_queue`].
    pub(crate) fn pause_queue(&self, kind: Option<&str>, end: PauseEnd, reason: Option<&str>) -> Result<()> {
        self.check_pause(kind)?;
        calls::pause_queue(self, &self.terms, kind, end, &self.operator, reason)?;
        self.record("pause queue", &json!({ "type": kind }).to_string(), (1, 0));
        Ok(())
    }

    /// [`crate::Queue::resume_queue`].
    pub(crate) fn resume_queue(&self, kind: Option<&str>) -> Result<bool> {
        self.check_pause(kind)?;
        let was_paused = calls::resume_queue(self, &self.terms, kind)?;
        if was_paused {
            self.process.polls.wake();
            self.record("resume queue", &json!({ "type": kind }).to_string(), (1, 0));
        }
        Ok(was_paused)
    }

    fn check_pause(&self, kind: Option<&str>) -> Result<()> {
        self.refuse_attached()?;
        let spec = &self.terms.spec;
        if self.backend.own().is_none() || spec.claimed_by().is_some() {
            let why = format!("queue {} cannot be paused: {CLAIM_BY_THEIR_OWN}", spec.queue);
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        let Some(kind) = kind else { return Ok(()) };
        if let Storage::Table(table) = &spec.storage
            && table.lifecycle.kind.is_none()
        {
            let why = format!("queue {} has no column for types: pause all of it", spec.queue);
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        if !spec.types.iter().any(|known| known == kind) {
            let near = did_you_mean(kind, spec.types.iter().map(String::as_str));
            let why =
                format!("type: queue {} has no type {}{near}; it has {:?}", spec.queue, Excerpt(kind), spec.types);
            return Err(Error::new(ErrorKind::InvalidArgument, why));
        }
        Ok(())
    }
}
