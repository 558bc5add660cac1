//! The choice of a handler by the type of the item.

use crate::item::Item;
use std::collections::BTreeMap;

/// Handlers by the type of their items, and the one of all other types.
pub(super) struct ByType<H> {
    handlers: BTreeMap<String, H>,
    pub(super) others: Option<H>,
}

impl<H> Default for ByType<H> {
    fn default() -> Self {
        Self { handlers: BTreeMap::new(), others: None }
    }
}

impl<H> ByType<H> {
    /// # Panics
    /// When the type has a handler.
    pub(super) fn add(&mut self, kind: String, handler: H) {
        assert!(!self.handlers.contains_key(&kind), "there is a handler for the type {kind}");
        self.handlers.insert(kind, handler);
    }

    pub(super) fn types(&self) -> Vec<&str> {
        self.handlers.keys().map(String::as_str).collect()
    }

    /// The handler of an item, or the reason for its next attempt: a newer version of the program may know the type, and during a
    /// roll-out both are at work.
    pub(super) fn of(&self, item: &Item<'_>) -> Result<&H, String> {
        let kind = item.kind();
        let own = kind.and_then(|kind| self.handlers.get(kind));
        // A table of the user's without a column for it has one type of items.
        let only =
            || self.handlers.values().next().filter(|_| self.handlers.len() == 1 && item.value_of("Type").is_none());
        own.or(self.others.as_ref()).or_else(only).ok_or_else(|| {
            format!(
                "this worker has no handler for the type {}; it has some for {}",
                kind.unwrap_or("(none)"),
                self.types().join(", ")
            )
        })
    }
}
