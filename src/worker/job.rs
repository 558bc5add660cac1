//! An item in the hands of its handler.

use super::desk::Desk;
use super::renewal::Renewal;
use crate::error::Result;
use crate::item::{Action, Answer, Item, Settlement, Value};
use parking_lot::Mutex;
use std::fmt;

/// An item in the hands of its handler, whose claim is kept meanwhile. May be lent to other threads.
pub struct Job<'a> {
    item: Item<'a>,
    desk: Desk<'a>,
    /// `None` when no thread could be started for it.
    renewal: Option<&'a Renewal>,
    claim: Mutex<Claim>,
}

/// What a step has changed.
#[derive(Default)]
struct Claim {
    /// The token, if it is not the item's any more.
    token: Option<String>,
    lost: bool,
}

impl<'a> Job<'a> {
    pub(super) fn new(item: Item<'a>, desk: Desk<'a>, renewal: Option<&'a Renewal>) -> Self {
        Self { item, desk, renewal, claim: Mutex::default() }
    }

    /// The item as it was claimed.
    pub fn item(&self) -> Item<'a> {
        self.item
    }

    /// The primary key, as text.
    pub fn key(&self) -> &'a str {
        self.item.key()
    }

    /// Which attempt this is, counted from 1.
    pub fn attempt(&self) -> i32 {
        self.item.attempt()
    }

    /// The value of the column called `name`, whatever its case; `None` when there is no such column.
    pub fn value(&self, name: &str) -> Option<Value<'a>> {
        self.item.value_of(name)
    }

    /// The text in the column called `name`, whatever its case; `None` when it is NULL, no text, or not there. Decimals,
    /// times, dates and GUIDs are text.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        match self.value(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Records a step, of at most 60 characters, so that another attempt can go on from there. The claim is kept, and its
    /// lease starts anew. Any answer but [`Answer::Ok`] means that the item is lost; the handler had better end.
    ///
    /// # Errors
    /// As [`Queue::settle`](crate::Queue::settle); what may pass by itself is waited for until the worker is stopped.
    pub fn step(&self, step: &str) -> Result<Answer> {
        let mut claim = self.claim.lock();
        let outcome = {
            let token = claim.token.as_deref().unwrap_or(self.item.token());
            let settlement =
                Settlement { step: Some(step), token: Some(token), ..Settlement::new(&self.item, Action::Step) };
            let (mut outcomes, _) = self.desk.settle(&[settlement], 0)?;
            outcomes.remove(0)
        };
        match outcome.answer {
            Answer::Ok => claim.token = Some(outcome.token),
            _ => claim.lost = true,
        }
        Ok(outcome.answer)
    }

    /// Whether the claim was found lost: the lease ran out, or an operator took the item. Work on it is in vain then, and
    /// what the handler returns will be refused.
    pub fn is_lost(&self) -> bool {
        self.claim.lock().lost || self.renewal.is_some_and(|renewal| renewal.has_lost(self.item.key()))
    }

    /// Whether the worker is to end: a long handler may then return [`Verdict::release`](super::Verdict::release), and
    /// another worker takes the item.
    pub fn is_stopping(&self) -> bool {
        self.desk.stop.is_stopped()
    }

    /// The token to settle with, if a step has changed it.
    pub(super) fn into_token(self) -> Option<String> {
        self.claim.into_inner().token
    }
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("key", &self.key()).field("attempt", &self.attempt()).finish_non_exhaustive()
    }
}
