//! `readpast_events`: what happened in a worker, kept until somebody reads it.

use super::answer::answer;
use super::batch::count;
use super::boundary::{contained, read};
use super::error::readpast_error;
use super::handle::Handle;
use super::sized::{Places, Versioned};
use super::status::{of_answer, of_kind, readpast_status};
use super::text;
use crate::engine::{Event, Observer};
use crate::item::Answer;
use std::collections::VecDeque;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An item was settled: handled, or given back.
pub const READPAST_EVENT_SETTLED: i32 = 1;
/// An item was found not to be the worker's any more, before or while it was worked on, or when it was settled.
pub const READPAST_EVENT_LOST: i32 = 2;
/// A part of what was given with an item was refused, by the library or the database. It is left out, and the item's error
/// says so.
pub const READPAST_EVENT_REFUSED: i32 = 3;
/// A call failed in a way that may pass, and is made again in a while.
pub const READPAST_EVENT_TROUBLE: i32 = 4;

/// Some events of a worker, oldest first. Immutable; any number of threads may read it.
///
/// Made by `readpast_worker_events`, freed by `readpast_events_free`. What it lends lives as long as it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_events {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

/// Something that happened. Initialise it with `READPAST_EVENT_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_event {
    /// The size of this struct.
    pub struct_size: usize,
    /// What happened: a `READPAST_EVENT_`.
    pub kind: i32,
    /// Of SETTLED and LOST: the database's answer, `READPAST_OK` if all is well; `READPAST_LEASE_LOST` where a renewal found
    /// it out. Of REFUSED and TROUBLE: what the call failed with, below 0.
    pub answer: readpast_status,
    /// The item's key; NULL for TROUBLE.
    pub key: *const c_char,
    /// The attempt of the claim; 0 for TROUBLE.
    pub attempt: i32,
    /// Of SETTLED: the state the item is in now, a `READPAST_STATE_`. Else 0.
    pub state: i32,
    /// Why; NULL for SETTLED and LOST.
    pub message: *const c_char,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_event {
    const INIT: &'static str = "READPAST_EVENT_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl Handle for readpast_events {
    type Object = Vec<Told>;
    const TAG: u8 = 8;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

/// An event, to be lent to C.
pub(super) struct Told {
    kind: i32,
    answer: readpast_status,
    key: Option<CString>,
    attempt: i32,
    state: i32,
    message: Option<CString>,
}

/// The events that nobody has read yet.
pub(super) struct Log {
    most: usize,
    events: Mutex<VecDeque<Told>>,
    more: Condvar,
}

impl Log {
    pub(super) fn new(most: usize) -> Self {
        Self { most, events: Mutex::default(), more: Condvar::new() }
    }

    /// What writes into `log`.
    pub(super) fn observer(log: &Arc<Self>) -> Observer {
        let log = Arc::clone(log);
        Arc::new(move |event| log.note(event))
    }

    fn note(&self, event: &Event<'_>) {
        match *event {
            Event::Settled { settlements, outcomes, .. } => {
                for (settlement, outcome) in settlements.iter().zip(outcomes) {
                    let is_ours = outcome.answer == Answer::Ok;
                    self.put(Told {
                        kind: if is_ours { READPAST_EVENT_SETTLED } else { READPAST_EVENT_LOST },
                        answer: of_answer(outcome.answer),
                        key: Some(text::c_text(settlement.key)),
                        attempt: settlement.attempt,
                        state: super::outcome::state(outcome.state),
                        message: None,
                    });
                }
            }
            Event::Lost { key, attempt } => self.put(Told {
                kind: READPAST_EVENT_LOST,
                answer: of_answer(Answer::LeaseLost),
                key: Some(text::c_text(key)),
                attempt,
                state: 0,
                message: None,
            }),
            Event::Refused { key, attempt, error } => self.put(Told {
                kind: READPAST_EVENT_REFUSED,
                answer: of_kind(error.kind()),
                key: Some(text::c_text(key)),
                attempt,
                state: 0,
                message: Some(text::c_text(error.message())),
            }),
            Event::Trouble { error } => self.put(Told {
                kind: READPAST_EVENT_TROUBLE,
                answer: of_kind(error.kind()),
                key: None,
                attempt: 0,
                state: 0,
                message: Some(text::c_text(error.message())),
            }),
            Event::Claimed { .. } => {}
        }
    }

    fn put(&self, event: Told) {
        let mut events = self.lock();
        if events.len() == self.most {
            events.pop_front();
        }
        events.push_back(event);
        self.more.notify_one();
    }

    /// Up to `max` events, waiting up to `wait` for the first.
    pub(super) fn read(&self, max: usize, wait: Duration) -> Vec<Told> {
        let deadline = Instant::now() + wait;
        let mut events = self.lock();
        while events.is_empty() {
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Vec::new();
            }
            events = self.more.wait_timeout(events, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        let count = max.min(events.len());
        events.drain(..count).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Told>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many events there are.
///
/// *Threads*: any, at once.
///
/// *Returns*: the number, from 1 to 1000; 0 for events that are null or freed.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_events_count(events: readpast_events) -> i32 {
    read(events, 0, |events| count(events.len()))
}

/// The event at `index`, counted from 0.
///
/// *Ownership*: the texts are those of `events`, until that is freed.
///
/// *Threads*: any, at once.
///
/// *Returns*:
/// - `READPAST_OK`: `*event` is written.
/// - `READPAST_NOT_FOUND`: there is no such event; `*event` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `event` is NULL or not initialised.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_events_get(
    events: readpast_events,
    index: i32,
    event: *mut readpast_event,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(events, err, || {
            let place = Places::one("event", event)?;
            let events = events.get()?;
            let told = usize::try_from(index).ok().and_then(|index| events.get(index));
            Ok(place.fill_or_not_found(told.map(c_event)))
        })
    }
}

/// Frees events, and what they lent. The null handle, and one that was freed already, are ignored.
///
/// *Threads*: any; nobody may still be reading what they lent.
///
/// *Since* 0.1.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_events_free(events: readpast_events) {
    contained((), || events.free());
}

fn c_event(told: &Told) -> readpast_event {
    let lend = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
    readpast_event {
        struct_size: 0,
        kind: told.kind,
        answer: told.answer,
        key: lend(&told.key),
        attempt: told.attempt,
        state: told.state,
        message: lend(&told.message),
    }
}
