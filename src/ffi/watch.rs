//! A `readpast_worker` watched and ended: changes, figures, events, stop, close, free.

use super::answer::answer;
use super::args;
use super::boundary::{contained, read};
use super::error::readpast_error;
use super::events::readpast_events;
use super::failure::CallFailure;
use super::handle::Handle;
use super::out::OutParameter;
use super::sized::{OutStructs, Versioned};
use super::status::{READPAST_EMPTY, READPAST_INTERRUPTED, READPAST_OK, readpast_status};
use super::worker::readpast_worker;
use crate::engine::WorkerFigures;
use std::iter;

/// Figures of a worker since it was started. Initialise it with `READPAST_WORKER_FIGURES_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_worker_figures {
    /// The size of this struct.
    pub struct_size: usize,
    /// Items in flight that have not begun.
    pub ready: i64,
    /// Items that have begun and not ended. Without `readpast_worker_begin` an item begins when it is taken.
    pub begun: i64,
    /// Items that have ended and are not settled yet.
    pub ended: i64,
    /// Items claimed so far.
    pub claimed: i64,
    /// Items settled so far, with the action that was asked for.
    pub settled: i64,
    /// Items released so far, without spending an attempt.
    pub released: i64,
    /// Items lost so far.
    pub lost: i64,
    /// Items for which the library or the database refused a part of the result.
    pub refused: i64,
    /// Calls answered so far that settled or claimed.
    pub calls: i64,
    /// Calls that failed with a transient error.
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

/// Waits up to `wait_ms` (0 to 86400000) for a change that running handlers must know of: an item in flight was lost, or the
/// worker is to stop, or has failed. Changes are counted: `seen` is how many the caller knows of, 0 at first, and `*changes`
/// how many there are. Then ask `readpast_worker_is_lost` for each item that is worked on, and `readpast_worker_is_stopping`.
/// One waiting thread is enough for all handlers; the count makes sure that it misses none.
///
/// *Threads*: any number may wait, each with its own count.
///
/// *Returns*:
/// - `READPAST_OK`: there are more than `seen`; `*changes` is how many.
/// - `READPAST_EMPTY`: there were no more in time; `*changes` is not written.
/// - `READPAST_INTERRUPTED`: there will be no more: the worker was closed or freed. `*changes` is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_changes(
    worker: readpast_worker,
    seen: i64,
    wait_ms: i64,
    changes: *mut i64,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            if changes.is_null() {
                return Err(CallFailure::argument("changes is NULL; it must say where to put how many there are"));
            }
            let seen = args::in_range("seen", seen, 0..=i64::MAX)?.unsigned_abs();
            let wait = args::wait("wait_ms", wait_ms)?;
            match worker.get()?.engine.changes(seen, wait) {
                None => Ok(READPAST_INTERRUPTED),
                Some(count) if count <= seen => Ok(READPAST_EMPTY),
                Some(count) => {
                    changes.write(i64::try_from(count).unwrap_or(i64::MAX));
                    Ok(READPAST_OK)
                }
            }
        })
    }
}

/// Renews the leases of all items in flight now, without waiting for a third of their time. Returns at once.
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

/// Stops a worker: it hands out no more items, releases those that have not begun, without spending an attempt (see
/// `readpast_worker_begin`), and settles those that end. Returns at once; `readpast_worker_close` waits.
///
/// *Threads*: not from a signal handler.
///
/// *Returns*:
/// - `READPAST_OK`, also when it was stopped before.
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

/// Stops a worker, and gives back at once what has not ended, without spending an attempt: for a program that is about to end and
/// waits for its handlers no longer. A handler that works on such an item has lost it (`readpast_worker_is_lost`), and its end is
/// of no effect (`READPAST_NOT_FOUND`). Returns at once; `readpast_worker_close` waits until the database knows. After a close that
/// timed out it makes the call itself, once, and waits five seconds for it at most.
///
/// *Threads*: not from a signal handler.
///
/// *Returns*:
/// - `READPAST_OK`, also when it was stopped or abandoned before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_worker_abandon(worker: readpast_worker, err: *mut readpast_error) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(worker, err, || {
            worker.get()?.engine.abandon();
            Ok(READPAST_OK)
        })
    }
}

/// Whether a worker was stopped, or has failed.
///
/// *Returns*: 1 if so; 0 if not; 1 for a worker that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_worker_is_stopping(worker: readpast_worker) -> i32 {
    read(worker, 1, |worker| i32::from(worker.engine.is_stopping()))
}

/// Stops a worker, and waits up to `wait_ms` (0 to 86400000; -1: as long as a lease of the queue) until all items that were taken
/// have ended and are settled. Then the worker is given up: leases run out, and other workers claim the items in flight. No
/// events and no changes follow, whatever it returns.
///
/// *Returns*:
/// - `READPAST_OK`: nothing is in flight.
/// - `READPAST_TIMED_OUT`: items were still in flight; the message says how many. So does each further close, until
///   `readpast_worker_abandon` has given them back.
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
            // This comes before the check of the time: a thread that waits for changes would wait for ever.
            let closed = worker.engine.close(patience.as_ref().ok().copied().flatten());
            worker.end_changes();
            patience?;
            closed?;
            Ok(READPAST_OK)
        })
    }
}

/// The figures of a worker.
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
            let place = OutStructs::one("figures", figures)?;
            place.fill(iter::once(c_figures(&worker.get()?.engine.figures())));
            Ok(READPAST_OK)
        })
    }
}

/// Takes up to `max_events` (1 to 1000) unread events, oldest first, waiting up to `wait_ms` (0 to 86400000) for the first. A
/// worker keeps as many as its options say; when more come, it drops the oldest, first those of items that were settled in order.
///
/// *Ownership*: the caller frees `*events` with `readpast_events_free`.
///
/// *Threads*: each event is returned once.
///
/// *Returns*:
/// - `READPAST_OK`: `*events` holds at least one.
/// - `READPAST_EMPTY`: there was none in time; `*events` is null.
/// - `READPAST_INTERRUPTED`: all are read and no more follow: the worker was closed or freed, or keeps none. `*events` is null.
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
            let place = OutParameter::new("events", events)?;
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

/// Stops a worker and frees it. Returns at once: ended items are settled in the background, items that have not begun are
/// released, and the leases of the others run out. To wait, close it first. The null handle, and one that was freed already, are
/// ignored.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_worker_free(worker: readpast_worker) {
    contained((), || {
        if let Ok(worker) = worker.get() {
            // A thread that waits for items holds it as well, and would wait on.
            worker.engine.stop();
            worker.end_changes();
        }
        worker.free();
    });
}

fn c_figures(figures: &WorkerFigures) -> readpast_worker_figures {
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
