//! The record of everything that happened at the peer, in order, for tests to assert on.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::login::Login;
use super::request::Request;

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(600);

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event {
    Connected {
        connection: usize,
        at: Instant,
    },
    Login(Login),
    Request(Request),
    /// An attention; `pending` if there was an unanswered request to cancel.
    Attention {
        connection: usize,
        at: Instant,
        pending: bool,
    },
    /// The connection is gone, whichever side closed it.
    Closed {
        connection: usize,
        at: Instant,
    },
}

#[derive(Default)]
pub struct Record {
    events: Mutex<Vec<Event>>,
    changed: Condvar,
}

impl Record {
    pub fn push(&self, event: Event) {
        self.lock().push(event);
        self.changed.notify_all();
    }

    pub fn events(&self) -> Vec<Event> {
        self.lock().clone()
    }

    /// Waits until the events satisfy the condition; panics with `what` and the events if they
    /// do not in time.
    pub fn wait_until(&self, what: &str, satisfied: impl Fn(&[Event]) -> bool) {
        let events = self.lock();
        let (events, timeout) = self
            .changed
            .wait_timeout_while(events, PATIENCE, |events| !satisfied(events))
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!timeout.timed_out(), "the peer never saw {what}, only {:#?}", *events);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
