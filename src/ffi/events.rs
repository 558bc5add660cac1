//! `readpast_events`: events of a worker, kept until the caller reads them.

use super::action;
use super::answer::answer;
use super::batch::count;
use super::boundary::{contained, read};
use super::error::readpast_error;
use super::handle::Handle;
use super::sized::{OutStructs, Versioned};
use super::status::{of_answer, of_kind, readpast_status};
use super::text;
use crate::engine::{Event, Observer, log_lines};
use crate::error::ErrorKind;
use crate::item::{Answer, Outcome, Settlement};
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::ffi::{CString, c_char};
use std::iter;
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An item was settled: handled, or released.
pub const READPAST_EVENT_SETTLED: i32 = 1;
/// The worker has lost an item, before or while it was worked on, or when it was settled.
pub const READPAST_EVENT_LOST: i32 = 2;
/// The library or the database refused a part of an item's result. The part is left out, and the item's error says so.
pub const READPAST_EVENT_REFUSED: i32 = 3;
/// A call failed with a transient error, and will be repeated.
pub const READPAST_EVENT_TROUBLE: i32 = 4;
/// A constraint or a trigger of an item's table refused its claim, or its recovery. The queue sets it aside for a while, and
/// tries again.
pub const READPAST_EVENT_SET_ASIDE: i32 = 5;
/// An item was given back, without spending its attempt, although its handler had not ended: the worker was abandoned.
/// READPAST_EVENT_SETTLED follows when the database knows.
pub const READPAST_EVENT_ABANDONED: i32 = 6;

/// Some events of a worker, oldest first. Immutable; any number of threads may read it.
///
/// Made by `readpast_worker_events`, freed by `readpast_events_free`. Texts that it lends live as long as it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_events {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

