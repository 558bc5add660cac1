//! What a queue is made of: its table, its columns, and how it behaves. Written once, as TOML or JSON, kept in the
//! database, and read back by every handle, which checks new items against it before they travel.

mod check;
mod check_item;
mod evolve;
mod examples;
mod handed_out;
mod key;
mod kinds;
mod layout;
mod number;
mod options;
mod own;
mod parse;
mod procedures;
mod settable;
mod sql;
mod table;
mod value;

pub use self::{
    examples::EXAMPLES,
    options::{
        BackoffSpec, ClaimBySpec, Completion, DedupSpec, Direction, LeaseSpec, OrderSpec, PrioritySpec, RetentionSpec,
        RolesSpec, SubtypeSpec,
    },
    parse::Format,
    procedures::{ClaimedBySpec, ProceduresSpec},
    sql::{CheckSpec, ReferenceSpec, SqlName},
    table::{
        ColumnCondition, Holds, IndexSpec, KeyColumn, KeySource, LifecycleSpec, Literal, SeekColumn, SettingsTableSpec,
        StateSpec, TableSpec,
    },
};

pub(crate) use check::{ATTEMPTS, LEASE_MS};
pub(crate) use check_item::{CheckedItem, check_items, items_to_json};
pub(crate) use evolve::{ColumnChange, ColumnTable};
pub(crate) use key::put_key;
pub(crate) use kinds::KindSearch;
pub(crate) use layout::Assignment;
pub(crate) use own::{OWN_COLUMNS, SHARD};
pub(crate) use settable::check_set;
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
    /// The kinds of work it holds; the first is the one that an item has when it names none.
    pub types: Vec<String>,
    /// The steps of its jobs; the first one is where a new item is when it names none. Empty: a step may be any text.
    pub steps: Vec<String>,
    /// Its own columns, besides those of the life cycle: what a producer gives and a worker sees.
    pub columns: Vec<ColumnSpec>,
    /// Tables of what only some items have.
    pub subtypes: Vec<SubtypeSpec>,
    /// The column, one of its own, that has the W3C trace context in which an item was enqueued.
    pub trace: Option<Identifier>,
    /// The order in which due items are handed out.
    pub order: OrderSpec,
    /// What a claim can be limited to.
    pub claim_by: ClaimBySpec,
    /// Into how many parts what waits is dealt out, 2 to 64, each with a head of its own at which claims begin; one without it.
    pub shards: Option<i32>,
    /// How many attempts an item has, unless the setting of the queue says otherwise.
    pub max_attempts: i32,
    /// Whether each attempt that has ended is remembered, with what came of it.
    pub attempt_history: bool,
    /// When a failed attempt is repeated; at once where there is none.
    pub backoff: Option<BackoffSpec>,
    /// Leases.
    pub lease: LeaseSpec,
    /// What becomes of completed items.
    pub completion: Completion,
    /// How long items stay that have ended, each state named once; for ever where it is not named.
    pub retention: Vec<RetentionSpec>,
    /// For how many seconds attempts that have ended are remembered, 1 to 1,728,000,000; as long as their item where it is not said.
    pub attempt_retention: Option<i32>,
    /// Which items count as the same work.
    pub dedup: Option<DedupSpec>,
    /// Who may do what.
    pub roles: RolesSpec,
    /// The names of its settings in AppSettings begin with this and a point; `<queue>` in lower case when left out.
    pub settings: String,
}

impl QueueSpec {
    /// Whether a column of items, as `find` names it, is shown to workers alone.
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

    /// Whether anything of it is deleted when it is old enough.
    #[must_use]
    pub(crate) fn deletes_what_is_over(&self) -> bool {
        !self.retention.is_empty() || self.attempt_retention.is_some()
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
    /// In a table that was there before, or that readpast makes after somebody else's shape.
    Table(Box<TableSpec>),
    /// Behind procedures that somebody wrote by hand.
    Procedures(Box<ProceduresSpec>),
}

/// A column of the queue's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: Identifier,
    /// What it holds.
    pub kind: ColumnKind,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether it is shown to nobody but workers: who looks for items finds NULL in its place.
    pub secret: bool,
    /// The type of the author's that the table has it in, over that of `kind`; only of a table that readpast makes.
    pub sql_type: Option<SqlName>,
    /// What a new item has that leaves it out; one that gives null has NULL, or is refused.
    pub default: Option<Value>,
    /// What holds of each row, in SQL; only of a table that readpast makes.
    pub check: Option<CheckSpec>,
    /// The column of another table whose values it has; only of a table that readpast makes.
    pub references: Option<ReferenceSpec>,
}

impl ColumnSpec {
    /// A column that may be NULL, of which nothing more is said.
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

/// What a column holds. Each has a type on both servers.
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
