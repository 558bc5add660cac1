//! Threads of the library. They leave signals to the program's own.
#![allow(
    unsafe_code,
    reason = "only the C library can say which thread this is and which signals it blocks, and takes functions for the end"
)]

#[cfg(all(target_os = "linux", not(miri)))]
mod process_end;

/// Windows ends the other threads of a process first.
#[cfg(not(all(target_os = "linux", not(miri))))]
mod process_end {
    pub(crate) fn this_thread() -> i32 {
        0
    }

    pub(crate) fn leave(_: i32) {}

    pub(crate) fn heed_end() {}

    pub(crate) fn has_begun() -> bool {
        false
    }

    pub(crate) fn end_sign() -> Option<std::ffi::c_int> {
        None
    }
}

pub(crate) use process_end::{end_sign, has_begun as process_ends, leave, this_thread};

use crate::error::{Error, ErrorKind, Result};
use std::panic;
use std::sync::Once;
use std::thread::{self, JoinHandle};

/// A number of this thread, which no other has as long as it lives. `Thread::id` makes a handle of a thread that Rust did not start, and
/// the process ends with it.
pub(crate) fn here() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// Starts a thread that takes no signals. Dropping the handle detaches it.
///
/// # Errors
/// [`ErrorKind::Unavailable`] when the system has no thread left.
pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = thread::Builder::new().name(name.to_owned());
    let started = blocked(|| thread.spawn(work));
    started.map_err(|error| Error::new(ErrorKind::Unavailable, format!("no thread could be started: {error}")))
}

/// Starts such a thread for calls of libpq that nobody waits for: the end of the process waits while it computes.
///
/// # Errors
/// Those of [`start`].
pub(crate) fn start_unwatched(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    static HEEDED: Once = Once::new();

    // The end of the process may come before the thread runs, and gives its sign all the same; `leave` sees to the order.
    HEEDED.call_once(process_end::heed_end);
    start(name, || {
        leave(this_thread());
        work();
    })
}

/// Does the work for each of `items` at once: the first on this thread, the others on threads of their own, or here where the system has
/// none left.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let Some((first, others)) = items.split_first() else { return Vec::new() };
    thread::scope(|scope| {
        let work = &work;
        let start = |item| blocked(|| thread::Builder::new().spawn_scoped(scope, move || work(item))).map_err(|_| item);
        let started: Vec<_> = others.iter().map(start).collect();
        let mut done = vec![work(first)];
        done.extend(started.into_iter().map(|started| match started {
            Ok(thread) => thread.join().unwrap_or_else(|why| panic::resume_unwind(why)),
            Err(item) => work(item),
        }));
        done
    })
}

/// Runs `start` while this thread blocks all signals, and the thread that it starts inherits that for good: a signal to the
/// process goes to any thread that does not block it, and a program that waits for one on its main thread (as Python does) would
/// not wake up if ours received it.
fn blocked<R>(start: impl FnOnce() -> R) -> R {
    let _restored_at_the_end = Blocked::new();
    start()
}

#[cfg(all(unix, not(miri)))]
struct Blocked {
    /// `None` when the mask could not be set.
    before: Option<libc::sigset_t>,
}

#[cfg(all(unix, not(miri)))]
impl Blocked {
    fn new() -> Self {
        // SAFETY: signal sets are plain data, which sigfillset and pthread_sigmask write whole; both pointers are valid.
        unsafe {
            let mut all = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            // Faults of the thread itself, and a profiler's clock.
            for signal in [
                libc::SIGSEGV,
                libc::SIGBUS,
                libc::SIGFPE,
                libc::SIGILL,
                libc::SIGTRAP,
                libc::SIGABRT,
                libc::SIGSYS,
                libc::SIGPROF,
            ] {
                libc::sigdelset(&raw mut all, signal);
            }
            let is_set = libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) == 0;
            Self { before: is_set.then_some(before) }
        }
    }
}

#[cfg(all(unix, not(miri)))]
impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: the set is the one that this thread had.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
        }
    }
}

#[cfg(any(not(unix), miri))]
struct Blocked;

#[cfg(any(not(unix), miri))]
impl Blocked {
    fn new() -> Self {
        Self
    }
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use super::*;

    fn takes(signal: libc::c_int) -> bool {
        // SAFETY: as above; nothing is changed.
        unsafe {
            let mut mask = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
            libc::sigismember(&raw const mask, signal) == 0
        }
    }

    #[test]
    fn a_thread_started_meanwhile_takes_none() {
        let thread = blocked(|| thread::spawn(|| [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1].map(takes)));
        assert_eq!(thread.join().unwrap(), [false; 3]);
        assert!(takes(libc::SIGINT), "the caller has its own mask again");
    }

    #[test]
    fn a_panic_restores_the_mask() {
        let panicked = std::panic::catch_unwind(|| blocked(|| panic!("as it happens")));
        assert!(panicked.is_err() && takes(libc::SIGINT));
    }
}