/// An event. Initialise it with `READPAST_EVENT_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_event {
    /// The size of this struct.
    pub struct_size: usize,
    /// The kind of event: a `READPAST_EVENT_`.
    pub kind: i32,
    /// For SETTLED and LOST: the database's answer, `READPAST_OK` if all is well, `READPAST_LEASE_LOST` if a renewal found the
    /// loss. For REFUSED and TROUBLE: the status of the failed call, below 0. For SET_ASIDE: `READPAST_INVALID_ITEM`. For ABANDONED:
    /// `READPAST_OK`.
    pub answer: readpast_status,
    /// The item's key; NULL for TROUBLE, and for SET_ASIDE of an item of a type that this login may not see.
    pub key: *const c_char,
    /// The attempt of the claim; 0 for TROUBLE and SET_ASIDE.
    pub attempt: i32,
    /// For SETTLED: the item's state now, a `READPAST_STATE_`; for LOST, if it is known. Otherwise 0.
    pub state: i32,
    /// The action of the settlement, a `READPAST_ACTION_`; 0 for TROUBLE and SET_ASIDE, and for LOST before the item ended.
    pub action: i32,
    /// Why; NULL for SETTLED, LOST and ABANDONED.
    pub message: *const c_char,
    /// The parts of the item's result that were left out, by name and length, like `response of 31 characters, delay`. For
    /// REFUSED, and for LOST, which leaves out everything; otherwise NULL.
    pub left_out: *const c_char,
    /// A line for a log with all of this, without any text of the item; NULL for SETTLED.
    pub line: *const c_char,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_event {
    const INIT: &'static str = "READPAST_EVENT_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl Handle for readpast_events {
    type Object = Vec<LentEvent>;
    const TAG: u8 = 8;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

/// An event, to be lent to C.
#[derive(Default)]
pub(super) struct LentEvent {
    kind: i32,
    answer: readpast_status,
    key: Option<CString>,
    attempt: i32,
    state: i32,
    action: i32,
    message: Option<CString>,
    left_out: Option<CString>,
    line: Option<CString>,
}

impl LentEvent {
    /// The event of a settlement's outcome.
    fn settled(settlement: &Settlement<'_>, outcome: &Outcome) -> Self {
        let line = log_lines::not_settled(settlement, outcome);
        Self {
            kind: if line.is_none() { READPAST_EVENT_SETTLED } else { READPAST_EVENT_LOST },
            answer: of_answer(outcome.answer),
            key: Some(text::c_text(settlement.key)),
            attempt: settlement.attempt,
            state: super::outcome::state(outcome.state),
            action: action::number(settlement.action),
            message: None,
            left_out: line.is_some().then(|| text::c_text(&log_lines::given(settlement))),
            line: line.as_deref().map(text::c_text),
        }
    }

    /// The event, unless it is reported item by item.
    fn of(event: &Event<'_>) -> Option<Self> {
        let mut lent = Self { line: event.line().as_deref().map(text::c_text), ..Self::default() };
        match *event {
            Event::Lost { key, attempt, .. } => {
                (lent.kind, lent.answer) = (READPAST_EVENT_LOST, of_answer(Answer::LeaseLost));
                (lent.key, lent.attempt) = (Some(text::c_text(key)), attempt);
            }
            Event::Abandoned { key, attempt } => {
                lent.kind = READPAST_EVENT_ABANDONED;
                (lent.key, lent.attempt) = (Some(text::c_text(key)), attempt);
                lent.action = action::READPAST_ACTION_RELEASE;
            }
            Event::Refused { key, attempt, action, left_out, error } => {
                (lent.kind, lent.answer) = (READPAST_EVENT_REFUSED, of_kind(error.kind()));
                (lent.key, lent.attempt) = (Some(text::c_text(key)), attempt);
                (lent.action, lent.left_out) = (action::number(action), Some(text::c_text(left_out)));
                lent.message = Some(text::c_text(error.message()));
            }
            Event::Trouble { error, .. } => {
                (lent.kind, lent.answer) = (READPAST_EVENT_TROUBLE, of_kind(error.kind()));
                lent.message = Some(text::c_text(error.message()));
            }
            Event::SetAside { key, reason, .. } => {
                (lent.kind, lent.answer) = (READPAST_EVENT_SET_ASIDE, of_kind(ErrorKind::InvalidItem));
                (lent.key, lent.message) = (key.map(text::c_text), Some(text::c_text(reason)));
            }
            Event::Claimed { .. } | Event::Settled { .. } => return None,
        }
        Some(lent)
    }
}

/// Unread events.
pub(super) struct Log {
    most: usize,
    kept: Mutex<EventBuffer>,
    more: Condvar,
}

/// Events to be dropped first stand apart from the others, so that no search is needed; the numbers keep the order of all.
#[derive(Default)]
struct EventBuffer {
    settled: VecDeque<(u64, LentEvent)>,
    others: VecDeque<(u64, LentEvent)>,
    next: u64,
    has_ended: bool,
}

impl EventBuffer {
    fn len(&self) -> usize {
        self.settled.len() + self.others.len()
    }

    fn put(&mut self, event: LentEvent) {
        let place = if event.kind == READPAST_EVENT_SETTLED { &mut self.settled } else { &mut self.others };
        place.push_back((self.next, event));
        self.next += 1;
    }

    /// Drops an event to make room.
    fn drop_one(&mut self) {
        if self.settled.pop_front().is_none() {
            self.others.pop_front();
        }
    }

    /// Takes the oldest.
    fn take(&mut self) -> Option<LentEvent> {
        let place = match (self.settled.front(), self.others.front()) {
            (Some((settled, _)), Some((other, _))) if settled < other => &mut self.settled,
            (_, Some(_)) => &mut self.others,
            _ => &mut self.settled,
        };
        place.pop_front().map(|(_, event)| event)
    }
}

impl Log {
    pub(super) fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default(), more: Condvar::new() }
    }

    /// An observer that writes into `log`.
    pub(super) fn observer(log: &Arc<Self>) -> Observer {
        let log = Arc::clone(log);
        Arc::new(move |event| log.note(event))
    }

    fn note(&self, event: &Event<'_>) {
        if let Event::Settled { settlements, outcomes, .. } = event {
            settlements
                .iter()
                .zip(*outcomes)
                .for_each(|(settlement, outcome)| self.put(LentEvent::settled(settlement, outcome)));
        } else if let Some(lent) = LentEvent::of(event) {
            self.put(lent);
        }
    }

    /// Keeps an event. Events on which a caller may have to act are the last to be dropped.
    fn put(&self, event: LentEvent) {
        let mut kept = self.kept.lock();
        if kept.has_ended {
            return;
        }
        if kept.len() == self.most {
            kept.drop_one();
        }
        kept.put(event);
        self.more.notify_one();
    }

    /// Ends the log: readers get its rest, and then no reader waits.
    pub(super) fn end(&self) {
        self.kept.lock().has_ended = true;
        self.more.notify_all();
    }

    /// Takes up to `max` events, waiting up to `wait` for the first. `None`: no more follow.
    pub(super) fn read(&self, max: usize, wait: Duration) -> Option<Vec<LentEvent>> {
        let deadline = Instant::now() + wait;
        let mut kept = self.kept.lock();
        while kept.len() == 0 {
            if kept.has_ended {
                return None;
            }
            if self.more.wait_until(&mut kept, deadline).timed_out() && kept.len() == 0 && !kept.has_ended {
                return Some(Vec::new());
            }
        }
        Some(iter::from_fn(|| kept.take()).take(max).collect())
    }
}

