//! What those are told who have handlers at work: that something in hand was found lost, or that the worker is to stop.
//!
//! It is only counted. Whoever is woken asks what there is, so nothing is missed by a reader who comes late, and nothing grows.

use crate::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

#[derive(Default)]
pub(super) struct News {
    told: Mutex<Told>,
    more: Condvar,
}

#[derive(Default)]
struct Told {
    count: u64,
    is_over: bool,
}

impl News {
    /// There is something to ask for.
    pub(super) fn tell(&self) {
        self.told.lock().count += 1;
        self.more.notify_all();
    }

    /// There will be nothing more.
    pub(super) fn end(&self) {
        self.told.lock().is_over = true;
        self.more.notify_all();
    }

    /// Waits up to `wait` until more has been told than `seen`, and says how much; `seen` itself when that is all. `None`: that
    /// was all, and there will be no more.
    pub(super) fn after(&self, seen: u64, wait: Duration) -> Option<u64> {
        let deadline = Instant::now().checked_add(wait);
        let mut told = self.told.lock();
        while told.count <= seen {
            if told.is_over {
                return None;
            }
            match deadline {
                Some(deadline) if Instant::now() >= deadline => return Some(seen),
                Some(deadline) => drop(self.more.wait_until(&mut told, deadline)),
                None => self.more.wait(&mut told),
            }
        }
        Some(told.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn whoever_comes_late_has_missed_nothing() {
        let news = News::default();
        assert_eq!(news.after(0, Duration::ZERO), Some(0), "none in time");
        news.tell();
        news.tell();
        assert_eq!(news.after(0, Duration::MAX), Some(2));
        assert_eq!(news.after(1, Duration::MAX), Some(2), "each reader has a count of its own");
        news.end();
        assert_eq!(news.after(1, Duration::MAX), Some(2), "also after the end");
        assert_eq!(news.after(2, Duration::MAX), None);
        assert_eq!(news.after(u64::MAX, Duration::MAX), None);
    }

    #[test]
    fn all_who_wait_are_woken_by_news_and_by_the_end() {
        let news = News::default();
        thread::scope(|scope| {
            let readers = [(); 3].map(|()| {
                scope.spawn(|| {
                    let first = news.after(0, Duration::MAX);
                    (first, news.after(1, Duration::MAX))
                })
            });
            news.tell();
            news.end();
            for reader in readers {
                assert_eq!(reader.join().unwrap(), (Some(1), None));
            }
        });
    }
}
