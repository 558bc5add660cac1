//! The sessions of a queue with one try for each call, for work that can be left undone on a thread with other work.

use super::inner::QueueInner;
use crate::calls::{Sessions, YieldsTo};
use crate::error::{Error, Result};
use crate::metrics::CallKind;
use crate::session::Session;

pub(super) struct OneTry<'a>(pub(super) &'a QueueInner);

impl Sessions for OneTry<'_> {
    fn run(&self, call: CallKind, _: YieldsTo, work: &mut dyn FnMut(&mut Session) -> Result<()>) -> Result<()> {
        self.0.once(call, work)
    }

    fn called_off(&self) -> Option<Error> {
        self.0.called_off()
    }
}
