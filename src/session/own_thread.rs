//! A thread that makes calls for a caller with limited patience.
//!
//! A call into a driver cannot be ended from outside: when a connection falls silent without being closed, psqlODBC waits for
//! ever and Microsoft's driver for four minutes. So each connection has a thread of its own for its calls. A caller whose call
//! exceeds its limit goes away; the thread stays behind with the connection, and ends when the call does.

use super::given_up::{GivenUp, Hanging};
use crate::error::Result;
use crate::sync::{Condvar, Mutex};
use crate::threads;
use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{Arc, OnceLock},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// The longest wait for the end of a thread, which closes its connection: a program that ended meanwhile would unload the driver
/// from under it.
const CLOSING: Duration = Duration::from_secs(2);

/// The caller's side of the thread. `L` is the thread's resource, and never leaves it.
pub(super) struct OwnThread<L> {
    handover: Arc<Handover<L>>,
    handle: Option<JoinHandle<()>>,
    given_up: Arc<GivenUp>,
    /// The process of the thread. In the child of a fork it does not exist.
    process: u32,
    /// Until when the caller waits for the thread's end, once it is to end.
    closing: Option<Instant>,
}

type ThreadJob<L> = Box<dyn FnOnce(&mut Option<L>) + Send>;

/// The state that both sides share.
struct Handover<L> {
    state: Mutex<HandoverState<L>>,
    /// The thread waits for a job.
    given: Condvar,
    /// The caller waits for an answer.
    done: Condvar,
    /// The number of the thread, as soon as it runs.
    number: OnceLock<i32>,
}

enum HandoverState<L> {
    Resting,
    Given(ThreadJob<L>),
    Working,
    Done,
    /// To end, as soon as no job is left.
    Ending,
    /// No caller waits for its job, nor for its end.
    Left {
        /// Counts the thread as hanging until it ends.
        _hanging: Hanging,
    },
    Ended,
}

/// Why a call has no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// The call took too long, or one before it did.
    TooLong,
    /// The call panicked.
    Panicked,
    /// This is the child of a fork.
    Forked,
}

impl<L> OwnThread<L> {
    /// Starts a thread without a resource yet.
    pub(super) fn start(given_up: &Arc<GivenUp>) -> Result<Self>
    where
        L: 'static,
    {
        let handover = Arc::new(Handover {
            state: Mutex::new(HandoverState::Resting),
            given: Condvar::new(),
            done: Condvar::new(),
            number: OnceLock::new(),
        });
        let theirs = Arc::clone(&handover);
        let handle = Some(threads::start("readpast-session", move || theirs.serve())?);
        Ok(Self { handover, handle, given_up: Arc::clone(given_up), process: process::id(), closing: None })
    }

    /// Runs `work` on the thread, and waits for it no longer than `limit`.
    pub(super) fn ask<T: Send + 'static>(
        &mut self,
        limit: Duration,
        work: impl FnOnce(&mut Option<L>) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        if !self.is_here() {
            return Err(Unanswered::Forked);
        }
        let answer = Arc::new(Mutex::new(None));
        let place = Arc::clone(&answer);
        let deadline = Instant::now() + limit;
        let mut state = self.handover.state.lock();
        if !matches!(*state, HandoverState::Resting) {
            return Err(Unanswered::TooLong);
        }
        *state = HandoverState::Given(Box::new(move |link| *place.lock() = Some(work(link))));
        self.handover.given.notify_one();
        while !matches!(*state, HandoverState::Done) {
            if self.handover.done.wait_until(&mut state, deadline).timed_out() && !matches!(*state, HandoverState::Done)
            {
                *state = self.left();
                return Err(Unanswered::TooLong);
            }
        }
        *state = HandoverState::Resting;
        drop(state);
        answer.lock().take().ok_or(Unanswered::Panicked)
    }

    /// Lets the thread end. The drop waits for it.
    pub(super) fn begin_to_end(&mut self) {
        if self.closing.is_some() || !self.is_here() {
            return;
        }
        self.closing = Some(Instant::now() + CLOSING);
        let mut state = self.handover.state.lock();
        if matches!(*state, HandoverState::Resting) {
            *state = HandoverState::Ending;
            self.handover.given.notify_one();
        }
    }

    /// Leaves the thread behind in its job.
    fn left(&self) -> HandoverState<L> {
        if let Some(number) = self.handover.number.get() {
            threads::leave(*number);
        }
        HandoverState::Left { _hanging: self.given_up.leave() }
    }

    /// Checked before the lock, which another thread of the parent may have held at the fork.
    fn is_here(&self) -> bool {
        process::id() == self.process
    }
}

