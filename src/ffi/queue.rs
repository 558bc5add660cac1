//! `readpast_queue`: from open to close.

use super::answer::answer;
use super::args;
use super::boundary::{contained, read};
use super::config::readpast_config;
use super::error::readpast_error;
use super::handle::Handle;
use super::out::OutParameter;
use super::status::{READPAST_NOT_FOUND, READPAST_OK, readpast_status};
use super::table::Fault;
use super::text;
use crate::queue::Queue;
use crate::session::Attached;
use std::ffi::{CString, c_char, c_void};
use std::ops::Deref;
use std::ptr;

/// An open queue, with its connections and its worker's name. Any number of threads may use it at once; each call takes a
/// connection of its own.
///
/// Made by `readpast_queue_open`, `readpast_queue_share` and `readpast_queue_attach`, freed by `readpast_queue_free`.
/// Batches and renewals made from it may be freed before or after it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_queue {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

/// The object behind a `readpast_queue`.
pub(super) struct OpenQueue {
    queue: Queue,
    name: CString,
    worker: CString,
}

impl Deref for OpenQueue {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.queue
    }
}

impl Handle for readpast_queue {
    type Object = OpenQueue;
    const TAG: u8 = 2;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

/// Opens the queue called `name`. It connects, and checks that the queue is as this library needs it.
///
/// *Ownership*: the caller frees `*queue` with `readpast_queue_free`. `config` is copied: it may be changed and freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*queue` is open.
/// - `READPAST_INVALID_CONFIG`: `"connection"` was not set.
/// - `READPAST_UNKNOWN_QUEUE`, `READPAST_SCHEMA_MISSING`, `READPAST_SCHEMA_OLDER`, `READPAST_SCHEMA_NEWER`,
///   `READPAST_SCHEMA_MISMATCH`: what is installed does not fit; the message names the remedy.
/// - `READPAST_DRIVER_MISSING`, `READPAST_UNREACHABLE`, `READPAST_AUTHENTICATION`, `READPAST_DATABASE_MISSING`,
///   `READPAST_ENCRYPTION`: there is no connection.
/// - any other failure of the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_open(
    config: readpast_config,
    name: *const c_char,
    queue: *mut readpast_queue,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(config, err, || {
            let (place, name) = (OutParameter::new("queue", queue)?, args::text("name", name)?);
            let queue = Queue::open(&config.settings()?, name)?;
            let (name, worker) = (text::c_text(queue.name()), text::c_text(queue.worker()));
            place.put(OpenQueue { queue, name, worker })?;
            Ok(READPAST_OK)
        })
    }
}

/// Makes another handle on the queue. It shares connections, worker and leases with `queue`, and can be interrupted by
/// itself: for a caller that cancels its waits one by one, like those of tasks or requests. An interrupt of `queue` reaches
/// it too, until `queue` is resumed. It is cheap enough for a single claim; nothing is sent to the server.
///
/// *Ownership*: the caller frees `*shared` with `readpast_queue_free`, before or after `queue`. `readpast_queue_close` on
/// one of them closes all; so does freeing the last one.
///
/// *Returns*:
/// - `READPAST_OK`: `*shared` is open, or closed if `queue` is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_share(
    queue: readpast_queue,
    shared: *mut readpast_queue,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let place = OutParameter::new("shared", shared)?;
            let open = queue.get()?;
            place.put(OpenQueue { queue: open.share(), name: open.name.clone(), worker: open.worker.clone() })?;
            Ok(READPAST_OK)
        })
    }
}

