//! What a queue is made of: its name, the kinds of work in it, and its own columns. Written once as JSON, kept in the
//! database, and read back by every handle, which checks new items against it before they travel.

mod parse;
mod validate;

pub(crate) use validate::{check_text, items_to_json, put_due};

use crate::ident::{Identifier, QueueName};
use std::fmt;

/// The description of a queue of the preset `relational`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSpec {
    /// Its name.
    pub queue: QueueName,
    /// The kinds of work it holds; the first is the one that an item has when it names none.
    pub types: Vec<String>,
    /// Its own columns, besides those of the life cycle.
    pub columns: Vec<ColumnSpec>,
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
        }
    }
}
