//! `table.where`: the rows of a described table that are this queue's. The others are none of its items.

use super::Literal;
use crate::ident::Identifier;

/// A condition on a column; all conditions of a table hold for each item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowCondition {
    /// The column.
    pub column: Identifier,
    /// The values that it has.
    pub test: RowTest,
}

/// The values of a column in the rows of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowTest {
    /// One of these, of which a new item gets the first. There is at least one.
    Values(Vec<Literal>),
    /// NULL, which a new item gets.
    Null,
    /// Anything but NULL.
    Something,
    /// Values that meet each of these comparisons. There is at least one.
    Compared(Vec<(Comparison, Literal)>),
}

/// A comparison of a column with a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`, which unlike a value says nothing about new items.
    Equal,
    /// `<>`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    AtMost,
    /// `>`.
    More,
    /// `>=`.
    AtLeast,
}

impl Comparison {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Equal, Self::NotEqual, Self::Less, Self::AtMost, Self::More, Self::AtLeast];

    /// The operator, as SQL and a description write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
        }
    }
}

impl RowCondition {
    /// The constants that the column is compared with.
    pub(crate) fn literals(&self) -> Vec<&Literal> {
        match &self.test {
            RowTest::Values(values) => values.iter().collect(),
            RowTest::Compared(compared) => compared.iter().map(|(_, value)| value).collect(),
            RowTest::Null | RowTest::Something => Vec::new(),
        }
    }

    /// Whether all rows have one value there: an index may begin with the column.
    pub(crate) fn is_one_value(&self) -> bool {
        match &self.test {
            RowTest::Values(values) => values.len() == 1,
            RowTest::Null => true,
            RowTest::Compared(compared) => compared.iter().any(|(comparison, _)| *comparison == Comparison::Equal),
            RowTest::Something => false,
        }
    }

    /// Whether a new item gets a value there.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self.test, RowTest::Values(_) | RowTest::Null)
    }
}
