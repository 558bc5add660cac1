//! The items for which a new item waits.

use super::ItemState;
use serde_json::{Value, json};

/// An item for which a new one waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// The key of an item of the queue.
    Key(String),
    /// The place of an earlier item of the same call, from 0 on.
    Item(usize),
}

/// The fate of an item when one that it waits for ends in another way than Completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailed {
    /// It becomes Failed, and so do those that wait for it.
    #[default]
    Fail,
    /// It counts as done.
    Run,
    /// It waits on, until the other is started again and completed.
    Wait,
}

/// An item that another one waits for, or that waits for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Whether it is waited for; else it waits.
    pub is_parent: bool,
    /// Its key.
    pub key: String,
    /// Its state; `None` when it is gone.
    pub state: Option<ItemState>,
    /// The fate of the one that waits, should the other not complete.
    pub on_failed: OnFailed,
    /// Whether the wait is over.
    pub is_over: bool,
    /// How the one that was waited for ended. `None` where it has not, or where the other ended before.
    pub outcome: Option<ItemState>,
}

impl OnFailed {
    /// All, by their words.
    pub const ALL: [Self; 3] = [Self::Fail, Self::Run, Self::Wait];

    /// The words in JSON, in the order of [`Self::ALL`].
    pub(crate) const WORDS: [&'static str; 3] = ["fail", "run", "wait"];

    /// The word in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS[self as usize]
    }

    /// The one that a word names.
    ///
    /// # Errors
    /// The words that there are.
    pub fn read(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.as_str() == word);
        found.ok_or_else(|| format!("on_failed is one of {}, not {word:?}", Self::WORDS.join(", ")))
    }
}

impl After {
    /// Reads a list like `["2026-11-29T08:30:00.123456", 0]`: texts are keys, numbers are places.
    ///
    /// # Errors
    /// The mistake in words.
    pub fn read_list(json: &str) -> Result<Vec<Self>, String> {
        let form = "after is a list of keys and of places of earlier items";
        let all: Vec<Value> = serde_json::from_str(json).map_err(|_| form.to_owned())?;
        let read = |value: Value| match value {
            Value::String(key) => Some(Self::Key(key)),
            other => other.as_u64().and_then(|place| usize::try_from(place).ok()).map(Self::Item),
        };
        all.into_iter().map(|value| read(value).ok_or_else(|| form.to_owned())).collect()
    }

    /// The list as JSON, which [`After::read_list`] reads.
    #[must_use]
    pub fn list_json(all: &[Self]) -> String {
        Self::list(all).to_string()
    }

    pub(crate) fn list(all: &[Self]) -> Value {
        let one = |after: &Self| match after {
            Self::Key(key) => json!(key),
            Self::Item(place) => json!(place),
        };
        all.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_written_are_read_again() {
        let all = vec![After::Key("2026-11-29T08:30:00".to_owned()), After::Item(0), After::Item(999)];
        assert_eq!(After::read_list(&After::list(&all).to_string()).unwrap(), all);
        assert_eq!(After::read_list("[]").unwrap(), []);
        for wrong in ["", "{}", "null", "[-1]", "[1.5]", "[null]", "[[0]]", "\"a\""] {
            assert!(After::read_list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_are_read_again() {
        for one in OnFailed::ALL {
            assert_eq!(OnFailed::read(one.as_str()), Ok(one));
        }
        assert_eq!(OnFailed::read("Fail").unwrap_err(), "on_failed is one of fail, run, wait, not \"Fail\"");
    }
}