/// How many events there are.
///
/// *Returns*: the number, from 1 to 1000; 0 for events that are null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_events_count(events: readpast_events) -> i32 {
    read(events, 0, |events| count(events.len()))
}

/// The event at `index`, counted from 0.
///
/// *Ownership*: the texts are those of `events`, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*event` is written.
/// - `READPAST_NOT_FOUND`: there is no such event; `*event` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `event` is NULL or not initialised.
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
            let place = OutStructs::one("event", event)?;
            let events = events.get()?;
            let lent = usize::try_from(index).ok().and_then(|index| events.get(index));
            Ok(place.fill_or_not_found(lent.map(c_event)))
        })
    }
}

/// Frees events, and what they lent. The null handle, and one that was freed already, are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_events_free(events: readpast_events) {
    contained((), || events.free());
}

fn c_event(lent: &LentEvent) -> readpast_event {
    let lend = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
    readpast_event {
        struct_size: 0,
        kind: lent.kind,
        answer: lent.answer,
        key: lend(&lent.key),
        attempt: lent.attempt,
        state: lent.state,
        action: lent.action,
        message: lend(&lent.message),
        left_out: lend(&lent.left_out),
        line: lend(&lent.line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{Action, ItemState};
    use std::thread;

    const LONG: Duration = Duration::from_secs(86_400);

    fn settle(log: &Log, key: &str, answer: Answer) {
        let settlement = Settlement { response: Some("abc"), ..Settlement::control(key, Some("t"), Action::Complete) };
        let outcome = Outcome { answer, state: Some(ItemState::Paused), attempt: 1, token: "t".to_owned() };
        log.put(LentEvent::settled(&settlement, &outcome));
    }

    fn keys(events: &[LentEvent]) -> Vec<&str> {
        events.iter().map(|lent| lent.key.as_deref().unwrap().to_str().unwrap()).collect()
    }

    #[test]
    fn a_reader_is_woken_by_the_end_when_it_has_read_all() {
        let log = Log::new(10);
        settle(&log, "1", Answer::Ok);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let first = log.read(10, LONG).unwrap();
                (keys(&first).len(), log.read(10, LONG).is_none())
            });
            log.end();
            assert_eq!(reader.join().unwrap(), (1, true));
        });
        settle(&log, "2", Answer::Ok);
        assert!(log.read(10, LONG).is_none(), "no reader gets later events");
        assert!(Log::new(10).read(10, Duration::ZERO).unwrap().is_empty());
    }

    #[test]
    fn events_in_order_are_dropped_first() {
        let log = Log::new(3);
        for (key, answer) in [("1", Answer::LeaseLost), ("2", Answer::Ok), ("3", Answer::Ok), ("4", Answer::Ok)] {
            settle(&log, key, answer);
        }
        assert_eq!(keys(&log.read(10, Duration::ZERO).unwrap()), ["1", "3", "4"]);
        for (key, answer) in
            [("1", Answer::LeaseLost), ("2", Answer::Ok), ("3", Answer::LeaseLost), ("4", Answer::LeaseLost)]
        {
            settle(&log, key, answer);
        }
        settle(&log, "5", Answer::Ok);
        assert_eq!(keys(&log.read(1, Duration::ZERO).unwrap()), ["3"], "then the oldest");
        assert_eq!(keys(&log.read(10, Duration::ZERO).unwrap()), ["4", "5"]);
    }

    #[test]
    fn a_loss_names_the_values_left_out() {
        let log = Log::new(3);
        settle(&log, "7", Answer::LeaseLost);
        let lent = log.read(1, Duration::ZERO).unwrap().remove(0);
        assert_eq!((lent.kind, lent.action), (READPAST_EVENT_LOST, action::READPAST_ACTION_COMPLETE));
        assert_eq!(lent.left_out.as_deref(), Some(c"response of 3 characters"));
        assert!(lent.line.unwrap().to_str().unwrap().starts_with("item 7, attempt 0 was lost"));
    }
}
