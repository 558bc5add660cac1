//! The handle that callers hold: on a queue in one database, or at several places.

use super::inner::QueueInner;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// How often a wait for a place looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(100);

/// An open queue, with its pool of connections and its worker's name. Clones are the same queue. Any number of threads
/// may use it at once. In the child of a fork every call that needs the server fails with [`ErrorKind::Forked`], and the
/// parent's connections are left alone.
///
/// With several places in its settings it is one queue over several databases ([`Config::places`]): each item has its place, which
/// stands before its key. A call that cannot be about all of them is refused with [`ErrorKind::Unsupported`]; make it on a handle
/// [`at`](Self::at) one place.
#[derive(Clone)]
pub struct Queue(pub(super) Over);

/// One database, or several.
#[derive(Clone)]
pub(super) enum Over {
    One(Arc<QueueInner>),
    Places(Arc<Places>),
}

impl Queue {
    pub(super) fn of(inner: QueueInner) -> Self {
        Self(Over::One(Arc::new(inner)))
    }

    /// The queue of one database, for a call that cannot be about several.
    pub(crate) fn one(&self) -> Result<&QueueInner> {
        match &self.0 {
            Over::One(inner) => Ok(inner),
            Over::Places(places) => {
                let names = places.names().join(", ");
                let message = format!(
                    "this is done at one place, and the queue is open at {names}: open it with \"place\", or take a handle at one"
                );
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    /// The queue of some database, for what is the same in all.
    pub(super) fn any(&self) -> &QueueInner {
        match &self.0 {
            Over::One(inner) => inner,
            Over::Places(places) => places.any().any(),
        }
    }

    /// The queue of the database of an item.
    pub(super) fn of_key(&self, key: &str) -> Result<&QueueInner> {
        match &self.0 {
            Over::One(inner) => Ok(inner),
            Over::Places(places) => places.of_key(key)?.one(),
        }
    }

    /// All places, where there are several.
    pub(crate) fn over(&self) -> Option<&Places> {
        match &self.0 {
            Over::One(_) => None,
            Over::Places(places) => Some(places),
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("name", &self.name()).field("worker", &self.worker()).finish_non_exhaustive()
    }
}

/// One handle on the queue at all places.
pub(crate) struct Places {
    pub(super) list: Arc<PlaceList>,
    /// The handle's own handle on each place, once that is open, in the order of the names.
    pub(super) queues: Vec<OnceLock<Queue>>,
    pub(super) interrupted: AtomicBool,
    /// The handle that this was shared from: its interrupt reaches this one, too.
    pub(super) parent: Option<Arc<Self>>,
    /// The person who acts through the handle, if it is another than the settings name.
    pub(super) operator: Option<Arc<str>>,
    /// Keeps an interrupt from passing by a place that opens.
    pub(super) opening: Mutex<()>,
}

impl Places {
    pub(super) fn on(list: Arc<PlaceList>, parent: Option<Arc<Self>>, operator: Option<Arc<str>>) -> Self {
        let queues = list.names().iter().map(|_| OnceLock::new()).collect();
        let interrupted = AtomicBool::new(false);
        Self { list, queues, interrupted, parent, operator, opening: Mutex::new(()) }
    }

    /// Another handle, with an interrupt of its own.
    pub(super) fn share(self: &Arc<Self>, operator: Option<&str>) -> Self {
        Self::on(Arc::clone(&self.list), Some(Arc::clone(self)), operator.map(Arc::from))
    }

    pub(super) fn config(&self) -> &Config {
        &self.list.config
    }

    /// The names of the places.
    pub(super) fn names(&self) -> &[String] {
        self.list.names()
    }

    /// The queue at the place with this number, if it is open.
    pub(super) fn nth(&self, number: usize) -> Option<&Queue> {
        let mine = self.queues.get(number)?;
        if let Some(queue) = mine.get() {
            return Some(queue);
        }
        let opened = match &self.parent {
            Some(parent) => parent.nth(number)?,
            None => self.list.opened(number)?,
        };
        let _guard = self.opening.lock();
        Some(mine.get_or_init(|| {
            let queue = match &self.operator {
                Some(who) => opened.on_behalf_of(who),
                None => opened.share(),
            };
            if self.interrupted.load(Ordering::SeqCst) {
                queue.interrupt();
            }
            queue
        }))
    }

    /// The places that are open, with their names.
    pub(crate) fn open_ones(&self) -> impl Iterator<Item = (&str, &Queue)> {
        self.names().iter().enumerate().filter_map(|(number, name)| Some((name.as_str(), self.nth(number)?)))
    }

    /// Some place that is open: one always is.
    pub(super) fn any(&self) -> &Queue {
        let first = self.list.first();
        self.nth(first).unwrap_or_else(|| unreachable!("the first place that was opened stays open"))
    }

    /// The queue at a place, by its name.
    pub(super) fn at(&self, name: &str) -> Result<&Queue> {
        let number = self.names().iter().position(|known| known == name).ok_or_else(|| {
            let names = self.names().join(", ");
            Error::new(ErrorKind::InvalidArgument, format!("there is no place {name:?}; there are {names}"))
        })?;
        self.open_at(number)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst) || self.parent.as_ref().is_some_and(|parent| parent.is_interrupted())
    }

    /// The queue at the place with this number, once the first try to open it is over.
    pub(super) fn open_at(&self, number: usize) -> Result<&Queue> {
        if self.nth(number).is_none() {
            self.list.await_first_try(number, || self.is_interrupted());
        }
        self.nth(number).ok_or_else(|| self.list.away(number))
    }
}

/// To be called when a further place is open.
pub(crate) trait Opened: Send + Sync {
    fn opened(&self);
}

/// The places of one queue, for all handles.
pub(super) struct PlaceList {
    /// The settings for all places.
    pub(super) config: Config,
    pub(super) queue: String,
    pub(super) names: Vec<String>,
    pub(super) places: Vec<OnceLock<Queue>>,
    pub(super) state: Mutex<PlaceListState>,
    pub(super) changed: Condvar,
    /// The number of the first that was open.
    pub(super) first: OnceLock<usize>,
    /// Which place is asked first. Each call, by any handle, begins at the next one.
    pub(super) turn: AtomicUsize,
}

#[derive(Default)]
pub(super) struct PlaceListState {
    /// Why each is not open; `None`: it is, or the first try is under way.
    pub(super) failures: Vec<Option<Error>>,
    pub(super) watchers: Vec<Weak<dyn Opened>>,
    pub(super) closed: bool,
}

impl PlaceList {
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of a place that is open.
    pub(super) fn first(&self) -> usize {
        self.first.get().copied().unwrap_or(0)
    }

    pub(super) fn opened(&self, number: usize) -> Option<&Queue> {
        self.places.get(number)?.get()
    }

    /// Waits until the first try to open a place is over, or the wait is.
    fn await_first_try(&self, number: usize, is_over: impl Fn() -> bool) {
        let mut state = self.state.lock();
        while self.opened(number).is_none()
            && state.failures.get(number).is_some_and(Option::is_none)
            && !state.closed
            && !is_over()
        {
            self.changed.wait_until(&mut state, Instant::now() + LOOK);
        }
    }

    /// The error for a call to a place that is not open.
    pub(super) fn away(&self, number: usize) -> Error {
        let name = self.names.get(number).map_or("", String::as_str);
        let state = self.state.lock();
        if state.closed {
            return crate::pool::closed();
        }
        let why = state.failures.get(number).cloned().flatten();
        why.unwrap_or_else(|| Error::new(ErrorKind::Unreachable, "it has not answered yet").in_context(at(name)))
    }
}

/// The place in an error.
pub(super) fn at(name: &str) -> String {
    format!("place {name}")
}
