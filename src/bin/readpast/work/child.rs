//! One command for one item: started with a process group of its own, fed, listened to, and ended when it must.

use super::capture::{Limits, Written};
use super::directive::{self, Directive};
use super::pipes::{CapturedOutput, Pipes, Shows};
use super::slip::{self, Slip};
use super::{Args, Control, environment, printed};
use crate::child_environment::withhold;
use crate::process::Process;
use readpast::{Item, Queue};
use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often is looked whether a command is to be ended.
const LOOK: Duration = Duration::from_millis(100);

/// How long what a command has started may go on writing after it, in all.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long it may hold the outputs open without writing.
const SILENCE: Duration = Duration::from_millis(500);

/// What is left of it after that has been killed needs no longer to go.
const GOING: Duration = Duration::from_millis(100);

/// So often is read once its time is over: what fits into pipes, 64 KiB each, in pieces of 16 KiB, and more.
const LATE_TURNS: u32 = 16;

/// Why a command was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// It took longer than it may.
    TimedOut,
    /// Its item is not ours any more.
    Lost,
    /// Everything is to end.
    Terminated,
    /// This process has not the memory to hand the item on: the command was not begun.
    NoMemory,
}

/// How a command went.
#[derive(Default)]
pub struct ChildEnd {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Whether we ended it.
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

/// Runs the command to its end. `is_lost` is asked now and then whether the item is not ours any more.
pub fn run(
    queue: &Queue,
    args: &Args,
    control: &Control,
    item: &Item<'_>,
    slip: &Slip,
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
        .env(slip::VARIABLE, slip.path())
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
            end.found = found_directive(slip, &end.stdout, args);
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
    // One that ended well although it was asked to stop has done its work; unless the item is another's.
    let why = why.filter(|why| *why == EndReason::Lost || status.code() != Some(0));
    let CapturedOutput { output, errors, .. } = pipes.kept;
    let found = FoundDirective::default();
    ChildEnd { code: status.code(), signal: signal(status), why, stdout: output, stderr: errors, found, took }
}

/// The directive of a command that has ended: from its file; if there is none and the command may print one, from the end of its output.
fn found_directive(slip: &Slip, stdout: &Written, args: &Args) -> FoundDirective {
    let written = slip.read();
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

/// Windows has none: a process that is ended has the exit status that the one who ends it chooses.
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

/// Until the command has ended; says why we made it end, if we did.
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

/// What the command has started in its group and left behind: it may go on, unless it keeps the outputs open or the command
/// was to be ended. What left the group too and keeps them open, is not waited for.
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

/// Reads on until both outputs are closed, or nothing was said for `silence`, or `patience` is at its end. What is in the
/// pipes then is read as well: who is kept from the processor for so long loses nothing.
fn drain(pipes: &mut Pipes, patience: Duration, silence: Duration) -> io::Result<()> {
    let begun = Instant::now();
    let mut last_output = begun;
    let mut late = 0;
    // Somebody may write without an end.
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
