//! Standard output: plain text, or JSON on request. One JSON document for one answer, one a line for many.

use crate::failure::{Failure, Result};
use crate::printable::{one_line, printable};
use log::Level;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The output of answers.
pub struct Output {
    json: bool,
    out: Mutex<BufWriter<Stdout>>,
}

impl Output {
    /// Standard output, as JSON or as text.
    pub fn new(json: bool) -> Self {
        Self { json, out: Mutex::new(BufWriter::with_capacity(64 * 1024, io::stdout())) }
    }

    /// Whether JSON is wanted.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// One answer: its text, in which nothing commands the terminal, or the same as JSON.
    pub fn answer<J: Display>(&self, text: impl FnOnce() -> String, json: impl FnOnce() -> J) -> Result<()> {
        let line = if self.json { json().to_string() } else { printable(&text()) };
        self.write(&line, "\n")
    }

    /// Text, without a line break after it.
    pub fn text(&self, text: &str) -> Result<()> {
        self.write(text, "")
    }

    /// Sends out what was written so far.
    pub fn flush(&self) -> Result<()> {
        self.lock().flush().map_err(broken)
    }

    fn write(&self, text: &str, end: &str) -> Result<()> {
        let mut out = self.lock();
        out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes())).map_err(broken)
    }

    fn lock(&self) -> MutexGuard<'_, BufWriter<Stdout>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The target of remarks instead of standard error, which a service does not have.
static ELSEWHERE: OnceLock<fn(Level, &str)> = OnceLock::new();

/// Sends remarks elsewhere from now on. Once a process.
#[cfg(windows)]
pub fn remark_to(place: fn(Level, &str)) {
    let _ = ELSEWHERE.set(place);
}

/// Whether standard error has a reader.
pub fn is_read() -> bool {
    ELSEWHERE.get().is_none()
}

/// A remark for the person at the terminal, on standard error, on a line of its own. It may get lost: nothing depends on it.
pub fn note(text: &str) {
    remark(Level::Info, text);
}

/// The same, for work that goes on only as long as its messages are read.
///
/// # Errors
/// When standard error is a pipe without a reader, or a terminal that is gone.
pub fn try_note(text: &str) -> io::Result<()> {
    say(Level::Info, text)
}

/// The same, with a level.
pub fn remark(level: Level, text: &str) {
    let _ = say(level, text);
}

/// A remark of many lines, which the caller has made of parts on one line each.
pub fn note_lines(text: &str) {
    let _ = put(Level::Info, &printable(text));
}

fn say(level: Level, text: &str) -> io::Result<()> {
    put(level, &one_line(text))
}

fn put(level: Level, text: &str) -> io::Result<()> {
    match ELSEWHERE.get() {
        Some(place) => place(level, text),
        None => writeln!(io::stderr().lock(), "readpast: {text}")?,
    }
    Ok(())
}

fn broken(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::Closed;
    }
    Failure::Partly(format!("standard output cannot be written: {error}"), crate::exit::Exit::Unavailable)
}
