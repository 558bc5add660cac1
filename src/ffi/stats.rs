//! `readpast_queue_stats`.

use super::answer::answer;
use super::error::readpast_error;
use super::handle::Handle;
use super::queue::readpast_queue;
use super::sized::{OutStructs, Versioned};
use super::status::{READPAST_OK, readpast_status};
use crate::item::{ItemState, QueueStats};
use std::{iter, mem::offset_of};

/// Figures about a queue at one moment. Initialise it with `READPAST_STATS_INIT`.
///
/// Percentiles and means are of the newest items that were started and finished; -1 where there is no such item.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_stats {
    /// The size of this struct.
    pub struct_size: usize,
    /// How many items are Pending.
    pub pending: i64,
    /// How many items are Processing.
    pub processing: i64,
    /// How many items are in Error.
    pub error: i64,
    /// How many items are Failed.
    pub failed: i64,
    /// How many items are Completed.
    pub completed: i64,
    /// How many items are Cancelled.
    pub cancelled: i64,
    /// How many items are Paused.
    pub paused: i64,
    /// How many items are Terminated.
    pub terminated: i64,
    /// How many items are PartiallyCompleted.
    pub partially_completed: i64,
    /// How many items are due now and wait for a worker.
    pub due: i64,
    /// How long the longest-waiting of them has been due, in milliseconds; -1 when none is due.
    pub oldest_due_ms: i64,
    /// How many items in flight have outlived their lease.
    pub expired: i64,
    /// How many items the percentiles and means are of (at most 10000).
    pub sample: i64,
    /// Milliseconds from due to started, 50th percentile.
    pub wait_p50_ms: i64,
    /// Milliseconds from due to started, 90th percentile.
    pub wait_p90_ms: i64,
    /// Milliseconds from due to started, 99th percentile.
    pub wait_p99_ms: i64,
    /// Milliseconds from the claim to the end, 50th percentile.
    pub claimed_p50_ms: i64,
    /// Milliseconds from the claim to the end, 90th percentile.
    pub claimed_p90_ms: i64,
    /// Milliseconds from the claim to the end, 99th percentile.
    pub claimed_p99_ms: i64,
    /// Milliseconds from due to started, on average.
    pub wait_mean_ms: i64,
    /// Milliseconds from the claim to the end, on average.
    pub claimed_mean_ms: i64,
    /// How many items were enqueued within the last hour; -1 when the queue deletes completed items.
    pub arrivals_last_hour: i64,
    /// How many items are claimed now: in flight, with a lease that has not run out.
    pub claimed: i64,
    /// How many workers keep up (Little's law): the arrivals of the last hour per millisecond, times the mean time claimed, divided by
    /// 0.8, so that workers are idle for a fifth of their time and waits stay short. At least 1 while there is work; -1 when the
    /// arrivals are not known.
    pub workers_needed: i64,
}

// SAFETY: numbers only, the size first.
unsafe impl Versioned for readpast_stats {
    const INIT: &'static str = "READPAST_STATS_INIT";
    const FIRST_SIZE: usize = offset_of!(Self, wait_mean_ms);
}

/// Counts the queue's items and measures how long they take. It reads much of the table: call it for a page that a person looks
/// at, not in every round of a worker.
///
/// *Returns*:
/// - `READPAST_OK`: `*stats` is written.
/// - `READPAST_INVALID_ARGUMENT`: `stats` is NULL or not initialised.
/// - any failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_stats(
    queue: readpast_queue,
    stats: *mut readpast_stats,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let place = OutStructs::one("stats", stats)?;
            place.fill(iter::once(c_stats(&queue.get()?.stats()?)));
            Ok(READPAST_OK)
        })
    }
}

fn c_stats(stats: &QueueStats) -> readpast_stats {
    let [wait_p50_ms, wait_p90_ms, wait_p99_ms] = stats.wait_ms.map(|ms| ms.unwrap_or(-1));
    let [claimed_p50_ms, claimed_p90_ms, claimed_p99_ms] = stats.claimed_ms.map(|ms| ms.unwrap_or(-1));
    readpast_stats {
        struct_size: 0,
        pending: stats.count(ItemState::Pending),
        processing: stats.count(ItemState::Processing),
        error: stats.count(ItemState::Error),
        failed: stats.count(ItemState::Failed),
        completed: stats.count(ItemState::Completed),
        cancelled: stats.count(ItemState::Cancelled),
        paused: stats.count(ItemState::Paused),
        terminated: stats.count(ItemState::Terminated),
        partially_completed: stats.count(ItemState::PartiallyCompleted),
        due: stats.due,
        oldest_due_ms: stats.oldest_due_ms.unwrap_or(-1),
        expired: stats.expired,
        sample: stats.sample,
        wait_p50_ms,
        wait_p90_ms,
        wait_p99_ms,
        claimed_p50_ms,
        claimed_p90_ms,
        claimed_p99_ms,
        wait_mean_ms: stats.wait_mean_ms.unwrap_or(-1),
        claimed_mean_ms: stats.claimed_mean_ms.unwrap_or(-1),
        arrivals_last_hour: stats.arrivals_last_hour.unwrap_or(-1),
        claimed: stats.claimed,
        workers_needed: stats.workers_needed.unwrap_or(-1),
    }
}
