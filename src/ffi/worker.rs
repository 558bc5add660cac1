//! `readpast_worker`: items taken and ended, with the engine between the caller and the database.

use super::answer::answer;
use super::args;
use super::batch::readpast_batch;
use super::boundary::{contained, read};
use super::claim;
use super::error::readpast_error;
use super::events::{Log, readpast_events};
use super::failure::Failure;
use super::handle::Handle;
use super::out::Place;
use super::queue::readpast_queue;
use super::settle::{read_ends, readpast_settlement};
use super::sized::{self, Places, Versioned};
use super::status::{
    READPAST_EMPTY, READPAST_INTERRUPTED, READPAST_NOT_FOUND, READPAST_OK, of_answer, readpast_status,
};
use crate::engine::{Engine, Figures, Taken, Terms};
use crate::item::Answer;
use std::ffi::c_char;
use std::iter;
use std::sync::Arc;

/// A worker: threads of the library claim ahead, settle in groups and renew leases, while the caller takes items and ends
/// them. Any number of the caller's threads may do so at once; there are no callbacks.
///
/// One worker serves as many handlers as the program has; the settings `worker.lanes`, `worker.ahead` and `worker.hold_ms`
/// say how. `docs/worker.md` says what it does when something goes wrong. Items that had ended but were not settled when the
/// process died are handed out again.
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
    engine: Engine,
    log: Option<Arc<Log>>,
}

impl RunningWorker {
    /// Whoever waits for news, or reads events, learns that there will be no more.
    fn end_news(&self) {
        self.engine.end_news();
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
    /// 1: the worker stops by itself when nothing is due or in hand. 0: it works until it is told to stop.
    pub until_empty: i32,
    /// How many events are kept until somebody reads them with `readpast_worker_events`, up to 1000000. 0: none.
    pub events: i32,
}

// SAFETY: numbers only, the size first.
unsafe impl Versioned for readpast_worker_options {
    const INIT: &'static str = "READPAST_WORKER_OPTIONS_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// What a worker has done so far. Initialise it with `READPAST_WORKER_FIGURES_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_worker_figures {
    /// The size of this struct.
    pub struct_size: usize,
    /// Items in hand that were not taken yet.
    pub ready: i64,
    /// Items that were taken and have not ended.
    pub begun: i64,
    /// Items that have ended and are not settled yet.
    pub ended: i64,
    /// Items claimed so far.
    pub claimed: i64,
    /// Items settled so far, with the action that was asked for.
    pub settled: i64,
    /// Items given back unworked so far, without spending an attempt.
    pub released: i64,
    /// Items lost so far.
    pub lost: i64,
    /// Items for which the library or the database refused a part of what was given.
    pub refused: i64,
    /// Calls answered so far that settled or claimed.
    pub calls: i64,
    /// Calls that failed with an error that may pass.
    pub troubles: i64,
    /// The median of how long the answered calls took, in microseconds, to within a factor of 1.5.
    pub call_us_p50: i64,
    /// The same of the 99th percentile.
    pub call_us_p99: i64,
}

// SAFETY: numbers only, the size first.
unsafe impl Versioned for readpast_worker_figures {
    const INIT: &'static str = "READPAST_WORKER_FIGURES_INIT";
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
            let place = Place::new("worker", worker)?;
            let given = sized::optional_struct("options", options)?;
            let until_empty =
                given.map_or(Ok(0), |given| args::in_range("options.until_empty", given.until_empty.into(), 0..=1))?;
            let events =
                given.map_or(Ok(0), |given| args::in_range("options.events", given.events.into(), 0..=1_000_000))?;
            let log = (events > 0).then(|| Arc::new(Log::new(events.unsigned_abs() as usize)));
            let terms = Terms { until_empty: until_empty == 1, observer: log.as_ref().map(Log::observer) };
            let queue = queue.get()?;
            let engine = Engine::new(&queue, terms);
            engine.start()?;
            place.put(RunningWorker { engine, log })?;
            Ok(READPAST_OK)
        })
    }
}

