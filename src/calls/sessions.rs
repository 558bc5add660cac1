//! The sessions that calls are made on.

use crate::error::{Error, Result};
use crate::metrics::CallKind;
use crate::session::Session;

/// The calls that a pause between two tries yields to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum YieldsTo {
    /// Only to the end of the handle: the call must be brought to its end.
    Closing,
    /// To an interrupt too: the call can be left undone.
    Interrupts,
}

/// The connections of a queue, for a deed that takes several calls.
pub(crate) trait Sessions {
    /// Runs `work` on a session, again and again while its errors may pass and the budget lasts. Work that is run this way can
    /// be repeated: it reads, or carries an operation identity, or asks first what its last try did, or is recovered by the lease.
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
