//! What a handler says is to become of its item.

use super::failure;
use crate::item::{Action, Item, Settlement};
use std::{error::Error, time::Duration};

/// The end of an item's claim, as its handler wants it.
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
}

impl Verdict {
    /// Done.
    pub fn complete() -> Self {
        Self::new(Action::Complete)
    }

    /// Done as far as it could be.
    pub fn complete_partially() -> Self {
        Self::new(Action::CompletePartially)
    }

    /// Given up for good, and why.
    pub fn fail(error: impl Into<String>) -> Self {
        Self::new(Action::Fail).error(error)
    }

    /// This attempt failed, and why: to be tried again, by the queue's backoff unless [`Verdict::after`] or
    /// [`Verdict::due`] says when. Becomes Failed when the attempts are spent.
    pub fn retry(error: impl Into<String>) -> Self {
        Self::new(Action::Retry).error(error)
    }

    /// Given back unworked: Pending again, and this attempt does not count.
    pub fn release() -> Self {
        Self::new(Action::Release)
    }

    /// Called off.
    pub fn cancel() -> Self {
        Self::new(Action::Cancel)
    }

    /// Set aside until somebody resumes it.
    pub fn pause() -> Self {
        Self::new(Action::Pause)
    }

    fn new(action: Action) -> Self {
        Self { action, step: None, response: None, error: None, delay_ms: None, due: None }
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

    /// The settlement of `item`, whose token is now `token`.
    pub(super) fn settlement<'a>(&'a self, item: &Item<'a>, token: &'a str) -> Settlement<'a> {
        Settlement {
            token: Some(token),
            step: self.step.as_deref(),
            response: self.response.as_deref(),
            error: self.error.as_deref(),
            delay_ms: self.delay_ms,
            due: self.due.as_deref(),
            ..Settlement::new(item, self.action)
        }
    }

    /// The same end without what the database may have refused about it, and why it did. What is done stays done.
    pub(super) fn reworded(&self, refusal: &crate::error::Error) -> Self {
        let own = self.error.as_deref().map(|error| format!("{error}; ")).unwrap_or_default();
        let text = format!("{own}what the handler gave was refused: {}", refusal.message());
        Self::new(self.action).error(failure::short(&text))
    }
}

impl From<()> for Verdict {
    fn from((): ()) -> Self {
        Self::complete()
    }
}

/// What a handler may return: nothing, a [`Verdict`], or a `Result` of one of these with any error, be it a type of its
/// own, a `Box<dyn Error + Send + Sync>`, or text. Nothing means that the item is done.
pub trait IntoVerdict {
    /// What is to become of the item.
    fn into_verdict(self) -> Verdict;
}

impl IntoVerdict for () {
    fn into_verdict(self) -> Verdict {
        Verdict::complete()
    }
}

impl IntoVerdict for Verdict {
    fn into_verdict(self) -> Verdict {
        self
    }
}

impl<V: Into<Verdict>, E: Into<Box<dyn Error + Send + Sync>>> IntoVerdict for Result<V, E> {
    fn into_verdict(self) -> Verdict {
        self.map_or_else(|error| Verdict::retry(failure::text_of(&*error.into())), Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error as Failure, ErrorKind};

    #[test]
    fn handlers_may_return_little_or_much() {
        assert_eq!(().into_verdict(), Verdict::complete());
        assert_eq!(Ok::<_, std::fmt::Error>(()).into_verdict(), Verdict::complete());
        assert_eq!(Ok::<_, String>(Verdict::pause()).into_verdict(), Verdict::pause());
        assert_eq!(Err::<(), _>("no").into_verdict(), Verdict::retry("no"));
    }

    #[test]
    fn the_last_word_on_the_time_counts() {
        let later = Verdict::retry("no").due("2026-11-21T08:30:00Z").after(Duration::MAX);
        assert_eq!((later.delay_ms, later.due.as_deref()), (Some(i64::MAX), None));
        assert_eq!(later.due("2026-11-21").delay_ms, None);
    }

    #[test]
    fn a_refused_verdict_keeps_its_action_and_says_why() {
        let long = "\u{e9}".repeat(300);
        let refusal = Failure::new(ErrorKind::Database, "too long");
        let said = Verdict::complete().response(&long).step("s").after(Duration::ZERO).reworded(&refusal);
        assert_eq!(said, Verdict::complete().error("what the handler gave was refused: too long"));
        let said = Verdict::fail(&long).reworded(&refusal).error.unwrap();
        assert_eq!(said.chars().count(), 100);
    }
}
