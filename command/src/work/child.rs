//! One command for one item: started with a process group of its own, fed, read, and ended when it must.

use super::capture::{Limits, Written};
use super::directive::{self, Directive};
use super::directive_file::{self, DirectiveFile};
use super::pipes::{CapturedOutput, Pipes, Shows};
use super::progress_file::{self, ProgressFile};
use super::{Args, Control, environment, printed};
use crate::child_environment::withhold;
use crate::process::Process;
use readpast::{Item, Queue};
use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The interval of checks whether a command must end.
const LOOK: Duration = Duration::from_millis(100);

/// How long a command's children may go on writing after it, in all.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long they may hold the outputs open without writing.
const SILENCE: Duration = Duration::from_millis(500);

/// How long the rest needs to go after a kill.
const GOING: Duration = Duration::from_millis(100);

/// The most reads once the time is over: enough for the pipes' content, 64 KiB each, in pieces of 16 KiB, and more.
const LATE_TURNS: u32 = 16;

/// Why a command was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// It took longer than it may.
    TimedOut,
    /// Its item was lost.
    Lost,
    /// The worker ends.
    Terminated,
    /// This process lacks the memory to hand the item on: the command was not begun.
    NoMemory,
}

/// The end of a command.
#[derive(Default)]
pub struct ChildEnd {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The reason, if we ended it.
    pub why: Option<EndReason>,
    pub stdout: Written,
    pub stderr: Written,
    /// Its directive, or why that cannot be read.
    pub found: FoundDirective,
    pub took: Duration,
}

/// A directive, and where the response ends before it, if it was printed.
#[derive(Debug)]
pub struct FoundDirective {
    pub directive: Result<Option<Directive>, String>,
    pub before: usize,
}

impl Default for FoundDirective {
    fn default() -> Self {
        Self { directive: Ok(None), before: usize::MAX }
    }
}

/// The files that a command may write.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    pub directive: &'a DirectiveFile,
    /// `None` where the queue keeps no progress.
    pub progress: Option<&'a ProgressFile>,
}

