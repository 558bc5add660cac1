//! Limits: how many items of a key are in work at once, and how many of it begin in a time.

use crate::ident::Identifier;
use crate::item::Rate;

/// The most limits of a queue.
pub(crate) const MOST_LIMITS: usize = 4;

/// The longest text that items are counted by: the key of a table on SQL Server takes no longer one beside queue and column.
pub(crate) const MOST_CHARS: usize = 300;

/// A limit of what is in work, for each key or for the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSpec {
    /// The column whose values are the keys, one of the queue's own. `None`: the whole queue is one key.
    pub by: Option<Identifier>,
    /// How many items of a key are in work at once, 1 to 1,000,000.
    pub at_once: Option<u32>,
    /// The same by the plan of the key, instead of one number for all keys.
    pub tiers: Option<TiersSpec>,
    /// The column that says as how many an item counts, one of the queue's own; `None`: each as one.
    pub weight: Option<Identifier>,
    /// How many items of a key start in a time.
    pub rate: Option<Rate>,
    /// How many of them may start together after a rest, 1 to 1,000,000; as many as the rate has when left out.
    pub burst: Option<u32>,
}

/// How many items of a key are in work at once, by a column of its item that is due first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TiersSpec {
    /// The column, one of the queue's own.
    pub from: Identifier,
    /// Its values, as text, and the number of each, 1 to 1,000,000. Any other value has the smallest.
    pub numbers: Vec<(String, u32)>,
}

impl TiersSpec {
    /// The number of a value that is not among them.
    #[must_use]
    pub fn least(&self) -> Option<u32> {
        self.numbers.iter().map(|(_, number)| *number).min()
    }
}

impl LimitSpec {
    /// How many items of a key may start together; `None` without a rate.
    #[must_use]
    pub fn burst(&self) -> Option<u32> {
        self.rate.map(|rate| self.burst.unwrap_or(rate.starts))
    }
}
