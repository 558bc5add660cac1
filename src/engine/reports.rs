//! The newest reports of how far handlers are, until a thread writes them (`progress`).

use super::in_flight::ClaimName;
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::collections::HashMap;
use std::mem;
use std::time::{Duration, Instant};

/// The pause between two calls.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the end of a worker waits for a call under way, as for a renewal.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Reports {
    state: Mutex<ReportsState>,
    changed: Condvar,
}

#[derive(Default)]
struct ReportsState {
    new: HashMap<ClaimName, Report>,
    /// Whether the thread runs.
    runs: bool,
    is_over: bool,
    /// Whether a failure was logged.
    has_failed: bool,
}

/// The newest report of an item.
#[derive(Debug, Clone)]
pub(super) struct Report {
    /// When the item was claimed: a later claim can have the same name.
    pub(super) claimed: Instant,
    pub(super) percent: Option<i32>,
    pub(super) text: Option<String>,
}

impl Reports {
    /// Keeps a report in place of the one before. Whether the caller is to start the thread, which calls [`Reports::run`].
    pub(super) fn put(&self, claim: ClaimName, report: Report) -> bool {
        let mut state = self.state.lock();
        if state.is_over {
            return false;
        }
        state.new.insert(claim, report);
        self.changed.notify_all();
        !mem::replace(&mut state.runs, true)
    }

    /// The thread was not started.
    pub(super) fn has_no_thread(&self) {
        self.state.lock().runs = false;
    }

    /// Takes back reports that were not written, unless there are newer ones.
    pub(super) fn put_back(&self, reports: Vec<(ClaimName, Report)>) {
        let mut state = self.state.lock();
        if !state.is_over {
            for (claim, report) in reports {
                state.new.entry(claim).or_insert(report);
            }
        }
    }

    /// Whether this failure is the first.
    pub(super) fn fails_first(&self) -> bool {
        !mem::replace(&mut self.state.lock().has_failed, true)
    }

    /// Hands the new reports to `write`, at most once in a second, until the end, or until it returns `false`: no worker is left.
    pub(super) fn run(&self, write: impl Fn(HashMap<ClaimName, Report>) -> bool) {
        let mut state = self.state.lock();
        while !state.is_over {
            if state.new.is_empty() {
                self.changed.wait(&mut state);
                continue;
            }
            let new = mem::take(&mut state.new);
            let next = Instant::now() + PAUSE;
            if !MutexGuard::unlocked(&mut state, || write(new)) {
                break;
            }
            while !state.is_over && !self.changed.wait_until(&mut state, next).timed_out() {}
        }
        state.runs = false;
        self.changed.notify_all();
    }

    /// Lets the thread end.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.new.clear();
        self.changed.notify_all();
    }

    /// The same, and waits a moment for a call under way.
    pub(super) fn join(&self) {
        self.end();
        let mut state = self.state.lock();
        let deadline = Instant::now() + PATIENCE;
        while state.runs && !self.changed.wait_until(&mut state, deadline).timed_out() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn report(percent: i32) -> Report {
        Report { claimed: Instant::now(), percent: Some(percent), text: None }
    }

    #[test]
    fn the_newest_report_of_each_item_is_written_and_newer_ones_win() {
        let (reports, one, other) = (Reports::default(), ("one".to_owned(), 1), ("other".to_owned(), 1));
        assert!(reports.put(one.clone(), report(1)), "the first starts the thread");
        assert!(!reports.put(one.clone(), report(2)) && !reports.put(other.clone(), report(3)));
        let calls = Mutex::new(Vec::new());
        reports.run(|new| {
            let percent = |claim| new.get(claim).and_then(|report| report.percent);
            let mut calls = calls.lock();
            calls.push((percent(&one), percent(&other)));
            if calls.len() == 1 {
                // It was not written, and there is a newer one of the other.
                reports.put(other.clone(), report(4));
                reports.put_back(new.into_iter().collect());
            }
            calls.len() < 2
        });
        assert_eq!(*calls.lock(), [(Some(2), Some(3)), (Some(2), Some(4))]);
        assert!(reports.fails_first() && !reports.fails_first(), "logged once");
        assert!(reports.put(one, report(5)), "the thread has ended");
    }

    #[test]
    fn the_end_ends_the_thread() {
        let reports = Reports::default();
        reports.put(("one".to_owned(), 1), report(1));
        thread::scope(|scope| {
            let thread = scope.spawn(|| reports.run(|_| true));
            reports.join();
            thread.join().unwrap();
        });
        assert!(!reports.put(("one".to_owned(), 1), report(2)), "nothing starts any more");
    }
}
