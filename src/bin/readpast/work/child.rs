//! One command for one item: started in a process group of its own, fed, listened to, and ended when it must.

use super::capture::{self, Limits, Written};
use super::{Args, Control, environment};
use readpast::{Item, Queue};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often is looked whether a command is to be ended.
const LOOK: Duration = Duration::from_millis(100);

/// How long what a command has started may go on writing after it.
const PATIENCE: Duration = Duration::from_secs(2);

/// A new pipe takes so much without anybody reading.
const PIPE: usize = 4096;

/// Why a command was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It took longer than it may.
    TimedOut,
    /// Its item is not ours any more.
    Lost,
    /// Everything is to end.
    Terminated,
}

/// How a command went.
pub struct End {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Whether we ended it.
    pub why: Option<Why>,
    pub stdout: Arc<Mutex<Written>>,
    pub stderr: Arc<Mutex<Written>>,
    pub took: Duration,
}

/// Runs the command to its end. `is_lost` is asked now and then whether the item is not ours any more.
pub fn run(
    queue: &Queue,
    args: &Args,
    control: &Control,
    item: &Item<'_>,
    shows: bool,
    is_lost: impl Fn() -> bool,
) -> io::Result<End> {
    let begun = Instant::now();
    let mut command = Command::new(&args.command[0]);
    // Of another item, when we are a command of `work` ourselves.
    environment::inherited().for_each(|name| {
        command.env_remove(name);
    });
    let mut child = command
        .args(&args.command[1..])
        .envs(environment::of(queue, item))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let group = Group(Pid::from_child(&child));
    match listen(&mut child, args, item, shows) {
        Ok((stdout, stderr, ended, closed)) => {
            let why = watch(&group, args, control, begun, &ended, is_lost);
            clear_up(&group, why.is_some(), &closed);
            let status = child.wait()?;
            Ok(end(status, why, stdout, stderr, begun.elapsed()))
        }
        Err(error) => {
            group.signal(Signal::KILL);
            child.wait()?;
            Err(error)
        }
    }
}

fn end(
    status: ExitStatus,
    why: Option<Why>,
    stdout: Arc<Mutex<Written>>,
    stderr: Arc<Mutex<Written>>,
    took: Duration,
) -> End {
    // One that ended well although it was asked to stop has done its work; unless the item is another's.
    let why = why.filter(|why| *why == Why::Lost || status.code() != Some(0));
    End { code: status.code(), signal: status.signal(), why, stdout, stderr, took }
}

type Listening = (Arc<Mutex<Written>>, Arc<Mutex<Written>>, Receiver<()>, Receiver<()>);

/// Threads that feed the command and take what it says, and word of its end and of the ends of its two outputs.
fn listen(child: &mut Child, args: &Args, item: &Item<'_>, shows: bool) -> io::Result<Listening> {
    let (closed, all_closed) = channel();
    let (ended, has_ended) = channel();
    let missing = || io::Error::other("a pipe is missing");
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let stderr = child.stderr.take().ok_or_else(missing)?;
    let stdin = child.stdin.take().ok_or_else(missing)?;
    // The last line of standard output may be as long as the response.
    let limit = args.response_limit as usize;
    let limits = Limits { head: limit, tail: limit.max(65_536), shown: false };
    let stdout = capture::start(stdout, limits, closed.clone())?;
    let limits = Limits { head: 0, tail: args.error_limit as usize, shown: shows };
    let stderr = capture::start(stderr, limits, closed)?;
    feed(stdin, item.to_json() + "\n")?;
    let pid = Pid::from_child(child);
    // It waits without reaping: until we reap it, the process's number is nobody else's, and signals reach none but it.
    let wait = move || {
        let exited = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        while exited().is_err_and(|error| error == Errno::INTR) {}
        let _ = ended.send(());
    };
    thread::Builder::new().name("wait".to_owned()).spawn(wait)?;
    Ok((stdout, stderr, has_ended, all_closed))
}

/// A command need not read what it is given.
fn feed(mut stdin: ChildStdin, text: String) -> io::Result<()> {
    if text.len() <= PIPE {
        let _ = stdin.write_all(text.as_bytes());
        return Ok(());
    }
    let write = move || {
        let _ = stdin.write_all(text.as_bytes());
    };
    thread::Builder::new().name("input".to_owned()).spawn(write).map(drop)
}

/// Until the command has ended; says why we made it end, if we did.
fn watch(
    group: &Group,
    args: &Args,
    control: &Control,
    begun: Instant,
    ended: &Receiver<()>,
    is_lost: impl Fn() -> bool,
) -> Option<Why> {
    let mut stopped: Option<(Why, Instant)> = None;
    loop {
        let left = args.timeout.map_or(LOOK, |timeout| timeout.saturating_sub(begun.elapsed()).min(LOOK));
        let look = if stopped.is_some() { LOOK } else { left };
        match ended.recv_timeout(look) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return stopped.map(|(why, _)| why),
        }
        match stopped {
            Some((_, since)) if since.elapsed() >= args.kill_after => group.signal(Signal::KILL),
            Some(_) => {}
            None => {
                let why = if is_lost() {
                    Why::Lost
                } else if control.terminated().is_some() {
                    Why::Terminated
                } else if args.timeout.is_some_and(|timeout| begun.elapsed() >= timeout) {
                    Why::TimedOut
                } else {
                    continue;
                };
                group.signal(Signal::TERM);
                stopped = Some((why, Instant::now()));
            }
        }
    }
}

/// What the command has started in its group and left behind: it may go on, unless it keeps the outputs open or the command
/// was to be ended.
fn clear_up(group: &Group, by_force: bool, closed: &Receiver<()>) {
    if by_force {
        group.signal(Signal::KILL);
    }
    let both_close = || (0..2).all(|_| closed.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout));
    if !both_close() {
        group.signal(Signal::KILL);
        let _ = closed.recv_timeout(PATIENCE / 4);
    }
}

/// The process group of a command that is not reaped yet.
struct Group(Pid);

impl Group {
    fn signal(&self, signal: Signal) {
        // None left is as good.
        let _ = kill_process_group(self.0, signal);
    }
}

/// What a command has written, for reading.
pub fn written<T>(output: &Mutex<Written>, read: impl FnOnce(&Written) -> T) -> T {
    read(&output.lock().unwrap_or_else(PoisonError::into_inner))
}
