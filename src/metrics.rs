//! Figures of this process's work on its queues, for monitoring systems: counted as it happens, without a lock, and written in
//! Prometheus' format. Figures from the database are not among them; `readpast serve` writes those, by the same writer.

mod counters;
mod family;
mod listed;
mod process;
mod source;

pub(crate) use self::counters::{CallKind, Counters};
pub use self::family::{Family, Kind, Sample};
pub(crate) use self::listed::Listed;
pub(crate) use self::source::{Reading, Source};

use std::fmt;

/// Figures at one moment. Their text (`to_string`) is in Prometheus' format.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    families: Vec<Family>,
}

impl Metrics {
    /// The media type of the text, with the version of its format.
    pub const TEXT: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// The figures, those of one name together.
    #[must_use]
    pub fn families(&self) -> &[Family] {
        &self.families
    }
}

/// Figures in which each name comes once: the caller's own beside these.
impl FromIterator<Family> for Metrics {
    fn from_iter<T: IntoIterator<Item = Family>>(families: T) -> Self {
        Self { families: families.into_iter().collect() }
    }
}

impl IntoIterator for Metrics {
    type Item = Family;
    type IntoIter = std::vec::IntoIter<Family>;

    fn into_iter(self) -> Self::IntoIter {
        self.families.into_iter()
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.families.iter().try_for_each(|family| family.fmt(f))
    }
}

/// The figures of this process since it began: of all queues that it has opened, with all their handles and workers, closed ones
/// too. Asks no server, and waits for none. In the child of a fork they begin anew.
#[must_use]
pub fn metrics() -> Metrics {
    Metrics { families: process::families(&counters::all()) }
}
