//! The end of a process with given-up calls.
//!
//! `exit` calls the functions that libraries have registered while threads go on: OpenSSL then frees memory that every use of it
//! needs. A thread that waits for a silent server notices nothing of that. One that computes for a log-in (a server may ask for
//! as many iterations of SCRAM as it likes) would crash, and the process with it: the exit waits for it. Threads that wait by
//! themselves, in the library's own calls of libpq, see the end and leave.

use crate::sync::{Mutex, PerProcess};
use std::{
    ffi::c_int,
    fs,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// How much longer a thread may work once the process has begun to end, in time of a processor: a thread that takes longer counts
/// as a driver in an endless loop.
const MOST_WORK: Duration = Duration::from_secs(10);

/// The pause between two looks at threads. A thread that so many looks in a row find asleep counts as waiting.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
const LOOKS: u32 = 3;

/// Threads that were left behind. The child of a fork has none of its parent's.
static LEFT: PerProcess<Mutex<Vec<Thread>>> = PerProcess::new();

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// The sign that the process ends.
static END: PerProcess<EndSign> = PerProcess::new();

/// A descriptor that can be read from once the process ends; `None` where the system had none left.
struct EndSign(Option<OwnedFd>);

/// The system's number for a thread of this process. It gives the number again when the thread has ended.
#[derive(Debug, Clone, Copy)]
struct Thread {
    number: i32,
    begun: u64,
}

/// The system's figures of a thread, in its units.
#[derive(Debug, PartialEq, Eq)]
struct ThreadStatus {
    is_at_work: bool,
    worked: u64,
    begun: u64,
}

/// A thread that the exit waits for.
struct AwaitedThread {
    thread: Thread,
    worked_before: u64,
    /// Looks in a row that found it asleep.
    asleep: u32,
}

/// The number of the calling thread.
pub(crate) fn this_thread() -> i32 {
    // SAFETY: it takes nothing, and cannot fail.
    unsafe { libc::gettid() }
}

impl Default for EndSign {
    fn default() -> Self {
        // SAFETY: the descriptor is new, and nobody else's.
        unsafe {
            let descriptor = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            Self((descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor)))
        }
    }
}