/// Runs the command to its end. `is_lost` checks now and then whether the item was lost.
pub fn run(
    queue: &Queue,
    args: &Args,
    control: &Control,
    item: &Item<'_>,
    files: Files<'_>,
    shows: Shows,
    is_lost: impl Fn() -> bool,
) -> io::Result<ChildEnd> {
    let begun = Instant::now();
    let Ok(input) = item.try_to_json() else {
        return Ok(ChildEnd { why: Some(EndReason::NoMemory), ..ChildEnd::default() });
    };
    let mut command = Command::new(&args.command[0]);
    withhold(&mut command, args.pass_connection);
    command
        .args(&args.command[1..])
        .envs(environment::of(queue, item))
        .env(directive_file::VARIABLE, files.directive.path())
        .envs(files.progress.map(|file| (progress_file::VARIABLE, file.path())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = Process::spawn(command)?;
    let attended = listen(&mut process, args, input, shows).and_then(|mut pipes| {
        let why = watch(&mut pipes, &mut process, args, control, begun, is_lost)?;
        clear_up(&mut pipes, &mut process, why.is_some())?;
        Ok((why, pipes))
    });
    match attended {
        Ok((why, pipes)) => {
            let mut end = end(process.wait()?, why, pipes, begun.elapsed());
            end.found = found_directive(files.directive, &end.stdout, args);
            Ok(end)
        }
        Err(error) => {
            process.kill();
            process.wait()?;
            Err(error)
        }
    }
}

fn end(status: ExitStatus, why: Option<EndReason>, pipes: Pipes, took: Duration) -> ChildEnd {
    // A command that ended well although it was asked to stop has done its work; unless the item was lost.
    let why = why.filter(|why| *why == EndReason::Lost || status.code() != Some(0));
    let CapturedOutput { output, errors, .. } = pipes.kept;
    let found = FoundDirective::default();
    ChildEnd { code: status.code(), signal: signal(status), why, stdout: output, stderr: errors, found, took }
}

/// The directive of an ended command: from its file; if there is none and the command may print one, from the end of its output.
fn found_directive(file: &DirectiveFile, stdout: &Written, args: &Args) -> FoundDirective {
    let written = file.read();
    if written != Ok(None) || !args.directives_on_stdout {
        return FoundDirective { directive: written, ..FoundDirective::default() };
    }
    match printed::at_end(stdout) {
        Ok(Some((start, directive))) => {
            FoundDirective { directive: Ok(Some(directive)), before: usize::try_from(start).unwrap_or(usize::MAX) }
        }
        Ok(None) => FoundDirective::default(),
        Err(why) => FoundDirective { directive: Err(why), before: 0 },
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// Windows has no signals: the exit status of an ended process is chosen by the one that ends it.
#[cfg(windows)]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// The pipes of the command, which reads the item as JSON.
fn listen(process: &mut Process, args: &Args, mut input: String, shows: Shows) -> io::Result<Pipes> {
    let limit = args.response_limit as usize;
    let follows = args.directives_on_stdout;
    // A directive may hold the response.
    let tail = if follows { (2 * limit).max(directive::LONGEST) } else { 0 };
    let output = Limits { head: limit, tail, follows };
    let errors = Limits { head: 0, tail: args.error_limit as usize, follows: false };
    input.push('\n');
    Pipes::of(process, input.into_bytes(), CapturedOutput::new(output, errors, shows))
}

/// Waits until the command has ended; returns why we ended it, if we did.
fn watch(
    pipes: &mut Pipes,
    process: &mut Process,
    args: &Args,
    control: &Control,
    begun: Instant,
    is_lost: impl Fn() -> bool,
) -> io::Result<Option<EndReason>> {
    let mut stopped: Option<(EndReason, Instant)> = None;
    loop {
        let left = args.timeout.map_or(LOOK, |timeout| timeout.saturating_sub(begun.elapsed()).min(LOOK));
        let look = if stopped.is_some() { LOOK } else { left };
        if pipes.turn(look)?.ended {
            return Ok(stopped.map(|(why, _)| why));
        }
        match stopped {
            Some((_, since)) if since.elapsed() >= args.kill_after => process.kill(),
            Some(_) => {}
            None => {
                let why = if is_lost() {
                    EndReason::Lost
                } else if control.terminated().is_some() {
                    EndReason::Terminated
                } else if args.timeout.is_some_and(|timeout| begun.elapsed() >= timeout) {
                    EndReason::TimedOut
                } else {
                    continue;
                };
                process.ask_to_end();
                stopped = Some((why, Instant::now()));
            }
        }
    }
}

/// Handles children that the command left in its group: they may go on, unless they keep the outputs open or the command had to
/// be ended. It does not wait for children outside the group that keep them open.
fn clear_up(pipes: &mut Pipes, process: &mut Process, by_force: bool) -> io::Result<()> {
    if by_force {
        process.kill();
    }
    drain(pipes, PATIENCE, SILENCE)?;
    if !pipes.are_closed() {
        process.kill();
        drain(pipes, GOING, GOING)?;
    }
    Ok(())
}

/// Reads on until both outputs are closed, or were silent for `silence`, or `patience` is over. The pipes' content then is read
/// as well: a reader that had no processor for so long loses nothing.
fn drain(pipes: &mut Pipes, patience: Duration, silence: Duration) -> io::Result<()> {
    let begun = Instant::now();
    let mut last_output = begun;
    let mut late = 0;
    // A writer may never stop.
    while !pipes.are_closed() && late < LATE_TURNS {
        let left = patience.saturating_sub(begun.elapsed()).min(silence.saturating_sub(last_output.elapsed()));
        if pipes.turn(left)?.wrote {
            last_output = Instant::now();
        } else if left.is_zero() {
            break;
        }
        late += u32::from(patience <= begun.elapsed());
    }
    Ok(())
}
