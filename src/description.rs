//! The description of a queue: its table, its columns, and its behaviour. Written once, as TOML or JSON, stored in the database,
//! and read back by every handle, which checks new items against it before it sends them.

mod check;
mod check_item;
mod evolve;
mod examples;
mod handed_out;
mod key;
mod kinds;
mod layout;
mod limit;
mod number;
mod options;
mod own;
mod parse;
mod procedures;
mod rows;
mod schedule;
mod searched;
mod settable;
mod spread;
mod sql;
mod table;
mod value;

pub use crate::item::Rate;

pub use self::{
    examples::{EXAMPLES, OTHERS},
    limit::{LimitSpec, TiersSpec},
    options::{
        BackoffSpec, ClaimBySpec, Completion, DedupSpec, Direction, LeaseSpec, OnDuplicate, OrderSpec, PrioritySpec,
        RetentionSpec, RolesSpec, SubtypeSpec,
    },
    parse::{Format, reference},
    procedures::{ClaimedBySpec, ProceduresSpec},
    rows::{Comparison, RowCondition, RowTest},
    schedule::{ScheduleSpec, read_item as schedule_item},
    sql::{CheckSpec, ReferenceSpec, SqlName},
    table::{
        ColumnCondition, Holds, IndexSpec, KeyColumn, KeySource, KeyText, LifecycleSpec, Literal, SeekColumn,
        SettingsTableSpec, StateSpec, TableSpec,
    },
};

pub(crate) use check::{ATTEMPTS, LEASE_MS};
pub(crate) use check_item::{CheckedItem, Sendable, check_items, items_to_json};
pub(crate) use evolve::{ColumnChange, ColumnTable};
pub(crate) use key::put_key;
pub(crate) use kinds::KindSearch;
pub(crate) use layout::Assignment;
pub(crate) use own::{OWN_COLUMNS, SHARD};
pub(crate) use schedule::{check_name, items_of};
pub(crate) use searched::{may_hold_json, searched};
pub(crate) use settable::check_set;
pub(crate) use spread::elsewhere;
pub use spread::place_of;
use sql::why_no_condition;
pub(crate) use value::{MAX_DELAY_MS, check_step, check_text, column_value, put_due};

use crate::ident::{Identifier, QueueName};
use serde_json::Value;
use std::fmt;

/// The description of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSpec {
    /// Its name.
    pub queue: QueueName,
    /// Where its items are.
    pub storage: Storage,
    /// The types of work; the first is the default of an item that names none.
    pub types: Vec<String>,
    /// The steps of its jobs; the first one is the default of a new item. Empty: a step may be any text.
    pub steps: Vec<String>,
    /// Its own columns, besides those of the life cycle: a producer gives them, and a worker sees them.
    pub columns: Vec<ColumnSpec>,
    /// Tables of columns that only some items have.
    pub subtypes: Vec<SubtypeSpec>,
    /// The column, one of its own, with the W3C trace context in which an item was enqueued.
    pub trace: Option<Identifier>,
    /// The column, one of its own, with the time after which an item is not begun any more: it becomes Cancelled.
    pub expires: Option<Identifier>,
    /// Whether items may wait for others (`NewItem::after`); only of a table of readpast's own.
    pub after: bool,
    /// Whether handlers may report how far they are (`Job::progress`); not behind hand-written procedures.
    pub progress: bool,
    /// The order in which due items are handed out.
    pub order: OrderSpec,
    /// The kinds to which a claim can be limited.
    pub claim_by: ClaimBySpec,
    /// The number of parts of the waiting items, 2 to 64, each with a head of its own at which claims begin; one by default.
    pub shards: Option<i32>,
    /// How many items of a key are in work at once, and how many of it start in a time; four at most.
    pub limits: Vec<LimitSpec>,
    /// The columns by whose values an item finds its place, where the queue is spread over several databases; 4 at most. Empty: any
    /// place will do.
    pub spread_by: Vec<Identifier>,
    /// How many attempts an item has, unless the queue's setting overrides it.
    pub max_attempts: i32,
    /// Whether each ended attempt is recorded, with its result.
    pub attempt_history: bool,
    /// When a failed attempt is repeated; at once where there is none.
    pub backoff: Option<BackoffSpec>,
    /// Leases.
    pub lease: LeaseSpec,
    /// The end of completed items.
    pub completion: Completion,
    /// How long ended items stay, by state; for ever where a state is not named.
    pub retention: Vec<RetentionSpec>,
    /// For how many seconds ended attempts are recorded, 1 to 1,728,000,000; as long as their item by default.
    pub attempt_retention: Option<i32>,
    /// Which items count as the same work.
    pub dedup: Option<DedupSpec>,
    /// The items that it gets at planned times. `None`: it takes no schedules, at run time neither.
    pub schedules: Option<Vec<ScheduleSpec>>,
    /// Roles and their rights.
    pub roles: RolesSpec,
    /// The prefix of its settings in AppSettings, before a point; `<queue>` in lower case when left out.
    pub settings: String,
}

