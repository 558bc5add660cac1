//! Pipes served by the thread that waits for the command, which polls them. They are ours and end with us: a process that the
//! command left behind may hold its ends open for ever, and blocks nothing here.

use super::{CapturedOutput, PipeActivity};
use crate::process::Process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::time::Duration;

/// Our ends of the pipes; one that is closed is gone.
pub struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// Closes when the command has ended.
    ended: Option<PipeReader>,
    /// The rest of the input.
    input: Vec<u8>,
    written: usize,
    /// The outputs so far.
    pub kept: CapturedOutput,
}

impl Pipes {
    /// Takes the pipes of a command that was just started.
    pub fn of(process: &mut Process, input: Vec<u8>, kept: CapturedOutput) -> io::Result<Self> {
        let (stdin, stdout, stderr) = process.pipes();
        let ends =
            [stdin.as_ref().map(AsFd::as_fd), stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)];
        for end in ends.into_iter().flatten() {
            // Only our end: the command's is another open file.
            rustix::io::ioctl_fionbio(end, true)?;
        }
        let (ended, ends) = io::pipe()?;
        process.when_ended(move || drop(ends))?;
        Ok(Self { stdin, stdout, stderr, ended: Some(ended), input, written: 0, kept })
    }

    /// Whether all writers have closed both outputs.
    pub fn are_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Waits until a pipe is ready, or the command has ended, at most for `patience`; then does all that needs no wait. Returns
    /// the activity.
    pub fn turn(&mut self, patience: Duration) -> io::Result<PipeActivity> {
        let reads = PollFlags::IN;
        let wanted: [(Option<BorrowedFd<'_>>, PollFlags); 4] = [
            (self.stdin.as_ref().map(AsFd::as_fd), PollFlags::OUT),
            (self.stdout.as_ref().map(AsFd::as_fd), reads),
            (self.stderr.as_ref().map(AsFd::as_fd), reads),
            (self.ended.as_ref().map(AsFd::as_fd), reads),
        ];
        let mut polled: Vec<_> =
            wanted.iter().filter_map(|(end, flags)| end.map(|end| PollFd::from_borrowed_fd(end, *flags))).collect();
        let patience = Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: patience.subsec_nanos().into() };
        match poll(&mut polled, Some(&patience)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = polled.iter().map(|polled| !polled.revents().is_empty());
        let [stdin, stdout, stderr, ended] = wanted.map(|(end, _)| end.is_some() && ready.next().unwrap_or(false));
        if stdin {
            self.feed();
        }
        if stdout && let Some(pipe) = &mut self.stdout {
            let kept = &mut self.kept;
            if is_at_end(pipe, |bytes| kept.keep_output(bytes)) {
                self.stdout = None;
            }
        }
        if stderr && let Some(pipe) = &mut self.stderr {
            let kept = &mut self.kept;
            if is_at_end(pipe, |bytes| kept.keep_errors(bytes)) {
                self.stderr = None;
            }
        }
        if ended {
            self.ended = None;
        }
        Ok(PipeActivity { wrote: stdout || stderr, ended })
    }

    /// Writes input. A command need not read it.
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

/// Reads once; returns whether the pipe is at its end.
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