/// Makes another handle, as `readpast_queue_share` does, on the queue at one of its places, for a queue that is spread over several
/// databases (settings `places.NAME`): for calls that cannot be about all of them, such as `readpast_queue_attach`. Keys have the place
/// before them there, too.
///
/// *Ownership*: the caller frees `*at` with `readpast_queue_free`, before or after `queue`.
///
/// *Returns*:
/// - `READPAST_OK`: `*at` is open.
/// - `READPAST_INVALID_ARGUMENT`: there is no such place; the message names those that there are.
/// - the failure of the connection, when the place has been away since `readpast_queue_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_at(
    queue: readpast_queue,
    place: *const c_char,
    at: *mut readpast_queue,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let (out, open) = (OutParameter::new("at", at)?, queue.get()?);
            let at = open.at(args::text("place", place)?)?;
            out.put(OpenQueue { queue: at, name: open.name.clone(), worker: open.worker.clone() })?;
            Ok(READPAST_OK)
        })
    }
}

/// Makes a handle on the queue that enqueues and settles on `connection`, the caller's own ODBC connection (`SQLHDBC`) to the
/// same database, inside the transaction that is open there. The changes are committed or rolled back together with the caller's
/// other work. The library neither commits nor rolls back, closes nothing, and changes no setting of the connection.
///
/// On the handle, `readpast_queue_enqueue` and `readpast_queue_settle` work as on `queue`, with these differences. They are not
/// retried, since an error may have ended the transaction (on SQL Server it has). Without an open transaction they are refused
/// (turn autocommit off, `SQL_ATTR_AUTOCOMMIT`, or begin one). An `operation` is written in the transaction, and
/// `readpast_queue_is_done` reports later whether that has committed. They wake no waiter: call `readpast_queue_wake` after the
/// commit. Every other call that needs the server returns `READPAST_NOT_PROVIDED`.
///
/// An item that the caller has lost is an answer (`READPAST_LEASE_LOST`): roll back then.
///
/// *Ownership*: the connection stays the caller's, who keeps it open as long as calls are made on the handle. The caller frees
/// `*attached` with `readpast_queue_free`, before or after closing the connection, before or after freeing `queue`;
/// `readpast_queue_close` on it is a no-op.
///
/// *Threads*: calls on one connection wait for each other. Nothing else may use the connection meanwhile.
///
/// *Returns*:
/// - `READPAST_OK`: `*attached` is open.
/// - `READPAST_INVALID_ARGUMENT`: `connection` is NULL or is not open.
/// - `READPAST_NOT_PROVIDED`: the queue's procedures are written by hand, and have their own transactions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_attach(
    queue: readpast_queue,
    connection: *mut c_void,
    attached: *mut readpast_queue,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers, and those for the connection.
    unsafe {
        answer(queue, err, || {
            let place = OutParameter::new("attached", attached)?;
            let open = queue.get()?;
            let queue = open.attach(|dialect, seconds| Attached::new(connection, dialect, seconds))?;
            place.put(OpenQueue { queue, name: open.name.clone(), worker: open.worker.clone() })?;
            Ok(READPAST_OK)
        })
    }
}

/// Whether the call that was made with `operation` has committed. For a caller that has lost the answer to its own commit
/// (`readpast_queue_attach`, `Modify_<queue>_Set_utx`); for the library's own calls, repeat the call instead. It waits for
/// an operation that is under way.
///
/// *Returns*:
/// - `READPAST_OK`: it has.
/// - `READPAST_NOT_FOUND`: it was rolled back, was never made, or is more than an hour old: identities are deleted then.
/// - `READPAST_INVALID_ARGUMENT`: `operation` is not a UUID.
/// - `READPAST_NOT_PROVIDED`: the queue's procedures are written by hand.
/// - any other failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_is_done(
    queue: readpast_queue,
    operation: *const c_char,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let is_done = queue.get()?.is_done(args::text("operation", operation)?)?;
            Ok(if is_done { READPAST_OK } else { READPAST_NOT_FOUND })
        })
    }
}

/// Makes all waiting claims and workers of this process look at the queue at once: after items were enqueued without the
/// library, or in a transaction that has committed since. Sends nothing to the server; returns at once.
///
/// *Threads*: not from a signal handler.
///
/// *Returns*:
/// - `READPAST_OK`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_wake(queue: readpast_queue, err: *mut readpast_error) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            queue.get()?.wake();
            Ok(READPAST_OK)
        })
    }
}

