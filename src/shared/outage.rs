//! An outage of the database in the log: one line when it begins, at the first failed try, and one when it is over. In between
//! calls are repeated, some for as long as it takes.

use crate::error::{Error, ErrorKind};
use crate::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

#[derive(Default)]
pub(crate) struct Outage {
    /// Lets successful calls skip the lock.
    is_on: AtomicBool,
    /// When it began, and with which failure.
    since: Mutex<Option<(Instant, Error)>>,
}

impl Outage {
    /// Whether the last try has failed.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Why the first try failed, while it is on.
    pub(crate) fn why(&self) -> Option<Error> {
        self.since.lock().as_ref().map(|(_, why)| why.clone())
    }

    /// A try has failed.
    pub(crate) fn failed(&self, queue: &str, error: &Error) {
        if !matches!(error.kind(), ErrorKind::Unreachable | ErrorKind::Unavailable) {
            return;
        }
        let mut since = self.since.lock();
        if since.is_none() {
            *since = Some((Instant::now(), error.clone()));
            self.is_on.store(true, Ordering::Relaxed);
            log::warn!("queue {queue}: the database is away, and calls are tried again: {error}");
        }
    }

    /// A try has succeeded.
    pub(crate) fn is_over(&self, queue: &str) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        if let Some((since, _)) = self.since.lock().take() {
            self.is_on.store(false, Ordering::Relaxed);
            log::warn!("queue {queue}: the database is back after {:.1} s", since.elapsed().as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_once_and_ends_with_the_first_success() {
        let outage = Outage::default();
        let failed = |kind| outage.failed("Mail", &Error::new(kind, ""));
        failed(ErrorKind::Deadlock);
        assert!(!outage.is_on.load(Ordering::Relaxed), "a passing error of a call is none");
        failed(ErrorKind::Unreachable);
        let begun = outage.since.lock().clone();
        failed(ErrorKind::Unavailable);
        assert!(begun.is_some() && *outage.since.lock() == begun, "it is the same one");
        outage.is_over("Mail");
        assert!(outage.since.lock().is_none() && !outage.is_on.load(Ordering::Relaxed));
    }
}
