//! Connections that were given up because a call on them did not return: how many there were, how many still hang, and the
//! limits.

use crate::error::{Error, ErrorKind, Result};
use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// The most calls of a queue that may hang before it opens no more connections. Each costs a thread and a socket.
const MOST: u64 = 64;

/// The most in a process: one silent server does not keep it from others.
const MOST_IN_PROCESS: u64 = 1024;

/// How many hang in this process: the process's number, and the count in the lower half. With the number, since in the child of a
/// fork none hangs; and without a lock, which a fork could leave locked.
static IN_PROCESS: AtomicU64 = AtomicU64::new(0);

/// The counts of one pool.
#[derive(Debug, Default)]
pub(crate) struct GivenUp {
    count: AtomicU64,
    hanging: AtomicU64,
}

/// A thread that hangs, for as long as it does.
pub(super) struct Hanging(Arc<GivenUp>);

impl GivenUp {
    /// How many connections were given up so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// How many of them still hang in their driver.
    pub(crate) fn hanging(&self) -> u64 {
        self.hanging.load(Ordering::Relaxed)
    }

    /// Counts one more.
    pub(super) fn leave(self: &Arc<Self>) -> Hanging {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let hanging = self.hanging.fetch_add(1, Ordering::Relaxed) + 1;
        let in_process = change(|count| count + 1);
        log::error!(
            "a connection fell silent and was given up with the thread that waits for it ({count} of this queue so far; {hanging} of it \
             still hang, {MOST} may; {in_process} in this process, {MOST_IN_PROCESS} may): look for a firewall or proxy that drops connections without closing them"
        );
        Hanging(Arc::clone(self))
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.hanging.fetch_sub(1, Ordering::Relaxed);
        change(|count| count.saturating_sub(1));
    }
}

/// Whether another connection may be opened for a pool.
///
/// # Errors
/// [`ErrorKind::Unavailable`] when too many calls hang.
pub(super) fn check(given_up: &GivenUp) -> Result<()> {
    let (of_queue, of_process) = (given_up.hanging(), change(|count| count));
    if of_queue < MOST && of_process < MOST_IN_PROCESS {
        return Ok(());
    }
    let message = format!(
        "cannot connect: {of_queue} calls of this queue and {of_process} of this process hang on connections that fell \
         silent, and no more are opened until some of them return; find the firewall or proxy that swallows their \
         answers, or restart the process"
    );
    Err(Error::new(ErrorKind::Unavailable, message))
}

/// Changes the count of this process; returns the new one.
fn change(change: impl Fn(u64) -> u64) -> u64 {
    let process = u64::from(process::id());
    let changed = |packed: u64| {
        let count = if packed >> 32 == process { packed & u64::from(u32::MAX) } else { 0 };
        process << 32 | change(count)
    };
    let mut packed = IN_PROCESS.load(Ordering::Relaxed);
    loop {
        match IN_PROCESS.compare_exchange_weak(packed, changed(packed), Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return changed(packed) & u64::from(u32::MAX),
            Err(now) => packed = now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_which_too_many_hang_opens_no_more() {
        let (pool, other): (Arc<GivenUp>, GivenUp) = Default::default();
        check(&pool).unwrap();
        let mut hanging: Vec<_> = (0..MOST).map(|_| pool.leave()).collect();
        let error = check(&pool).unwrap_err();
        check(&other).expect("a silent server bars no other");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.is_retryable() && error.message().contains("fell silent"), "{error}");
        assert_eq!((pool.count(), pool.hanging()), (MOST, MOST));
        hanging.truncate(MOST as usize / 2);
        check(&pool).unwrap();
        assert_eq!((pool.count(), pool.hanging()), (MOST, MOST / 2));
    }
}
