//! ODBC result sets as rows of ours.

use super::pieces::{Buffers, RowBudget, read_bytes, read_text, reserve, write_utf16};
use super::time::{TIME_BYTES, write_sent_time, write_time};
use super::unread::Unread;
use crate::item::{CLAIMED_ALONE, Cell, Column, ColumnType, Rows, answer_column};
use odbc_api::{
    Bit, Cursor, CursorImpl, CursorRow, DataType, Error, Nullable, ResultSetMetadata,
    handles::{ColumnDescription, Statement},
    sys::{SqlDataType, Timestamp},
};
use std::sync::Arc;

/// The known columns of a statement's result.
#[derive(Debug, Default)]
pub(super) struct ResultColumns {
    /// The columns of its last result, for a statement that always has the same.
    pub(super) columns: Option<Arc<[Column]>>,
    /// The answer column that each of them repeats; see [`ReadCells::repeated`].
    pub(super) repeated: Vec<Option<usize>>,
    /// Whether the server sends their times as text.
    pub(super) times_are_text: bool,
}

/// The cells of a result set that are worth reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadCells {
    /// All of them.
    Table,
    /// The same, with times among them that may be anything.
    Times,
    /// The answer columns, and the item columns only of rows that hand out an item: all others have NULL there.
    Answers,
    /// The same of claims from readpast's own tables, some of whose columns repeat the answer's. Those are not read.
    OwnAnswers,
}

impl ReadCells {
    /// Whether the rows have the answer columns, the key among them.
    pub(super) fn has_answers(self) -> bool {
        matches!(self, Self::Answers | Self::OwnAnswers)
    }

    /// For each column, in its place, the answer column that it repeats in claimed items.
    pub(super) fn repeated(self, columns: &[Column]) -> Vec<Option<usize>> {
        let of_item = |index| self == Self::OwnAnswers && index >= answer_column::COUNT;
        let repeats =
            |(index, column): (usize, &Column)| answer_column::repeated(&column.name).filter(|_| of_item(index));
        columns.iter().enumerate().map(repeats).collect()
    }
}

/// Reads the first result set that has columns, then goes on to the end of all results: an error that the server reports after
/// the rows comes only then, and unread results leave the connection busy.
///
/// Answers may come in two results, those of a settlement and those of the claim in the same call, which has the items' columns
/// behind: they become one, with nothing in these columns of the rows that have none.
///
/// Fills in columns that are not `known`. Does not read a claimed item of more than `most` bytes to its end; see
/// [`Rows::set_undeliverable`].
pub(super) fn drain<S: Statement>(
    mut cursor: CursorImpl<S>,
    shape: ReadCells,
    known: &mut ResultColumns,
    most: usize,
) -> Result<Rows, Unread> {
    let mut rows = Rows::default();
    if let Err(error) = read(&mut cursor, shape, known, most, &mut rows) {
        close(cursor);
        return Err(error);
    }
    let mut rest = cursor.more_results()?;
    while let Some(mut next) = rest {
        let goes_on =
            shape.has_answers() && rows.columns().len() == answer_column::COUNT && next.num_result_cols()? > 0;
        if goes_on && let Err(error) = read(&mut next, shape, &mut ResultColumns::default(), most, &mut rows) {
            close(next);
            return Err(error);
        }
        rest = next.more_results()?;
    }
    Ok(rows)
}

/// The same of a statement that may have come to a result without columns.
pub(super) fn drained<S: Statement>(
    cursor: Option<CursorImpl<S>>,
    shape: ReadCells,
    known: &mut ResultColumns,
    most: usize,
) -> Result<Option<Rows>, Unread> {
    cursor.map(|cursor| drain(cursor, shape, known, most)).transpose()
}