/// The name of the queue, as in its description.
///
/// *Ownership*: the text is the queue's, until that is freed.
///
/// *Returns*: text; NULL for a queue that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_queue_name(queue: readpast_queue) -> *const c_char {
    read(queue, ptr::null(), |queue| queue.name.as_ptr())
}

/// The worker's name, which holds the queue's leases: the setting `"worker"`, or a name that no other handle has.
///
/// *Ownership*: the text is the queue's, until that is freed.
///
/// *Returns*: text; NULL for a queue that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_queue_worker(queue: readpast_queue) -> *const c_char {
    read(queue, ptr::null(), |queue| queue.worker.as_ptr())
}

/// How long a claim on this handle holds, in milliseconds: the setting `"lease.ms"`, or else the queue's description. The queue's
/// `leaseMs` in AppSettings overrides the description on the server, and is not asked for here.
///
/// *Returns*: the milliseconds; 0 for a queue that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_queue_lease_ms(queue: readpast_queue) -> i64 {
    read(queue, 0, |queue| i64::try_from(queue.lease().as_millis()).unwrap_or(i64::MAX))
}

/// How many connections the queue has given up so far, because a call on them did not return: they fell silent without being
/// closed. Each keeps a thread and a socket of the process until its call returns; a process with 64 of them opens no more.
///
/// *Returns*: the count, of all handles of the queue together; 0 for a queue that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_queue_given_up(queue: readpast_queue) -> i64 {
    read(queue, 0, |queue| queue.connections().given_up.cast_signed())
}

/// Makes every present and future claim on this handle return `READPAST_INTERRUPTED` until `readpast_queue_resume`, also on
/// handles that `readpast_queue_share` made of it. It stays in force, so that a thread that claims a moment later does not miss
/// it. Statements that are at the server already go on. Settling and renewing work, so that work in flight can be finished;
/// `readpast_queue_settle_and_claim` then only settles. Returns at once.
///
/// *Threads*: not from a signal handler.
///
/// *Returns*:
/// - `READPAST_OK`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_interrupt(queue: readpast_queue, err: *mut readpast_error) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            queue.get()?.interrupt();
            Ok(READPAST_OK)
        })
    }
}

/// Ends the interrupt of `readpast_queue_interrupt`: claims work again.
///
/// *Returns*:
/// - `READPAST_OK`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_resume(queue: readpast_queue, err: *mut readpast_error) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            queue.get()?.resume();
            Ok(READPAST_OK)
        })
    }
}

/// Closes the queue's connections: waits up to `timeout_ms` (0 to 86400000) for calls under way, and up to 2 seconds for
/// idle connections to close. From then on, every call that needs the server returns `READPAST_CLOSED`, and so do waiting
/// claims. Batches stay readable; leases of items that are not settled run out. The handle must still be freed.
///
/// In the child of a fork this is a no-op that returns `READPAST_OK`: the connections are the parent's.
///
/// *Returns*:
/// - `READPAST_OK`: it is closed, or was before.
/// - `READPAST_TIMED_OUT`: calls are still under way. New ones are refused nevertheless, and their connections close
///   when they end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_close(
    queue: readpast_queue,
    timeout_ms: i64,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let timeout = args::wait("timeout_ms", timeout_ms)?;
            if queue.find().err() != Some(Fault::Forked) {
                queue.get()?.close(timeout)?;
            }
            Ok(READPAST_OK)
        })
    }
}

/// Frees a queue, and closes it if no handle shared with it is left. Calls of other threads that are under
/// way on it end as usual, and the last of them closes the connections; `readpast_queue_close` first is the
/// orderly way. The null handle, and one that was freed already, are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_queue_free(queue: readpast_queue) {
    contained((), || queue.free());
}
