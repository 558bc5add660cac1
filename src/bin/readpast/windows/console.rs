//! The console: keys and events that ask us to end, and asking others; and waiting for a process.
#![allow(unsafe_code, reason = "Windows offers these as C functions only")]

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;
use windows::Win32::Foundation::HANDLE;
use windows::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, GenerateConsoleCtrlEvent, SetConsoleCtrlHandler,
};
use windows::Win32::System::Threading::{INFINITE, WaitForSingleObject};
use windows::core::BOOL;

/// What asks us to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Break.
    Break,
    /// The console is closed, or the machine goes down. Windows ends us soon.
    Close,
}

static HEARD: OnceLock<Sender<Request>> = OnceLock::new();

/// Calls `heed` with each request, in a thread of its own. Once a process.
///
/// # Errors
/// When the system gives neither handler nor thread.
pub fn listen(mut heed: impl FnMut(Request) + Send + 'static) -> io::Result<()> {
    let (teller, told) = channel();
    if HEARD.set(teller).is_err() {
        return Err(io::Error::other("somebody listens already"));
    }
    thread::Builder::new().name("console".to_owned()).spawn(move || told.iter().for_each(&mut heed))?;
    // SAFETY: the handler is a function, which is there as long as the process.
    unsafe { SetConsoleCtrlHandler(Some(handle), true) }.map_err(io::Error::from)
}

/// Called by Windows in a thread that it makes for it.
unsafe extern "system" fn handle(event: u32) -> BOOL {
    let request = match event {
        CTRL_C_EVENT => Request::Interrupt,
        CTRL_BREAK_EVENT => Request::Break,
        _ => Request::Close,
    };
    let is_heard = HEARD.get().is_some_and(|teller| teller.send(request).is_ok());
    // From this event there is no way back: the process ends when we return, or a few seconds later.
    if is_heard && request == Request::Close {
        thread::sleep(Duration::from_secs(3600));
    }
    is_heard.into()
}

/// Sends Ctrl-Break to a process that was started with a group of its own, and to what it started.
///
/// # Errors
/// When there is no console to send it through, or no such group.
pub fn send_break(group: u32) -> io::Result<()> {
    // SAFETY: plain values.
    unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, group) }.map_err(io::Error::from)
}

/// Waits until a process has ended.
pub fn wait_for(process: &OwnedHandle) {
    // SAFETY: the handle is open as long as it is borrowed. It fails for none that is.
    unsafe { WaitForSingleObject(HANDLE(process.as_raw_handle()), INFINITE) };
}