/// Reads every result that has columns, to the end of all results.
pub(super) fn all<S: Statement>(cursor: CursorImpl<S>) -> Result<Vec<Rows>, Unread> {
    let mut found = Vec::new();
    let mut next = Some(cursor);
    while let Some(mut cursor) = next {
        let read = match cursor.num_result_cols() {
            Ok(0) => Ok(None),
            Ok(_) => {
                let mut rows = Rows::default();
                read(&mut cursor, ReadCells::Table, &mut ResultColumns::default(), usize::MAX, &mut rows)
                    .map(|()| Some(rows))
            }
            Err(error) => Err(error.into()),
        };
        match read {
            Ok(rows) => found.extend(rows),
            Err(error) => {
                close(cursor);
                return Err(error);
            }
        }
        next = cursor.more_results()?;
    }
    Ok(found)
}

/// The columns of a result, without its rows.
pub(super) fn columns<S: Statement>(mut cursor: CursorImpl<S>) -> Result<Arc<[Column]>, Error> {
    let columns = describe(&mut cursor);
    close(cursor);
    columns
}

/// Closes a cursor whose connection may be gone. The cursor's own destructor would panic then.
fn close<S: Statement>(cursor: CursorImpl<S>) {
    let mut statement = cursor.into_stmt();
    // The call that failed has reported the error.
    let _ = statement.close_cursor();
}

