//! A result set in memory: typed cells, with all text in one arena where each piece ends in a NUL, so that the C API can lend it
//! out.

use super::base64::put_base64;
use super::{Life, answer_column, json};
use crate::ident::{FoundName, find_name};
use std::sync::Arc;

/// The type of a column, as far as a worker needs to distinguish values.
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
    /// A date and time in UTC, as text: `2026-11-21T08:30:00.1234567`. PostgreSQL's infinite times, and those after the year 9999
    /// or before 1, as it writes them: `infinity`, `12026-01-01 00:00:00+00`, `0044-03-15 12:00:00+00 BC`.
    Timestamp,
    /// A date, given as text: `2026-11-21`, or likewise as PostgreSQL writes it.
    Date,
    /// A GUID, given as text.
    Guid,
    /// A JSON document, as text, as it is stored. Other programs may have written a text that is not JSON.
    Json,
}

/// A column of a result set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, as the view declares it.
    pub name: String,
    /// Its type.
    pub kind: ColumnType,
}

/// The value of one column of one row. Types that have no variant of their own come as text; the column has the type.
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
    /// Appends the value as JSON. JSON documents stand there as they are stored, bytes as base64. A decimal is text: a JSON
    /// number would lose digits in most readers. A float that is not a number is null.
    pub(crate) fn put_json(self, kind: ColumnType, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Boolean(value) => out.push_str(if value { "true" } else { "false" }),
            Self::Integer(value) => out.push_str(&value.to_string()),
            Self::Float(value) => out.push_str(&serde_json::Value::from(value).to_string()),
            Self::Text(text) if kind == ColumnType::Json => json::put_document(out, text),
            Self::Text(text) => json::put_text(out, text),
            Self::Binary(bytes) => {
                out.push('"');
                put_base64(out, bytes);
                out.push('"');
            }
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

/// A claimed item that cannot be handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Undeliverable {
    pub(crate) key: String,
    pub(crate) token: String,
    pub(crate) attempt: i32,
    pub(crate) why: UndeliverableReason,
}

/// Why an item is undeliverable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndeliverableReason {
    /// It exceeds the worker's limit.
    TooLarge,
    /// The process lacks the memory.
    NoMemory,
}

/// How many bytes stay free behind a value for which there was just enough memory.
const SPARE: usize = 64 * 1024;