impl QueueSpec {
    /// Whether only workers see a column of items, as `find` names it.
    #[must_use]
    pub fn is_secret(&self, name: &str) -> bool {
        let is = |column: &ColumnSpec, prefix: &str| {
            column.secret && name.to_lowercase() == format!("{prefix}{}", column.name.as_str()).to_lowercase()
        };
        self.columns.iter().any(|column| is(column, ""))
            || self.subtypes.iter().any(|subtype| {
                let prefix = format!("{}_", subtype.name.as_str());
                subtype.columns.iter().any(|column| is(column, &prefix))
            })
    }

    /// Whether items or attempts are deleted by age.
    #[must_use]
    pub(crate) fn deletes_what_is_over(&self) -> bool {
        !self.retention.is_empty() || self.attempt_retention.is_some()
    }

    /// Whether its claims come one after the other: which items are the first of their groups, or have room, is not decided by two
    /// at once.
    #[must_use]
    pub(crate) fn takes_turns(&self) -> bool {
        self.order.group.is_some() || !self.limits.is_empty()
    }

    /// The kind of the queue, in one word.
    #[must_use]
    pub fn preset(&self) -> &'static str {
        match self.storage {
            Storage::Own => "own",
            Storage::Table(_) => "described",
            Storage::Procedures(_) => "procedures",
        }
    }
}

/// Where the items of a queue are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// In a table that readpast makes, in the shape of its first document.
    Own,
    /// In a table that was there before, or that readpast makes after the user's shape.
    Table(Box<TableSpec>),
    /// Behind hand-written procedures.
    Procedures(Box<ProceduresSpec>),
}

/// A column of the queue's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: Identifier,
    /// Its type.
    pub kind: ColumnKind,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether only workers see it: a search returns NULL in its place.
    pub secret: bool,
    /// The author's type of the column, instead of that of `kind`; only of a table that readpast makes.
    pub sql_type: Option<SqlName>,
    /// The value of a new item that leaves it out; one that gives null has NULL, or is refused.
    pub default: Option<Value>,
    /// A condition on each row, in SQL; only of a table that readpast makes.
    pub check: Option<CheckSpec>,
    /// The column of another table that has its values; only of a table that readpast makes.
    pub references: Option<ReferenceSpec>,
}

impl ColumnSpec {
    /// A column that may be NULL, without further options.
    #[must_use]
    pub fn new(name: Identifier, kind: ColumnKind) -> Self {
        Self { name, kind, nullable: true, secret: false, sql_type: None, default: None, check: None, references: None }
    }

    /// The same, which may not be NULL.
    #[must_use]
    pub fn not_null(name: Identifier, kind: ColumnKind) -> Self {
        Self { nullable: false, ..Self::new(name, kind) }
    }
}

/// The type of a column. Each has a type on both servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text, of at most so many characters where a length is given (1 to 4000; UTF-16 units on SQL Server).
    Text(Option<u16>),
    /// A whole number of 32 bits.
    Integer,
    /// A whole number of 64 bits.
    BigInteger,
    /// True or false.
    Boolean,
    /// A binary floating point number of 64 bits.
    Float,
    /// An exact number of so many digits, so many of them after the point.
    Decimal(u8, u8),
    /// A time in UTC.
    Timestamp,
    /// A date.
    Date,
    /// A GUID.
    Guid,
    /// A JSON object or array.
    Json,
    /// Bytes, of at most so many where a length is given (1 to 8000). In items they are base64.
    Binary(Option<u16>),
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(Some(length)) => write!(f, "text({length})"),
            Self::Text(None) => f.write_str("text"),
            Self::Integer => f.write_str("integer"),
            Self::BigInteger => f.write_str("bigint"),
            Self::Boolean => f.write_str("boolean"),
            Self::Float => f.write_str("float"),
            Self::Decimal(precision, scale) => write!(f, "decimal({precision}, {scale})"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Date => f.write_str("date"),
            Self::Guid => f.write_str("guid"),
            Self::Json => f.write_str("json"),
            Self::Binary(Some(length)) => write!(f, "binary({length})"),
            Self::Binary(None) => f.write_str("binary"),
        }
    }
}