/// Reads a result behind the `rows` that are there.
fn read<S: Statement>(
    cursor: &mut CursorImpl<S>,
    shape: ReadCells,
    known: &mut ResultColumns,
    most: usize,
    rows: &mut Rows,
) -> Result<(), Unread> {
    let columns = match &mut known.columns {
        Some(columns) => columns,
        unknown => {
            let columns = unknown.insert(describe(cursor)?);
            known.repeated = shape.repeated(columns);
            columns
        }
    };
    let count = columns.len();
    rows.widen(Arc::clone(columns));
    let mut reader = CellReader { buffers: Buffers::default(), times_are_text: known.times_are_text };
    let mut lease = None;
    while let Some(mut row) = cursor.next_row()? {
        let (number, before) = (rows.len(), rows.size());
        let answers = if shape.has_answers() { answer_column::COUNT.min(count) } else { count };
        let mut any = RowBudget::unlimited();
        for (i, column) in columns.iter().enumerate().take(answers) {
            if shape.has_answers()
                && i == answer_column::DUE_MS
                && let Some(cell) = due_known(rows.text_at(number * count + answer_column::ANSWER), lease)
            {
                rows.push(cell);
                continue;
            }
            reader.read(&mut row, i, column.kind, rows, &mut any)?;
        }
        // The row's answer is not visible through `value` until the row is complete: look at the cell itself.
        let answer = rows.text_at(number * count + answer_column::ANSWER);
        let is_claimed = matches!(answer, Some("CLAIMED" | CLAIMED_ALONE));
        let is_found = answer == Some("FOUND");
        if is_claimed && shape.has_answers() {
            lease = rows.cell_at(number * count + answer_column::DUE_MS);
        }
        let mut room = if is_claimed { RowBudget::of(most) } else { RowBudget::unlimited() };
        for (i, column) in columns.iter().enumerate().skip(answers) {
            if !is_claimed && !is_found {
                rows.push(Cell::Null);
                continue;
            }
            if let Some(answer) = known.repeated[i].filter(|_| is_claimed) {
                rows.repeat(number * count + answer);
                continue;
            }
            match reader.read(&mut row, i, column.kind, rows, &mut room) {
                Ok(()) => {}
                // The other items of the claim are delivered.
                Err(Unread::Undeliverable(why)) if is_claimed => {
                    rows.set_undeliverable(number, before, why);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// The milliseconds of an answer, if they need no read: only a claim has them, and all its items have one lease.
fn due_known(answer: Option<&str>, lease: Option<Cell>) -> Option<Cell> {
    match answer {
        Some("EMPTY") => None,
        Some("CLAIMED" | CLAIMED_ALONE) => lease,
        _ => Some(Cell::Null),
    }
}

fn describe(result: &mut impl ResultSetMetadata) -> Result<Arc<[Column]>, Error> {
    let count = result.num_result_cols()?.unsigned_abs();
    let mut description = ColumnDescription::default();
    let mut columns = Vec::with_capacity(count.into());
    for number in 1..=count {
        result.describe_col(number, &mut description)?;
        let name = description.name_to_string().unwrap_or_default();
        columns.push(Column { name, kind: column_type(description.data_type) });
    }
    Ok(columns.into())
}

fn column_type(data_type: DataType) -> ColumnType {
    match data_type {
        DataType::Bit => ColumnType::Boolean,
        DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt => ColumnType::Integer,
        DataType::Real | DataType::Float { .. } | DataType::Double => ColumnType::Float,
        DataType::Numeric { .. } | DataType::Decimal { .. } => ColumnType::Decimal,
        DataType::Timestamp { .. } => ColumnType::Timestamp,
        DataType::Date => ColumnType::Date,
        DataType::Binary { .. } | DataType::Varbinary { .. } | DataType::LongVarbinary { .. } => ColumnType::Binary,
        DataType::Other { data_type: SqlDataType::EXT_GUID, .. } => ColumnType::Guid,
        _ => ColumnType::Text,
    }
}

/// Reads cells.
struct CellReader {
    buffers: Buffers,
    times_are_text: bool,
}

impl CellReader {
    fn read(
        &mut self,
        row: &mut CursorRow<'_>,
        index: usize,
        kind: ColumnType,
        rows: &mut Rows,
        room: &mut RowBudget,
    ) -> Result<(), Unread> {
        let number = u16::try_from(index + 1).unwrap_or(u16::MAX);
        let buffers = &mut self.buffers;
        match kind {
            ColumnType::Boolean => {
                let mut field = Nullable::<Bit>::null();
                row.get_data(number, &mut field)?;
                rows.push(field.into_opt().map_or(Cell::Null, |bit| Cell::Boolean(bit.as_bool())));
            }
            ColumnType::Integer => {
                let mut field = Nullable::<i64>::null();
                row.get_data(number, &mut field)?;
                rows.push(field.into_opt().map_or(Cell::Null, Cell::Integer));
            }
            ColumnType::Float => {
                let mut field = Nullable::<f64>::null();
                row.get_data(number, &mut field)?;
                rows.push(field.into_opt().map_or(Cell::Null, Cell::Float));
            }
            ColumnType::Timestamp if self.times_are_text => {
                read_text(row, number, rows, buffers, room, write_sent_time)?;
            }
            ColumnType::Timestamp => {
                let mut field = Nullable::<Timestamp>::null();
                row.get_data(number, &mut field)?;
                match field.into_opt() {
                    Some(time) => {
                        reserve(rows, TIME_BYTES, 0)?;
                        rows.push_text(|text| write_time(text, &time));
                    }
                    None => rows.push(Cell::Null),
                }
            }
            ColumnType::Binary => read_bytes(row, number, rows, buffers, room)?,
            ColumnType::Decimal => read_text(row, number, rows, buffers, room, write_decimal)?,
            ColumnType::Text | ColumnType::Date | ColumnType::Guid | ColumnType::Json => {
                read_text(row, number, rows, buffers, room, write_utf16)?;
            }
        }
        Ok(())
    }
}

/// Writes a decimal with a digit before the point: the Microsoft driver leaves a zero out (`.5`, `-.5`), which is no number in
/// JSON.
fn write_decimal(text: &mut String, units: &[u16]) {
    const MINUS: u16 = b'-' as u16;
    const POINT: u16 = b'.' as u16;
    match units {
        [POINT, ..] => text.push('0'),
        [MINUS, rest @ ..] if rest.first() == Some(&POINT) => {
            text.push_str("-0");
            return write_utf16(text, rest);
        }
        _ => {}
    }
    write_utf16(text, units);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_a_digit_before_the_point() {
        for (sent, meant) in
            [(".5", "0.5"), ("-.50", "-0.50"), ("0.5", "0.5"), ("-12.5", "-12.5"), ("7", "7"), ("-1", "-1")]
        {
            let mut text = String::new();
            write_decimal(&mut text, &sent.encode_utf16().collect::<Vec<_>>());
            assert_eq!(text, meant);
        }
    }
}
