//! The three pipes of a command, served by the thread that waits for it: what it reads is written, what it writes is kept. They
//! are ours and end with us: a process that the command left behind may hold its ends open for ever, and holds up nothing here.

use super::capture::{Limits, Written};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::Duration;

/// Our ends of the pipes; one that is closed is gone.
pub struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// What is still to be written.
    input: Vec<u8>,
    written: usize,
    /// Whether standard error is passed on to our own.
    shows: bool,
    /// What was read.
    pub output: Written,
    pub errors: Written,
}

impl Pipes {
    /// Takes the pipes of a command that was just started.
    pub fn of(child: &mut Child, input: Vec<u8>, output: Limits, errors: Limits, shows: bool) -> io::Result<Self> {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ends =
            [stdin.as_ref().map(AsFd::as_fd), stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)];
        for end in ends.into_iter().flatten() {
            // Our end of it only: the command's is another open file.
            rustix::io::ioctl_fionbio(end, true)?;
        }
        let (output, errors) = (Written::new(output), Written::new(errors));
        Ok(Self { stdin, stdout, stderr, input, written: 0, shows, output, errors })
    }

    /// Whether everybody who could write has closed both outputs.
    pub fn are_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Waits until something can be read or written, or `also` has something or is closed, at most for `patience`; then does what
    /// can be done without waiting. Says what there was.
    pub fn turn(&mut self, also: Option<&PipeReader>, patience: Duration) -> io::Result<Turn> {
        let reads = PollFlags::IN;
        let wanted: [(Option<BorrowedFd<'_>>, PollFlags); 4] = [
            (self.stdin.as_ref().map(AsFd::as_fd), PollFlags::OUT),
            (self.stdout.as_ref().map(AsFd::as_fd), reads),
            (self.stderr.as_ref().map(AsFd::as_fd), reads),
            (also.map(AsFd::as_fd), reads),
        ];
        let mut polled: Vec<_> =
            wanted.iter().filter_map(|(end, flags)| end.map(|end| PollFd::from_borrowed_fd(end, *flags))).collect();
        let patience = Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: patience.subsec_nanos().into() };
        match poll(&mut polled, Some(&patience)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = polled.iter().map(|polled| !polled.revents().is_empty());
        let [stdin, stdout, stderr, also] = wanted.map(|(end, _)| end.is_some() && ready.next().unwrap_or(false));
        if stdin {
            self.feed();
        }
        if stdout && let Some(pipe) = &mut self.stdout {
            let output = &mut self.output;
            if is_at_end(pipe, |bytes| output.keep(bytes)) {
                self.stdout = None;
            }
        }
        if stderr && let Some(pipe) = &mut self.stderr {
            let (errors, shows) = (&mut self.errors, self.shows);
            let keep = |bytes: &[u8]| {
                errors.keep(bytes);
                if shows {
                    let _ = io::stderr().write_all(bytes);
                }
            };
            if is_at_end(pipe, keep) {
                self.stderr = None;
            }
        }
        Ok(Turn { said: stdout || stderr, also })
    }

    /// A command need not read what it is given.
    fn feed(&mut self) {
        let Some(pipe) = &mut self.stdin else { return };
        match pipe.write(&self.input[self.written..]) {
            Ok(count) => self.written += count,
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => return,
            Err(_) => self.written = self.input.len(),
        }
        if self.written == self.input.len() {
            self.stdin = None;
            self.input = Vec::new();
        }
    }
}

/// What there was.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// The command wrote something, or closed an output.
    pub said: bool,
    pub also: bool,
}

/// Reads once; says whether nothing more will come.
fn is_at_end(pipe: &mut impl Read, mut keep: impl FnMut(&[u8])) -> bool {
    let mut buffer = [0; 16_384];
    match pipe.read(&mut buffer) {
        Ok(0) => true,
        Ok(count) => {
            keep(&buffer[..count]);
            false
        }
        Err(error) => !matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock),
    }
}
