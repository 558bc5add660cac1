//! Verdicts of handlers.

use super::{Action, Columns, NewItem, Settlement, put_follower};
use std::borrow::Borrow;
use std::time::Duration;

/// The end of an item's claim, as its handler decides it.
///
/// ```
/// use readpast::{Verdict, worker::Job};
/// use std::time::Duration;
///
/// fn handle(job: &Job<'_>) -> Verdict {
///     match job.value("Recipient") {
///         None => Verdict::fail("there is no recipient"),
///         Some(_) if job.attempt() == 1 => Verdict::retry("451 greylisted").after(Duration::from_secs(300)),
///         Some(_) => Verdict::complete().response(r#"{"accepted": true}"#),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict takes effect when the handler returns it"]
pub struct Verdict {
    action: Action,
    step: Option<String>,
    response: Option<String>,
    error: Option<String>,
    delay_ms: Option<i64>,
    due: Option<String>,
    set: Option<String>,
    then: Option<String>,
}

impl Verdict {
    /// Completes the item.
    pub fn complete() -> Self {
        Self::new(Action::Complete)
    }

    /// Completes it partially: done as far as it could be.
    pub fn complete_partially() -> Self {
        Self::new(Action::CompletePartially)
    }

    /// Fails it for good, with the reason.
    pub fn fail(error: impl Into<String>) -> Self {
        Self::new(Action::Fail).error(error)
    }

    /// Fails this attempt, with the reason: the item is tried again, by the queue's backoff unless [`Verdict::after`] or
    /// [`Verdict::due`] sets the time. It becomes Failed when the attempts are spent.
    pub fn retry(error: impl Into<String>) -> Self {
        Self::new(Action::Retry).error(error)
    }

    /// Releases the item unworked: Pending again, and this attempt does not count. A worker that goes on makes the item wait for
    /// `poll.interval_ms` at least, or an item that is released each time would be handed out without an end.
    pub fn release() -> Self {
        Self::new(Action::Release)
    }

    /// Cancels it.
    pub fn cancel() -> Self {
        Self::new(Action::Cancel)
    }

    /// Pauses it until an operator resumes it.
    pub fn pause() -> Self {
        Self::new(Action::Pause)
    }

    /// `action`, with nothing to record.
    pub fn new(action: Action) -> Self {
        Self { action, step: None, response: None, error: None, delay_ms: None, due: None, set: None, then: None }
    }

    /// Records a step with it, of at most 60 characters.
    pub fn step(mut self, step: impl Into<String>) -> Self {
        self.step = Some(step.into());
        self
    }

    /// Records a response with it.
    pub fn response(mut self, response: impl Into<String>) -> Self {
        self.response = Some(response.into());
        self
    }

    /// Records an error with it.
    pub fn error(mut self, error: impl Into<String>) -> Self {
        self.error = Some(error.into());
        self
    }

    /// When it is due again, after a retry or a release: so long from now on the server's clock, in whole milliseconds. In
    /// place of [`Verdict::due`].
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay_ms = Some(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX));
        self.due = None;
        self
    }

    /// When it is due again, after a retry or a release: at a UTC time like `2026-11-21T08:30:00Z`. In place of
    /// [`Verdict::after`].
    pub fn due(mut self, due: impl Into<String>) -> Self {
        self.due = Some(due.into());
        self.delay_ms = None;
        self
    }

    /// A release that is due again after `floor` at the earliest, unless it names a time of its own.
    pub(crate) fn released_for(mut self, floor: Option<Duration>) -> Self {
        if let Some(floor) = floor
            && self.action == Action::Release
            && self.due.is_none()
        {
            let floor = i64::try_from(floor.as_millis()).unwrap_or(i64::MAX);
            self.delay_ms = self.delay_ms.max(Some(floor));
        }
        self
    }

    /// Sets columns of the item in the same commit, in place of those of an earlier call: its own by name, those of a subtype in
    /// an object by the subtype's name. A column that is left out keeps its value.
    ///
    /// ```
    /// use readpast::{Verdict, item::Columns};
    /// use serde_json::json;
    ///
    /// let sent = [("PaidAt", json!("2026-11-21T08:30:00Z")), ("Email", json!({"Response": "250 OK"}))];
    /// let verdict = Verdict::complete().set(Columns::from_iter(sent));
    /// ```
    pub fn set(mut self, columns: impl Into<Columns>) -> Self {
        self.set = Some(columns.into().to_json());
        self
    }

    /// Puts items into the queue called `queue`, of the same schema, in the commit that settles this one, and none where the
    /// settlement is not accepted. More calls add more items. An item that cannot be put in keeps this one from being done: it becomes
    /// Failed, with the reason.
    ///
    /// ```
    /// use readpast::{NewItem, Verdict, item::Columns};
    ///
    /// let columns = Columns::from_iter([("OrderId", 42)]);
    /// let verdict = Verdict::complete().then("Invoices", [NewItem { columns, ..NewItem::default() }]);
    /// ```
    pub fn then(mut self, queue: &str, items: impl IntoIterator<Item: Borrow<NewItem>>) -> Self {
        for item in items {
            put_follower(self.then.get_or_insert_default(), queue, item.borrow());
        }
        self
    }

    /// Whether it sets columns, or items follow it.
    pub(crate) fn has_values(&self) -> bool {
        self.set.is_some() || self.then.is_some()
    }

    /// Its action and values without step, response, error and time. `None` where it has no values, or nothing else.
    pub(crate) fn without_remarks(&self) -> Option<Self> {
        let rest = Self { set: self.set.clone(), then: self.then.clone(), ..Self::new(self.action) };
        (self.has_values() && rest != *self).then_some(rest)
    }

    /// The action.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    /// The error it records.
    #[must_use]
    pub fn error_text(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The settlement of the item called `key`, claimed for the `attempt`th time, whose token is now `token`.
    #[must_use]
    pub fn settlement<'a>(&'a self, key: &'a str, token: &'a str, attempt: i32) -> Settlement<'a> {
        Settlement {
            key,
            token: Some(token),
            attempt,
            action: self.action,
            step: self.step.as_deref(),
            response: self.response.as_deref(),
            error: self.error.as_deref(),
            delay_ms: self.delay_ms,
            due: self.due.as_deref(),
            set: self.set.as_deref(),
            then: self.then.as_deref(),
        }
    }
}

impl From<&Settlement<'_>> for Verdict {
    fn from(settlement: &Settlement<'_>) -> Self {
        Self {
            action: settlement.action,
            step: settlement.step.map(str::to_owned),
            response: settlement.response.map(str::to_owned),
            error: settlement.error.map(str::to_owned),
            delay_ms: settlement.delay_ms,
            due: settlement.due.map(str::to_owned),
            set: settlement.set.map(str::to_owned),
            then: settlement.then.map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_on_the_time_counts() {
        let later = Verdict::retry("no").due("2026-11-21T08:30:00Z").after(Duration::MAX);
        assert_eq!((later.delay_ms, later.due.as_deref()), (Some(i64::MAX), None));
        assert_eq!(later.due("2026-11-21").delay_ms, None);
    }

    #[test]
    fn a_settlement_and_back_is_the_same() {
        let verdict = Verdict::retry("no").step("s").response("r").after(Duration::from_secs(5));
        let verdict = verdict.set(Columns::from_iter([("c", 1)])).then("Q", [NewItem::default()]);
        assert_eq!(Verdict::from(&verdict.settlement("k", "t", 1)), verdict);
    }
}
