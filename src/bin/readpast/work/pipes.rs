//! The three pipes of a command: what it reads is written, what it writes is kept. Windows's pipes cannot be polled: threads
//! serve them there.

#[cfg(unix)]
mod polled;
#[cfg(windows)]
mod threaded;

use super::capture::{Limits, Written};
#[cfg(unix)]
pub use polled::Pipes;
use std::io::{self, Write};
#[cfg(windows)]
pub use threaded::Pipes;

/// What a command writes.
pub struct Kept {
    pub output: Written,
    pub errors: Written,
    /// Whether standard error is passed on to our own.
    shows: bool,
}

impl Kept {
    /// Nothing yet.
    pub fn new(output: Limits, errors: Limits, shows: bool) -> Self {
        Self { output: Written::new(output), errors: Written::new(errors), shows }
    }

    fn keep_output(&mut self, bytes: &[u8]) {
        self.output.keep(bytes);
    }

    fn keep_errors(&mut self, bytes: &[u8]) {
        self.errors.keep(bytes);
        if self.shows {
            let _ = io::stderr().write_all(bytes);
        }
    }
}

/// What there was.
#[derive(Debug, Clone, Copy, Default)]
pub struct Turn {
    /// The command wrote something, or closed an output.
    pub said: bool,
    /// It has ended. This is said once.
    pub ended: bool,
}
