//! The sessions of calls.

use crate::error::{Error, Result};
use crate::metrics::CallKind;
use crate::session::Session;

/// The events that end a pause between two tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum YieldsTo {
    /// Only the close of the handle: the call must be finished.
    Closing,
    /// An interrupt too: the call can be left undone.
    Interrupts,
}

/// The connections of a queue, for work that takes several calls.
pub(crate) trait Sessions {
    /// Runs `work` on a session, again after transient errors while the budget lasts. Such work can be repeated: it reads, or
    /// carries an operation identity, or asks first for the effect of its last try, or the lease recovers it.
    fn run(&self, call: CallKind, yields_to: YieldsTo, work: &mut dyn FnMut(&mut Session) -> Result<()>) -> Result<()>;

    /// [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted) or [`ErrorKind::Closed`](crate::ErrorKind::Closed), once the
    /// handle is called off.
    fn called_off(&self) -> Option<Error>;
}

/// The same for work that has a result.
pub(crate) trait Ask: Sessions {
    /// The result of `work`.
    #[expect(clippy::expect_used, reason = "a run that succeeds has run the work")]
    fn ask<T>(
        &self,
        call: CallKind,
        yields_to: YieldsTo,
        mut work: impl FnMut(&mut Session) -> Result<T>,
    ) -> Result<T> {
        let mut answer = None;
        self.run(call, yields_to, &mut |session| {
            answer = Some(work(session)?);
            Ok(())
        })?;
        Ok(answer.expect("the work's answer"))
    }
}

impl<S: Sessions + ?Sized> Ask for S {}
