//! Schedules as the database keeps them.

use super::NewItem;

/// The treatment of planned times that passed while no worker ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Missed {
    /// One item for all of them.
    #[default]
    Once,
    /// An item for each.
    Each,
    /// None: an item only where the planned time is less than a minute ago.
    Skip,
}

impl Missed {
    /// All, by their words.
    pub const ALL: [Self; 3] = [Self::Once, Self::Each, Self::Skip];

    /// The words in a description, in the order of [`Self::ALL`].
    pub(crate) const WORDS: [&'static str; 3] = ["once", "each", "skip"];

    /// The word in a description.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// The treatment of a planned time at which the last item of the schedule is not over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Another item.
    #[default]
    Allow,
    /// None.
    Skip,
}

impl Overlap {
    /// All, by their words.
    pub const ALL: [Self; 2] = [Self::Allow, Self::Skip];

    /// The words in a description, in the order of [`Self::ALL`].
    pub(crate) const WORDS: [&'static str; 2] = ["allow", "skip"];

    /// The word in a description.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// A schedule of a queue. Times are seconds since 1970 in UTC, on the server's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// When: a rule of cron, `@daily` and the like, or `@every 90s`.
    pub cron: String,
    /// The zone in which the rule is read.
    pub zone: String,
    /// The item that it puts in, as JSON.
    pub item: String,
    /// The treatment of planned times for which no worker ran.
    pub missed: Missed,
    /// The treatment of a planned time at which the last item is not over.
    pub overlap: Overlap,
    /// Whether the description has it; others were made at run time.
    pub described: bool,
    /// Whether it fires.
    pub enabled: bool,
    /// The next planned time. `None`: a worker computes it within seconds.
    pub next_at: Option<i64>,
    /// The planned time of the last item, or the time at which an operator had it run.
    pub last_at: Option<i64>,
    /// When that item was put in.
    pub fired_at: Option<i64>,
    /// Its key.
    pub last_key: Option<String>,
    /// `FIRED`, `DUPLICATE` where the same work was there, or `SKIPPED` where the item before was not over.
    pub last_answer: Option<String>,
    /// For how many milliseconds a planned time has been over; 0 when none is. `None` where there is none.
    pub late_ms: Option<i64>,
    /// The rule in words; `None` where `problem` is set.
    pub words: Option<String>,
    /// The next five times, if it stays on.
    pub upcoming: Vec<i64>,
    /// Why it cannot fire: a rule or a zone that this library does not know.
    pub problem: Option<String>,
}

/// A change of a schedule. `None` leaves a value as it is; a new schedule needs a rule, a zone and an item.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScheduleChange {
    /// When: five or six fields of cron, `@daily` and the like, or `@every 90s`.
    pub cron: Option<String>,
    /// The zone in which the rule is read: `Europe/Zurich`, `UTC`.
    pub zone: Option<String>,
    /// The item, without a due time.
    pub item: Option<NewItem>,
    /// The treatment of planned times for which no worker ran; `once` at first.
    pub missed: Option<Missed>,
    /// The treatment of a planned time at which the last item is not over; `allow` at first.
    pub overlap: Option<Overlap>,
    /// Whether it fires; at first it does.
    pub enabled: Option<bool>,
}
