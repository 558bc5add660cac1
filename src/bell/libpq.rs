//! The few functions of libpq that a doorbell needs, as the library in the process has them.
#![allow(unsafe_code, reason = "libpq is C, and is found when the program runs")]
// The pointers of libpq lead to memory that it owns until the function that frees it, which stands beside each use. A connection is
// used by the one thread that opened it, so `Connection` is neither Send nor Sync.

mod wait;

use crate::threads::end_sign;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use wait::Readiness;

/// How long a log-in may take, and a statement.
const PATIENCE: Duration = Duration::from_secs(10);

/// `PGnotify`, as far as it is public.
#[repr(C)]
struct Notification {
    channel: *mut c_char,
    sender: c_int,
    text: *mut c_char,
}

const CONNECTION_BAD: c_int = 1;
const COMMAND_OK: c_int = 1;

/// States of `PostgresPollingStatusType`.
const POLLING_READING: c_int = 1;
const POLLING_WRITING: c_int = 2;
const POLLING_OK: c_int = 3;

/// The functions, by their names in C.
pub(super) struct Libpq {
    connect: unsafe extern "C" fn(*const *const c_char, *const *const c_char, c_int) -> *mut c_void,
    poll: unsafe extern "C" fn(*mut c_void) -> c_int,
    status: unsafe extern "C" fn(*const c_void) -> c_int,
    error: unsafe extern "C" fn(*const c_void) -> *const c_char,
    socket: unsafe extern "C" fn(*const c_void) -> c_int,
    send: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
    is_busy: unsafe extern "C" fn(*mut c_void) -> c_int,
    result: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    result_status: unsafe extern "C" fn(*const c_void) -> c_int,
    session: unsafe extern "C" fn(*const c_void) -> c_int,
    clear: unsafe extern "C" fn(*mut c_void),
    consume: unsafe extern "C" fn(*mut c_void) -> c_int,
    notifies: unsafe extern "C" fn(*mut c_void) -> *mut Notification,
    free: unsafe extern "C" fn(*mut c_void),
    finish: unsafe extern "C" fn(*mut c_void),
    /// Keeps the functions where they are.
    _library: Library,
}

impl Libpq {
    /// The library that is in the process; it stays there.
    pub(super) fn of_this_process() -> Result<&'static Self, String> {
        static FOUND: OnceLock<Libpq> = OnceLock::new();

        if let Some(found) = FOUND.get() {
            return Ok(found);
        }
        let found = Self::find().map_err(|error| format!("libpq is not in the process: {error}"))?;
        Ok(FOUND.get_or_init(|| found))
    }

    fn find() -> Result<Self, libloading::Error> {
        let library = in_the_process()?;
        // SAFETY: the types are those of libpq-fe.h, which have not changed since PostgreSQL 9.0 (PQconnectStartParams). The library
        // is kept as long as the pointers.
        unsafe {
            Ok(Self {
                connect: *library.get(b"PQconnectStartParams\0")?,
                poll: *library.get(b"PQconnectPoll\0")?,
                status: *library.get(b"PQstatus\0")?,
                error: *library.get(b"PQerrorMessage\0")?,
                socket: *library.get(b"PQsocket\0")?,
                send: *library.get(b"PQsendQuery\0")?,
                is_busy: *library.get(b"PQisBusy\0")?,
                result: *library.get(b"PQgetResult\0")?,
                result_status: *library.get(b"PQresultStatus\0")?,
                session: *library.get(b"PQbackendPID\0")?,
                clear: *library.get(b"PQclear\0")?,
                consume: *library.get(b"PQconsumeInput\0")?,
                notifies: *library.get(b"PQnotifies\0")?,
                free: *library.get(b"PQfreemem\0")?,
                finish: *library.get(b"PQfinish\0")?,
                _library: library,
            })
        }
    }
}

/// Loads nothing: a libpq that nobody has brought along would bring its own TLS.
#[cfg(unix)]
fn in_the_process() -> Result<Library, libloading::Error> {
    use libloading::os::unix;

    let name = if cfg!(target_os = "macos") { "libpq.5.dylib" } else { "libpq.so.5" };
    // SAFETY: the library is loaded and initialized already, or is not found.
    unsafe { unix::Library::open(Some(name), libc::RTLD_NOW | libc::RTLD_NOLOAD) }.map(Into::into)
}

#[cfg(windows)]
fn in_the_process() -> Result<Library, libloading::Error> {
    libloading::os::windows::Library::open_already_loaded("libpq.dll").map(Into::into)
}

/// An open connection. It waits for the server in [`wait`] alone, where it learns of the end of the process: libpq's own waits would
/// go on into an OpenSSL that has freed its memory.
pub(super) struct Connection {
    libpq: &'static Libpq,
    connection: *mut c_void,
    _of_one_thread: PhantomData<*mut ()>,
}

