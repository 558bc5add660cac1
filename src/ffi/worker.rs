//! `readpast_worker`: taking, beginning and ending items, with the engine between the caller and the database. `watch` has the
//! rest.

use super::answer::answer;
use super::args;
use super::batch::readpast_batch;
use super::boundary::read;
use super::claim;
use super::error::readpast_error;
use super::events::Log;
use super::failure::CallFailure;
use super::handle::Handle;
use super::out::OutParameter;
use super::queue::readpast_queue;
use super::settle::{read_ends, readpast_settlement};
use super::sized::{self, Versioned};
use super::status::{
    READPAST_EMPTY, READPAST_INTERRUPTED, READPAST_LEASE_LOST, READPAST_NOT_FOUND, READPAST_OK, of_answer,
    readpast_status,
};
use crate::engine::{Begin, Engine, Taken, WorkerTerms};
use crate::item::Answer;
use std::ffi::c_char;
use std::sync::Arc;

/// A worker: threads of the library claim ahead, settle in groups and renew leases, while the caller takes items, begins each,
/// and ends it. Any number of the caller's threads may do so at once; there are no callbacks.
///
/// One worker serves as many handlers as the program has; the settings `worker.fetchers`, `worker.ahead` and `worker.hold_ms`
/// control it. `docs/worker.md` describes its answer to each failure. Items that had ended but were not settled when the process
/// died are handed out again.
///
/// Made by `readpast_worker_start`, freed by `readpast_worker_free`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_worker {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

/// The object behind a `readpast_worker`.
pub(super) struct RunningWorker {
    pub(super) engine: Engine,
    pub(super) log: Option<Arc<Log>>,
}

impl RunningWorker {
    /// Ends the waits of threads for changes and events.
    pub(super) fn end_changes(&self) {
        self.engine.end_changes();
        if let Some(log) = &self.log {
            log.end();
        }
    }
}

impl Handle for readpast_worker {
    type Object = RunningWorker;
    const TAG: u8 = 7;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

/// Options of a worker, besides its queue's settings. Initialise it with `READPAST_WORKER_OPTIONS_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_worker_options {
    /// The size of this struct.
    pub struct_size: usize,
    /// 1: the worker stops by itself when nothing is due or in flight. 0: it works until it is stopped.
    pub until_empty: i32,
    /// How many unread events are kept for `readpast_worker_events`, up to 1000000. 0: none.
    pub events: i32,
}

// SAFETY: numbers only, the size first.
unsafe impl Versioned for readpast_worker_options {
    const INIT: &'static str = "READPAST_WORKER_OPTIONS_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Starts a worker on `queue`. `options` may be NULL.
///
/// It has a handle of its own on the queue, like one from `readpast_queue_share`: interrupting `queue` stops it, and closing
/// the queue ends it.
///
/// *Ownership*: the caller frees `*worker` with `readpast_worker_free`. `queue` may be freed before it.
///
/// *Returns*:
/// - `READPAST_OK`: `*worker` works.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: an option cannot be taken; the message names it.
/// - `READPAST_UNAVAILABLE`: the system has no thread left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_start(
    queue: readpast_queue,
    options: *const readpast_worker_options,
    worker: *mut readpast_worker,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let place = OutParameter::new("worker", worker)?;
            let given = sized::optional_struct("options", options)?;
            let until_empty =
                given.map_or(Ok(0), |given| args::in_range("options.until_empty", given.until_empty.into(), 0..=1))?;
            let events =
                given.map_or(Ok(0), |given| args::in_range("options.events", given.events.into(), 0..=1_000_000))?;
            let log = (events > 0).then(|| Arc::new(Log::new(events.unsigned_abs() as usize)));
            let terms = WorkerTerms { until_empty: until_empty == 1, observer: log.as_ref().map(Log::observer) };
            let queue = queue.get()?;
            let engine = Engine::new(&queue, terms);
            engine.start()?;
            place.put(RunningWorker { engine, log })?;
            Ok(READPAST_OK)
        })
    }
}

