//! Leases of a worker.

use super::Item;

/// A claim to renew: the item's key and the attempt that the claim began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease<'a> {
    /// The item's key.
    pub key: &'a str,
    /// The attempt of the claim.
    pub attempt: i32,
}

impl<'a> From<Item<'a>> for Lease<'a> {
    fn from(item: Item<'a>) -> Self {
        Self { key: item.key(), attempt: item.attempt() }
    }
}
