//! Values that a handler may return.

use super::failure;
use crate::item::Verdict;
use std::error::Error;

impl From<()> for Verdict {
    fn from((): ()) -> Self {
        Self::complete()
    }
}

/// A value that a handler may return: nothing, a [`Verdict`], or a `Result` of one of these with any error, be it a type of its
/// own, a `Box<dyn Error + Send + Sync>`, or text. Nothing means that the item is done.
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
        self.map_or_else(|error| Verdict::retry(failure::text_of(&*error.into())), Into::into)
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
    }
}
