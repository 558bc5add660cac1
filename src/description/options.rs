//! A description's options beyond its columns: order, attempts, leases, the end of items, roles. Every option has a default, so
//! that a description says only what is special.

use super::ColumnSpec;
use crate::ident::Identifier;
use crate::item::ItemState;

/// In which order due items are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// The oldest first. Not strict: a released item is handed out after later ones.
    #[default]
    Fifo,
    /// The newest first.
    Lifo,
    /// In any order that the server finds them; for tables without an order of their own.
    Unordered,
}

impl Direction {
    /// All, by their words.
    pub const ALL: [Self; 3] = [Self::Fifo, Self::Lifo, Self::Unordered];

    /// The words in a description, in the order of [`Self::ALL`].
    pub(crate) const WORDS: [&'static str; 3] = ["fifo", "lifo", "unordered"];

    /// The word in a description.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// The order of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderSpec {
    /// Oldest, newest or any first.
    pub direction: Direction,
    /// The columns of the order, in a described table; without them its due time, its enqueueing time or its key. A queue of
    /// readpast's own orders by ScheduledFor and EnqueuedAt.
    pub by: Vec<Identifier>,
    /// A column whose value goes before everything else.
    pub priority: Option<PrioritySpec>,
    /// A column whose equal values form a group: within it, an item is handed out only when all earlier ones are finished.
    pub group: Option<Identifier>,
}

/// The kinds that a claim can name, so that it gets no others. There is an index for it, and a claim that names one of the two
/// names the other as well, where both are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ClaimBySpec {
    /// Their types.
    pub kind: bool,
    /// Their steps.
    pub step: bool,
}

/// The items that go first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrioritySpec {
    /// An integer column of the queue, not null.
    pub column: Identifier,
    /// Whether high values go first; else low ones do.
    pub highest_first: bool,
}

/// The delay of the attempt after a failed one, when the worker gives none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackoffSpec {
    /// After the first failed attempt, in milliseconds.
    pub first_ms: i32,
    /// The factor of the delay with each further attempt, in hundredths: 100 is a fixed delay, 200 doubles it.
    pub factor_percent: i32,
    /// The longest delay, in milliseconds.
    pub cap_ms: i32,
    /// The random part of the delay, from 0 to 100 per cent: the delay becomes a random one between that much less and the whole
    /// of it, so that items that failed together do not come back together.
    pub jitter_percent: i32,
}

/// Five seconds, then twice as long each time, up to an hour; half of it random. An item that fails because another service is
/// down for a moment finds it up again at the second or third attempt.
impl Default for BackoffSpec {
    fn default() -> Self {
        Self { first_ms: 5_000, factor_percent: 200, cap_ms: 3_600_000, jitter_percent: 50 }
    }
}

/// Leases, unless the handle's settings override them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseSpec {
    /// How long one lasts, in milliseconds, unless the queue's setting or the worker's handle overrides it.
    pub ms: i32,
    /// Whether a renewal moves the deadline. A fixed lease ends at its time in any case.
    pub sliding: bool,
    /// Whether a worker that starts again under its old name recovers its own items at once.
    pub resume_own: bool,
    /// Whether claims and renewals wait until the server's log has them. An item whose claim a crash of the server forgets is
    /// handed out again; settles and enqueues always wait.
    pub durable: bool,
}

impl Default for LeaseSpec {
    fn default() -> Self {
        Self { ms: 60_000, sliding: true, resume_own: false, durable: true }
    }
}

/// The end of a completed item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Completion {
    /// It stays in the table, as Completed.
    #[default]
    Keep,
    /// It is deleted.
    Delete,
    /// It is moved to this table, which has the columns of the queue's table and stands in the same schema.
    History(Identifier),
}

/// How long items that ended so stay, from their last change on; then workers delete them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionSpec {
    /// A state that is final.
    pub state: ItemState,
    /// For how many seconds, 1 to 1,728,000,000 (20,000 days).
    pub seconds: i32,
}

impl RetentionSpec {
    /// The names of the states in a description.
    pub(crate) const KEYS: [(&'static str, ItemState); 5] = [
        ("completed", ItemState::Completed),
        ("partially_completed", ItemState::PartiallyCompleted),
        ("cancelled", ItemState::Cancelled),
        ("terminated", ItemState::Terminated),
        ("failed", ItemState::Failed),
    ];

    /// The name of the attempts in a description.
    pub(crate) const HISTORY: &'static str = "history";

    /// The state's name in a description, where it can stand there.
    pub(crate) fn key(self) -> Option<&'static str> {
        Self::KEYS.iter().find(|(_, state)| *state == self.state).map(|(key, _)| *key)
    }
}

/// The items that count as the same work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DedupSpec {
    /// The columns whose values make an item unique, among the queue's own columns.
    pub columns: Vec<Identifier>,
    /// Whether the answer to a duplicate has the key of the existing item; else it has no key.
    pub existing: bool,
    /// Whether only unfinished items count; else the same work is never done twice while its row is there.
    pub unfinished_only: bool,
    /// The fate of the waiting item when the same work is enqueued.
    pub on_duplicate: OnDuplicate,
}

/// The effect of the same work, enqueued again, on the item that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnDuplicate {
    /// It stays as it is, and the new one is dropped.
    #[default]
    Keep,
    /// It gets the values and the due time of the new one.
    Replace,
    /// It gets the values of the new one, and its due time where that is later: a debounce.
    Later,
}

impl OnDuplicate {
    /// All, by their words.
    pub const ALL: [Self; 3] = [Self::Keep, Self::Replace, Self::Later];

    /// The words in a description, in the order of [`Self::ALL`].
    pub(crate) const WORDS: [&'static str; 3] = ["keep", "replace", "later"];

    /// The word in a description.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// A table of columns that only some items have, in a row of the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtypeSpec {
    /// Its name: the table is `<queue>_<name>`, the worker view has its columns as `<name>_<column>`.
    pub name: Identifier,
    /// Exclusive: items of the type of this name have a row there, and no others have. Inclusive: any item may have one.
    pub exclusive: bool,
    /// Its columns, besides the key.
    pub columns: Vec<ColumnSpec>,
}

/// The database roles that get EXECUTE on their procedures, and nothing on any table. Created when missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RolesSpec {
    /// May enqueue.
    pub producer: Option<Identifier>,
    /// May claim, settle and renew, and read the worker view.
    pub worker: Option<Identifier>,
    /// May read figures and items, and nothing else.
    pub monitor: Option<Identifier>,
    /// May do everything.
    pub operator: Option<Identifier>,
    /// Whether a worker's login sees and claims only its types in the table QueueTypeAccess.
    pub own_types_only: bool,
}
