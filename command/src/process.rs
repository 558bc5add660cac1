//! A command's process and its children: a process group on Unix, a job object on Windows.

use process_wrap::std::{ChildWrapper, CommandWrap};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::{io, thread};

#[cfg(unix)]
use process_wrap::std::ProcessGroup;
#[cfg(windows)]
use process_wrap::std::{CreationFlags, JobObject};

/// A command that was started, and is not yet reaped.
pub struct Process(Box<dyn ChildWrapper>);

impl Process {
    /// Starts it.
    pub fn spawn(command: Command) -> io::Result<Self> {
        let mut command = CommandWrap::from(command);
        #[cfg(unix)]
        command.wrap(ProcessGroup::leader());
        // A group of the console as well: a key pressed there reaches us alone, and our signals reach the command alone.
        #[cfg(windows)]
        command.wrap(CreationFlags(windows::Win32::System::Threading::CREATE_NEW_PROCESS_GROUP)).wrap(JobObject);
        command.spawn().map(Self)
    }

    /// Its pipes; they can be taken once.
    pub fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.0.stdin().take(), self.0.stdout().take(), self.0.stderr().take())
    }

    /// Asks it, and its children, to end.
    pub fn ask_to_end(&mut self) {
        // An empty group needs no signal.
        #[cfg(unix)]
        let _ = self.0.signal(signal_hook::consts::SIGTERM);
        // A program without a console cannot be asked.
        #[cfg(windows)]
        if crate::windows::console::send_break(self.0.id()).is_err() {
            self.kill();
        }
    }

    /// Ends it, and its children.
    pub fn kill(&mut self) {
        #[cfg(unix)]
        let _ = self.0.signal(signal_hook::consts::SIGKILL);
        #[cfg(windows)]
        let _ = self.0.start_kill();
    }

    /// Waits for the command alone, not for its children.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.inner_mut().wait()
    }

    /// Calls `then` in a thread of its own when the command has ended.
    pub fn when_ended(&self, then: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let wait = self.end_of()?;
        let work = move || {
            wait();
            then();
        };
        thread::Builder::new().name("wait".to_owned()).spawn(work).map(drop)
    }

    /// Waits without reaping: until we reap it, no other process has its number, and signals reach only it.
    #[cfg(unix)]
    fn end_of(&self) -> io::Result<impl FnOnce() + Send + 'static> {
        use rustix::io::Errno;
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let exited = move || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        Ok(move || while exited().is_err_and(|error| error == Errno::INTR) {})
    }

    #[cfg(windows)]
    fn end_of(&self) -> io::Result<impl FnOnce() + Send + 'static> {
        let handle = self.0.process_handle().ok_or(io::ErrorKind::NotFound)?.try_clone_to_owned()?;
        Ok(move || crate::windows::console::wait_for(&handle))
    }
}