impl Connection {
    /// Connects. The first `dbname` may hold several parameters; later ones count.
    pub(super) fn open(libpq: &'static Libpq, parameters: &[(String, String)]) -> Result<Self, String> {
        let text = |text: &String| CString::new(text.as_str()).map_err(|_| "a parameter has a NUL".to_owned());
        let keys = parameters.iter().map(|(key, _)| text(key)).collect::<Result<Vec<_>, _>>()?;
        let values = parameters.iter().map(|(_, value)| text(value)).collect::<Result<Vec<_>, _>>()?;
        let listed =
            |texts: &[CString]| -> Vec<_> { texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect() };
        let (key_list, value_list) = (listed(&keys), listed(&values));
        // SAFETY: both lists end with a null, and their texts live until the call returns.
        let connection = unsafe { (libpq.connect)(key_list.as_ptr(), value_list.as_ptr(), 1) };
        if connection.is_null() {
            return Err("there is no memory for a connection".to_owned());
        }
        let opened = Self { libpq, connection, _of_one_thread: PhantomData };
        opened.log_in(Instant::now() + PATIENCE)?;
        Ok(opened)
    }

    fn log_in(&self, deadline: Instant) -> Result<(), String> {
        let mut readiness = Readiness::Write;
        // SAFETY: the connection is open until it is dropped, here and below.
        while unsafe { (self.libpq.status)(self.connection) } != CONNECTION_BAD {
            self.wait(readiness, deadline)?;
            // SAFETY: as above.
            readiness = match unsafe { (self.libpq.poll)(self.connection) } {
                POLLING_OK => return Ok(()),
                POLLING_READING => Readiness::Read,
                POLLING_WRITING => Readiness::Write,
                _ => break,
            };
        }
        Err(self.error())
    }

    /// Waits until the server can be read from, or written to.
    fn wait(&self, readiness: Readiness, deadline: Instant) -> Result<(), String> {
        match self.is_ready(readiness, deadline)? {
            true => Ok(()),
            false => Err("the server does not answer".to_owned()),
        }
    }

    /// The same; false when it was not by then.
    fn is_ready(&self, readiness: Readiness, deadline: Instant) -> Result<bool, String> {
        // SAFETY: as above.
        let socket = unsafe { (self.libpq.socket)(self.connection) };
        if socket < 0 {
            return Err("the connection is lost".to_owned());
        }
        wait::until_ready(socket, readiness, deadline, end_sign())
    }

    fn error(&self) -> String {
        // SAFETY: the text is the connection's, and is copied.
        let text = unsafe { CStr::from_ptr((self.libpq.error)(self.connection)) };
        text.to_string_lossy().trim().replace('\n', "; ")
    }

    /// The session's number on the server.
    pub(super) fn session(&self) -> i32 {
        // SAFETY: as above.
        unsafe { (self.libpq.session)(self.connection) }
    }

    /// Executes a statement that returns no rows.
    pub(super) fn execute(&self, statement: &CStr) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        // SAFETY: the statement ends with a NUL.
        if unsafe { (self.libpq.send)(self.connection, statement.as_ptr()) } == 0 {
            return Err(self.error());
        }
        let mut is_done = false;
        loop {
            // SAFETY: as above.
            while unsafe { (self.libpq.is_busy)(self.connection) } != 0 {
                self.wait(Readiness::Read, deadline)?;
                self.consume()?;
            }
            // SAFETY: it does not wait, as the connection is not busy; a result is freed once.
            unsafe {
                let result = (self.libpq.result)(self.connection);
                if result.is_null() {
                    return if is_done { Ok(()) } else { Err(self.error()) };
                }
                is_done = (self.libpq.result_status)(result) == COMMAND_OK;
                (self.libpq.clear)(result);
            }
        }
    }

    /// Takes what the server has sent.
    fn consume(&self) -> Result<(), String> {
        // SAFETY: as above.
        if unsafe { (self.libpq.consume)(self.connection) } == 0 { Err(self.error()) } else { Ok(()) }
    }

    /// Waits for notifications, and takes all that there are: the channel and the text of each.
    pub(super) fn notifications(&self, wait: Duration) -> Result<Vec<(String, String)>, String> {
        let deadline = Instant::now() + wait;
        loop {
            self.consume()?;
            let mut texts = Vec::new();
            // SAFETY: each notification is read before it is freed, once.
            unsafe {
                while let Some(notification) = (self.libpq.notifies)(self.connection).as_ref() {
                    let of = |text| CStr::from_ptr(text).to_string_lossy().into_owned();
                    texts.push((of(notification.channel), of(notification.text)));
                    (self.libpq.free)(ptr::from_ref(notification).cast_mut().cast());
                }
            }
            if !texts.is_empty() || !self.is_ready(Readiness::Read, deadline)? {
                return Ok(texts);
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        unsafe { (self.libpq.finish)(self.connection) };
    }
}