/// The rows of one result set.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    columns: Arc<[Column]>,
    cells: Vec<Cell>,
    text: String,
    bytes: Vec<u8>,
    undeliverable: Vec<Undeliverable>,
    trace: Option<usize>,
    /// The places of the life cycle's columns, in the order of [`Life::ALL`].
    life: [Option<usize>; Life::ALL.len()],
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

    /// Gives the rows these columns, of which they have the first already; the others are NULL.
    pub(crate) fn widen(&mut self, columns: Arc<[Column]>) {
        let (had, has) = (self.columns.len(), columns.len());
        if had > 0 && had < has {
            let mut cells = Vec::with_capacity(self.len() * has);
            for row in self.cells.chunks(had) {
                cells.extend_from_slice(row);
                cells.resize(cells.len() + has - had, Cell::Null);
            }
            self.cells = cells;
        }
        self.columns = columns;
    }

    /// Marks text columns as JSON if `is_json` holds for the name: only the queue's description knows them, since SQL Server has
    /// no such type and PostgreSQL's driver calls it text.
    pub(crate) fn say_json(&mut self, is_json: impl Fn(&str) -> bool) {
        let kind = |column: &Column| {
            let kind = if is_json(&column.name) { ColumnType::Json } else { ColumnType::Text };
            if column.kind == ColumnType::Text { kind } else { column.kind }
        };
        self.columns = self.columns.iter().map(|c| Column { name: c.name.clone(), kind: kind(c) }).collect();
    }

    /// Marks the column with the trace context, behind the answer columns.
    pub(crate) fn say_trace(&mut self, name: &str) {
        self.trace = find_name(name, self.names()).found();
    }

    /// Marks the columns of the life cycle: each is the first for whose name `is_it` holds.
    pub(crate) fn say_life(&mut self, is_it: impl Fn(Life, &str) -> bool) {
        self.life = Life::ALL.map(|life| self.names().position(|name| is_it(life, name)));
    }

    /// The place of a column of the life cycle, behind the answer columns.
    pub(crate) fn life(&self, life: Life) -> Option<usize> {
        self.life[life as usize]
    }

    /// The place of the column that a caller calls `name`, behind the answer columns. One of the life cycle has several names, which
    /// hide no other column.
    pub(crate) fn place_of(&self, name: &str) -> Option<usize> {
        match find_name(name, self.names()) {
            FoundName::One(place) => Some(place),
            FoundName::Many => None,
            FoundName::None => self.life(Life::of_name(name)?),
        }
    }

    /// The names of the columns behind the answer columns.
    fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.columns.iter().skip(answer_column::COUNT).map(|column| column.name.as_str())
    }

    pub(crate) fn trace(&self) -> Option<usize> {
        self.trace
    }

    /// Puts the name of the place before each key of an answer.
    pub(crate) fn put_before_keys(&mut self, prefix: &str) {
        for index in (answer_column::KEY..self.cells.len()).step_by(self.columns.len().max(1)) {
            let Some(&Cell::Text(start, len)) = self.cells.get(index) else { continue };
            let begin = self.text.len();
            self.text.push_str(prefix);
            self.text.extend_from_within(start..start + len);
            self.text.push('\0');
            self.cells[index] = Cell::Text(begin, prefix.len() + len);
        }
        self.undeliverable.iter_mut().for_each(|item| item.key.insert_str(0, prefix));
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        if self.columns.is_empty() { 0 } else { self.cells.len() / self.columns.len() }
    }

    /// A copy of some of the rows, which keeps nothing of the others in memory.
    pub(crate) fn copy(&self, from: usize, to: usize) -> Self {
        let mut copy =
            Self { columns: Arc::clone(&self.columns), trace: self.trace, life: self.life, ..Self::default() };
        for row in from..to {
            for column in 0..self.columns.len() {
                match self.value(row, column) {
                    Value::Null => copy.push(Cell::Null),
                    Value::Boolean(value) => copy.push(Cell::Boolean(value)),
                    Value::Integer(value) => copy.push(Cell::Integer(value)),
                    Value::Float(value) => copy.push(Cell::Float(value)),
                    Value::Text(value) => copy.push_text(|text| text.push_str(value)),
                    Value::Binary(value) => copy.push_bytes(value),
                }
            }
        }
        copy
    }

    /// Removes the last row if it only marks the end of a look, and returns its key.
    pub(crate) fn take_further(&mut self) -> Option<String> {
        let last = self.len().checked_sub(1)? * self.columns.len();
        if self.text_at(last + answer_column::ANSWER) != Some("MORE") {
            return None;
        }
        let key = self.text_at(last + answer_column::KEY).map(str::to_owned);
        self.cells.truncate(last);
        key
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

    /// Adds a copy of the cell at `index`, counted over all rows.
    pub(crate) fn repeat(&mut self, index: usize) {
        self.cells.push(self.cells.get(index).copied().unwrap_or(Cell::Null));
    }

    /// Adds a text cell, which `write` appends to the arena.
    pub fn push_text(&mut self, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        self.cells.push(Cell::Text(start, self.text.len() - start));
        self.text.push('\0');
    }

    /// Begins a text cell that comes in pieces.
    pub(crate) fn begin_text(&mut self) -> LongText<'_> {
        LongText { start: self.text.len(), rows: self }
    }

    /// Adds bytes to the arena; their cell follows when all of them are there.
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds a binary cell.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        self.cells.push(Cell::Binary(self.bytes.len(), bytes.len()));
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes of text and of binary values.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.text.len(), self.bytes.len())
    }

    /// Makes room for so many bytes more of text and of bytes, each followed by a NUL; `false` when the memory is short.
    #[must_use]
    pub(crate) fn reserve(&mut self, text: usize, bytes: usize) -> bool {
        // It doubles the room, or when that is too much, takes as much as needed, with something for the small values behind it.
        let spare = |needed: usize| needed.saturating_add(SPARE);
        (self.text.try_reserve(text + 1).is_ok() || self.text.try_reserve_exact(spare(text)).is_ok())
            && (self.bytes.try_reserve(bytes).is_ok() || self.bytes.try_reserve_exact(spare(bytes)).is_ok())
    }

    /// Removes the last row, a claimed item whose answer columns are there, and keeps what is needed to end its claim. `size` is
    /// that before the row.
    pub(crate) fn set_undeliverable(&mut self, row: usize, size: (usize, usize), why: UndeliverableReason) {
        let start = row * self.columns.len();
        let text = |column| self.text_at(start + column).unwrap_or_default().to_owned();
        let attempt = match self.cells.get(start + answer_column::ATTEMPT) {
            Some(Cell::Integer(attempt)) => i32::try_from(*attempt).unwrap_or(i32::MAX),
            _ => 0,
        };
        let undeliverable =
            Undeliverable { key: text(answer_column::KEY), token: text(answer_column::TOKEN), attempt, why };
        self.undeliverable.push(undeliverable);
        self.cells.truncate(start);
        self.text.truncate(size.0);
        self.bytes.truncate(size.1);
    }

    /// Whether there are undeliverable items.
    pub(crate) fn has_undeliverable(&self) -> bool {
        !self.undeliverable.is_empty()
    }

    /// Takes the undeliverable items.
    pub(crate) fn take_undeliverable(&mut self) -> Vec<Undeliverable> {
        std::mem::take(&mut self.undeliverable)
    }

    /// The cell at `index`, counted over all rows.
    pub(crate) fn cell_at(&self, index: usize) -> Option<Cell> {
        self.cells.get(index).copied()
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

/// A text cell that is not complete yet.
pub(crate) struct LongText<'a> {
    rows: &'a mut Rows,
    start: usize,
}

