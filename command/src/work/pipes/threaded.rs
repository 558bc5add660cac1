//! Pipes served by a thread each. One whose pipe is held open by a process that left the job waits until that ends; no other
//! thread waits for it.

use super::{CapturedOutput, PipeActivity};
use crate::process::Process;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// The most waiting pieces before the command has to wait.
const PIECES: usize = 16;

/// Reports of the threads.
enum PipeEvent {
    Output(Vec<u8>),
    Errors(Vec<u8>),
    OutputClosed,
    ErrorsClosed,
    Ended,
}

/// Our ends of the pipes.
pub struct Pipes {
    events: Receiver<PipeEvent>,
    is_output_open: bool,
    is_errors_open: bool,
    /// The outputs so far.
    pub kept: CapturedOutput,
}

impl Pipes {
    /// Takes the pipes of a command that was just started.
    pub fn of(process: &mut Process, input: Vec<u8>, kept: CapturedOutput) -> io::Result<Self> {
        let (stdin, stdout, stderr) = process.pipes();
        let (sender, events) = sync_channel(PIECES);
        if let Some(mut pipe) = stdin {
            // A command need not read its input.
            start("stdin", move || drop(pipe.write_all(&input)))?;
        }
        let (is_output_open, is_errors_open) = (stdout.is_some(), stderr.is_some());
        if let Some(pipe) = stdout {
            let sender = sender.clone();
            start("stdout", move || read(pipe, &sender, PipeEvent::Output, PipeEvent::OutputClosed))?;
        }
        if let Some(pipe) = stderr {
            let sender = sender.clone();
            start("stderr", move || read(pipe, &sender, PipeEvent::Errors, PipeEvent::ErrorsClosed))?;
        }
        process.when_ended(move || drop(sender.send(PipeEvent::Ended)))?;
        Ok(Self { events, is_output_open, is_errors_open, kept })
    }

    /// Whether all writers have closed both outputs.
    pub fn are_closed(&self) -> bool {
        !self.is_output_open && !self.is_errors_open
    }

    /// Waits until output came, or the command has ended, at most for `patience`. Returns the activity.
    #[allow(clippy::unnecessary_wraps, reason = "polling can fail")]
    pub fn turn(&mut self, patience: Duration) -> io::Result<PipeActivity> {
        let mut turn = PipeActivity::default();
        match self.events.recv_timeout(patience) {
            Ok(PipeEvent::Output(bytes)) => self.kept.keep_output(&bytes),
            Ok(PipeEvent::Errors(bytes)) => self.kept.keep_errors(&bytes),
            Ok(PipeEvent::OutputClosed) => self.is_output_open = false,
            Ok(PipeEvent::ErrorsClosed) => self.is_errors_open = false,
            Ok(PipeEvent::Ended) => {
                turn.ended = true;
                return Ok(turn);
            }
            Err(_) => return Ok(turn),
        }
        turn.wrote = true;
        Ok(turn)
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Reads until the pipe is closed, or the receiver is gone.
fn read(mut pipe: impl Read, sender: &SyncSender<PipeEvent>, piece: fn(Vec<u8>) -> PipeEvent, closed: PipeEvent) {
    let mut buffer = [0; 16_384];
    loop {
        match pipe.read(&mut buffer) {
            Ok(count) if count > 0 => {
                if sender.send(piece(buffer[..count].to_vec())).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    let _ = sender.send(closed);
}
