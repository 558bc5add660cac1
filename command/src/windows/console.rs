//! Requests to end: keys and events of the console, or the service manager in its place; requests to others; and waiting for a
//! process.
#![allow(unsafe_code, reason = "Windows offers these as C functions only")]

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use windows::Win32::Foundation::HANDLE;
use windows::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, GenerateConsoleCtrlEvent, SetConsoleCtrlHandler,
};
use windows::Win32::System::Threading::{INFINITE, WaitForSingleObject};
use windows::core::BOOL;

/// The source of a request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSource {
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Break.
    Break,
    /// The console is closed, or the machine goes down. Windows ends us soon.
    Close,
}

/// The channel of requests. A request before the listener waits, so that it is not lost.
struct EndRequests {
    sender: Sender<EndSource>,
    receiver: Mutex<Option<Receiver<EndSource>>>,
}

static ASKED: LazyLock<EndRequests> = LazyLock::new(|| {
    let (sender, receiver) = channel();
    EndRequests { sender, receiver: Mutex::new(Some(receiver)) }
});

/// Whether only the service manager sends requests.
static IS_SERVICE: AtomicBool = AtomicBool::new(false);

/// Sends a request of the service manager.
pub fn ask(request: EndSource) {
    let _ = ASKED.sender.send(request);
}

/// Ignores the console, as a service must: its events come from any user who logs off, and a service stays.
pub fn leave() {
    IS_SERVICE.store(true, Ordering::Relaxed);
}

/// Calls `handle` with each request, in a thread of its own. Once a process.
///
/// # Errors
/// When the system gives neither handler nor thread.
pub fn listen(mut handle: impl FnMut(EndSource) + Send + 'static) -> io::Result<()> {
    let receiver = ASKED.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
    let receiver = receiver.ok_or_else(|| io::Error::other("there is a listener already"))?;
    thread::Builder::new().name("console".to_owned()).spawn(move || receiver.iter().for_each(&mut handle))?;
    if IS_SERVICE.load(Ordering::Relaxed) {
        return Ok(());
    }
    // SAFETY: the handler is a function, which is there as long as the process.
    unsafe { SetConsoleCtrlHandler(Some(on_console_event), true) }.map_err(io::Error::from)
}

/// Windows calls this in a thread of its own.
unsafe extern "system" fn on_console_event(event: u32) -> BOOL {
    let request = match event {
        CTRL_C_EVENT => EndSource::Interrupt,
        CTRL_BREAK_EVENT => EndSource::Break,
        _ => EndSource::Close,
    };
    let is_sent = ASKED.sender.send(request).is_ok();
    // This event is final: the process ends when we return, or a few seconds later.
    if is_sent && request == EndSource::Close {
        thread::sleep(Duration::from_secs(3600));
    }
    is_sent.into()
}

/// Sends Ctrl-Break to a process that was started with a group of its own, and to its children.
///
/// # Errors
/// When there is no console to send it through, or no such group.
pub fn send_break(group: u32) -> io::Result<()> {
    // SAFETY: plain values.
    unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, group) }.map_err(io::Error::from)
}

/// Waits until a process has ended.
pub fn wait_for(process: &OwnedHandle) {
    // SAFETY: the handle is open as long as it is borrowed. It never fails for an open one.
    unsafe { WaitForSingleObject(HANDLE(process.as_raw_handle()), INFINITE) };
}