/// Takes up to `max_items` (1 to 1000) due items, waiting up to `wait_ms` (0 to 86400000) for the first. They are claimed,
/// and their leases are renewed until they are ended, however long that takes. Items that were claimed ahead are handed out
/// at once. A batch has items of one claim only, so it may have fewer than `max_items` although more are due.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`, before or after the items are ended.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds at least one item. End each of them.
/// - `READPAST_EMPTY`: none came in time; `*batch` is null.
/// - `READPAST_INTERRUPTED`: the worker was told to stop; there will be no more. `*batch` is null.
/// - any failure that made the worker stop: it cannot pass by itself.
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
            let place = Place::new("batch", batch)?;
            let (max, wait) = (args::item_count("max_items", max_items)?, args::wait("wait_ms", wait_ms)?);
            match worker.get()?.engine.take(max, wait)? {
                Taken::Items(batch) => claim::put(place, batch),
                Taken::Nothing => Ok(READPAST_EMPTY),
                Taken::Stopping => Ok(READPAST_INTERRUPTED),
            }
        })
    }
}

/// Ends `count` (1 to 1000) items that were taken, each with its settlement, whose token may be NULL. Returns at once: the
/// worker settles them, together with others that have ended, in its next call. `readpast_worker_events` tells the outcome.
/// To record a step and keep the item, see `readpast_worker_step`.
///
/// Work that was done is not done again. Invalid text, a time out of range, values that the columns do not take, and whatever
/// the database cannot store are left out, and the item's error says so. In an error's own text, U+FFFD replaces what is not
/// UTF-8. An action that does not end an item makes it Failed. READPAST_EVENT_REFUSED tells of all these.
///
/// *Returns*:
/// - `READPAST_OK`: all have ended.
/// - `READPAST_NOT_FOUND`: at least one is not in hand: it ended before, or was never taken. The others have ended.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: a key, an attempt, or the array itself cannot be taken; the
///   message names it. None has ended.
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
            let answers = worker.get()?.engine.end_as_said(&ends);
            Ok(if answers.iter().all(|answer| *answer == Answer::Ok) { READPAST_OK } else { READPAST_NOT_FOUND })
        })
    }
}

/// Records a step, of at most 60 characters, of an item that was taken, so that another attempt can resume there. The claim
/// is kept, and its lease starts anew. Waits until the database has the step.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_LEASE_LOST`, `READPAST_CONFLICT`, `READPAST_ILLEGAL_TRANSITION`, `READPAST_NOT_FOUND`: the worker has lost the
///   item; work on it is in vain.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken; the message names it.
/// - any failure that cannot pass by itself.
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

/// Whether an item that was taken was found lost: its lease ran out, or an operator took it. Work on it is then in vain.
///
/// *Returns*: 1 if it was, or is not in hand; 0 if not; 1 for a worker that is null or freed, or a key that is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_is_lost(worker: readpast_worker, key: *const c_char, attempt: i32) -> i32 {
    read(worker, 1, |worker| {
        // SAFETY: the header's rules for pointers.
        let key = unsafe { args::text("key", key) };
        key.map_or(1, |key| i32::from(worker.engine.is_lost(key, attempt)))
    })
}

/// Waits up to `wait_ms` (0 to 86400000) for news that running handlers must know of: an item in hand was found lost, or the
/// worker was told to stop, or has failed. News are counted: `seen` is how many the caller knows of, 0 at first, and `*news`
/// how many there are. Then ask `readpast_worker_is_lost` for each item that is worked on, and `readpast_worker_is_stopping`.
/// One waiting thread is enough for all handlers; the count makes sure that no news is missed.
///
/// *Threads*: any number may wait, each with its own count.
///
/// *Returns*:
/// - `READPAST_OK`: there are more than `seen`; `*news` is how many.
/// - `READPAST_EMPTY`: there were no more in time; `*news` is not written.
/// - `READPAST_INTERRUPTED`: there will be no more: the worker was closed or freed. `*news` is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_news(
    worker: readpast_worker,
    seen: i64,
    wait_ms: i64,
    news: *mut i64,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            if news.is_null() {
                return Err(Failure::argument("news is NULL; it must say where to put how many there are"));
            }
            let seen = args::in_range("seen", seen, 0..=i64::MAX)?.unsigned_abs();
            let wait = args::wait("wait_ms", wait_ms)?;
            match worker.get()?.engine.news(seen, wait) {
                None => Ok(READPAST_INTERRUPTED),
                Some(count) if count <= seen => Ok(READPAST_EMPTY),
                Some(count) => {
                    news.write(i64::try_from(count).unwrap_or(i64::MAX));
                    Ok(READPAST_OK)
                }
            }
        })
    }
}

/// Renews the leases of all items in hand now, without waiting for a third of their time. Returns at once.
///
/// *Returns*:
/// - `READPAST_OK`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_renew(worker: readpast_worker, err: *mut readpast_error) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            worker.get()?.engine.renew_now();
            Ok(READPAST_OK)
        })
    }
}

