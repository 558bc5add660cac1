//! The form of keys on their way to a database.

use crate::error::Excerpt;

/// The name of the place before a key, where the queue is spread over several.
pub(crate) fn place_of_key(key: &str) -> Option<&str> {
    key.split_once('/').map(|(name, _)| name)
}

/// The form of a queue's keys in requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeyForm<'a> {
    /// Whether a key has several columns: its text is then a JSON array of their values.
    pub(crate) composite: bool,
    /// The text before keys where this is one of several places, which the place itself does not know.
    pub(crate) prefix: Option<&'a str>,
}

impl KeyForm<'_> {
    /// The form of tokens: JSON texts.
    pub(crate) const PLAIN: Self = Self { composite: false, prefix: None };

    /// The key as the database knows it.
    pub(crate) fn here(self, key: &str) -> Result<&str, String> {
        let Some(prefix) = self.prefix else { return Ok(key) };
        key.strip_prefix(prefix).ok_or_else(|| {
            let place = place_of_key(prefix).unwrap_or_default();
            format!("{} is no key of the place {place}: it begins with {prefix:?}", Excerpt(key))
        })
    }
}