impl EndSign {
    fn give(&self) {
        if let Some(descriptor) = &self.0 {
            let one = 1_u64;
            // SAFETY: it reads the eight bytes of a number.
            unsafe { libc::write(descriptor.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
        }
    }
}

/// The descriptor that can be read from once the process ends, where [`heed_end`] was called before. `None`: there is no such sign.
pub(crate) fn end_sign() -> Option<c_int> {
    END.get().0.as_ref().map(AsRawFd::as_raw_fd)
}

/// The end of the process gives its sign from now on, before the functions run that are registered by now.
pub(crate) fn heed_end() {
    // It registers anew each time: exit calls the last function first, which this one has to be, and a driver comes to OpenSSL in
    // the middle of its first log-in. Without memory for it, the exit does not wait. SAFETY: the function does not panic, and is
    // called at the latest when this library is unloaded.
    unsafe { libc::atexit(wait_for_work) };
}

/// Notes a thread that is left behind in a call.
pub(crate) fn leave(number: i32) {
    let Some(look) = look(number) else { return };
    let mut left = LEFT.get().lock();
    left.retain(|thread| thread.look().is_some());
    left.push(Thread { number, begun: look.begun });
    drop(left);
    heed_end();
}

/// Whether the process ends: who logs now may call a program that has cleaned up.
pub(crate) fn has_begun() -> bool {
    HAS_BEGUN.load(Ordering::Relaxed)
}

/// Waits, as the process ends, until no thread that was left behind computes any more.
extern "C" fn wait_for_work() {
    if !HAS_BEGUN.swap(true, Ordering::Relaxed) {
        END.get().give();
        let left = LEFT.get().lock().clone();
        wait(&left, MOST_WORK);
    }
}

/// Waits for no thread that works for longer than `most`.
fn wait(threads: &[Thread], most: Duration) {
    let watched =
        |thread: &Thread| Some(AwaitedThread { thread: *thread, worked_before: thread.look()?.worked, asleep: 0 });
    let mut watched: Vec<_> = threads.iter().filter_map(watched).collect();
    while !watched.is_empty() {
        thread::sleep(BETWEEN_LOOKS);
        watched.retain_mut(|one| one.is_to_be_waited_for(most));
    }
}

impl AwaitedThread {
    fn is_to_be_waited_for(&mut self, most: Duration) -> bool {
        let Some(look) = self.thread.look() else { return false };
        self.asleep = if look.is_at_work { 0 } else { self.asleep + 1 };
        self.asleep < LOOKS && ticks(look.worked.saturating_sub(self.worked_before)) <= most
    }
}

impl Thread {
    /// `None` when it is not there any more.
    fn look(self) -> Option<ThreadStatus> {
        look(self.number).filter(|look| look.begun == self.begun)
    }
}

fn look(number: i32) -> Option<ThreadStatus> {
    ThreadStatus::read(&fs::read_to_string(format!("/proc/self/task/{number}/stat")).ok()?)
}

impl ThreadStatus {
    /// Reads what proc(5) describes: number, name in parentheses, state, and many numbers.
    fn read(stat: &str) -> Option<Self> {
        let (_, behind_name) = stat.rsplit_once(')')?;
        let mut fields = behind_name.split_ascii_whitespace();
        let is_at_work = matches!(fields.next()?, "R" | "D");
        let mut number = |skipped| fields.nth(skipped)?.parse::<u64>().ok();
        let worked = number(10)? + number(0)?;
        Some(Self { is_at_work, worked, begun: number(6)? })
    }
}

/// The time that so many ticks of the system's clock are.
fn ticks(count: u64) -> Duration {
    // SAFETY: it takes a number, and returns -1 on failure.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Duration::from_millis(count * 1000 / u64::try_from(a_second).unwrap_or(100).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{hint, sync::Arc, sync::mpsc, time::Instant};

    const LONG: Duration = Duration::from_secs(3600);

    /// Starts a thread and returns its number.
    fn known(work: impl FnOnce() + Send + 'static) -> Thread {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            // It looks itself: before others do it may have ended.
            let number = this_thread();
            sender.send(Thread { number, begun: look(number).unwrap().begun }).unwrap();
            work();
        });
        receiver.recv().unwrap()
    }

    #[test]
    fn the_system_s_figures_are_read() {
        let stat = "4711 (a) b (R) c) S 1 2 3 0 -1 4194368 5 6 7 8 123 45 9 10 20 0 3 0 987654 1000 200";
        assert_eq!(ThreadStatus::read(stat), Some(ThreadStatus { is_at_work: false, worked: 168, begun: 987_654 }));
        assert!(ThreadStatus::read(&stat.replace(") S", ") R")).unwrap().is_at_work);
        assert_eq!(ThreadStatus::read("4711 (name) R 1 2"), None);
        assert!(look(this_thread()).unwrap().is_at_work, "it looks");
    }

    #[test]
    fn one_at_work_is_waited_for_and_one_asleep_is_not() {
        let is_done = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&is_done);
        let asleep = known(|| thread::sleep(LONG));
        let at_work = known(move || {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(300) {
                hint::spin_loop();
            }
            theirs.store(true, Ordering::SeqCst);
        });
        wait(&[asleep, at_work], LONG);
        assert!(is_done.load(Ordering::SeqCst));
        assert!(asleep.look().is_some());
    }

    #[test]
    fn one_that_works_for_ever_is_not_waited_for() {
        let is_to_end = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&is_to_end);
        let for_ever = known(move || {
            while !theirs.load(Ordering::SeqCst) {
                hint::spin_loop();
            }
        });
        wait(&[for_ever], Duration::from_millis(100));
        assert!(for_ever.look().is_some());
        is_to_end.store(true, Ordering::SeqCst);
    }

    #[test]
    fn one_whose_number_is_another_thread_s_by_now_is_gone() {
        let now = known(|| thread::sleep(LONG));
        assert!(Thread { begun: now.begun + 1, ..now }.look().is_none());
    }
}
