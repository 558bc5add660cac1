//! ODBC result sets as our rows.

use super::pieces::{Buffers, Room, read_bytes, read_text, reserve, write_utf16};
use crate::item::{CLAIMED_ALONE, Cell, Column, ColumnType, Rows, Unfit, answer_column};
use odbc_api::{
    Bit, Cursor, CursorImpl, CursorRow, DataType, Error, Nullable, ResultSetMetadata,
    handles::{ColumnDescription, Statement},
    sys::{SqlDataType, Timestamp},
};
use std::sync::Arc;

/// Why rows were not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// The driver says so.
    Odbc(Error),
    /// Something about a value.
    Unfit(Unfit),
}

impl From<Error> for Unread {
    fn from(error: Error) -> Self {
        Self::Odbc(error)
    }
}

/// A time as text.
const TIME_BYTES: usize = "0000-00-00T00:00:00.0000000".len();

/// Which cells of a result set are worth reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// All of them.
    Table,
    /// The answer columns, and the item columns only of rows that hand out an item: all others have NULL there.
    Answers,
}

/// Reads the first result set that has columns, then goes on to the end of all results: an error that the server reports
/// after the rows comes only then, and leaving results unread leaves the connection busy.
///
/// `columns` are those of the statement's last result, for a statement that always has the same; else they are filled in. A
/// claimed item of more than `most` bytes is not read to its end; see [`Rows::withhold`].
pub(super) fn drain<S: Statement>(
    mut cursor: CursorImpl<S>,
    shape: Shape,
    columns: &mut Option<Arc<[Column]>>,
    most: usize,
) -> Result<Rows, Unread> {
    let read = read(&mut cursor, shape, columns, most);
    let rows = match read {
        Ok(rows) => rows,
        Err(error) => {
            close(cursor);
            return Err(error);
        }
    };
    let mut rest = cursor.more_results()?;
    while let Some(next) = rest {
        rest = next.more_results()?;
    }
    Ok(rows)
}

/// Reads every result that has columns, to the end of all results.
pub(super) fn all<S: Statement>(cursor: CursorImpl<S>) -> Result<Vec<Rows>, Unread> {
    let mut found = Vec::new();
    let mut next = Some(cursor);
    while let Some(mut cursor) = next {
        let read = match cursor.num_result_cols() {
            Ok(0) => Ok(None),
            Ok(_) => read(&mut cursor, Shape::Table, &mut None, usize::MAX).map(Some),
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

/// Closes a cursor whose connection may be gone. The cursor's own destructor would panic then.
fn close<S: Statement>(cursor: CursorImpl<S>) {
    let mut statement = cursor.into_stmt();
    // What is wrong has been reported by the call that failed.
    let _ = statement.close_cursor();
}

fn read<S: Statement>(
    cursor: &mut CursorImpl<S>,
    shape: Shape,
    columns: &mut Option<Arc<[Column]>>,
    most: usize,
) -> Result<Rows, Unread> {
    let columns = match columns {
        Some(columns) => columns,
        None => columns.insert(describe(cursor)?),
    };
    let count = columns.len();
    let mut rows = Rows::new(Arc::clone(columns));
    let mut buffers = Buffers::default();
    while let Some(mut row) = cursor.next_row()? {
        let (number, before) = (rows.len(), rows.size());
        let answers = if shape == Shape::Answers { answer_column::COUNT.min(count) } else { count };
        let mut any = Room::unlimited();
        for (i, column) in columns.iter().enumerate().take(answers) {
            read_cell(&mut row, i, column.kind, &mut rows, &mut buffers, &mut any)?;
        }
        // The row's answer is not visible through `value` until the row is complete: look at the cell itself.
        let answer = rows.text_at(number * count + answer_column::ANSWER);
        let is_claimed = matches!(answer, Some("CLAIMED" | CLAIMED_ALONE));
        let is_found = answer == Some("FOUND");
        let mut room = if is_claimed { Room::of(most) } else { Room::unlimited() };
        for (i, column) in columns.iter().enumerate().skip(answers) {
            if !is_claimed && !is_found {
                rows.push(Cell::Null);
                continue;
            }
            match read_cell(&mut row, i, column.kind, &mut rows, &mut buffers, &mut room) {
                Ok(()) => {}
                // The others of the claim are not to suffer for it.
                Err(Unread::Unfit(why)) if is_claimed => {
                    rows.withhold(number, before, why);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(rows)
}

fn describe<S: Statement>(cursor: &mut CursorImpl<S>) -> Result<Arc<[Column]>, Error> {
    let count = cursor.num_result_cols()?.unsigned_abs();
    let mut description = ColumnDescription::default();
    let mut columns = Vec::with_capacity(count.into());
    for number in 1..=count {
        cursor.describe_col(number, &mut description)?;
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

fn read_cell(
    row: &mut CursorRow<'_>,
    index: usize,
    kind: ColumnType,
    rows: &mut Rows,
    buffers: &mut Buffers,
    room: &mut Room,
) -> Result<(), Unread> {
    let number = u16::try_from(index + 1).unwrap_or(u16::MAX);
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

/// With a digit before the point: the Microsoft driver leaves a zero out (`.5`, `-.5`), which is no number in JSON.
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

/// `2026-11-21T08:30:00.1234567`: all of datetime2(7), and one zero more than PostgreSQL has.
fn write_time(text: &mut String, time: &Timestamp) {
    let mut out = *b"0000-00-00T00:00:00.0000000";
    let parts = [
        (0..4, u32::from(time.year.unsigned_abs())),
        (5..7, time.month.into()),
        (8..10, time.day.into()),
        (11..13, time.hour.into()),
        (14..16, time.minute.into()),
        (17..19, time.second.into()),
        (20..27, time.fraction / 100),
    ];
    for (place, mut value) in parts {
        for digit in out[place].iter_mut().rev() {
            *digit += (value % 10) as u8;
            value /= 10;
        }
    }
    text.push_str(str::from_utf8(&out).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_seven_digits() {
        let time = Timestamp { year: 2026, month: 1, day: 2, hour: 3, minute: 4, second: 5, fraction: 123_456_700 };
        let mut text = String::new();
        write_time(&mut text, &time);
        assert_eq!(text, "2026-01-02T03:04:05.1234567");
    }

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