/// Takes up to `max_items` (1 to 1000) due items, waiting up to `wait_ms` (0 to 86400000) for the first. They are claimed, and
/// their leases are renewed until they are ended, however long that takes. Items that were claimed ahead are handed out at once.
/// A batch has items of one claim only, so it may have fewer than `max_items` although more are due.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`, before or after the items are ended.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds at least one item. Begin each of them, and end it.
/// - `READPAST_EMPTY`: none came in time; `*batch` is null.
/// - `READPAST_INTERRUPTED`: the worker was stopped; no more items follow. `*batch` is null.
/// - any failure that made the worker stop: it is not transient.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_take(
    worker: readpast_worker,
    max_items: i32,
    wait_ms: i64,
    batch: *mut readpast_batch,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            let place = OutParameter::new("batch", batch)?;
            let (max, wait) = (args::item_count("max_items", max_items)?, args::wait("wait_ms", wait_ms)?);
            match worker.get()?.engine.take(max, wait)? {
                Taken::Items(batch) => claim::put(place, batch),
                Taken::Nothing => Ok(READPAST_EMPTY),
                Taken::Stopping => Ok(READPAST_INTERRUPTED),
            }
        })
    }
}

/// Waits for up to `max_items` (0 to 1000) items without a thread, for a program with an event loop: `*descriptor` is always the
/// same, and can be read from (`poll`, `epoll`, `kqueue`, libuv's `uv_poll_t`, Boost.Asio's `posix::stream_descriptor`) once there is
/// something to do. Then call `readpast_worker_take` with a `wait_ms` of 0 until it returns `READPAST_EMPTY` or there is no room left,
/// ask `readpast_worker_is_lost` for each item that is worked on, and call this again with the number of items that there is room for
/// by now, which empties the descriptor: the program neither reads nor closes it. With 0 it shows losses and the stop alone. After a
/// stop it can always be read from.
///
/// *Ownership*: the descriptor is the worker's, and is closed when the worker is freed; take it out of the loop before.
///
/// *Threads*: one event loop for a worker.
///
/// *Returns*:
/// - `READPAST_OK`: `*descriptor` is to be polled.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken; the message names it.
/// - `READPAST_UNAVAILABLE`: the system has no descriptor left.
/// - `READPAST_UNSUPPORTED`: on Windows, where event loops poll no descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_want(
    worker: readpast_worker,
    max_items: i32,
    descriptor: *mut i32,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            if descriptor.is_null() {
                return Err(CallFailure::argument("descriptor is NULL; it must say where to put what is to be polled"));
            }
            let max = if max_items == 0 { 0 } else { args::item_count("max_items", max_items)? };
            descriptor.write(wanted(&worker.get()?.engine, max)?);
            Ok(READPAST_OK)
        })
    }
}

#[cfg(unix)]
fn wanted(engine: &Engine, max: u32) -> crate::Result<i32> {
    engine.want(max)
}

#[cfg(not(unix))]
fn wanted(_: &Engine, _: u32) -> crate::Result<i32> {
    let why = "event loops of Windows poll no descriptors; take items on threads (readpast_worker_take)";
    Err(crate::Error::new(crate::ErrorKind::Unsupported, why))
}

/// Begins an item that was taken: call it when the item's turn has come, before any work on it. An item that does not begin is no
/// longer in flight: do not work on it, and do not end it.
///
/// It may have been lost while the items before it were worked on. Or the worker is stopping: then it releases, without spending
/// an attempt, this item and those of its batch that have not begun. Once an item of a batch has begun, `readpast_worker_stop`
/// releases at once those that have not.
///
/// A program may leave this out: an item then begins when it is taken. Do either for all items of a batch. The process's metrics
/// measure from the begin how long an item waited and how long it was worked on.
///
/// *Threads*: of several calls for one item one returns `READPAST_OK`.
///
/// *Returns*:
/// - `READPAST_OK`: work on the item, and end it.
/// - `READPAST_LEASE_LOST`: the item was lost, or is not there to begin: it began before, has ended, or was released.
/// - `READPAST_INTERRUPTED`: the worker is stopping; the item was released.
/// - `READPAST_INVALID_ARGUMENT`: the key or the attempt cannot be taken; the message names it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_begin(
    worker: readpast_worker,
    key: *const c_char,
    attempt: i32,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            let (key, attempt) = (args::text("key", key)?, args::attempt("attempt", attempt)?);
            Ok(match worker.get()?.engine.begin(key, attempt) {
                Begin::Ok => READPAST_OK,
                Begin::Lost => READPAST_LEASE_LOST,
                Begin::Stopping => READPAST_INTERRUPTED,
            })
        })
    }
}

