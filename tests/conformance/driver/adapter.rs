//! A binding's adapter: a process that is sent one JSON object per line and answers each with one.

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The arguments that a language's adapter is started with.
#[derive(Debug, Clone)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<String>,
    /// Variables of the environment that it needs.
    pub environment: Vec<(String, String)>,
    /// Whether it runs in Wine.
    pub in_wine: bool,
    /// How long an answer may take: generous, since what takes longer hangs.
    pub patience: Duration,
    /// Whether one of its processes may still hang after its last answer. Wine stops the threads of a program that ends wherever they
    /// are, and once in thousands of ends one of them has a lock of this machine's driver, for which the end waits.
    pub may_hang: Arc<AtomicBool>,
}

/// How long the end of a process in Wine is waited for that may hang.
const END: Duration = Duration::from_secs(120);

/// A running adapter. Dropping it kills it.
pub struct Adapter {
    process: Process,
    complaints: File,
    program: Program,
    /// How often it was started; `None` once it has answered.
    starts: Option<u32>,
}

struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Adapter {
    /// Starts the program; what it writes on standard error goes to `complaints`, for when something fails.
    pub fn start(program: &Program, complaints: &Path) -> Result<Self, String> {
        let open = || File::options().create(true).read(true).append(true).open(complaints);
        let complaints = open().map_err(|error| format!("{}: {error}", complaints.display()))?;
        let process = Process::start(program, &complaints)?;
        Ok(Self { process, complaints, program: program.clone(), starts: Some(1) })
    }

    /// Sends a request and waits for its answer. Seldom Wine ends a program with 1 before it begins; then it is started again.
    pub fn ask(&mut self, request: &Value) -> Result<Value, String> {
        let line = format!("{request}\n");
        loop {
            let stdin = self.process.stdin.as_mut().expect("it is open until the end");
            // One that does not read any more has ended, as a rule: what it ended with says more.
            let _ = stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush());
            let starts = self.starts.filter(|starts| self.program.in_wine && *starts < 3);
            match self.process.lines.recv_timeout(self.program.patience) {
                Ok(line) => {
                    self.starts = None;
                    return serde_json::from_str(&line)
                        .map_err(|error| format!("the answer is not JSON ({error}): {line}"));
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("no answer within {} ms", self.program.patience.as_millis()));
                }
                Err(RecvTimeoutError::Disconnected) => {}
            }
            let status = self.wait()?;
            let Some(starts) = starts.filter(|_| status.code() == Some(1)) else {
                return Err(format!("the adapter ended: {status}"));
            };
            let complaints = self.complaints();
            eprintln!("Wine did not begin {}: {complaints}", self.program.path.display());
            self.process = Process::start(&self.program, &self.complaints)?;
            self.starts = Some(starts + 1);
        }
    }

    /// Kills it, as a crash or an impatient operator would.
    pub fn kill(mut self) {
        self.end();
    }

    /// Ends its input, at which it frees everything and exits with 0.
    pub fn finish(mut self) -> Result<(), String> {
        self.process.stdin = None;
        let may_hang = self.program.may_hang.swap(false, Relaxed);
        let patience = if may_hang { self.program.patience.min(END) } else { self.program.patience };
        let ended = self.process.lines.recv_timeout(patience);
        if may_hang && ended != Err(RecvTimeoutError::Timeout) {
            self.program.may_hang.store(true, Relaxed);
        }
        match ended {
            Ok(line) => return Err(format!("nothing was asked, and the adapter said: {line}")),
            Err(RecvTimeoutError::Timeout) if may_hang => {
                let complaints = self.complaints();
                eprintln!("Wine did not end {}: {complaints}", self.program.path.display());
                self.end();
                return Ok(());
            }
            Err(RecvTimeoutError::Timeout) => return Err("the adapter does not end with its input".to_owned()),
            Err(RecvTimeoutError::Disconnected) => {}
        }
        let status = self.wait()?;
        // A fault in a program of Windows ends it with a number: Wine makes an exception of it there. A signal comes from
        // Wine itself or from this machine's driver manager and driver, which Wine leaves while a thread is still in them.
        if status.success() || (self.program.in_wine && status.signal().is_some()) {
            return Ok(());
        }
        Err(format!("the adapter ended with {status}"))
    }

    /// Its output on standard error, or the end of it.
    pub fn complaints(&mut self) -> String {
        let mut text = Vec::new();
        let read = self.complaints.seek(SeekFrom::Start(0)).and_then(|_| self.complaints.read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        match read {
            Ok(_) => text.lines().rev().take(30).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n"),
            Err(error) => error.to_string(),
        }
    }

    fn wait(&mut self) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + self.program.patience;
        while Instant::now() < deadline {
            if let Some(status) = self.process.child.try_wait().map_err(|error| error.to_string())? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
        Err("the adapter closed its output, but does not end".to_owned())
    }

    fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.process.child.kill();
        let _ = self.process.child.wait();
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        self.end();
    }
}

impl Process {
    /// Its output on standard error goes to the end of `complaints`.
    fn start(program: &Program, complaints: &File) -> Result<Self, String> {
        let stderr = complaints.try_clone().map_err(|error| error.to_string())?;
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .envs(program.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .map_err(|error| format!("{} cannot be started: {error}", program.path.display()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("it is piped"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, stdin, lines })
    }
}
