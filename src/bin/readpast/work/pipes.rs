//! The three pipes of a command: what it reads is written, what it writes is kept. Windows's pipes cannot be polled: threads
//! serve them there.

#[cfg(unix)]
mod polled;
#[cfg(windows)]
mod threaded;

use super::capture::{Limits, Written};
use crate::passthrough::Passthrough;
#[cfg(unix)]
pub use polled::Pipes;
#[cfg(windows)]
pub use threaded::Pipes;

/// What a command writes.
pub struct CapturedOutput {
    pub output: Written,
    pub errors: Written,
    shown_output: Option<Passthrough>,
    shown_errors: Option<Passthrough>,
}

/// Which outputs are passed on to our standard error.
#[derive(Debug, Clone, Copy)]
pub struct Shows {
    pub output: bool,
    pub errors: bool,
}

impl CapturedOutput {
    /// Nothing yet.
    pub fn new(output: Limits, errors: Limits, shows: Shows) -> Self {
        Self {
            output: Written::new(output),
            errors: Written::new(errors),
            shown_output: shows.output.then(Passthrough::new),
            shown_errors: shows.errors.then(Passthrough::new),
        }
    }

    fn keep_output(&mut self, bytes: &[u8]) {
        self.output.keep(bytes);
        if let Some(shown) = &mut self.shown_output {
            shown.pass(bytes);
        }
    }

    fn keep_errors(&mut self, bytes: &[u8]) {
        self.errors.keep(bytes);
        if let Some(shown) = &mut self.shown_errors {
            shown.pass(bytes);
        }
    }
}

/// What there was.
#[derive(Debug, Clone, Copy, Default)]
pub struct PipeActivity {
    /// The command wrote something, or closed an output.
    pub wrote: bool,
    /// It has ended. This is said once.
    pub ended: bool,
}