/// Releases the items of a taken batch that have not begun, without spending an attempt: for a thread that will work on none of
/// them, because it fails or ends. Items that have begun or ended, and those that were released or lost, stay as they are; so
/// calling it again, or for each batch that is done, does no harm. While the worker goes on, the items are due again after
/// `poll.interval_ms`; when it is stopping, at once.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_INVALID_HANDLE`: there is no such worker or batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_give_back(
    worker: readpast_worker,
    batch: readpast_batch,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            let (worker, batch) = (worker.get()?, batch.get()?);
            worker.engine.give_back(&batch);
            Ok(READPAST_OK)
        })
    }
}

/// Ends `count` (1 to 1000) items that were taken, each with its settlement, whose token may be NULL. Returns at once: the worker
/// settles them, together with others that have ended, in its next call. `readpast_worker_events` reports the outcome. To record
/// a step and keep the item, see `readpast_worker_step`.
///
/// Completed work is not repeated. Invalid text, a time out of range, values that the columns do not take, and values that the
/// database cannot store are left out, and the item's error says so. In an error's own text, U+FFFD replaces bytes that are not
/// UTF-8. An action that does not end an item makes it Failed. READPAST_EVENT_REFUSED reports all these.
///
/// *Returns*:
/// - `READPAST_OK`: all have ended.
/// - `READPAST_NOT_FOUND`: at least one is not in flight: it ended before, or was never taken. The others have ended.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: a key, an attempt, or the array itself cannot be taken; the message
///   names it. None has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_end(
    worker: readpast_worker,
    settlements: *const readpast_settlement,
    count: i32,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            let ends = read_ends(settlements, count)?;
            let answers = worker.get()?.engine.end_as_reported(&ends);
            Ok(if answers.iter().all(|answer| *answer == Answer::Ok) { READPAST_OK } else { READPAST_NOT_FOUND })
        })
    }
}

/// Records a step, of at most 60 characters, of an item that was taken, so that another attempt can resume there. The claim is
/// kept, and its lease starts anew. Waits until the database has the step.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_LEASE_LOST`, `READPAST_CONFLICT`, `READPAST_ILLEGAL_TRANSITION`, `READPAST_NOT_FOUND`: the worker has lost the
///   item; work on it is in vain.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken; the message names it.
/// - any failure that is not transient.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_step(
    worker: readpast_worker,
    key: *const c_char,
    attempt: i32,
    step: *const c_char,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            let (key, step) = (args::text("key", key)?, args::text("step", step)?);
            let attempt = args::attempt("attempt", attempt)?;
            Ok(of_answer(worker.get()?.engine.step(key, attempt, step)?))
        })
    }
}

/// Reports how far a taken item is, for operators to see while the handler runs: `percent` from 0 to 100, `text`, a line, or both,
/// each in place of the one before. Returns at once: a thread of the library writes the newest report of each item, those of all items
/// of the worker by one call, at most one in a second. It never fails because of the database, and a report may be lost: when the item
/// ends right after it, say.
///
/// A `percent` above 100 counts as 100, one below 0 as none. `text` may be NULL; it is cut after 200 characters (units of UTF-16, never
/// within a character). The report of an item that is not in flight, or is lost, has no effect.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_UNSUPPORTED`: the queue's description has no `progress`.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken; the message names it.
/// - `READPAST_UNAVAILABLE`: the system has no thread left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_progress(
    worker: readpast_worker,
    key: *const c_char,
    attempt: i32,
    percent: i32,
    text: *const c_char,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            let (key, text) = (args::text("key", key)?, args::optional_text("text", text)?);
            let attempt = args::attempt("attempt", attempt)?;
            worker.get()?.engine.progress(key, attempt, Some(percent), text)?;
            Ok(READPAST_OK)
        })
    }
}

/// Whether a taken item is lost: its lease ran out, an operator took it, or the worker was abandoned or given up. Further work on
/// it is then in vain. An item that was worked on for longer than `worker.max_run_ms` counts as lost too, and its result counts if it
/// comes before the lease runs out.
///
/// *Returns*: 1 if it is, or is not in flight; 0 if not; 1 for a worker that is null or freed, or a key that is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_is_lost(worker: readpast_worker, key: *const c_char, attempt: i32) -> i32 {
    read(worker, 1, |worker| {
        // SAFETY: the header's rules for pointers.
        let key = unsafe { args::text("key", key) };
        key.map_or(1, |key| i32::from(worker.engine.is_lost(key, attempt)))
    })
}