/// Tells a worker to stop: it hands out no more items, gives back those that were not taken, without spending an attempt, and
/// settles those that end. Returns at once; `readpast_worker_close` waits.
///
/// *Threads*: not from a signal handler.
///
/// *Returns*:
/// - `READPAST_OK`, also when it was told before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_stop(worker: readpast_worker, err: *mut readpast_error) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            worker.get()?.engine.stop();
            Ok(READPAST_OK)
        })
    }
}

/// Whether a worker was told to stop, or has failed.
///
/// *Returns*: 1 if so; 0 if not; 1 for a worker that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_worker_is_stopping(worker: readpast_worker) -> i32 {
    read(worker, 1, |worker| i32::from(worker.engine.is_stopping()))
}

/// Stops a worker, and waits up to `wait_ms` (0 to 86400000; -1: as long as a lease of the queue) until all items that were
/// taken have ended and are settled. Then the worker is given up: leases run out, and other workers take over what was in
/// hand. Whatever it returns, no more events and no more news come.
///
/// *Returns*:
/// - `READPAST_OK`: nothing is in hand.
/// - `READPAST_TIMED_OUT`: items were still in hand; the message says how many.
/// - `READPAST_INVALID_ARGUMENT`: `wait_ms` is out of range; the worker was closed as with -1.
/// - any failure that made the worker stop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_close(
    worker: readpast_worker,
    wait_ms: i64,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            let worker = worker.get()?;
            let patience = args::patience("wait_ms", wait_ms);
            // Also where the caller's time is none: who waits for news would wait for ever.
            let closed = worker.engine.close(patience.as_ref().ok().copied().flatten());
            worker.end_news();
            patience?;
            closed?;
            Ok(READPAST_OK)
        })
    }
}

/// What a worker has done so far.
///
/// *Returns*:
/// - `READPAST_OK`: `*figures` is written.
/// - `READPAST_INVALID_ARGUMENT`: `figures` is NULL or not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_get_figures(
    worker: readpast_worker,
    figures: *mut readpast_worker_figures,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            let place = Places::one("figures", figures)?;
            place.fill(iter::once(c_figures(&worker.get()?.engine.figures())));
            Ok(READPAST_OK)
        })
    }
}

/// Takes up to `max_events` (1 to 1000) unread events, oldest first, waiting up to `wait_ms` (0 to 86400000) for the first. A
/// worker keeps as many as its options say; when more come, the oldest are dropped, first those of items that were settled in
/// order.
///
/// *Ownership*: the caller frees `*events` with `readpast_events_free`.
///
/// *Threads*: each event is returned once.
///
/// *Returns*:
/// - `READPAST_OK`: `*events` holds at least one.
/// - `READPAST_EMPTY`: there was none in time; `*events` is null.
/// - `READPAST_INTERRUPTED`: all are read and no more will come: the worker was closed or freed, or keeps none.
///   `*events` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_events(
    worker: readpast_worker,
    max_events: i32,
    wait_ms: i64,
    events: *mut readpast_events,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            let place = Place::new("events", events)?;
            let (max, wait) = (args::item_count("max_events", max_events)?, args::wait("wait_ms", wait_ms)?);
            let worker = worker.get()?;
            match worker.log.as_ref().and_then(|log| log.read(max as usize, wait)) {
                None => Ok(READPAST_INTERRUPTED),
                Some(events) if events.is_empty() => Ok(READPAST_EMPTY),
                Some(events) => place.put(events).map(|()| READPAST_OK),
            }
        })
    }
}

/// Stops a worker and frees it. Returns at once: items that have ended are settled in the background, items that were not
/// taken are given back, and the leases of the others run out. To wait, close it first. The null handle, and
/// one that was freed already, are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_worker_free(worker: readpast_worker) {
    contained((), || {
        if let Ok(worker) = worker.get() {
            // Whoever waits for items holds it as well, and would wait on.
            worker.engine.stop();
            worker.end_news();
        }
        worker.free();
    });
}

fn c_figures(figures: &Figures) -> readpast_worker_figures {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    readpast_worker_figures {
        struct_size: 0,
        ready: number(figures.ready),
        begun: number(figures.begun),
        ended: number(figures.ended),
        claimed: number(figures.claimed),
        settled: number(figures.settled),
        released: number(figures.released),
        lost: number(figures.lost),
        refused: number(figures.refused),
        calls: number(figures.calls),
        troubles: number(figures.troubles),
        call_us_p50: number(figures.call_us_p50),
        call_us_p99: number(figures.call_us_p99),
    }
}
