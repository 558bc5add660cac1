//! Values that a handler may return.

use super::{failure, unreadable::Unreadable};
use crate::item::Verdict;
use std::error::Error;

impl From<()> for Verdict {
    fn from((): ()) -> Self {
        Self::complete()
    }
}

/// A value that a handler may return: nothing, a [`Verdict`], or a `Result` of one of these with any error, be it a type of its
/// own, a `Box<dyn Error + Send + Sync>`, or text. Nothing means that the item is done.
///
/// A future is none: [`Worker::run`](super::Worker::run) awaits nothing, so that an `async` block would never run.
///
/// ```compile_fail,E0277
/// # fn work(queue: &readpast::Queue) -> readpast::Result<()> {
/// readpast::Worker::new(queue).run(|job| async move { println!("{}", job.key()) })
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "it returns nothing, a `Verdict`, or a `Result` of one of these with any error",
    note = "`Worker::run` awaits no future: `async` handlers are for `Worker::run_async`, with the feature `tokio`"
)]
pub trait IntoVerdict {
    /// The item's verdict.
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
        let of_error = |error: E| match error.into().downcast::<Unreadable>() {
            Ok(unreadable) => (*unreadable).into(),
            Err(error) => Verdict::retry(failure::text_of(&*error)),
        };
        self.map_or_else(of_error, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_may_return_little_or_much() {
        assert_eq!(().into_verdict(), Verdict::complete());
        assert_eq!(Ok::<_, std::fmt::Error>(()).into_verdict(), Verdict::complete());
        assert_eq!(Ok::<_, String>(Verdict::pause()).into_verdict(), Verdict::pause());
        assert_eq!(Err::<(), _>("no").into_verdict(), Verdict::retry("no"));
        let unreadable = Unreadable::new(Verdict::fail("no"));
        assert_eq!(unreadable.to_string(), "no");
        assert_eq!(Err::<(), _>(unreadable).into_verdict(), Verdict::fail("no"));
    }
}