impl LongText<'_> {
    /// Makes room for so many bytes more, and a NUL; `false` when the memory is short.
    #[must_use]
    pub(crate) fn reserve(&mut self, bytes: usize) -> bool {
        self.rows.reserve(bytes, 0)
    }

    /// The text to which the next piece is appended.
    pub(crate) fn text(&mut self) -> &mut String {
        &mut self.rows.text
    }

    /// How long it is.
    pub(crate) fn len(&self) -> usize {
        self.rows.text.len() - self.start
    }

    /// Adds the cell.
    pub(crate) fn end(self) {
        self.rows.cells.push(Cell::Text(self.start, self.len()));
        self.rows.text.push('\0');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_withheld_item_leaves_no_trace_but_what_its_claim_is_ended_with() {
        let column = |kind| Column { name: String::new(), kind };
        let mut rows = Rows::new(vec![column(ColumnType::Text); answer_column::COUNT + 2].into());
        for number in 0..3 {
            let size = rows.size();
            rows.push_text(|text| text.push_str("CLAIMED"));
            [Cell::Null, Cell::Null].into_iter().for_each(|cell| rows.push(cell));
            rows.push_text(|text| *text += &format!("key{number}"));
            rows.push_text(|text| *text += &format!("token{number}"));
            rows.push(Cell::Integer(number + 1));
            rows.push_text(|text| text.push_str("Processing"));
            rows.push_bytes(&[7]);
            if number == 1 {
                rows.set_undeliverable(1, size, UndeliverableReason::TooLarge);
            } else {
                rows.push_text(|text| *text += &format!("value{number}"));
            }
        }
        assert_eq!(rows.len(), 2);
        assert_eq!(rows.value(1, answer_column::KEY), Value::Text("key2"));
        assert_eq!(rows.value(1, answer_column::COUNT), Value::Binary(&[7]));
        assert_eq!(rows.text_with_nul(1, answer_column::COUNT + 1), Some("value2\0"));
        let undeliverable = Undeliverable {
            key: "key1".into(),
            token: "token1".into(),
            attempt: 2,
            why: UndeliverableReason::TooLarge,
        };
        assert_eq!(rows.take_undeliverable(), [undeliverable]);
        assert!(!rows.has_undeliverable());
    }

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
        let mut json = String::new();
        rows.value(0, 1).put_json(ColumnType::Binary, &mut json);
        assert_eq!(json, "\"AP8=\"");
    }
}
