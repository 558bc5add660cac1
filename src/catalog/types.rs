//! The types of the two servers, in a few families.

use crate::dialect::Dialect;

/// The family of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeFamily {
    /// A whole number of so many bits.
    Integer(u8),
    /// True or false.
    Boolean,
    /// A binary floating point number.
    Float,
    /// An exact number.
    Decimal,
    /// Text.
    Text,
    /// One of a few words: an enum of PostgreSQL's.
    Enum,
    /// A date and time to the microsecond or better.
    Time,
    /// The same with a zone.
    ZonedTime,
    /// `datetime`, in steps of a three-hundredth of a second, or `smalldatetime`, in minutes.
    CoarseTime,
    /// A date.
    Date,
    /// A GUID.
    Guid,
    /// JSON in a type of its own.
    Json,
    /// A list of texts or of documents: an array of PostgreSQL's.
    List,
    /// Bytes, a row version among them.
    Binary,
    /// Any other type.
    Other,
}

impl TypeFamily {
    /// The family of the base type called `name`.
    pub(crate) fn of(dialect: Dialect, name: &str) -> Self {
        match dialect {
            Dialect::SqlServer => match name.to_ascii_lowercase().as_str() {
                "tinyint" => Self::Integer(8),
                "smallint" => Self::Integer(16),
                "int" => Self::Integer(32),
                "bigint" => Self::Integer(64),
                "bit" => Self::Boolean,
                "real" | "float" => Self::Float,
                "decimal" | "numeric" | "money" | "smallmoney" => Self::Decimal,
                "char" | "varchar" | "nchar" | "nvarchar" | "text" | "ntext" | "sysname" => Self::Text,
                "datetime2" => Self::Time,
                "datetimeoffset" => Self::ZonedTime,
                "datetime" | "smalldatetime" => Self::CoarseTime,
                "date" => Self::Date,
                "uniqueidentifier" => Self::Guid,
                "json" => Self::Json,
                "binary" | "varbinary" | "image" | "timestamp" | "rowversion" => Self::Binary,
                _ => Self::Other,
            },
            Dialect::Postgres => match name {
                "int2" => Self::Integer(16),
                "int4" => Self::Integer(32),
                "int8" => Self::Integer(64),
                "bool" => Self::Boolean,
                "float4" | "float8" => Self::Float,
                "numeric" => Self::Decimal,
                "varchar" | "bpchar" | "text" | "name" | "citext" => Self::Text,
                "timestamp" => Self::Time,
                "timestamptz" => Self::ZonedTime,
                "date" => Self::Date,
                "uuid" => Self::Guid,
                "json" | "jsonb" => Self::Json,
                "_text" | "_varchar" | "_json" | "_jsonb" => Self::List,
                "bytea" => Self::Binary,
                _ => Self::Other,
            },
        }
    }

    /// Whether it is a date and time of some kind.
    pub(crate) fn is_time(self) -> bool {
        matches!(self, Self::Time | Self::ZonedTime | Self::CoarseTime)
    }
}
