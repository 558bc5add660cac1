//! An item with its handler.

use crate::engine::Engine;
use crate::error::Result;
use crate::item::{Answer, Item, Value};
use std::fmt;

/// An item with its handler; the engine renews its lease meanwhile. May be lent to other threads.
pub struct Job<'a> {
    item: Item<'a>,
    engine: &'a Engine,
}

impl<'a> Job<'a> {
    pub(super) fn new(item: Item<'a>, engine: &'a Engine) -> Self {
        Self { item, engine }
    }

    /// The item as it was claimed.
    #[must_use]
    pub fn item(&self) -> Item<'a> {
        self.item
    }

    /// The primary key, as text.
    #[must_use]
    pub fn key(&self) -> &'a str {
        self.item.key()
    }

    /// Which attempt this is, counted from 1.
    #[must_use]
    pub fn attempt(&self) -> i32 {
        self.item.attempt()
    }

    /// The value of the column called `name`, whatever its case; `None` when there is no such column.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value<'a>> {
        self.item.value_of(name)
    }

    /// The text in the column called `name`, whatever its case; `None` when it is NULL, no text, or not there. Decimals,
    /// times, dates and GUIDs are text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&'a str> {
        match self.value(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Records a step, of at most 60 characters, so that another attempt can go on from there. The claim stays, and its lease
    /// starts anew. Any answer but [`Answer::Ok`] means that the item is lost; the handler had better end.
    ///
    /// # Errors
    /// As [`Queue::settle`](crate::Queue::settle); the call waits out transient errors until the worker is given up.
    pub fn step(&self, step: &str) -> Result<Answer> {
        self.engine.step(self.key(), self.attempt(), step)
    }

    /// Reports how far the work is: a percentage from 0 to 100, a line of text, or both, each in place of the one before:
    /// `job.progress(42, "page 42 of 100")`, `job.progress(42, None)`. Operators see it while the handler runs. Returns at once; as
    /// [`Engine::progress`] says, it is written a moment later, at most one of them in a second.
    ///
    /// # Errors
    /// As [`Engine::progress`].
    pub fn progress<'t>(&self, percent: impl Into<Option<i32>>, text: impl Into<Option<&'t str>>) -> Result<()> {
        self.engine.progress(self.key(), self.attempt(), percent.into(), text.into())
    }

    /// Whether the claim is lost: the lease ran out, or an operator took the item. Further work is in vain, and the database will
    /// refuse the handler's result. Also true of an item that was worked on for longer than `worker.max_run_ms`, whose result counts if
    /// it comes before the lease runs out.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.engine.is_lost(self.key(), self.attempt())
    }

    /// Whether the worker is to end: a long handler may then return [`Verdict::release`](crate::Verdict::release), and
    /// another worker takes the item.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.engine.is_stopping()
    }
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("key", &self.key()).field("attempt", &self.attempt()).finish_non_exhaustive()
    }
}