impl<L> Drop for OwnThread<L> {
    fn drop(&mut self) {
        self.begin_to_end();
        let Some(deadline) = self.closing.filter(|_| self.is_here()) else { return };
        let mut state = self.handover.state.lock();
        while matches!(*state, HandoverState::Ending) {
            if self.handover.done.wait_until(&mut state, deadline).timed_out()
                && matches!(*state, HandoverState::Ending)
            {
                *state = self.left();
            }
        }
        let has_ended = matches!(*state, HandoverState::Ended);
        drop(state);
        // Libraries free a thread's memory (OpenSSL its random numbers) as its last act; a program that ends before that would
        // leak it.
        if let (true, Some(handle)) = (has_ended, self.handle.take()) {
            let _ = handle.join();
        }
    }
}

impl<L> Handover<L> {
    /// Runs the thread.
    fn serve(&self) {
        let mut link = None;
        let _ = self.number.set(threads::this_thread());
        while let Some(job) = self.next() {
            // Destructors of odbc-api panic when a driver reports an error. The caller gets no answer then.
            let _ = catch_unwind(AssertUnwindSafe(|| job(&mut link)));
            let mut state = self.state.lock();
            if matches!(*state, HandoverState::Working) {
                *state = HandoverState::Done;
                self.done.notify_one();
            }
        }
        if catch_unwind(AssertUnwindSafe(|| drop(link))).is_err() {
            log::warn!("a lost connection could not be closed in order");
        }
        let before = mem::replace(&mut *self.state.lock(), HandoverState::Ended);
        self.done.notify_one();
        // A thread that was left behind hangs no longer.
        drop(before);
    }

    /// Waits for a job. `None`: there are no more.
    fn next(&self) -> Option<ThreadJob<L>> {
        let mut state = self.state.lock();
        loop {
            match mem::replace(&mut *state, HandoverState::Working) {
                HandoverState::Given(job) => return Some(job),
                other => *state = other,
            }
            if matches!(*state, HandoverState::Ending | HandoverState::Left { .. }) {
                return None;
            }
            self.given.wait(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const LONG: Duration = Duration::from_secs(120);

    #[test]
    fn work_is_done_on_one_thread_that_ends_with_its_owner() {
        let given_up = Arc::default();
        let mut thread = OwnThread::<String>::start(&given_up).unwrap();
        let first = thread.ask(LONG, |link| {
            *link = Some("kept".to_owned());
            std::thread::current().id()
        });
        let second = thread.ask(LONG, |link| (std::thread::current().id(), link.clone()));
        assert_eq!(second.unwrap(), (first.unwrap(), Some("kept".to_owned())));
        let handover = Arc::clone(&thread.handover);
        let begun = Instant::now();
        drop(thread);
        // On a busy machine the end may take longer than its owner waits, who leaves it then.
        assert!(given_up.count() == 0 || begun.elapsed() >= CLOSING);
        while given_up.hanging() > 0 || !matches!(*handover.state.lock(), HandoverState::Ended) {
            assert!(begun.elapsed() < LONG, "it never ends");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_slow_call_is_left_behind_and_counted_until_it_ends() {
        let (given_up, mut thread, release) = loop {
            let given_up: Arc<GivenUp> = Arc::default();
            let mut thread = OwnThread::<()>::start(&given_up).unwrap();
            let ((begin, begun), (release, wait)) = (channel(), channel::<()>());
            let left = thread.ask(Duration::from_millis(1), move |_| {
                let _ = begin.send(());
                wait.recv()
            });
            assert!(matches!(left, Err(Unanswered::TooLong)));
            // A job that has not begun when it is left does not hang.
            if begun.recv().is_ok() {
                break (given_up, thread, release);
            }
        };
        assert_eq!((given_up.count(), given_up.hanging()), (1, 1));
        assert!(matches!(thread.ask(LONG, |_| ()), Err(Unanswered::TooLong)), "at once");
        let handover = Arc::clone(&thread.handover);
        drop(thread);
        drop(release);
        let deadline = Instant::now() + LONG;
        while given_up.hanging() > 0 {
            assert!(Instant::now() < deadline, "the thread goes on for ever");
            std::thread::yield_now();
        }
        assert!(matches!(*handover.state.lock(), HandoverState::Ended));
        assert_eq!(given_up.count(), 1);
    }

    #[test]
    fn an_end_that_takes_too_long_is_not_waited_for() {
        struct Slow(std::sync::mpsc::Receiver<()>);
        impl Drop for Slow {
            fn drop(&mut self) {
                let _ = self.0.recv();
            }
        }
        let given_up: Arc<GivenUp> = Arc::default();
        let mut thread = OwnThread::start(&given_up).unwrap();
        let (_release, wait) = channel();
        thread.ask(LONG, move |link| *link = Some(Slow(wait))).unwrap();
        drop(thread);
        assert_eq!((given_up.count(), given_up.hanging()), (1, 1));
    }

    #[test]
    fn a_panic_is_no_answer_and_no_end() {
        let mut thread = OwnThread::<()>::start(&Arc::default()).unwrap();
        assert!(matches!(thread.ask(LONG, |_| panic!("as it happens")), Err::<(), _>(Unanswered::Panicked)));
        assert_eq!(thread.ask(LONG, |_| 7).unwrap(), 7);
    }
}
