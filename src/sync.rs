//! Locks, and state of each process.
//!
//! The locks are those of `std`, each of which keeps all its state in itself. `parking_lot` keeps the threads that wait for any
//! of its locks in one table of the process. The child of a fork inherits the entries of threads that it does not have; a thread
//! that it starts gets their memory, the table becomes a circle, and a thread that wakes another looks through it for ever.

use std::{
    ops::{Deref, DerefMut},
    process,
    sync::{self, OnceLock, PoisonError, WaitTimeoutResult},
    time::Instant,
};

/// A lock that no panic poisons: code that catches a panic gives up its half-done work.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

/// A locked [`Mutex`].
pub(crate) struct MutexGuard<'a, T> {
    of: &'a Mutex<T>,
    /// Always there, except during a wait and while it is [unlocked](Self::unlocked).
    inner: Option<sync::MutexGuard<'a, T>>,
}

/// Lets holders of a [`Mutex`] wait for a change.
#[derive(Debug, Default)]
pub(crate) struct Condvar(sync::Condvar);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { of: self, inner: Some(self.locked()) }
    }

    fn locked(&self) -> sync::MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> MutexGuard<'_, T> {
    /// Runs `work` while other threads may have the lock.
    pub(crate) fn unlocked<R>(guard: &mut Self, work: impl FnOnce() -> R) -> R {
        /// Locks again, after a panic too.
        struct Again<'g, 'a, T>(&'g mut MutexGuard<'a, T>);

        impl<T> Drop for Again<'_, '_, T> {
            fn drop(&mut self) {
                self.0.inner = Some(self.0.of.locked());
            }
        }

        guard.inner = None;
        let _again = Again(guard);
        work()
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().expect("it is there, except during a wait")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("it is there, except during a wait")
    }
}

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Waits for a change; there may be none.
    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        guard.inner = guard.inner.take().map(|inner| self.0.wait(inner).unwrap_or_else(PoisonError::into_inner));
    }

    /// The same, until `deadline` at the latest. Returns whether it has come.
    pub(crate) fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) -> WaitTimeoutResult {
        let left = deadline.saturating_duration_since(Instant::now());
        let inner = guard.inner.take().expect("it is there, except during a wait");
        let (inner, timed_out) = self.0.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner);
        guard.inner = Some(inner);
        timed_out
    }
}

/// State of each process of a family of forks: another thread of the parent may have held a lock in it at the fork, for ever.
/// Generations beyond the last share the last one's.
pub(crate) struct PerProcess<T>([OnceLock<(u32, T)>; 64]);

impl<T: Default> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self([const { OnceLock::new() }; 64])
    }

    /// The state of this process.
    pub(crate) fn get(&self) -> &T {
        let process = process::id();
        let keep = || (process, T::default());
        let [.., last] = &self.0;
        let own = self.0.iter().map(|kept| kept.get_or_init(keep)).find(|(of, _)| *of == process);
        &own.unwrap_or_else(|| last.get_or_init(keep)).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::Arc,
        thread,
        time::Duration,
    };

    #[test]
    fn a_panic_poisons_nothing_and_leaves_locked_what_was() {
        let lock = Arc::new((Mutex::new(1), Condvar::new()));
        let theirs = Arc::clone(&lock);
        let ended = thread::spawn(move || {
            let mut value = theirs.0.lock();
            *value = 2;
            let panicked =
                catch_unwind(AssertUnwindSafe(|| MutexGuard::unlocked(&mut value, || panic!("as it happens"))));
            assert!(panicked.is_err() && *value == 2);
            panic!("as it happens");
        });
        assert!(ended.join().is_err());
        let mut value = lock.0.lock();
        assert!(lock.1.wait_until(&mut value, Instant::now()).timed_out());
        assert_eq!(*value, 2);
    }

    #[test]
    fn waiting_threads_are_notified() {
        let lock = Arc::new((Mutex::new(0), Condvar::new()));
        let theirs = Arc::clone(&lock);
        let other = thread::spawn(move || {
            let mut value = theirs.0.lock();
            while *value == 0 {
                theirs.1.wait(&mut value);
            }
            *value = 2;
            theirs.1.notify_all();
        });
        let deadline = Instant::now() + Duration::from_secs(120);
        let mut value = lock.0.lock();
        *value = 1;
        lock.1.notify_one();
        while *value == 1 {
            assert!(!lock.1.wait_until(&mut value, deadline).timed_out() || *value == 2);
        }
        drop(value);
        other.join().unwrap();
    }

    #[test]
    fn a_process_has_one() {
        static KEPT: PerProcess<Mutex<u32>> = PerProcess::new();
        *KEPT.get().lock() += 1;
        assert_eq!(*KEPT.get().lock(), 1);
    }
}
