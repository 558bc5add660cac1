//! The process of a handle. A process that forked shares its connections with its parent, where two would talk over one another,
//! so no handle may live through a fork.
//!
//! A hook counts forks, since asking for the process id at every call would be a system call each. `vfork` and raw `clone` run no
//! hooks; after those only `exec` is allowed anyway.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static EPOCH: AtomicU32 = AtomicU32::new(0);

/// How many forks this process is away from the first that used the library.
pub(super) fn epoch() -> u32 {
    EPOCH.load(Ordering::Relaxed)
}

/// Begins to count; must be called before the first handle. False when the system has no memory for it.
///
/// It uses no lock: a fork could leave it locked in the child. When two threads come here at once, each fork counts twice, which
/// does no harm.
pub(super) fn watch() -> bool {
    static WATCHING: AtomicBool = AtomicBool::new(false);

    if !WATCHING.load(Ordering::Acquire) && register() {
        WATCHING.store(true, Ordering::Release);
    }
    WATCHING.load(Ordering::Acquire)
}

#[cfg(all(unix, not(miri)))]
fn register() -> bool {
    extern "C" fn in_child() {
        // The hook may do only as much as a signal handler.
        EPOCH.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the hook is a function of this library, and is removed when the library is unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) == 0 }
}

#[cfg(any(not(unix), miri))]
fn register() -> bool {
    true
}
