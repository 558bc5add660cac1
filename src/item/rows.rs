//! A result set in memory: typed cells, with all text in one arena where each piece ends in a NUL, so that the C API
//! can lend it out as it is.

use serde_json::{Number, Value as Json};
use std::sync::Arc;

/// The type of a column, as far as a worker needs to tell values apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// True or false.
    Boolean,
    /// A whole number of up to 64 bits.
    Integer,
    /// A binary floating point number.
    Float,
    /// An exact decimal number, given as text.
    Decimal,
    /// Text.
    Text,
    /// Bytes.
    Binary,
    /// A date and time in UTC, given as text: `2026-11-21T08:30:00.1234567`.
    Timestamp,
    /// A date, given as text: `2026-11-21`.
    Date,
    /// A GUID, given as text.
    Guid,
}

/// A column of a result set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, as the view declares it.
    pub name: String,
    /// Its type.
    pub kind: ColumnType,
}

/// The value of one column of one row. Types that have no variant of their own come as text; the column's type tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A floating point number.
    Float(f64),
    /// Text, or a decimal, timestamp, date or GUID as text.
    Text(&'a str),
    /// Bytes.
    Binary(&'a [u8]),
}

impl Value<'_> {
    /// The value in JSON: numbers as numbers, decimals too, bytes as lower-case hexadecimal text.
    pub(crate) fn to_json(self, kind: ColumnType) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Boolean(value) => Json::Bool(value),
            Self::Integer(value) => Json::Number(value.into()),
            Self::Float(value) => Number::from_f64(value).map_or(Json::Null, Json::Number),
            // Text stays text even for a decimal: a JSON number would lose digits in most readers.
            Self::Text(text) => {
                debug_assert!(kind != ColumnType::Binary);
                Json::String(text.to_owned())
            }
            Self::Binary(bytes) => Json::String(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        }
    }
}

/// One stored value; text and bytes are positions in the arenas.
#[derive(Debug, Clone, Copy)]
pub enum Cell {
    /// NULL.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A floating point number.
    Float(f64),
    /// Start and length in the text arena.
    Text(usize, usize),
    /// Start and length in the byte arena.
    Binary(usize, usize),
}

/// The rows of one result set.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    columns: Arc<[Column]>,
    cells: Vec<Cell>,
    text: String,
    bytes: Vec<u8>,
}

impl Rows {
    /// No rows yet, of these columns.
    #[must_use]
    pub fn new(columns: Arc<[Column]>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        if self.columns.is_empty() { 0 } else { self.cells.len() / self.columns.len() }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a cell that needs no arena. Cells come row by row, each row complete.
    pub fn push(&mut self, cell: Cell) {
        self.cells.push(cell);
    }

    /// Adds a text cell, which `write` appends to the arena.
    pub fn push_text(&mut self, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        self.cells.push(Cell::Text(start, self.text.len() - start));
        self.text.push('\0');
    }

    /// Adds a binary cell.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        self.cells.push(Cell::Binary(self.bytes.len(), bytes.len()));
        self.bytes.extend_from_slice(bytes);
    }

    /// The text of the cell at `index`, counted over all rows; `None` when it is not text.
    pub(crate) fn text_at(&self, index: usize) -> Option<&str> {
        match self.cells.get(index) {
            Some(Cell::Text(start, len)) => self.text.get(*start..start + len),
            _ => None,
        }
    }

    /// The value at `row` and `column`, both counted from 0; [`Value::Null`] outside the rows.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> Value<'_> {
        match self.cell(row, column) {
            Cell::Null => Value::Null,
            Cell::Boolean(value) => Value::Boolean(value),
            Cell::Integer(value) => Value::Integer(value),
            Cell::Float(value) => Value::Float(value),
            Cell::Text(start, len) => Value::Text(self.text.get(start..start + len).unwrap_or_default()),
            Cell::Binary(start, len) => Value::Binary(self.bytes.get(start..start + len).unwrap_or_default()),
        }
    }

    /// The text at `row` and `column` together with the NUL that follows it in the arena, for the C API to lend out;
    /// `None` when there is no text.
    pub(crate) fn text_with_nul(&self, row: usize, column: usize) -> Option<&str> {
        match self.cell(row, column) {
            Cell::Text(start, len) => self.text.get(start..=start + len),
            _ => None,
        }
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        match self.cells.get(row * self.columns.len() + column) {
            Some(cell) if column < self.columns.len() => *cell,
            _ => Cell::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_pieces_end_in_nul_and_come_back_whole() {
        let column = |name: &str, kind| Column { name: name.to_owned(), kind };
        let mut rows = Rows::new(Arc::from([column("a", ColumnType::Text), column("b", ColumnType::Binary)]));
        rows.push_text(|text| text.push('\u{1f600}'));
        rows.push_bytes(&[0, 255]);
        rows.push_text(|_| {});
        rows.push(Cell::Null);

        assert_eq!(rows.len(), 2);
        assert_eq!(rows.value(0, 0), Value::Text("\u{1f600}"));
        assert_eq!(rows.value(0, 1), Value::Binary(&[0, 255]));
        assert_eq!(rows.value(1, 0), Value::Text(""));
        assert_eq!(rows.value(1, 1), Value::Null);
        assert_eq!(rows.value(2, 0), Value::Null);
        assert_eq!(rows.text_with_nul(0, 0), Some("\u{1f600}\0"));
        assert_eq!(rows.text_with_nul(1, 0), Some("\0"));
        assert_eq!(rows.text_with_nul(0, 1), None);
        assert_eq!(rows.value(0, 1).to_json(ColumnType::Binary), Json::String("00ff".into()));
    }
}
