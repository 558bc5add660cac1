//! The three pipes of a command: its input is written, its outputs are kept. Windows's pipes cannot be polled: threads serve them
//! there.

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

/// The outputs of a command.
pub struct CapturedOutput {
    pub output: Written,
    pub errors: Written,
    shown_output: Option<Passthrough>,
    shown_errors: Option<Passthrough>,
}

/// The outputs that are passed on to our standard error.
#[derive(Debug, Clone, Copy)]
pub struct Shows {
    pub output: bool,
    pub errors: bool,
}

impl CapturedOutput {
    /// Empty outputs.
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

/// The activity of one turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct PipeActivity {
    /// The command wrote something, or closed an output.
    pub wrote: bool,
    /// It has ended. Reported once.
    pub ended: bool,
}
